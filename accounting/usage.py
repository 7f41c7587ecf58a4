"""Meters a job record: whole unit-seconds per GPU type inside a window of time.

A window is half-open, [start_at, end_at). Over any windows that join without a gap, the seconds of
a job add up to its ElapsedRaw exactly.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from zoneinfo import ZoneInfo

from accounting.records import JobRecord
from accounting.tres import gpu_units

_SECOND = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Window:
    """[start_at, end_at): aware instants on whole seconds, start before end; held in UTC."""

    start_at: datetime
    end_at: datetime

    def __post_init__(self) -> None:
        for name in ("start_at", "end_at"):
            instant = getattr(self, name)
            if instant.tzinfo is None or instant.microsecond:
                raise ValueError(f"{name} must be aware and on a whole second, not {instant!r}")
            object.__setattr__(self, name, instant.astimezone(UTC))
        if self.start_at >= self.end_at:
            raise ValueError(f"a window ends after it starts, not {self.start_at}..{self.end_at}")


@dataclass(frozen=True, slots=True)
class UnitUsage:
    """What one job used of one TRES inside one window.

    unit_seconds = units * elapsed_seconds. [start_at, end_at) is the part of the run inside the
    window; it is longer than elapsed_seconds where the job was suspended. is_final: reading the job
    again will not change the window. is_split_estimated: see `clip_run`.
    """

    tres: str
    units: int
    elapsed_seconds: int
    unit_seconds: int
    start_at: datetime
    end_at: datetime
    is_final: bool
    is_split_estimated: bool


@dataclass(frozen=True, slots=True)
class RunClip:
    """The part of a run inside a window, without its resources; fields as in UnitUsage."""

    elapsed_seconds: int
    start_at: datetime
    end_at: datetime
    is_final: bool
    is_split_estimated: bool


def month_window(year: int, month: int, time_zone: ZoneInfo) -> Window:
    """Return the calendar month of a site, from local midnight to local midnight."""
    following = (year + 1, 1) if month == 12 else (year, month + 1)
    return Window(
        datetime(year, month, 1, tzinfo=time_zone).astimezone(UTC),
        datetime(*following, 1, tzinfo=time_zone).astimezone(UTC),
    )


def months_between(
    start_at: datetime, end_at: datetime, time_zone: ZoneInfo
) -> Iterator[tuple[int, int]]:
    """Yield (year, month) of every month that [start_at, end_at) touches in the site's zone.

    Nothing for an empty or reversed interval.
    """
    if start_at >= end_at:
        return
    first, last = start_at.astimezone(time_zone), (end_at - _SECOND / 10**6).astimezone(time_zone)
    year, month = first.year, first.month
    while (year, month) <= (last.year, last.month):
        yield year, month
        year, month = (year + 1, 1) if month == 12 else (year, month + 1)


def month_label(year: int, month: int) -> str:
    """Return "YYYY-MM", the name of a period."""
    return f"{year:04d}-{month:02d}"


def split_seconds(
    elapsed_seconds: int, span_start_at: datetime, span_end_at: datetime, instant: datetime
) -> int:
    """Return how many of the elapsed seconds of a span fall before an instant.

    Spread evenly, and whole: the difference of two calls is the part between two instants, so that
    parts always add up. Where elapsed_seconds is the span itself, the answer is simply the overlap.
    """
    if instant <= span_start_at:
        return 0
    if instant >= span_end_at:
        return elapsed_seconds
    span_seconds = (span_end_at - span_start_at) // _SECOND
    return elapsed_seconds * ((instant - span_start_at) // _SECOND) // span_seconds


def find_observed_end(record: JobRecord, *, as_of: datetime) -> datetime | None:
    """Return the instant up to which the record's use is known; None if it never started.

    A final record is known to its End. An open one to where sacct counted: its End (`sacct -T`
    prints the window's), else Start + ElapsedRaw + Suspended; but never past as_of, cut to whole
    seconds. So a row read once means the same use whenever it is metered again.
    """
    if record.start_at is None:
        return None
    if record.is_final and record.end_at is not None:
        return record.end_at
    counted = timedelta(seconds=record.elapsed_seconds + record.suspended_seconds)
    return min(record.end_at or record.start_at + counted, as_of.replace(microsecond=0))


def clip_run(record: JobRecord, window: Window, *, as_of: datetime) -> RunClip | None:
    """Return the part of a run inside the window, or None where it has no second there.

    Without suspension it is the overlap of [Start, End) with the window. One row does not say when
    a suspension was, so of a suspended job that crosses an edge of the window the elapsed seconds
    are spread evenly over the run, and is_split_estimated is set; the parts still add up to
    ElapsedRaw. is_final: the record is final, or the run was seen to go on to the window's end
    and the split is not an estimate.
    """
    start_at = record.start_at
    observed_end_at = find_observed_end(record, as_of=as_of)
    if start_at is None or observed_end_at is None:
        return None
    part_start_at, part_end_at = max(start_at, window.start_at), min(observed_end_at, window.end_at)
    if part_start_at >= part_end_at:
        return None
    counted_seconds = record.elapsed_seconds + record.suspended_seconds
    span_end_at = start_at + timedelta(seconds=counted_seconds)
    seconds = split_seconds(record.elapsed_seconds, start_at, span_end_at, part_end_at)
    seconds -= split_seconds(record.elapsed_seconds, start_at, span_end_at, part_start_at)
    if seconds == 0:
        return None
    is_cut = part_start_at > start_at or part_end_at < span_end_at
    is_estimated = is_cut and record.suspended_seconds > 0
    return RunClip(
        elapsed_seconds=seconds,
        start_at=part_start_at,
        end_at=part_end_at,
        is_final=record.is_final or (observed_end_at >= window.end_at and not is_estimated),
        is_split_estimated=is_estimated,
    )


def meter(record: JobRecord, window: Window, *, as_of: datetime) -> tuple[UnitUsage, ...]:
    """Return the use of every billable TRES of the job inside the window, sorted by TRES name.

    Nothing for a job without GPUs, one that never started, or one with 0 s in the window. as_of is
    the clock, aware: see `find_observed_end`. What is billable, and why a partial breakdown by type
    is not counted twice, stands in `gpu_units`.
    """
    units = _list_units(record.alloc_tres)
    clip = clip_run(record, window, as_of=as_of) if units else None
    if clip is None:
        return ()
    return tuple(
        UnitUsage(
            tres=tres,
            units=count,
            elapsed_seconds=clip.elapsed_seconds,
            unit_seconds=count * clip.elapsed_seconds,
            start_at=clip.start_at,
            end_at=clip.end_at,
            is_final=clip.is_final,
            is_split_estimated=clip.is_split_estimated,
        )
        for tres, count in units
    )


@lru_cache(maxsize=1 << 14)
def _list_units(alloc_tres: tuple[tuple[str, int], ...]) -> tuple[tuple[str, int], ...]:
    return tuple(gpu_units(dict(alloc_tres)).items())
