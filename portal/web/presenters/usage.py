"""A project's month: usage and cost by day and by person, as tables and one chart."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from fractions import Fraction

from accounting.money import Currency, Money, sum_money
from accounting.statement import render_money
from portal.catalog.choices import PurchaseOption
from portal.ledger.selectors import DayCost, PersonCost, cost_by_day, cost_by_person
from portal.projects.models import Project
from portal.web.charts import SERIES_CLASSES, Bar, BarChart
from portal.web.presenters.people import name_people
from portal.web.site import SiteView

OTHER = "Everything else"
FIRST_MONTH = date(2000, 1, 1)


@dataclass(frozen=True, slots=True)
class MonthTotal:
    """A project's month in three figures. `running` may still change; unpriced has no amount."""

    month: date
    charged: Money
    running: Money
    job_count: int
    unpriced_unit_seconds: int


@dataclass(frozen=True, slots=True)
class CostRow:
    """One row of a usage table; amount is None where it has no price."""

    label: str
    what: str
    option: str
    unit_seconds: int
    amount: Money | None
    is_running: bool
    job_count: int = 0


@dataclass(frozen=True, slots=True)
class Legend:
    """A series of the chart: its name and its colour's number."""

    name: str
    number: int


@dataclass(frozen=True, slots=True)
class UsageView:
    """All that the usage page shows of one month."""

    total: MonthTotal
    days: tuple[tuple[date, tuple[CostRow, ...]], ...]
    people: tuple[CostRow, ...]
    names: dict[str, str]
    chart: BarChart | None
    legend: tuple[Legend, ...]


def next_month(month: date) -> date:
    """Return the first day of the month after."""
    return (month + timedelta(days=32)).replace(day=1)


def previous_month(month: date) -> date:
    """Return the first day of the month before."""
    return (month - timedelta(days=1)).replace(day=1)


def find_neighbours(month: date, today: date) -> tuple[date | None, date | None]:
    """Return the months before and after that have a page; none before 2000, none to come."""
    before, after = previous_month(month), next_month(month)
    return (before if before >= FIRST_MONTH else None, after if after <= today else None)


def get_month_total(project: Project, month: date, site: SiteView) -> MonthTotal:
    """Return what a month has cost so far."""
    return _sum_people(cost_by_person(project, month), month, site.currency)


def make_usage_view(project: Project, month: date, site: SiteView) -> UsageView:
    """Return a project's month; a fixed number of queries."""
    people = cost_by_person(project, month)
    days = cost_by_day(project, month)
    series = _list_series(days)
    return UsageView(
        total=_sum_people(people, month, site.currency),
        days=tuple(_group_days(days)),
        people=tuple(_make_row(one.user, one, one.job_count) for one in people),
        names=name_people(one.user for one in people),
        chart=_make_chart(project, month, days, series, site.currency) if series else None,
        legend=tuple(Legend(name, number) for number, name in enumerate(series)),
    )


def _sum_people(people: Iterable[PersonCost], month: date, currency: Currency) -> MonthTotal:
    people = list(people)
    charged = [one.amount for one in people if one.amount is not None and not one.is_provisional]
    running = [one.amount for one in people if one.amount is not None and one.is_provisional]
    return MonthTotal(
        month=month,
        charged=sum_money(charged, currency),
        running=sum_money(running, currency),
        job_count=sum(one.job_count for one in people),
        unpriced_unit_seconds=sum(one.unit_seconds for one in people if one.amount is None),
    )


def _group_days(days: Iterable[DayCost]) -> Iterable[tuple[date, tuple[CostRow, ...]]]:
    grouped: dict[date, list[CostRow]] = defaultdict(list)
    for one in days:
        grouped[one.day].append(_make_row("", one))
    for day in sorted(grouped, reverse=True):
        yield day, tuple(grouped[day])


def _make_row(label: str, cost: DayCost | PersonCost, job_count: int = 0) -> CostRow:
    return CostRow(
        label=label,
        what=cost.offering_title or cost.tres,
        option=PurchaseOption(cost.purchase_option).label,
        unit_seconds=cost.unit_seconds,
        amount=cost.amount,
        is_running=cost.is_provisional,
        job_count=job_count,
    )


def _name_series(cost: DayCost) -> str:
    return f"{cost.offering_title}, {PurchaseOption(cost.purchase_option).label.lower()}"


def _list_series(days: Sequence[DayCost]) -> list[str]:
    """Return the series, the dearest first; beyond the colours, one for everything else."""
    sums: dict[str, Fraction] = defaultdict(Fraction)
    for cost in days:
        if cost.amount is not None:
            sums[_name_series(cost)] += Fraction(cost.amount.amount)
    names = sorted(sums, key=lambda name: (-sums[name], name))
    if len(names) > SERIES_CLASSES:
        names = [*names[: SERIES_CLASSES - 1], OTHER]
    return names


def _make_chart(
    project: Project,
    month: date,
    days: Sequence[DayCost],
    series: Sequence[str],
    currency: Currency,
) -> BarChart:
    numbers = {name: number for number, name in enumerate(series)}
    values: dict[date, list[Fraction]] = defaultdict(lambda: [Fraction(0)] * len(series))
    totals: dict[date, Money] = defaultdict(lambda: Money.zero(currency))
    for cost in days:
        if cost.amount is not None:
            number = numbers.get(_name_series(cost), len(series) - 1)
            values[cost.day][number] += Fraction(cost.amount.amount)
            totals[cost.day] += cost.amount
    bars = []
    day = month
    while day < next_month(month):
        spoken = f"{day.day} {day:%B}: {render_money(totals[day])}"
        bars.append(Bar(str(day.day), spoken, tuple(values[day])))
        day += timedelta(days=1)
    highest = max(totals, key=lambda one: totals[one].amount)
    return BarChart(
        title=f"Cost of {project.code} by day in {month:%B %Y}",
        description=(
            f"One bar for each day, in {currency.code}. The highest is {highest.day} "
            f"{highest:%B} with {render_money(totals[highest])}. The table below holds the figures."
        ),
        unit=currency.code,
        series=tuple(series),
        bars=tuple(bars),
    )
