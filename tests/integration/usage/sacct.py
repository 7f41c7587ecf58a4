"""Writes what sacct prints, imports it, and takes snapshots of what became of it."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from itertools import count

from accounting.records import DELIMITER, SACCT_FIELDS
from portal.inventory.models import Cluster
from portal.usage.models import ImportRun, Job, JobRow, QuarantinedRow, UsageRecord
from portal.usage.services import import_window

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
WINDOW_START = datetime(2026, 11, 1, tzinfo=UTC)
_numbers = count(1)


def make_row(**values: object) -> dict[str, str]:
    """Return a completed one-hour job of one A100; End and ElapsedRaw follow from each other."""
    number = next(_numbers)
    start = datetime.fromisoformat(str(values.pop("start", "2026-11-10T00:00:00")))
    elapsed = int(str(values.get("ElapsedRaw", 3600)))
    units, gres = int(str(values.pop("units", 1))), values.pop("gres", "a100")
    row = {
        "Cluster": "c1",
        "DBIndex": str(90_000 + number),
        "JobIDRaw": str(5000 + number),
        "Account": "p1001",
        "User": "sw-ben",
        "UID": "20001",
        "Partition": "gpu",
        "QOS": "normal",
        "State": "COMPLETED",
        "Submit": start.isoformat(),
        "Eligible": start.isoformat(),
        "Start": start.isoformat(),
        "End": (start + timedelta(seconds=elapsed)).isoformat(),
        "ElapsedRaw": str(elapsed),
        "Suspended": "00:00:00",
        "AllocTRES": f"billing=8,cpu=8,gres/gpu:{gres}={units},gres/gpu={units},mem=64G,node=1",
        "NodeList": "node1",
        "JobName": "train",
    }
    row |= {name: str(value) for name, value in values.items()}
    row.setdefault("JobID", row["JobIDRaw"])
    return row


def make_running(row: dict[str, str], elapsed_seconds: int) -> dict[str, str]:
    """Return the row as it was while the job ran."""
    return row | {"State": "RUNNING", "End": "Unknown", "ElapsedRaw": str(elapsed_seconds)}


def make_lines(rows: Sequence[dict[str, str]], delimiter: str = DELIMITER) -> list[bytes]:
    """Return the output with its header."""
    lines = [delimiter.join(SACCT_FIELDS)]
    lines += [delimiter.join(row[name] for name in SACCT_FIELDS) for row in rows]
    return [f"{line}\n".encode() for line in lines]


def import_rows(cluster: Cluster, rows: Sequence[dict[str, str]], now: datetime = NOW) -> ImportRun:
    """Import rows as one window."""
    return import_window(cluster, make_lines(rows), WINDOW_START, now, now)


def get_counts(run: ImportRun) -> tuple[int, int, int, int, int]:
    """Return (read, new, changed, same, quarantined) of a run as it is stored."""
    run.refresh_from_db()
    return (
        run.read_count,
        run.new_count,
        run.changed_count,
        run.same_count,
        run.quarantined_count,
    )


def take_snapshot(*, with_raw_rows: bool = True) -> dict[str, list[tuple]]:
    """Return everything that imports store but for keys and the times of reading."""
    hidden = {"id", "first_seen_at", "last_seen_at", "changed_at", "seen_at", "job_id", "job"}
    snapshot = {}
    for model in (Job, UsageRecord, QuarantinedRow, *([JobRow] if with_raw_rows else [])):
        names = [field.attname for field in model._meta.concrete_fields]
        names = [name for name in names if name not in hidden]
        if any(field.name == "job" for field in model._meta.concrete_fields):
            names.append("job__db_index")
        rows = model.objects.values_list(*names)
        snapshot[model.__name__] = sorted(
            (tuple(bytes(v) if isinstance(v, memoryview) else v for v in row) for row in rows),
            key=repr,
        )
    return snapshot


def sum_seconds(**filters: object) -> int:
    """Return the unit-seconds of all usage records that match."""
    records = UsageRecord.objects.filter(**filters)
    return sum(records.values_list("unit_seconds", flat=True))
