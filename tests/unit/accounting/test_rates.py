"""Prices: found by date and owner, split at a change, and exact."""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import MoneyError, NoRateError, RateError
from accounting.money import Currency
from accounting.rates import Rate, RateCard, price_usage
from accounting.usage import UnitUsage

CNY = Currency("CNY")
T0 = datetime(2026, 3, 1, tzinfo=UTC)


def _rate(
    rate_id: str,
    price: str = "10",
    *,
    start: int = 0,
    end: int | None = None,
    organisation: str | None = None,
    option: str = "on_demand",
) -> Rate:
    return Rate(
        rate_id,
        "a100",
        option,
        organisation,
        Decimal(price),
        CNY,
        T0 + timedelta(seconds=start),
        None if end is None else T0 + timedelta(seconds=end),
    )


def _usage(seconds: int, *, units: int = 2, suspended: int = 0) -> UnitUsage:
    end_at = T0 + timedelta(seconds=seconds + suspended)
    return UnitUsage("gres/gpu:a100", units, seconds, units * seconds, T0, end_at, True, False)


def test_the_organisations_own_price_comes_first() -> None:
    card = RateCard([_rate("list"), _rate("own", organisation="physics", start=100, end=200)])
    assert card.find("a100", "on_demand", "physics", T0).rate_id == "list"
    assert card.find("a100", "on_demand", "physics", T0 + timedelta(seconds=100)).rate_id == "own"
    assert card.find("a100", "on_demand", "physics", T0 + timedelta(seconds=200)).rate_id == "list"
    assert card.find("a100", "on_demand", "biology", T0 + timedelta(seconds=150)).rate_id == "list"
    assert card.find("a100", "on_demand", None, T0 + timedelta(seconds=150)).rate_id == "list"


@pytest.mark.parametrize(
    ("offering", "option", "seconds"),
    [("a100", "spot", 0), ("h100", "on_demand", 0), ("a100", "on_demand", -1)],
)
def test_says_which_price_is_missing(offering: str, option: str, seconds: int) -> None:
    card = RateCard([_rate("list", end=100)])
    with pytest.raises(NoRateError) as caught:
        card.find(offering, option, "physics", T0 + timedelta(seconds=seconds))
    for word in (offering, option, "physics", "2026-0"):
        assert word in str(caught.value)
    with pytest.raises(NoRateError):
        card.find("a100", "on_demand", None, T0 + timedelta(seconds=100))
    with pytest.raises(NoRateError):
        card.split(_usage(101), "a100", "on_demand", None)


def test_refuses_rates_that_overlap() -> None:
    for rates in (
        [_rate("a"), _rate("b", start=10)],
        [_rate("b", start=10, end=20), _rate("a", end=11)],
        [_rate("a"), _rate("a")],
    ):
        with pytest.raises(RateError):
            RateCard(rates)
    RateCard([_rate("a", end=10), _rate("b", start=10), _rate("c", organisation="physics")])


def test_refuses_a_rate_that_cannot_be_right() -> None:
    with pytest.raises(RateError):
        _rate("a", "-1")
    with pytest.raises(RateError):
        _rate("a", start=10, end=10)
    with pytest.raises(MoneyError):
        _rate("a", "NaN")
    with pytest.raises(TypeError):
        Rate("a", "a100", "spot", None, 0.5, CNY, T0)  # type: ignore[arg-type]
    with pytest.raises(RateError):
        Rate("a", "a100", "spot", None, Decimal(1), CNY, T0.replace(tzinfo=None))


def test_splits_at_the_instant_of_a_change() -> None:
    card = RateCard([_rate("old", end=1000), _rate("new", "12", start=1000)])
    old, new = card.split(_usage(3600), "a100", "on_demand", "physics")
    assert (old.rate.rate_id, old.unit_seconds) == ("old", 2000)
    assert (new.rate.rate_id, new.unit_seconds) == ("new", 5200)
    assert old.end_at == new.start_at == T0 + timedelta(seconds=1000)


def test_a_change_that_does_not_apply_does_not_split() -> None:
    card = RateCard(
        [_rate("list", end=50), _rate("list2", start=50), _rate("own", organisation="physics")]
    )
    (part,) = card.split(_usage(100), "a100", "on_demand", "physics")
    assert (part.rate.rate_id, part.unit_seconds) == ("own", 200)
    assert (part.start_at, part.end_at) == (T0, T0 + timedelta(seconds=100))


@given(
    st.integers(0, 10_000),
    st.integers(0, 5_000),
    st.lists(st.integers(1, 15_000), max_size=6, unique=True),
    st.integers(1, 64),
)
def test_the_parts_add_up_whatever_the_prices(
    seconds: int, suspended: int, changes: list[int], units: int
) -> None:
    edges: list[int | None] = [0, *sorted(changes), None]
    rates = [
        _rate(f"r{n}", str(n), start=start or 0, end=end)
        for n, (start, end) in enumerate(pairwise(edges))
    ]
    usage = _usage(seconds, units=units, suspended=suspended)
    parts = RateCard(rates).split(usage, "a100", "on_demand", None)
    assert sum(part.unit_seconds for part in parts) == usage.unit_seconds
    for part in parts:
        assert part.rate.starts_at <= part.start_at
        assert part.rate.ends_at is None or part.end_at <= part.rate.ends_at


def test_a_price_is_exact() -> None:
    assert price_usage(1, Decimal("10")) == Fraction(1, 360)
    assert price_usage(-3600, Decimal("1.25")) == Fraction(-5, 4)
    for seconds in (1.0, True, Decimal(1)):
        with pytest.raises(TypeError):
            price_usage(seconds, Decimal(1))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        price_usage(1, 0.1)  # type: ignore[arg-type]
