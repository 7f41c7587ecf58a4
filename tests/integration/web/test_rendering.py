"""How numbers, instants and charts read: exact where it counts, and never 0 for unknown."""

from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from xml.etree import ElementTree
from zoneinfo import ZoneInfo

import pytest
from django.utils import timezone

from accounting.money import Currency, Money
from portal.web.charts import Bar, BarChart, find_axis_top, render_bar_chart
from portal.web.converters import MonthConverter
from portal.web.presenters.usage import next_month, previous_month
from portal.web.templatetags import portal as tags

EUR = Currency("EUR")
NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
SVG = "{http://www.w3.org/2000/svg}"


def make_chart(*values: tuple[int, ...], title: str = "Cost") -> BarChart:
    bars = tuple(
        Bar(str(number), f"day {number}", tuple(Fraction(value) for value in row))
        for number, row in enumerate(values, start=1)
    )
    return BarChart(title, "One bar a day.", "EUR", ("a", "b"), bars)


def read_svg(chart: BarChart) -> ElementTree.Element:
    return ElementTree.fromstring(render_bar_chart(chart))


def test_a_chart_has_a_title_a_description_and_a_bar_for_each_value() -> None:
    svg = read_svg(make_chart((3, 1), (0, 0), (2, 0)))
    assert svg.attrib["aria-labelledby"] == "chart-title chart-desc"
    assert [one.text for one in svg.findall("title")] == ["Cost"]
    assert [one.text for one in svg.findall("desc")] == ["One bar a day."]
    assert len(svg.findall("g")) == 3
    assert [one.attrib["class"] for one in svg.iter("rect")] == ["series-0", "series-1", "series-0"]


def test_stacked_bars_stand_on_one_another() -> None:
    low, high = list(read_svg(make_chart((3, 1))).iter("rect"))
    top_of_low = float(low.attrib["y"])
    assert float(high.attrib["y"]) + float(high.attrib["height"]) == pytest.approx(top_of_low)
    assert float(low.attrib["height"]) == pytest.approx(3 * float(high.attrib["height"]), abs=0.2)


def test_texts_in_a_chart_are_escaped_and_nothing_is_styled_inline() -> None:
    text = render_bar_chart(make_chart((1, 1), title="<script>alert('x')</script>"))
    assert "<script" not in text
    assert "style" not in text


def test_a_chart_of_nothing_has_an_axis_only() -> None:
    assert not list(read_svg(make_chart()).iter("rect"))
    assert not list(read_svg(make_chart((0, 0))).iter("rect"))


@pytest.mark.parametrize(
    ("highest", "top"),
    [
        ("0", "1"),
        ("1", "1"),
        ("1.01", "2"),
        ("3", "4"),
        ("134", "200"),
        ("0.03", "0.04"),
        ("9", "10"),
    ],
)
def test_an_axis_ends_at_a_round_number(highest: str, top: str) -> None:
    assert find_axis_top(Fraction(highest)) == Fraction(top)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0"),
        (1, "< 0.01"),
        (36, "0.01"),
        (3600, "1"),
        (5400, "1.50"),
        (3600 * 1_234_567, "1\u202f234\u202f567"),
        (7800, "2.17"),
    ],
)
def test_unit_seconds_read_as_hours(seconds: int, text: str) -> None:
    assert tags.hours(seconds) == text


def test_unknown_is_no_data_and_never_zero() -> None:
    for render in (tags.hours, tags.money, tags.number, tags.moment, tags.day, tags.duration):
        assert "no data" in render(None)
    assert "no data" in tags.usage_bar(None, 100, "A100")


def test_money_keeps_every_digit_and_names_its_currency() -> None:
    assert tags.money(Money("1234.5", EUR)) == "1\u202f234.50 EUR"
    assert tags.money(Money("0.000001", EUR)) == "0.000001 EUR"
    assert tags.money(Money("1500", Currency("JPY", 0))) == "1\u202f500 JPY"


def test_instants_are_shown_in_the_current_zone_with_its_name() -> None:
    with timezone.override(ZoneInfo("Asia/Shanghai")):
        text = tags.moment(NOW)
    assert "16 Nov 2026, 17:00 CST" in text
    assert 'datetime="2026-11-16T09:00:00+00:00"' in text


@pytest.mark.parametrize(
    ("ago", "text"),
    [
        (timedelta(seconds=5), "just now"),
        (timedelta(minutes=4), "4\u202fmin ago"),
        (timedelta(hours=30), "1\u202fd ago"),
        (timedelta(seconds=-30), "just now"),
    ],
)
def test_an_age_is_told_in_its_largest_unit(ago: timedelta, text: str) -> None:
    assert tags.age(NOW - ago, NOW) == text
    assert tags.age(None, NOW) == "never"


def test_a_bar_tells_its_share_in_words() -> None:
    bar = tags.usage_bar(85, 100, "A100")
    assert 'aria-label="A100: 85 % used"' in bar
    assert "is-warn" in bar
    assert 'width="100' in tags.usage_bar(300, 100, "A100")


def test_months_follow_one_another_over_the_year() -> None:
    assert next_month(date(2026, 12, 1)) == date(2027, 1, 1)
    assert previous_month(date(2026, 1, 1)) == date(2025, 12, 1)
    assert MonthConverter().to_url(date(2026, 3, 1)) == "2026-03"
