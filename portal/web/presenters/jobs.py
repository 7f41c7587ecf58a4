"""A project's newest jobs with what each costs so far."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from typing import Any

from accounting.money import Money, round_posting
from accounting.rates import price_usage
from portal.ledger.pricing import GROUP_FIELDS, SPAN_FIELDS, Prices, load_prices, price_records
from portal.projects.models import Project
from portal.usage.models import Job, UsageRecord
from portal.usage.selectors import list_recent_jobs
from portal.web.site import SiteView


@dataclass(frozen=True, slots=True)
class JobView:
    """A job; cost is None where it held no GPU, nothing was read yet, or a part has no price.

    A job's cost is rounded by itself; charges are rounded once for all jobs of a line.
    """

    job: Job
    cost: Money | None
    has_usage: bool


def list_job_views(project: Project, limit: int, site: SiteView) -> list[JobView]:
    """Return the newest jobs; queries grow with the months that they ran in, not with the jobs."""
    jobs = list(list_recent_jobs(project, limit))
    costs = _sum_costs(jobs)
    return [_make_view(job, costs, site) for job in jobs]


def _make_view(job: Job, costs: dict[int, Fraction | None], site: SiteView) -> JobView:
    cost = costs.get(job.pk)
    amount = None if cost is None else round_posting(cost, site.currency)
    return JobView(job, amount, job.pk in costs)


def _sum_costs(jobs: Sequence[Job]) -> dict[int, Fraction | None]:
    """Return job id -> exact cost of its usage records, None where a part has no price."""
    by_month: dict[date, list[tuple[Any, ...]]] = defaultdict(list)
    records = UsageRecord.objects.filter(job__in=jobs).order_by("id")
    for period, job_id, *row in records.values_list(
        "period", "job_id", *GROUP_FIELDS, *SPAN_FIELDS
    ):
        by_month[period].append((job_id, tuple(row)))
    costs: dict[int, Fraction | None] = {}
    for month, rows in by_month.items():
        prices = load_prices(month)
        for job_id, row in rows:
            before, more = costs.get(job_id, Fraction(0)), _price(row, prices)
            costs[job_id] = None if before is None or more is None else before + more
    return costs


def _price(row: tuple[Any, ...], prices: Prices) -> Fraction | None:
    _, parts, _ = next(price_records([row], prices))
    if not parts:
        return None
    return sum(
        (price_usage(part.unit_seconds, part.rate.unit_price) for part in parts), Fraction(0)
    )
