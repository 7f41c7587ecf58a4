"""Builds sacct's output and single records for the tests of accounting."""

from datetime import UTC, datetime, timedelta

from accounting.records import (
    DELIMITER,
    SACCT_FIELDS,
    JobRecord,
    RejectedRow,
    read_records,
)

START = datetime(2026, 3, 10, tzinfo=UTC)

_DEFAULTS = {
    "Cluster": "c1",
    "DBIndex": "7001",
    "JobIDRaw": "11",
    "JobID": "11",
    "Account": "proj-a",
    "User": "u1",
    "UID": "20001",
    "Partition": "gpu",
    "QOS": "normal",
    "State": "COMPLETED",
    "Submit": "2026-03-10T00:00:00",
    "Eligible": "2026-03-10T00:00:00",
    "Start": "2026-03-10T00:00:00",
    "End": "2026-03-10T01:00:00",
    "ElapsedRaw": "3600",
    "Suspended": "00:00:00",
    "AllocTRES": "billing=8,cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G,node=1",
    "NodeList": "n1",
    "JobName": "train",
}


def header(delimiter: str = DELIMITER) -> bytes:
    """Return the header line."""
    return delimiter.join(SACCT_FIELDS).encode() + b"\n"


def row(delimiter: str = DELIMITER, /, **cells: str | bytes) -> bytes:
    """Return one line of output; cells override a completed job's, by the column's name."""
    values = [{**_DEFAULTS, **cells}[field] for field in SACCT_FIELDS]
    encoded = [value if isinstance(value, bytes) else value.encode() for value in values]
    return delimiter.encode().join(encoded) + b"\n"


def read(*rows: bytes, delimiter: str = DELIMITER) -> list[JobRecord | RejectedRow]:
    """Return what an output of these rows holds; a row may hold newlines, as sacct's may."""
    lines = b"".join((header(delimiter), *rows)).split(b"\n")
    terminated = [line + b"\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    return [result for result, _ in read_records(terminated, delimiter=delimiter)]


def read_one(**cells: str | bytes) -> JobRecord:
    """Return the record of one row, which must not be rejected."""
    (result,) = read(row(**cells))
    assert isinstance(result, JobRecord), result
    return result


def read_reason(**cells: str | bytes) -> str:
    """Return the reason for which one row is rejected."""
    (result,) = read(row(**cells))
    assert isinstance(result, RejectedRow), result
    return result.reason


def build_record(
    *,
    start_at: datetime = START,
    elapsed_seconds: int = 3600,
    suspended_seconds: int = 0,
    state: str = "COMPLETED",
    tres: tuple[tuple[str, int], ...] = (("gres/gpu:a100", 2), ("gres/gpu", 2)),
) -> JobRecord:
    """Return a record; one in an open state has no End."""
    end_at = start_at + timedelta(seconds=elapsed_seconds + suspended_seconds)
    return JobRecord(
        cluster="c1",
        db_index="7001",
        job_id_raw="11",
        job_id="11",
        account="proj-a",
        user="u1",
        uid=20001,
        partition="gpu",
        qos="normal",
        state=state,
        submit_at=start_at,
        eligible_at=start_at,
        start_at=start_at,
        end_at=None if state in ("RUNNING", "SUSPENDED") else end_at,
        elapsed_seconds=elapsed_seconds,
        suspended_seconds=suspended_seconds,
        alloc_tres=tres,
        node_list="n1",
        job_name="train",
    )
