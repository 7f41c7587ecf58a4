"""How values read on a page: money, hours, instants, states, bars. Unknown is "no data"."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any

from django import template
from django.utils import timezone
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from accounting.money import Money
from accounting.statement import ChargeLine, render_money
from portal.catalog.choices import PurchaseOption

register = template.Library()
NO_DATA = SafeString('<span class="no-data">no data</span>')
THIN = "\u202f"
TONE_MARKS = {"good": "●", "wait": "◐", "warn": "▲", "bad": "■", "idle": "○"}
STATE_TONES = {
    "submitted": "wait",
    "changes_requested": "warn",
    "approved": "good",
    "rejected": "bad",
    "withdrawn": "idle",
    "active": "good",
    "ended": "idle",
    "in_force": "good",
    "waiting": "wait",
    "leaving": "warn",
}


@register.filter
def money(value: Money | None) -> str:
    """Return "1 234.50 EUR", or "no data"."""
    return NO_DATA if value is None else render_money(value, separator=THIN)


@register.filter
def number(value: int | None) -> str:
    """Return a whole number with its thousands apart, or "no data"."""
    return NO_DATA if value is None else f"{value:,}".replace(",", THIN)


@register.filter
def hours(unit_seconds: int | None) -> str:
    """Return unit-seconds as hours, for reading: two places, never 0 for what is not 0."""
    if unit_seconds is None:
        return NO_DATA
    hundredths = round(Fraction(unit_seconds, 36))
    if unit_seconds and not hundredths:
        return "< 0.01"
    text = f"{Decimal(hundredths).scaleb(-2):,.2f}".replace(",", THIN)
    return text.removesuffix(".00")


@register.filter
def duration(seconds: int | None) -> str:
    """Return elapsed seconds as "3 d 04:05:06"."""
    if seconds is None:
        return NO_DATA
    days, rest = divmod(seconds, 86_400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days} d {clock}" if days else clock


@register.filter
def moment(value: datetime | None) -> str:
    """Return an instant in the site's zone, with the zone's name."""
    if value is None:
        return NO_DATA
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}">{} {}</time>',
        value.astimezone(UTC).isoformat(),
        f"{local.day} {local:%b %Y, %H:%M}",
        local.tzname(),
    )


@register.filter
def day(value: date | None) -> str:
    """Return a date as "30 Nov 2026"."""
    if value is None:
        return NO_DATA
    return format_html(
        '<time datetime="{}">{}</time>', value.isoformat(), f"{value.day} {value:%b %Y}"
    )


@register.filter
def last_day(value: date | None) -> str:
    """Return the last day of a half-open period's end."""
    return day(value - timedelta(days=1)) if value else NO_DATA


@register.filter
def month_name(value: date) -> str:
    """Return "November 2026"."""
    return f"{value:%B %Y}"


@register.filter
def age(value: datetime | None, now: datetime) -> str:
    """Return how long ago an instant was: "4 min ago", or "never"."""
    if value is None:
        return "never"
    seconds = int((now - value).total_seconds())
    if seconds < 60:
        return "just now"
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size}{THIN}{unit} ago"
    return "just now"


@register.filter
def person(user: object) -> str:
    """Return a person's name, or the login where there is no name."""
    name = getattr(user, "get_full_name", str)()
    return name or getattr(user, "username", "") or "no data"


@register.simple_tag
def badge(tone: str, label: str) -> SafeString:
    """Return a state with its mark: the colour never speaks alone."""
    return format_html(
        '<span class="badge-state is-{}"><span class="glyph" aria-hidden="true">{}</span>{}</span>',
        tone,
        TONE_MARKS.get(tone, "○"),
        label,
    )


@register.simple_tag
def state_badge(state: str, label: str) -> SafeString:
    """Return the badge of a stored state."""
    return badge(STATE_TONES.get(state, "idle"), label)


@register.simple_tag
def usage_bar(used: int | None, granted: int, label: str) -> SafeString:
    """Return a bar of what is used of what was granted, or "no data"."""
    if used is None:
        return format_html('<span class="bar-none">{}: {}</span>', label, NO_DATA)
    percent = min(Fraction(used * 100, granted), Fraction(100)) if granted else Fraction(0)
    width = f"{Decimal(round(percent * 10)).scaleb(-1)}%"
    tone = "bad" if percent >= 100 else "warn" if percent > 80 else "good"
    return format_html(
        '<svg class="bar is-{}" role="img" aria-label="{}" width="100%" height="8">'
        '<rect class="bar-track" width="100%" height="8" rx="4"></rect>'
        '<rect class="bar-fill" width="{}" height="8" rx="4"></rect></svg>',
        tone,
        f"{label}: {round(percent)} % used",
        width,
    )


@dataclass(frozen=True, slots=True)
class SummaryItem:
    """One sentence of an error summary, and the field that it leads to."""

    text: str
    target: str


@register.simple_tag
def error_summary(*several: Any) -> list[SummaryItem]:
    """Return what is wrong in forms and formsets, in the order of their fields."""
    items: list[SummaryItem] = []
    for one in several:
        forms = getattr(one, "forms", None)
        if forms is None:
            items += _summarise(one)
            continue
        if one.is_bound:
            items += [SummaryItem(str(text), "") for text in one.non_form_errors()]
        for number, form in enumerate(forms, start=1):
            items += _summarise(form, f"Line {number}: " if len(forms) > 1 else "")
    return items


def _summarise(form: Any, before: str = "") -> list[SummaryItem]:
    items = [SummaryItem(f"{before}{text}", "") for text in form.non_field_errors()]
    for field in form:
        target = "" if field.is_hidden else field.id_for_label
        items += [SummaryItem(f"{before}{text}", target) for text in field.errors]
    return items


@register.simple_tag
def occupancy_bar(used: int, total: int, label: str) -> SafeString:
    """Return a bar of the units that are taken; a full pool is no alarm."""
    percent = min(Fraction(used * 100, total), Fraction(100)) if total else Fraction(0)
    return format_html(
        '<svg class="bar is-good" role="img" aria-label="{}" width="100%" height="8">'
        '<rect class="bar-track" width="100%" height="8" rx="4"></rect>'
        '<rect class="bar-fill" width="{}%" height="8" rx="4"></rect></svg>',
        f"{label}: {used} of {total} in use",
        Decimal(round(percent * 10)).scaleb(-1),
    )


@register.filter
def at(values: Any, index: int) -> Any:
    """Return the value at an index, or None beyond the end."""
    return values[index] if index < len(values) else None


@register.filter
def look_up(values: Any, key: str) -> str:
    """Return a name for a key, or the key itself."""
    return str(values.get(key, key))


JOB_TONES = {
    "RUNNING": "good",
    "COMPLETED": "good",
    "COMPLETING": "good",
    "PENDING": "wait",
    "SUSPENDED": "wait",
    "PREEMPTED": "warn",
    "REQUEUED": "warn",
    "TIMEOUT": "warn",
    "CANCELLED": "idle",
}


@register.simple_tag
def job_badge(state: str) -> SafeString:
    """Return the badge of Slurm's job state."""
    return badge(JOB_TONES.get(state, "bad"), state.replace("_", " ").capitalize())


@register.filter
def gpus(alloc_tres: str) -> str:
    """Return the typed GPUs of a job's TRES, "4 × a100"; the rest where it has none."""
    found = []
    for part in alloc_tres.split(","):
        name, _, count = part.partition("=")
        if name.startswith("gres/gpu:"):
            found.append(f"{count} × {name.removeprefix('gres/gpu:')}")
    return ", ".join(found) or ("no GPU" if alloc_tres else "no data")


@register.filter
def unit_price(line: ChargeLine) -> str:
    """Return a charge line's price per unit-hour."""
    return money(Money(line.unit_price, line.currency))


@register.filter
def short_option(option: str) -> str:
    """Return a purchase option in running text: "on demand", "spot"."""
    return PurchaseOption(option).label.partition(" (")[0].lower()


@register.filter
def pairs(spec: str) -> list[str]:
    """Return the parts of a readable "Name=value, Name=value"."""
    return spec.split(", ") if spec else []


@register.filter
def breakable(text: str) -> SafeString:
    """Return a text that may break after its commas, and so not within a word."""
    return format_html_join(mark_safe(",<wbr>"), "{}", ((part,) for part in text.split(",")))


@register.simple_tag
def person_cell(names: Mapping[str, str], unix_name: str) -> str:
    """Return who stands behind a login of the cluster: the name where the portal knows it."""
    if not unix_name:
        return NO_DATA
    name = names.get(unix_name)
    if name is None:
        return format_html("<code>{}</code>", unix_name)
    return format_html('{} <small class="fw-normal">{}</small>', name, unix_name)
