"""Loads the worked cases of tests/assets/accounting/cases.md: sacct's output and what it means."""

import json
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from accounting.records import JobRecord, RejectedRow, read_records
from accounting.usage import UnitUsage, Window, meter, month_window

CASES_PATH = Path(__file__).parents[2] / "assets" / "accounting" / "cases.md"
UTC_ZONE = ZoneInfo("UTC")
MARCH = month_window(2026, 3, UTC_ZONE)
APRIL = month_window(2026, 4, UTC_ZONE)
LATER = datetime(2026, 6, 1, tzinfo=UTC)
_FENCE = re.compile(r"^```\w+ (input|expect)=(C\d+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Case:
    """One case: an output per call of sacct, each as bytes, and the expected values."""

    name: str
    outputs: tuple[bytes, ...]
    expect: dict[str, Any]

    def read(self, output: int = 0) -> list[JobRecord | RejectedRow]:
        """Return what one output holds."""
        lines = self.outputs[output].splitlines(keepends=True)
        return [result for result, _ in read_records(lines, delimiter="|")]

    def records(self, output: int = 0) -> list[JobRecord]:
        """Return the records of one output, in which no row may be rejected."""
        results = self.read(output)
        records = [result for result in results if isinstance(result, JobRecord)]
        assert len(records) == len(results), results
        return records

    def window(self) -> Window:
        """Return the case's own window; its instants are UTC."""
        start, end = (datetime.fromisoformat(text) for text in self.expect["window"])
        return Window(start.replace(tzinfo=UTC), end.replace(tzinfo=UTC))


def load_cases() -> dict[str, Case]:
    """Return every case by name."""
    texts: dict[str, dict[str, str]] = {}
    for kind, name, text in _FENCE.findall(CASES_PATH.read_text()):
        texts.setdefault(name, {})[kind] = text
    return {
        name: Case(name, _split_outputs(parts["input"]), json.loads(parts["expect"]))
        for name, parts in texts.items()
    }


def _split_outputs(text: str) -> tuple[bytes, ...]:
    kept = [line for line in text.splitlines(keepends=True) if not line.startswith("#")]
    return tuple(part.encode() for part in "".join(kept).split("---\n"))


def meter_all(
    records: list[JobRecord], window: Window = MARCH, *, as_of: datetime = LATER
) -> list[tuple[JobRecord, UnitUsage]]:
    """Return every record's usage inside the window."""
    return [(record, use) for record in records for use in meter(record, window, as_of=as_of)]


def sum_seconds(uses: list[tuple[JobRecord, UnitUsage]], family: str = "gres/gpu") -> int:
    """Return the unit-seconds of one GRES, typed and untyped."""
    return sum(use.unit_seconds for _, use in uses if use.tres.split(":")[0] == family)


def sum_by_account(
    uses: list[tuple[JobRecord, UnitUsage]], family: str = "gres/gpu"
) -> dict[str, int]:
    """Return account -> unit-seconds of one GRES; accounts without use are left out."""
    accounts = sorted({record.account for record, _ in uses})
    sums = {
        account: sum_seconds([use for use in uses if use[0].account == account], family)
        for account in accounts
    }
    return {account: seconds for account, seconds in sums.items() if seconds}
