"""Stores accounting rows chunk by chunk: one transaction each, the same result in any order."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import F

from accounting.records import JobRecord, RejectedRow, read_records
from portal.audit.services import record_event
from portal.inventory.models import Cluster
from portal.slurm.errors import WrongCluster
from portal.usage.merging import (
    JobValues,
    Merge,
    Outcome,
    StoredJob,
    find_misfit,
    find_reuse,
    hash_line,
    is_cluster_name,
    merge_row,
    normalise_line,
    read_values,
)
from portal.usage.metering import MeteredJob, store_usage
from portal.usage.models import ImportRun, Job, JobRow
from portal.usage.quarantine import (
    UnreadableRow,
    find_key,
    resolve_readable,
    store_unreadable,
)
from portal.usage.resolving import OfferingResolver, ProjectResolver

CHUNK_ROWS = 2000
ACTOR = "ingest"
JOB_UPDATE_FIELDS = [*JobValues._fields, "project", "changed_at", "row_hash"]


@dataclass(frozen=True, slots=True)
class ImportContext:
    """What all chunks of one import share; `now` is when the rows were read.

    `quarantined` holds the keys of rows that waited in quarantine when the import began.
    """

    cluster: Cluster
    zone: ZoneInfo
    now: datetime
    projects: ProjectResolver
    offerings: OfferingResolver
    quarantined: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class ReadRow:
    """A record with its raw row."""

    record: JobRecord
    line: bytes
    row_hash: str


@dataclass(slots=True)
class Chunk:
    """Rows for one transaction: every job at most once, so that one upsert can take them."""

    rows: dict[str, ReadRow] = field(default_factory=dict)
    rejected: dict[str, UnreadableRow] = field(default_factory=dict)
    read_count: int = 0
    quarantined_count: int = 0

    def add_rejected(self, key: str, line: bytes, reason: str) -> None:
        """Take a row for the quarantine."""
        self.rejected[key] = UnreadableRow(line, reason)
        self.quarantined_count += 1
        self.read_count += 1


def lock_cluster(cluster: Cluster) -> None:
    """Wait for, then hold, the right to write this cluster's jobs until the transaction ends.

    On PostgreSQL a row lock that leaves foreign keys to the cluster alone; on SQLite the
    transaction itself (IMMEDIATE) is the lock.
    """
    list(Cluster.objects.select_for_update(no_key=True).filter(pk=cluster.pk))


def list_chunks(
    lines: Iterable[bytes], cluster: Cluster, delimiter: str, *, is_live: bool
) -> Iterator[Chunk]:
    """Yield the rows of sacct's output in chunks of CHUNK_ROWS; no more than one is held.

    A row of another cluster is for the quarantine; in a live answer it raises WrongCluster, for
    then another Slurm answers than the one that was meant.
    """
    chunk = Chunk()
    for result, raw in read_records(lines, delimiter=delimiter):
        line = normalise_line(raw, delimiter)
        if isinstance(result, RejectedRow):
            chunk.add_rejected(find_key(result, line, cluster), line, result.reason)
        elif is_live and not is_cluster_name(result.cluster, cluster.name):
            raise WrongCluster(f"sacct answers for {result.cluster[:80]}, not for {cluster.name}")
        elif (reason := find_misfit(result, cluster.name)) is not None:
            chunk.add_rejected(find_key(result, line, cluster), line, reason)
        else:
            row = ReadRow(result, line, hash_line(line))
            known = chunk.rows.get(result.db_index)
            if known is not None and known.row_hash != row.row_hash:
                yield chunk
                chunk = Chunk()
            chunk.rows[result.db_index] = row
            chunk.read_count += 1
        if chunk.read_count >= CHUNK_ROWS:
            yield chunk
            chunk = Chunk()
    if chunk.read_count:
        yield chunk


@transaction.atomic
def store_chunk(run: ImportRun, chunk: Chunk, context: ImportContext) -> None:
    """Store a chunk with its counts: all of it or nothing."""
    lock_cluster(context.cluster)
    rows = _leave_out_known(chunk.rows, context.cluster)
    stored = _load_jobs(context.cluster, rows)
    _reject_reused(chunk, rows, stored)
    store_unreadable(context.cluster, chunk.rejected, context.now)
    read_keys = context.quarantined & chunk.rows.keys() - chunk.rejected.keys()
    resolve_readable(context.cluster, read_keys, context.now)
    merges = {
        key: merge_row(stored.get(key), read_values(row.record), row.row_hash, context.now)
        for key, row in rows.items()
    }
    jobs = _store_jobs(chunk, stored, merges, context)
    _report_relabelled(chunk, merges, jobs, context)
    _store_raw_rows(chunk, merges, jobs, context)
    store_usage(
        [
            MeteredJob(
                job,
                chunk.rows[key].record,
                is_new=key not in stored,
            )
            for key, job in jobs.items()
            if merges[key].outcome is not Outcome.SAME
        ],
        context.offerings,
        context.zone,
        context.now,
    )
    _add_counts(run, chunk, merges)


def _leave_out_known(rows: dict[str, ReadRow], cluster: Cluster) -> dict[str, ReadRow]:
    """Return the rows without those that were taken in before, byte for byte: the common case."""
    known = Job.objects.filter(cluster=cluster, db_index__in=list(rows))
    hashes = dict(known.values_list("db_index", "row_hash"))
    return {key: row for key, row in rows.items() if hashes.get(key) != row.row_hash}


def _reject_reused(chunk: Chunk, rows: dict[str, ReadRow], stored: Mapping[str, StoredJob]) -> None:
    """Take rows that would overwrite another job out of the chunk, for the quarantine."""
    for key, before in stored.items():
        reason = find_reuse(before, read_values(rows[key].record))
        if reason is not None:
            row = chunk.rows.pop(key)
            del rows[key]
            chunk.rejected[key] = UnreadableRow(row.line, reason)
            chunk.quarantined_count += 1


def _load_jobs(cluster: Cluster, rows: dict[str, ReadRow]) -> dict[str, StoredJob]:
    if not rows:
        return {}
    known = Job.objects.filter(cluster=cluster, db_index__in=list(rows))
    stored: dict[str, StoredJob] = {}
    for entry in known.values_list(
        "db_index",
        "id",
        "project_id",
        "row_hash",
        "first_seen_at",
        "changed_at",
        *JobValues._fields,
    ):
        key, pk, project_id, row_hash, first_seen_at, changed_at, *values = entry
        stored[key] = StoredJob(
            pk, project_id, row_hash, first_seen_at, changed_at, JobValues(*values)
        )
    return stored


def _store_jobs(
    chunk: Chunk,
    stored: dict[str, StoredJob],
    merges: dict[str, Merge],
    context: ImportContext,
) -> dict[str, Job]:
    jobs: dict[str, Job] = {}
    for key, merge in merges.items():
        if merge.values is None:
            continue
        before = stored.get(key)
        is_same = merge.outcome is Outcome.SAME
        jobs[key] = Job(
            cluster=context.cluster,
            db_index=key,
            project_id=_find_project(before, merge.values, context.projects),
            first_seen_at=context.now if before is None else before.first_seen_at,
            changed_at=before.changed_at if before and is_same else context.now,
            row_hash=chunk.rows[key].row_hash,
            **merge.values._asdict(),
        )
    Job.objects.bulk_create(
        jobs.values(),
        update_conflicts=True,
        unique_fields=["cluster", "db_index"],
        update_fields=JOB_UPDATE_FIELDS,
    )
    return jobs


def _find_project(before: StoredJob | None, values: JobValues, projects: ProjectResolver) -> int:
    """Return the project: the first one that owned the account stays, whatever becomes of it.

    Only an open job follows its account, for people may move a job before it ends; one that has
    not started also to an account that no project owns.
    """
    if before is not None and before.values.account == values.account:
        return before.project_id
    found = projects.find(values.account)
    if found is not None:
        return found
    has_run = before is not None and before.values.start_at is not None
    return before.project_id if before is not None and has_run else projects.suspense_id


def _store_raw_rows(
    chunk: Chunk, merges: dict[str, Merge], jobs: dict[str, Job], context: ImportContext
) -> None:
    JobRow.objects.bulk_create(
        [
            JobRow(
                job=job,
                row_hash=chunk.rows[key].row_hash,
                line=chunk.rows[key].line,
                seen_at=context.now,
            )
            for key, job in jobs.items()
            if merges[key].keeps_row
        ],
        ignore_conflicts=True,
    )


def _report_relabelled(
    chunk: Chunk, merges: dict[str, Merge], jobs: dict[str, Job], context: ImportContext
) -> None:
    """Write one event per job and row whose account, user or UID differs from the first read."""
    relabelled = {key: job for key, job in jobs.items() if merges[key].is_relabelled}
    if not relabelled:
        return
    told = set(
        JobRow.objects.filter(job__in=[job.pk for job in relabelled.values()]).values_list(
            "job_id", "row_hash"
        )
    )
    for key, job in relabelled.items():
        row = chunk.rows[key]
        if (job.pk, row.row_hash) in told:
            continue
        record_event(
            at=context.now,
            actor=ACTOR,
            action="ignore_relabel",
            object_type="job",
            object_id=job.pk,
            data={
                "cluster": context.cluster.name,
                "job_id": job.job_id,
                "kept": [job.account, job.user, job.uid],
                "found": [row.record.account, row.record.user, row.record.uid],
            },
        )


def _add_counts(run: ImportRun, chunk: Chunk, merges: dict[str, Merge]) -> None:
    outcomes = [merge.outcome for merge in merges.values()]
    new, changed = outcomes.count(Outcome.NEW), outcomes.count(Outcome.CHANGED)
    ImportRun.objects.filter(pk=run.pk).update(
        read_count=F("read_count") + chunk.read_count,
        new_count=F("new_count") + new,
        changed_count=F("changed_count") + changed,
        same_count=F("same_count") + chunk.read_count - chunk.quarantined_count - new - changed,
        quarantined_count=F("quarantined_count") + chunk.quarantined_count,
    )
