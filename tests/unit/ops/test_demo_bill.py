"""The demo's own arithmetic: sacct's rows to amounts, and how a wrong CSV is told."""

from datetime import UTC, datetime
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from portal.ops.demo import bill
from portal.ops.demo.prepare import SITE_FILE

KEY = bill.BillKey("p1001", "sw-jonas", "a100", "on_demand")
START = datetime(2026, 10, 31, 23, tzinfo=UTC)  # November in Berlin
HEADER = "project,user,offering,purchase_option,jobs,unit_seconds,unit_price,amount,currency\n"


@pytest.fixture
def prices():
    return bill.read_prices(SITE_FILE)


def make_row(**changes):
    row = {
        "job": "1",
        "account": "p1001",
        "user": "sw-jonas",
        "partition": "gpu",
        "state": "COMPLETED",
        "start": "2026-11-03T10:00:00",
        "end": "2026-11-03T10:00:07",
        "elapsed": "7",
        "tres": "billing=4,cpu=4,gres/gpu=4,gres/gpu:a100=4,node=1",
    }
    return list({**row, **changes}.values())


def compute(prices, *rows):
    return bill.compute_unit_seconds(rows, prices, START)


def test_multiplies_elapsed_seconds_by_units(prices):
    assert compute(prices, make_row()) == {KEY: 28}


def test_adds_up_jobs_of_the_same_kind(prices):
    assert compute(prices, make_row(), make_row(state="CANCELLED by 0")) == {KEY: 56}


def test_tells_spot_by_the_partition(prices):
    assert compute(prices, make_row(partition="spot")) == {KEY._replace(purchase_option="spot"): 28}


def test_cuts_a_job_that_began_before_the_month(prices):
    row = make_row(start="2026-10-31T22:59:57", end="2026-10-31T23:00:04")
    assert compute(prices, row) == {KEY: 16}


@pytest.mark.parametrize("state", ["RUNNING", "PENDING", "SUSPENDED"])
def test_leaves_open_jobs_out(prices, state):
    assert compute(prices, make_row(state=state, end="Unknown")) == {}


def test_leaves_out_a_job_that_never_started(prices):
    row = make_row(start="Unknown", end="2026-11-03T10:00:00", elapsed="0", tres="")
    assert compute(prices, row) == {}


def test_begins_a_month_at_midnight_of_the_site():
    assert bill.get_month_start("2026-11", ZoneInfo("Europe/Berlin")) == START


@pytest.mark.parametrize(
    ("unit_seconds", "amount"), [(28, "0.0187"), (3600, "2.4"), (0, "0"), (1, "0.0007")]
)
def test_rounds_an_amount_once(unit_seconds, amount):
    assert bill.compute_amount(unit_seconds, Fraction("2.40"), 4) == Fraction(amount)


def test_finds_no_difference_in_a_right_csv(prices):
    text = HEADER + "p1001,sw-jonas,a100,on_demand,1,28,2.40,0.0187,EUR\n"
    assert bill.list_differences(text, {KEY: 28}, prices) == []


@pytest.mark.parametrize(
    "line",
    [
        "p1001,sw-jonas,a100,on_demand,1,28,2.40,0.0188,EUR\n",
        "p1001,sw-jonas,a100,on_demand,1,29,2.40,0.0187,EUR\n",
        "p1001,sw-lea,a100,on_demand,1,28,2.40,0.0187,EUR\n",
        "",
        "p1001,sw-jonas,a100,on_demand,1,28,2.40,0.0187,EUR\n"
        "p1001,sw-jonas,a100-1g-10gb,on_demand,1,1,0.375,0.0001,EUR\n",
    ],
)
def test_tells_a_row_that_is_wrong_missing_or_too_many(prices, line):
    assert bill.list_differences(HEADER + line, {KEY: 28}, prices)
