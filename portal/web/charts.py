"""Bar charts as SVG: made on the server, read aloud by their title and description, no script.

Colours come from the stylesheet's classes; nothing is styled inline.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from fractions import Fraction

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

WIDTH, HEIGHT = 960, 260
LEFT, RIGHT, TOP, BOTTOM = 64, 8, 12, 28
SERIES_CLASSES = 6
TICKS = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """One bar: a short label under it, a long one read aloud, and a value per series."""

    label: str
    long_label: str
    values: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class BarChart:
    """Stacked bars; values are not negative. `unit` stands on the axis."""

    title: str
    description: str
    unit: str
    series: tuple[str, ...]
    bars: tuple[Bar, ...]


def render_bar_chart(chart: BarChart) -> SafeString:
    """Return the chart as an SVG element; a chart without any value has its axis only."""
    top = find_axis_top(
        max((sum(bar.values, Fraction(0)) for bar in chart.bars), default=Fraction(0))
    )
    parts = [
        f'<svg class="chart" role="img" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'aria-labelledby="chart-title chart-desc">',
        f'<title id="chart-title">{escape(chart.title)}</title>',
        f'<desc id="chart-desc">{escape(chart.description)}</desc>',
        *_render_axis(top, chart.unit),
        *_render_bars(chart.bars, top),
        "</svg>",
    ]
    return mark_safe("".join(parts))  # every text above is escaped


def find_axis_top(highest: Fraction) -> Fraction:
    """Return a round number at or above the highest value: 1, 2, 4, 5 or 8 times a power of ten."""
    if highest <= 0:
        return Fraction(1)
    power = Fraction(1)
    while power * 10 <= highest:
        power *= 10
    while power > highest:
        power /= 10
    return next(power * step for step in (1, 2, 4, 5, 8, 10) if power * step >= highest)


def _render_axis(top: Fraction, unit: str) -> Iterator[str]:
    for tick in range(TICKS + 1):
        y = _round(_find_y(top * tick / TICKS, top))
        yield f'<line class="chart-grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y}" y2="{y}"/>'
        label = _render_number(top * tick / TICKS)
        yield (
            f'<text class="chart-label" x="{LEFT - 8}" y="{y}" dy="4" text-anchor="end">'
            f"{label}</text>"
        )
    yield f'<text class="chart-unit" x="4" y="{HEIGHT - 8}">{escape(unit)}</text>'


def _render_bars(bars: Sequence[Bar], top: Fraction) -> Iterator[str]:
    if not bars:
        return
    slot = Fraction(WIDTH - LEFT - RIGHT, len(bars))
    width = min(slot * 7 / 10, Fraction(56))
    for index, bar in enumerate(bars):
        x = LEFT + slot * index + (slot - width) / 2
        yield f'<g class="chart-bar"><title>{escape(bar.long_label)}</title>'
        yield from _render_stack(bar.values, x, width, top)
        yield (
            f'<text class="chart-label" x="{_round(x + width / 2)}" y="{HEIGHT - 8}" '
            f'text-anchor="middle">{escape(bar.label)}</text></g>'
        )


def _render_stack(
    values: Sequence[Fraction], x: Fraction, width: Fraction, top: Fraction
) -> Iterator[str]:
    below = Fraction(0)
    for number, value in enumerate(values):
        if value <= 0:
            continue
        y, base = _find_y(below + value, top), _find_y(below, top)
        yield (
            f'<rect class="series-{number % SERIES_CLASSES}" x="{_round(x)}" y="{_round(y)}" '
            f'width="{_round(width)}" height="{_round(base - y)}"/>'
        )
        below += value


def _find_y(value: Fraction, top: Fraction) -> Fraction:
    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top


def _round(value: Fraction) -> Decimal:
    return Decimal(round(value * 10)).scaleb(-1)


def _render_number(value: Fraction) -> str:
    if value.denominator == 1:
        return f"{value.numerator:,}".replace(",", "\u202f")
    places = Decimal(value.numerator) / Decimal(value.denominator)
    return f"{places.quantize(Decimal('0.0001'), ROUND_CEILING).normalize():f}"
