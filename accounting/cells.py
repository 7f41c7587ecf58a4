"""Reads single cells of sacct's output: instants, spans, counts, states, TRES lists, keys.

Cells repeat from row to row (a submit burst, a few TRES shapes), so the readers remember.
"""

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache

from accounting.errors import RecordFormatError
from accounting.tres import gpu_units, parse_tres

# Slurm's 0, NO_VAL and INFINITE (32 and 64 bits), as SLURM_TIME_FORMAT=%s prints them.
_NO_INSTANT = frozenset(
    {"", "Unknown", "None", "N/A", "0", "4294967294", "4294967295"}
    | {"18446744073709551614", "18446744073709551615"}
)
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(Z|[+-][0-9]{2}:?[0-9]{2})?"
)
_SPAN = re.compile(r"(?:([0-9]{1,6})-)?(?:([0-9]{1,6}):)?([0-9]{1,3}):([0-9]{2})(?:\.0+)?")
_STATE = re.compile(r"([A-Z][A-Z_]*)(?: BY \S+)?")
_WALL_TIME_LENGTH = len("2026-03-01T00:00:00")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNSET_UIDS = frozenset({"", "4294967294", "4294967295"})


@lru_cache(maxsize=1 << 16)
def parse_instant(text: str) -> datetime | None:
    """Return an aware UTC instant, or None for Unknown, None and unset.

    A wall time without an offset is UTC; digits alone are seconds since 1970.
    """
    if text in _NO_INSTANT:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 11:
        return _EPOCH + timedelta(seconds=int(text))
    if not _INSTANT.fullmatch(text):
        raise RecordFormatError(f"not a time: {text[:80]!r}")
    try:
        if len(text) == _WALL_TIME_LENGTH:
            return datetime.fromisoformat(text + "+00:00")
        return datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise RecordFormatError(f"not a time: {text[:80]!r}") from error


@lru_cache(maxsize=1 << 14)
def parse_span(text: str) -> int | None:
    """Return the seconds of [D-][HH:]MM:SS or of plain digits; None for an empty cell."""
    if not text:
        return None
    if text.isascii() and text.isdigit() and len(text) <= 12:
        return int(text)
    match = _SPAN.fullmatch(text)
    if match is None:
        raise RecordFormatError(f"not a span of time: {text[:80]!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in match.groups())
    return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def parse_int(text: str, name: str) -> int:
    """Return a count of ASCII digits; a sign, a space or an empty cell is refused."""
    if not text.isdigit() or not text.isascii() or len(text) > 20:
        raise RecordFormatError(f"{name} is no count: {text[:80]!r}")
    return int(text)


@lru_cache(maxsize=1 << 12)
def parse_uid(text: str) -> int | None:
    """Return a numeric user id, or None where Slurm has none."""
    return None if text in _UNSET_UIDS else parse_int(text, "UID")


@lru_cache(maxsize=1 << 12)
def parse_state(text: str) -> str:
    """Return the state in upper case, without "by UID"; the caller knows which states exist."""
    match = _STATE.fullmatch(text.upper())
    if match is None:
        raise RecordFormatError(f"not a state: {text[:80]!r}")
    return match.group(1)


@lru_cache(maxsize=1 << 14)
def parse_tres_cell(text: str) -> tuple[tuple[str, int], ...]:
    """Return the TRES list as (name, count) pairs; refused also when it cannot be billed."""
    counts = parse_tres(text)
    gpu_units(counts)
    return tuple(counts.items())


def parse_db_index(text: str) -> str:
    """Return DBIndex as text without leading zeros: 1 to 2**64 - 1, unsigned."""
    number = parse_int(text, "DBIndex")
    if not 0 < number < 2**64:
        raise RecordFormatError(f"DBIndex is no key: {text[:80]!r}")
    return str(number)
