"""Metering: windows, split jobs, suspension, and sums that always come out."""

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.usage import (
    Window,
    clip_run,
    meter,
    month_label,
    month_window,
    months_between,
)
from tests.unit.accounting.builders import START, build_record

LATER = START + timedelta(days=3650)
WHOLE = Window(START - timedelta(days=400), LATER)
SPANS = st.integers(0, 200_000)


def _cut(edges: list[int]) -> list[Window]:
    inner = sorted({START + timedelta(seconds=edge) for edge in edges})
    instants = [WHOLE.start_at, *inner, WHOLE.end_at]
    return [Window(a, b) for a, b in pairwise(instants)]


@given(SPANS, SPANS, st.lists(st.integers(-10, 400_010), max_size=8))
def test_the_windows_add_up_to_the_whole(elapsed: int, suspended: int, edges: list[int]) -> None:
    record = build_record(
        elapsed_seconds=elapsed, suspended_seconds=suspended, tres=(("gres/gpu", 3),)
    )
    uses = [use for window in _cut(edges) for use in meter(record, window, as_of=LATER)]
    assert sum(use.elapsed_seconds for use in uses) == elapsed
    assert sum(use.unit_seconds for use in uses) == elapsed * 3
    for use in uses:
        assert use.unit_seconds == use.units * use.elapsed_seconds
        assert 0 < use.elapsed_seconds <= (use.end_at - use.start_at).total_seconds()
        assert use.is_final


@given(SPANS, st.integers(0, 400_000))
def test_without_suspension_a_part_is_the_overlap(elapsed: int, edge: int) -> None:
    record = build_record(elapsed_seconds=elapsed, tres=(("gres/gpu", 1),))
    early = Window(WHOLE.start_at, START + timedelta(seconds=edge))
    seconds = sum(use.unit_seconds for use in meter(record, early, as_of=LATER))
    assert seconds == min(edge, elapsed)
    assert not any(use.is_split_estimated for use in meter(record, early, as_of=LATER))


@given(st.permutations([0, 5, 60, 3599, 3600, 3601, 9000]))
def test_the_order_and_the_batches_of_records_do_not_matter(lengths: list[int]) -> None:
    window = Window(START, START + timedelta(seconds=3600))
    totals = {
        length: meter(build_record(elapsed_seconds=length), window, as_of=LATER)
        for length in lengths
    }
    assert sum(use.unit_seconds for uses in totals.values() for use in uses) == (
        2 * (5 + 60 + 3599 + 3600 + 3600 + 3600)
    )


def test_marks_the_split_of_a_suspended_job_as_estimated() -> None:
    record = build_record(elapsed_seconds=3600, suspended_seconds=3600)
    half = START + timedelta(hours=1)
    for window in (Window(WHOLE.start_at, half), Window(half, WHOLE.end_at)):
        (use,) = meter(record, window, as_of=LATER)
        assert use.is_split_estimated
        assert use.elapsed_seconds == 1800
    (use,) = meter(record, WHOLE, as_of=LATER)
    assert not use.is_split_estimated


def test_an_estimated_split_of_an_open_job_is_not_final() -> None:
    record = build_record(state="RUNNING", elapsed_seconds=3600, suspended_seconds=3600)
    early = Window(WHOLE.start_at, START + timedelta(hours=1))
    (use,) = meter(record, early, as_of=LATER)
    assert use.is_split_estimated
    assert not use.is_final


@pytest.mark.parametrize(("hours", "is_final"), [(1, True), (2, True), (3, False)])
def test_a_window_that_an_open_job_ran_through_is_final(hours: int, is_final: bool) -> None:
    record = build_record(state="RUNNING", elapsed_seconds=7200)
    window = Window(WHOLE.start_at, START + timedelta(hours=hours))
    (use,) = meter(record, window, as_of=LATER)
    assert use.is_final is is_final
    assert use.elapsed_seconds == min(hours, 2) * 3600


def test_an_open_job_is_counted_to_what_sacct_saw_and_not_past_the_clock() -> None:
    record = build_record(state="RUNNING", elapsed_seconds=7200)
    (use,) = meter(record, WHOLE, as_of=LATER)
    assert use.end_at == START + timedelta(seconds=7200)
    clock = START + timedelta(seconds=100, microseconds=7)
    (use,) = meter(record, WHOLE, as_of=clock)
    assert (use.elapsed_seconds, use.end_at) == (100, START + timedelta(seconds=100))
    assert meter(record, WHOLE, as_of=START) == ()


def test_a_final_job_is_never_cut_by_a_clock_that_is_behind() -> None:
    record = build_record(elapsed_seconds=7200)
    (use,) = meter(record, WHOLE, as_of=START)
    assert use.elapsed_seconds == 7200


def test_gives_nothing_without_gpus_or_seconds() -> None:
    assert meter(build_record(tres=(("cpu", 8),)), WHOLE, as_of=LATER) == ()
    assert meter(build_record(elapsed_seconds=0), WHOLE, as_of=LATER) == ()
    assert clip_run(build_record(tres=(("cpu", 8),)), WHOLE, as_of=LATER) is not None


def test_a_window_is_aware_whole_and_not_empty() -> None:
    for start_at, end_at in (
        (START.replace(tzinfo=None), LATER),
        (START, START),
        (LATER, START),
        (START, LATER.replace(microsecond=1)),
    ):
        with pytest.raises((ValueError, TypeError)):
            Window(start_at, end_at)


def test_a_month_is_the_sites_own() -> None:
    march = month_window(2026, 3, ZoneInfo("Europe/Berlin"))
    assert march.start_at == datetime(2026, 2, 28, 23, tzinfo=UTC)
    assert march.end_at == datetime(2026, 3, 31, 22, tzinfo=UTC)
    december = month_window(2026, 12, ZoneInfo("Asia/Shanghai"))
    assert december.end_at == datetime(2026, 12, 31, 16, tzinfo=UTC)


@given(
    st.sampled_from(
        ["UTC", "Asia/Shanghai", "America/New_York", "America/Asuncion", "Asia/Beirut"]
    ),
    st.integers(2000, 2037),
    st.integers(1, 12),
)
def test_months_join_without_gap_or_overlap(zone: str, year: int, month: int) -> None:
    time_zone = ZoneInfo(zone)
    this = month_window(year, month, time_zone)
    year_after, month_after = (year + 1, 1) if month == 12 else (year, month + 1)
    assert this.end_at == month_window(year_after, month_after, time_zone).start_at
    assert list(months_between(this.start_at, this.end_at, time_zone)) == [(year, month)]


def test_lists_the_months_that_an_interval_touches() -> None:
    zone = ZoneInfo("Asia/Shanghai")
    end_of_year = datetime(2026, 12, 31, 16, tzinfo=UTC)
    assert list(months_between(datetime(2026, 10, 31, 16, tzinfo=UTC), end_of_year, zone)) == [
        (2026, 11),
        (2026, 12),
    ]
    assert list(months_between(end_of_year, end_of_year, zone)) == []
    assert month_label(2027, 1) == "2027-01"
