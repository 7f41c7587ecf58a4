"""Turns jobs into usage records per month of the site's zone, and keeps the two in step."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from accounting.records import JobRecord
from accounting.usage import Window, find_observed_end, meter, month_window, months_between
from portal.usage.models import Job, UsageRecord
from portal.usage.resolving import OfferingResolver


class UsageValues(NamedTuple):
    """A usage record's columns beside its key (job, period, TRES)."""

    project_id: int
    user: str
    offering_id: int | None
    purchase_option: str
    qos: str
    units: int
    elapsed_seconds: int
    unit_seconds: int
    start_at: datetime
    end_at: datetime
    is_final: bool


UsageKey = tuple[int, date, str]
UPDATE_FIELDS = ["project", "offering", *UsageValues._fields[1:2], *UsageValues._fields[3:]]


@dataclass(frozen=True, slots=True)
class MeteredJob:
    """A job as it was just stored, with the record that it came from."""

    job: Job
    record: JobRecord
    is_new: bool


@lru_cache(maxsize=4096)
def get_month_window(month: date, zone: ZoneInfo) -> Window:
    """Return the month's window in the site's zone; `month` is its first day."""
    return month_window(month.year, month.month, zone)


def list_usage_of(
    metered: MeteredJob, resolver: OfferingResolver, zone: ZoneInfo, now: datetime
) -> Iterator[tuple[UsageKey, UsageValues]]:
    """Yield what a job held, per month and billable TRES; nothing where it held 0 s."""
    job, record = metered.job, metered.record
    end_at = find_observed_end(record, as_of=now)
    if record.start_at is None or end_at is None or not record.alloc_tres:
        return
    for year, month in months_between(record.start_at, end_at, zone):
        period = date(year, month, 1)
        for usage in meter(record, get_month_window(period, zone), as_of=now):
            offering_id, option = resolver.find(job.partition, job.qos, usage.tres)
            yield (
                (job.pk, period, usage.tres),
                UsageValues(
                    job.project_id,
                    job.user,
                    offering_id,
                    option,
                    job.qos,
                    usage.units,
                    usage.elapsed_seconds,
                    usage.unit_seconds,
                    usage.start_at,
                    usage.end_at,
                    usage.is_final,
                ),
            )


def store_usage(
    jobs: Sequence[MeteredJob], resolver: OfferingResolver, zone: ZoneInfo, now: datetime
) -> None:
    """Make the usage records of these jobs what their newest rows say.

    Records that a row no longer yields are removed: they follow from the row, and what was posted
    for them stands in the ledger. The caller holds the cluster's lock and a transaction.
    """
    wanted = dict(item for job in jobs for item in list_usage_of(job, resolver, zone, now))
    stored, ids = _load_stored([entry.job.pk for entry in jobs if not entry.is_new])
    changed: list[UsageRecord] = []
    for key, values in wanted.items():
        before = stored.get(key)
        if before is not None and values.offering_id is None:
            values = values._replace(
                offering_id=before.offering_id, purchase_option=before.purchase_option
            )
        if before != values:
            job_id, period, tres = key
            changed.append(UsageRecord(job_id=job_id, period=period, tres=tres, **values._asdict()))
    UsageRecord.objects.bulk_create(
        changed,
        update_conflicts=True,
        unique_fields=["job", "period", "tres"],
        update_fields=UPDATE_FIELDS,
    )
    gone = [ids[key] for key in stored.keys() - wanted.keys()]
    if gone:
        UsageRecord.objects.filter(pk__in=gone).delete()


def _load_stored(
    job_ids: list[int],
) -> tuple[dict[UsageKey, UsageValues], dict[UsageKey, int]]:
    stored: dict[UsageKey, UsageValues] = {}
    ids: dict[UsageKey, int] = {}
    if job_ids:
        rows = UsageRecord.objects.filter(job_id__in=job_ids).values_list(
            "id", "job_id", "period", "tres", *UsageValues._fields
        )
        for pk, job_id, period, tres, *values in rows:
            stored[job_id, period, tres] = UsageValues(*values)
            ids[job_id, period, tres] = pk
    return stored, ids
