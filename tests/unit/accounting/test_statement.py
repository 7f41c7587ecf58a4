"""Lines are rounded once, statements are sums of lines, and the CSV is the same every time."""

import csv
import io
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import StatementError
from accounting.export import CSV_COLUMNS, guard_text, write_csv
from accounting.money import Currency, Money, round_posting, sum_money
from accounting.rates import Rate, price_usage
from accounting.statement import (
    ChargeItem,
    ChargeLine,
    Statement,
    make_charge_lines,
    render_money,
    render_unit_hours,
)

CNY = Currency("CNY")
T0 = datetime(2026, 1, 1, tzinfo=UTC)
RATES = {
    name: Rate(name, "a100", "on_demand", None, Decimal(price), CNY, T0)
    for name, price in (("list", "12.50"), ("odd", "0.333333"))
}


def _item(
    seconds: int, *, project: str = "p1001", rate: str = "list", **more: object
) -> ChargeItem:
    texts = {
        "period": "2026-03",
        "organisation": "physics",
        "cost_centre": "CC-1",
        "user": "u1",
        "offering": "a100",
        "purchase_option": "on_demand",
        "tres": "gres/gpu:a100",
    }
    values = {**texts, "project": project, "rate": RATES[rate], "unit_seconds": seconds, **more}
    return ChargeItem(**values)  # type: ignore[arg-type]


ITEMS = st.lists(
    st.builds(
        lambda seconds, project, rate, user: _item(seconds, project=project, rate=rate, user=user),
        st.integers(0, 10**7),
        st.sampled_from(["p1001", "p1002", "p1003"]),
        st.sampled_from(sorted(RATES)),
        st.sampled_from(["u1", "u2"]),
    ),
    max_size=30,
)


def _write(lines: tuple[ChargeLine, ...]) -> str:
    stream = io.StringIO(newline="")
    write_csv(Statement("2026-03", lines), stream)
    return stream.getvalue()


def test_rounds_a_line_once_and_not_per_job() -> None:
    (line,) = make_charge_lines(_item(1, rate="list") for _ in range(3600))
    assert line.amount == Money("12.50", CNY)
    assert (line.unit_seconds, line.job_count) == (3600, 3600)


def test_keeps_rates_apart_and_leaves_out_lines_of_no_seconds() -> None:
    lines = make_charge_lines([_item(5), _item(5, rate="odd"), _item(0, user="u9")])
    assert {line.rate_id for line in lines} == {"list", "odd"}
    assert make_charge_lines([_item(5), _item(-5)]) == ()


def test_lines_that_differ_by_their_rate_alone_stand_in_the_order_of_its_number() -> None:
    rates = [replace(RATES["list"], rate_id=name) for name in ("100", "9", "10")]
    lines = make_charge_lines(replace(_item(60), rate=rate) for rate in rates)
    assert [line.rate_id for line in lines] == ["9", "10", "100"]


def test_refuses_one_rate_id_for_two_rates() -> None:
    twin = Rate("list", "a100", "on_demand", None, Decimal("1"), CNY, T0)
    with pytest.raises(StatementError):
        make_charge_lines([_item(5), replace(_item(5), rate=twin)])
    same = replace(RATES["list"])
    assert len(make_charge_lines([_item(5), replace(_item(5), rate=same)])) == 1


@given(ITEMS, st.randoms())
def test_any_order_and_any_batches_give_the_same_lines(
    items: list[ChargeItem], random: Random
) -> None:
    lines = make_charge_lines(items)
    shuffled = list(items)
    random.shuffle(shuffled)
    assert make_charge_lines(shuffled) == lines
    assert _write(make_charge_lines(shuffled)) == _write(lines[::-1])


@given(ITEMS)
def test_every_total_is_the_sum_of_its_lines(items: list[ChargeItem]) -> None:
    lines = make_charge_lines(items)
    statement = Statement("2026-03", lines)
    total = sum_money((line.amount for line in lines), CNY)
    for sums in (
        statement.sum_by_project(),
        statement.sum_by_organisation(),
        statement.sum_by_cost_centre(),
        statement.sum_by_currency(),
    ):
        assert sum_money(sums.values(), CNY) == total
    for (project, _), money in statement.sum_by_project().items():
        own = (line.amount for line in lines if line.project == project)
        assert sum_money(own, CNY) == money
    assert sum(line.unit_seconds for line in lines) == sum(item.unit_seconds for item in items)
    for line in lines:
        assert line.amount == round_posting(price_usage(line.unit_seconds, line.unit_price), CNY)


def test_refuses_lines_of_another_period() -> None:
    lines = make_charge_lines([_item(5)])
    with pytest.raises(StatementError):
        Statement("2026-04", lines)
    with pytest.raises(StatementError):
        make_charge_lines([_item(5, period="2026-13")])
    with pytest.raises(StatementError):
        Statement("March", ())


def test_writes_these_bytes() -> None:
    lines = make_charge_lines([_item(43200), _item(100, rate="odd", user="u2")])
    assert _write(lines) == (
        "period,organisation,cost_centre,project,user,offering,tres,purchase_option,rate_id,jobs,"
        "unit_seconds,unit_hours,unit_price,amount,currency\r\n"
        "2026-03,physics,CC-1,p1001,u1,a100,gres/gpu:a100,on_demand,list,1,"
        "43200,12.000000,12.50,150.00,CNY\r\n"
        "2026-03,physics,CC-1,p1001,u2,a100,gres/gpu:a100,on_demand,odd,1,"
        "100,0.027778,0.333333,0.01,CNY\r\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "=1+1",
        "+1",
        "-1",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        "  =1",
        "＝1",
        "=HYPERLINK()",
    ],
)
def test_a_formula_in_a_name_is_only_text(text: str) -> None:
    cell = guard_text(text)
    assert cell == "'" + text
    rows = list(
        csv.DictReader(io.StringIO(_write(make_charge_lines([_item(60, user=text)])), newline=""))
    )
    assert rows[0]["user"] == cell


@pytest.mark.parametrize("text", ["", "u1", "a=b", "gres/gpu:1g.10gb", "日本", "a-b@c"])
def test_plain_text_is_left_alone(text: str) -> None:
    assert guard_text(text) == text


def test_a_correction_stays_a_number() -> None:
    rows = list(csv.DictReader(io.StringIO(_write(make_charge_lines([_item(-3600)])))))
    assert (rows[0]["amount"], rows[0]["unit_seconds"]) == ("-12.50", "-3600")
    assert list(rows[0]) == list(CSV_COLUMNS)


@pytest.mark.parametrize(
    ("amount", "text"),
    [("1234567.8", "1,234,567.80 CNY"), ("-1234", "-1,234.00 CNY"), ("0.005", "0.005 CNY")],
)
def test_groups_thousands_for_people(amount: str, text: str) -> None:
    assert render_money(Money(amount, CNY)) == text


@given(st.integers(-(10**15), 10**15))
def test_unit_hours_are_within_half_a_millionth(unit_seconds: int) -> None:
    text = render_unit_hours(unit_seconds)
    assert abs(Fraction(text) - Fraction(unit_seconds, 3600)) <= Fraction(1, 2 * 10**6)
