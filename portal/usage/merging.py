"""Decides what a row that was just read means for the job that is already stored: pure."""

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import NamedTuple

from accounting.records import DELIMITER, JobRecord

MAX_LENGTHS = {"account": 255, "user": 255, "qos": 255, "db_index": 80, "job_id": 80}
MAX_UID = 2**32 - 1
MAX_TRES_NAME = 255
_UNKNOWN_QOS = frozenset({"", "Unknown"})


class JobValues(NamedTuple):
    """A job's columns that come from its row, in the names of the model."""

    job_id: str
    job_id_raw: str
    account: str
    user: str
    uid: int | None
    partition: str
    qos: str
    state: str
    is_final: bool
    submit_at: datetime | None
    start_at: datetime | None
    end_at: datetime | None
    elapsed_seconds: int
    suspended_seconds: int
    alloc_tres: str
    node_list: str
    job_name: str


@dataclass(frozen=True, slots=True)
class StoredJob:
    """What the database holds of a job before the row is taken in."""

    pk: int
    project_id: int
    row_hash: str
    first_seen_at: datetime
    changed_at: datetime
    values: JobValues


class Outcome(Enum):
    """How a row is counted: as a new job, a changed one, or one that it does not change."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"


@dataclass(frozen=True, slots=True)
class Merge:
    """What to store: `values` is None where the row is to be left alone."""

    outcome: Outcome
    values: JobValues | None = None
    keeps_row: bool = False
    is_relabelled: bool = False


def read_values(record: JobRecord) -> JobValues:
    """Return a record's columns as they are stored."""
    return JobValues(
        record.job_id,
        record.job_id_raw,
        record.account,
        record.user,
        record.uid,
        record.partition,
        record.qos,
        record.state,
        record.is_final,
        record.submit_at,
        record.start_at,
        record.end_at,
        record.elapsed_seconds,
        record.suspended_seconds,
        ",".join(f"{name}={count}" for name, count in record.alloc_tres),
        record.node_list,
        record.job_name,
    )


def is_cluster_name(name: str, cluster_name: str) -> bool:
    """Say whether a row's Cluster names the cluster; slurmdbd keeps names in lower case."""
    return name.lower() == cluster_name.lower()


def find_misfit(record: JobRecord, cluster_name: str) -> str | None:
    """Return why a readable record cannot be stored for this cluster, or None."""
    if not is_cluster_name(record.cluster, cluster_name):
        return f"a row of cluster {record.cluster[:80]}, not of {cluster_name}"
    for name, limit in MAX_LENGTHS.items():
        if len(getattr(record, name)) > limit:
            return f"{name} is longer than {limit} characters"
    if record.uid is not None and record.uid > MAX_UID:
        return f"UID {record.uid} is no user id"
    if any(len(name) > MAX_TRES_NAME for name, _ in record.alloc_tres):
        return f"the name of a TRES is longer than {MAX_TRES_NAME} characters"
    return None


def find_reuse(stored: StoredJob, found: JobValues) -> str | None:
    """Return why the row is of another job than the stored one of the same DBIndex, or None.

    A database of slurmdbd that is made anew counts from 1 again: its jobs must never take the
    place of the old ones.
    """
    before = stored.values
    is_same = before.job_id_raw == found.job_id_raw
    if is_same and not (before.is_final and before.submit_at != found.submit_at):
        return None
    return (
        f"its DBIndex is that of job {before.job_id_raw} submitted at {before.submit_at}, this is "
        f"job {found.job_id_raw} submitted at {found.submit_at}: was slurmdbd's database made anew?"
    )


def normalise_line(line: bytes, delimiter: str) -> bytes:
    """Return the row with DELIMITER between its fields: equal whichever one sacct was asked for."""
    if delimiter == DELIMITER:
        return line
    return line.replace(delimiter.encode(), DELIMITER.encode())


def hash_line(line: bytes) -> str:
    """Return the hexadecimal SHA-256 of a raw row."""
    return hashlib.sha256(line).hexdigest()


def merge_row(
    stored: StoredJob | None, found: JobValues, row_hash: str, read_at: datetime
) -> Merge:
    """Decide what a row does, so that the order of reading does not matter.

    A final row stands over an open one, and of two open rows the one that has run for longer;
    otherwise the one read later. Account, user and UID of a final job stay as first read, for
    sacct prints those of the association as it is today (a difference is_relabelled). Partition
    and QOS that a row does not tell stay as they were. The raw row is kept, unless all that is new
    is that a job runs on.
    """
    if stored is None:
        return Merge(Outcome.NEW, found, keeps_row=True)
    if row_hash == stored.row_hash or _is_stale(stored, found, read_at):
        return Merge(Outcome.SAME)
    before = stored.values
    found = _fill_place(before, found)
    values = _keep_labels(before, found) if before.is_final else found
    runs_on = not found.is_final and before == found._replace(
        elapsed_seconds=before.elapsed_seconds, suspended_seconds=before.suspended_seconds
    )
    return Merge(
        Outcome.SAME if values == before else Outcome.CHANGED,
        values,
        keeps_row=not runs_on,
        is_relabelled=values != found,
    )


def _fill_place(before: JobValues, found: JobValues) -> JobValues:
    """For some seconds after a job's end slurmdbd may know neither its partition nor its QOS."""
    return found._replace(
        partition=found.partition or before.partition,
        qos=before.qos if found.qos in _UNKNOWN_QOS else found.qos,
    )


def _keep_labels(before: JobValues, found: JobValues) -> JobValues:
    return found._replace(
        account=before.account or found.account,
        user=before.user or found.user,
        uid=found.uid if before.uid is None else before.uid,
    )


def _is_stale(stored: StoredJob, found: JobValues, read_at: datetime) -> bool:
    before = stored.values
    if before.is_final != found.is_final:
        return before.is_final
    if not found.is_final:
        was, now = _measure_progress(before), _measure_progress(found)
        if was != now:
            return now < was
    return read_at < stored.changed_at


def _measure_progress(values: JobValues) -> tuple[bool, int]:
    return values.start_at is not None, values.elapsed_seconds + values.suspended_seconds
