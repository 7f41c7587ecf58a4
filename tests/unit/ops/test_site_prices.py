"""Dated prices: a new one ends the one before, the past is never rewritten."""

from datetime import UTC, datetime, timedelta

import pytest

from portal.ops.site.prices import DatedPrice, PastPriceError, plan_prices

NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)
JANUARY = datetime(2026, 1, 1, tzinfo=UTC)
JULY = datetime(2026, 7, 1, tzinfo=UTC)
AUGUST = datetime(2026, 8, 1, tzinfo=UTC)


def plan(stored, wanted, **options):
    return [change.after for change in plan_prices(stored, wanted, now=NOW, **options)]


def test_stores_a_first_price_even_for_the_past():
    assert plan([], [DatedPrice(JANUARY, 100)]) == [DatedPrice(JANUARY, 100, None)]


def test_ends_a_price_where_the_next_begins():
    stored = [DatedPrice(JANUARY, 100)]
    wanted = [DatedPrice(JANUARY, 100), DatedPrice(JULY, 120)]
    assert plan(stored, wanted) == [DatedPrice(JANUARY, 100, JULY), DatedPrice(JULY, 120, None)]


def test_changes_nothing_the_second_time():
    stored = [DatedPrice(JANUARY, 100, JULY), DatedPrice(JULY, 120)]
    wanted = [DatedPrice(JANUARY, 100), DatedPrice(JULY, 120)]
    assert all(change.before == change.after for change in plan_prices(stored, wanted, now=NOW))


def test_keeps_a_stored_price_that_the_file_does_not_name():
    stored = [DatedPrice(JANUARY, 100)]
    assert plan(stored, [DatedPrice(JULY, 120)])[0] == DatedPrice(JANUARY, 100, JULY)


def test_puts_a_price_between_two_others():
    stored = [DatedPrice(JANUARY, 100, AUGUST), DatedPrice(AUGUST, 150)]
    assert plan(stored, [DatedPrice(JULY, 120)]) == [
        DatedPrice(JANUARY, 100, JULY),
        DatedPrice(JULY, 120, AUGUST),
        DatedPrice(AUGUST, 150, None),
    ]


def test_changes_a_price_that_has_not_begun():
    assert plan([DatedPrice(JULY, 120)], [DatedPrice(JULY, 130)]) == [DatedPrice(JULY, 130, None)]


def test_refuses_to_change_a_price_that_has_begun():
    with pytest.raises(PastPriceError, match="has begun already"):
        plan([DatedPrice(JANUARY, 100)], [DatedPrice(JANUARY, 101)])


@pytest.mark.parametrize("start", [NOW, NOW - timedelta(hours=12), JANUARY + timedelta(days=1)])
def test_refuses_a_price_that_would_take_the_place_of_another_in_the_past(start):
    with pytest.raises(PastPriceError, match="tomorrow at the earliest"):
        plan([DatedPrice(JANUARY, 100)], [DatedPrice(start, 101)])


def test_refuses_an_own_price_where_the_list_price_was_in_force():
    with pytest.raises(PastPriceError):
        plan([], [DatedPrice(JANUARY, 100)], is_past_priced=True)


def test_leaves_an_end_that_has_passed():
    ended = DatedPrice(JANUARY, 100, JANUARY + timedelta(days=9))
    assert plan([ended], [DatedPrice(JULY, 120)])[0] == ended
