"""Reads usage: by QOS, day, person and job, and how fresh it is."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from zoneinfo import ZoneInfo

from django.db.models import Count, F, Q, QuerySet, Sum

from accounting.usage import split_seconds
from portal.inventory.models import Cluster
from portal.projects.models import Project
from portal.projects.selectors import get_site_zone
from portal.usage.metering import get_month_window
from portal.usage.models import ImportRun, Job, QuarantinedRow, UsageRecord

__all__ = [
    "DayUsage",
    "PersonUsage",
    "count_open_quarantine",
    "get_freshness",
    "get_last_run",
    "get_month_window",
    "list_days_of",
    "list_import_runs",
    "list_quarantined",
    "list_read_clusters",
    "list_recent_jobs",
    "list_usage_by_day",
    "list_usage_by_person",
    "summarise_run",
    "used_unit_seconds_by_qos",
]

ONE_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class DayUsage:
    """What a project used of one offering on one day of the site's zone.

    offering_id and title are None and "" where the catalogue knows no offering. open_unit_seconds
    is the part of unit_seconds that may still change.
    """

    day: date
    offering_id: int | None
    offering_title: str
    tres: str
    purchase_option: str
    unit_seconds: int
    open_unit_seconds: int


@dataclass(frozen=True, slots=True)
class PersonUsage:
    """What a person used of one offering in a project's month; fields as in DayUsage."""

    user: str
    offering_id: int | None
    offering_title: str
    tres: str
    purchase_option: str
    unit_seconds: int
    open_unit_seconds: int
    job_count: int


def used_unit_seconds_by_qos(qos_names: Iterable[str]) -> dict[str, int]:
    """Return QOS name -> unit-seconds used so far, running jobs included; 0 where nothing was."""
    names = list(qos_names)
    used = dict.fromkeys(names, 0)
    rows = UsageRecord.objects.filter(qos__in=names).order_by().values("qos")
    used.update(rows.annotate(total=Sum("unit_seconds")).values_list("qos", "total"))
    return used


def list_days_of(
    start_at: datetime, end_at: datetime, elapsed_seconds: int, zone: ZoneInfo
) -> Iterator[tuple[date, int]]:
    """Yield (day of the zone, seconds) of a span; the seconds add up to elapsed_seconds.

    A day of a clock change has 23 or 25 hours.
    """
    day = start_at.astimezone(zone).date()
    before = 0
    while before < elapsed_seconds:
        day_end = day + ONE_DAY
        day_end_at = datetime(day_end.year, day_end.month, day_end.day, tzinfo=zone).astimezone(UTC)
        until = split_seconds(elapsed_seconds, start_at, end_at, day_end_at)
        if until > before:
            yield day, until - before
        before, day = until, day_end


def list_usage_by_day(project: Project, start_date: date, end_date: date) -> tuple[DayUsage, ...]:
    """Return the project's usage in [start_date, end_date), by day, offering and purchase option.

    Days are those of the site's zone; days without usage are left out. One query for the usage,
    whatever the number of jobs.
    """
    zone = get_site_zone()
    months = _list_months(start_date, end_date)
    rows = UsageRecord.objects.filter(project=project, period__in=months).values_list(
        *("offering_id", "offering__title", "tres", "purchase_option"),
        *("units", "elapsed_seconds", "start_at", "end_at", "is_final"),
    )
    sums: dict[tuple[date, int | None, str, str, str], list[int]] = defaultdict(lambda: [0, 0])
    for offering_id, title, tres, option, units, elapsed, start_at, end_at, is_final in rows:
        for day, seconds in list_days_of(start_at, end_at, elapsed, zone):
            if start_date <= day < end_date:
                total = sums[day, offering_id, title or "", tres, option]
                total[0] += units * seconds
                total[1] += 0 if is_final else units * seconds
    ordered = sorted(sums, key=lambda key: (key[0], *key[2:]))
    return tuple(DayUsage(*key, *sums[key]) for key in ordered)


def list_usage_by_person(project: Project, month: date) -> tuple[PersonUsage, ...]:
    """Return the project's usage in a month by Slurm user, offering and purchase option."""
    keys = ("user", "offering_id", "offering__title", "tres", "purchase_option")
    rows = (
        UsageRecord.objects.filter(project=project, period=month)
        .order_by()
        .values_list(*keys)
        .annotate(
            total=Sum("unit_seconds"),
            open_total=Sum("unit_seconds", filter=Q(is_final=False), default=0),
            jobs=Count("job_id"),
        )
    )
    people = (PersonUsage(user, pk, title or "", *rest) for user, pk, title, *rest in rows)
    return tuple(sorted(people, key=_sort_by_person))


def _sort_by_person(usage: PersonUsage) -> tuple[str, str, str, str]:
    return usage.user, usage.offering_title, usage.tres, usage.purchase_option


def list_recent_jobs(project: Project, limit: int = 20) -> QuerySet[Job]:
    """Return the project's newest jobs with their cluster; those that wait come first."""
    return (
        Job.objects.filter(project=project)
        .select_related("cluster")
        .order_by(F("start_at").desc(nulls_first=True), "-id")[:limit]
    )


def get_freshness(cluster: Cluster) -> datetime | None:
    """Return the instant up to which the cluster's accounting was read, None before the first."""
    return (
        ImportRun.objects.filter(cluster=cluster, is_complete=True, source=ImportRun.Source.SACCT)
        .order_by("-started_at")
        .values_list("window_end_at", flat=True)
        .first()
    )


def get_last_run(cluster: Cluster) -> ImportRun | None:
    """Return the newest run of any source, complete or not."""
    return list_import_runs(cluster).first()


def list_import_runs(cluster: Cluster) -> QuerySet[ImportRun]:
    """Return the cluster's imports, the latest first."""
    return ImportRun.objects.filter(cluster=cluster).order_by("-started_at", "-id")


def list_read_clusters() -> frozenset[int]:
    """Return the ids of the clusters whose accounting was read from Slurm at least once."""
    runs = ImportRun.objects.filter(is_complete=True, source=ImportRun.Source.SACCT)
    return frozenset(runs.order_by().values_list("cluster_id", flat=True).distinct())


def summarise_run(run: ImportRun) -> dict[str, object]:
    """Return a run as JSON values: its counts, what it covers, and why it ended early."""
    return {
        "run": run.pk,
        "cluster": run.cluster.name,
        "source": run.source,
        "window_start_at": run.window_start_at and run.window_start_at.isoformat(),
        "window_end_at": run.window_end_at and run.window_end_at.isoformat(),
        "is_complete": run.is_complete,
        "read": run.read_count,
        "new": run.new_count,
        "changed": run.changed_count,
        "same": run.same_count,
        "quarantined": run.quarantined_count,
        "error": run.error,
    }


def list_quarantined(cluster: Cluster | None = None) -> QuerySet[QuarantinedRow]:
    """Return the rows that wait in quarantine, with their cluster, the last seen first."""
    rows = QuarantinedRow.objects.filter(resolved_at__isnull=True).select_related("cluster")
    if cluster is not None:
        rows = rows.filter(cluster=cluster)
    return rows.order_by("-last_seen_at", "-id")


def count_open_quarantine(cluster: Cluster | None = None) -> int:
    """Return how many rows wait in quarantine for someone to deal with them."""
    return list_quarantined(cluster).count()


def _list_months(start_date: date, end_date: date) -> list[date]:
    months: list[date] = []
    month = start_date.replace(day=1)
    while month < end_date:
        months.append(month)
        month = (month + timedelta(days=32)).replace(day=1)
    return months
