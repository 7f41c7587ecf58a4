"""Imports a cluster's accounting, and finds owners and offerings for what had none."""

import logging
import re
import time
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import chain

from django.db import transaction

from accounting.records import DELIMITER, SACCT_FIELDS, RecordFormatError, make_delimiter
from portal.audit.services import record_event
from portal.inventory.models import Cluster
from portal.projects.models import Project
from portal.projects.selectors import get_site_zone
from portal.slurm.errors import SlurmError
from portal.slurm.gateway import SlurmGateway
from portal.usage.ingest import ACTOR, ImportContext, list_chunks, lock_cluster, store_chunk
from portal.usage.metering import get_month_window
from portal.usage.models import ImportRun, Job, UsageRecord
from portal.usage.quarantine import load_open_keys
from portal.usage.resolving import OfferingResolver, ProjectResolver

OVERLAP = timedelta(hours=2)
FULL_READ_EVERY = timedelta(hours=6)
FULL_READ_MARGIN = timedelta(days=10)
MAX_LOOK_BACK = timedelta(days=400)

logger = logging.getLogger(__name__)


def import_window(
    cluster: Cluster,
    lines: Iterable[bytes],
    window_start_at: datetime | None,
    window_end_at: datetime | None,
    now: datetime,
    *,
    delimiter: str = DELIMITER,
) -> ImportRun:
    """Take in sacct's output and return the finished run with its counts.

    read = new + changed + same + quarantined. Without a window the lines are those of a file. It
    may be run again, be killed anywhere, and run twice at once: the rows end up the same. What
    stops it (RecordFormatError for a wrong header, an error of the lines) is stored in the run and
    raised; the chunks before it stay.
    """
    source = ImportRun.Source.FILE if window_start_at is None else ImportRun.Source.SACCT
    run = ImportRun.objects.create(
        cluster=cluster,
        source=source,
        window_start_at=window_start_at,
        window_end_at=window_end_at,
        started_at=now,
    )
    _fill_run(run, lines, now, delimiter, is_live=False)
    return run


def import_file(
    cluster: Cluster, lines: Iterable[bytes], now: datetime, *, delimiter: str | None = None
) -> ImportRun:
    """Take in what sacct wrote to a file; the delimiter is read from its header unless given.

    As import_window, without a window: how fresh the accounting is stays as it was.
    """
    stream = iter(lines)
    header = next(stream, b"")
    if delimiter is None:
        delimiter = detect_delimiter(header)
    return import_window(cluster, chain([header], stream), None, None, now, delimiter=delimiter)


def ingest_cluster(cluster: Cluster, gateway: SlurmGateway, now: datetime) -> ImportRun:
    """Read the cluster's accounting from Slurm and return the run.

    An answer that fails or cannot be read is told in the run's `error`, with is_complete False,
    and is not raised, so that other clusters go on; the next run starts where the last complete
    one ended.
    """
    start_at, is_full = choose_window(cluster, now)
    run = ImportRun.objects.create(
        cluster=cluster,
        is_full=is_full,
        window_start_at=start_at,
        window_end_at=now,
        started_at=now,
    )
    delimiter = make_delimiter()
    try:
        with gateway.stream_sacct(start_at, now, SACCT_FIELDS, delimiter) as lines:
            _fill_run(run, lines, now, delimiter, is_live=True)
    except (SlurmError, RecordFormatError) as error:
        logger.warning("the accounting of %s was not read: %s", cluster.name, error)
        if run.finished_at is None:
            _end_run(run, now, error=str(error))
    return run


def choose_window(cluster: Cluster, now: datetime) -> tuple[datetime, bool]:
    """Return where to start reading, and whether that is a full read.

    sacct returns what ended after the start or still runs. So a common read begins OVERLAP before
    the end of the last complete one. A full read, the first time and every FULL_READ_EVERY, goes
    back to the start of the month that FULL_READ_MARGIN ago belongs to, and further to the oldest
    job that is still open here: it finds rows that arrived late, and jobs whose end was put back.
    No read begins after the last complete one ended, however long ago that is.
    """
    runs = ImportRun.objects.filter(
        cluster=cluster, is_complete=True, source=ImportRun.Source.SACCT
    )
    done = runs.order_by("-window_end_at").values_list("window_end_at", flat=True)
    last, last_full = done.first(), done.filter(is_full=True).first()
    if last and last_full and now - last_full < FULL_READ_EVERY:
        return (min(last, now) - OVERLAP).replace(microsecond=0), False
    zone = get_site_zone()
    month = (now - FULL_READ_MARGIN).astimezone(zone).date().replace(day=1)
    starts = [get_month_window(month, zone).start_at]
    if last is not None:
        starts.append(last - OVERLAP)
    oldest = (
        Job.objects.filter(cluster=cluster, is_final=False, start_at__isnull=False)
        .order_by("start_at")
        .values_list("start_at", flat=True)
        .first()
    )
    if oldest is not None:
        starts.append(max(oldest, now - MAX_LOOK_BACK))
    return min(starts).replace(microsecond=0), True


def detect_delimiter(header: bytes) -> str:
    """Return what stands between the first two column names; RecordFormatError if nothing does."""
    match = re.match(rb"[A-Za-z]+([^A-Za-z0-9\s]+)[A-Za-z]", header)
    if match is None:
        raise RecordFormatError(f"no delimiter in the header {header[:200]!r}")
    return match.group(1).decode("ascii", "replace")


def _fill_run(
    run: ImportRun, lines: Iterable[bytes], now: datetime, delimiter: str, *, is_live: bool
) -> None:
    begun = time.monotonic()
    error = "stopped before the end"
    context = ImportContext(
        cluster=run.cluster,
        zone=get_site_zone(),
        now=now,
        projects=ProjectResolver(),
        offerings=OfferingResolver(run.cluster),
        quarantined=load_open_keys(run.cluster),
    )
    try:
        for chunk in list_chunks(lines, run.cluster, delimiter, is_live=is_live):
            store_chunk(run, chunk, context)
        assign_unassigned(run.cluster, now)
        error = ""
    except Exception as problem:
        error = str(problem) or type(problem).__name__
        raise
    finally:
        _end_run(run, now + timedelta(seconds=time.monotonic() - begun), error=error)


def _end_run(run: ImportRun, finished_at: datetime, *, error: str) -> None:
    run.refresh_from_db()
    run.error = error
    run.is_complete = not error
    run.finished_at = finished_at.astimezone(UTC)
    run.save(update_fields=["error", "is_complete", "finished_at"])


@transaction.atomic
def assign_unassigned(cluster: Cluster, now: datetime) -> None:
    """Give usage in suspense to the project that owns its account by now, and unmatched usage
    its offering, where the catalogue has one by now."""
    lock_cluster(cluster)
    suspense = Project.objects.filter(is_suspense=True).first()
    if suspense is not None:
        _assign_projects(cluster, suspense, now)
    resolver = OfferingResolver(cluster)
    unmatched = UsageRecord.objects.filter(offering__isnull=True, job__cluster=cluster)
    for partition, qos, tres in (
        unmatched.order_by().values_list("job__partition", "qos", "tres").distinct()
    ):
        offering_id, option = resolver.find(partition, qos, tres)
        if offering_id is not None:
            unmatched.filter(job__partition=partition, qos=qos, tres=tres).update(
                offering_id=offering_id, purchase_option=option
            )


def _assign_projects(cluster: Cluster, suspense: Project, now: datetime) -> None:
    jobs = Job.objects.filter(cluster=cluster, project=suspense)
    accounts = list(jobs.order_by().values_list("account", flat=True).distinct())
    owners = dict(
        Project.objects.filter(
            is_suspense=False, code__in=[account.lower() for account in accounts]
        ).values_list("code", "id")
    )
    for account in accounts:
        project_id = owners.get(account.lower())
        if project_id is None:
            continue
        UsageRecord.objects.filter(
            job__cluster=cluster, job__account=account, project=suspense
        ).update(project_id=project_id)
        count = jobs.filter(account=account).update(project_id=project_id)
        record_event(
            at=now,
            actor=ACTOR,
            action="assign_usage",
            object_type="project",
            object_id=account,
            project_code=account.lower(),
            data={"cluster": cluster.name, "jobs": count},
        )
