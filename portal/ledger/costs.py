"""What a project's usage costs by day and by person, computed from usage and prices as they are."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date
from typing import NamedTuple
from zoneinfo import ZoneInfo

from accounting.money import Currency, Money
from portal.catalog.models import Offering
from portal.ledger.pricing import (
    GROUP_FIELDS,
    SPAN_FIELDS,
    LineKey,
    PricedMonth,
    Prices,
    list_records,
    load_prices,
    make_key,
    price_line,
    price_month,
    price_records,
)
from portal.projects.models import Project
from portal.projects.selectors import get_site_zone
from portal.usage.models import UsageRecord
from portal.usage.selectors import list_days_of


@dataclass(frozen=True, slots=True)
class DayCost:
    """A project's cost of one offering on one day of the site's zone.

    amount is None where there is no offering or no price: unknown is not 0. The days of a line add
    up to the line's rounded amount. is_provisional: the usage may still change.
    """

    day: date
    offering_title: str
    tres: str
    purchase_option: str
    unit_seconds: int
    amount: Money | None
    is_provisional: bool


@dataclass(frozen=True, slots=True)
class PersonCost:
    """A person's cost in a project's month; fields as in DayCost."""

    user: str
    offering_title: str
    tres: str
    purchase_option: str
    unit_seconds: int
    job_count: int
    amount: Money | None
    is_provisional: bool


def cost_by_day(project: Project, month: date) -> tuple[DayCost, ...]:
    """Return the project's cost in a month by day of the site's zone and offering.

    A fixed number of queries. Each line is rounded as a running total, so that its days add up to
    what the statement says.
    """
    prices, zone = load_prices(month), get_site_zone()
    days = _split_days(project, month, prices, zone)
    titles = load_titles(
        {key.offering_id for key, _ in days.lines} | {key.offering_id for key in days.unpriced}
    )
    costs = list(_sum_days(days.lines, titles, prices.currency))
    costs += [
        DayCost(
            key.day,
            titles.get(key.offering_id, ""),
            key.tres,
            key.purchase_option,
            seconds,
            None,
            key.is_provisional,
        )
        for key, seconds in days.unpriced.items()
    ]
    return tuple(sorted(costs, key=_sort_by_day))


def _sort_by_day(cost: DayCost) -> tuple[date, str, str, str, bool]:
    return (
        cost.day,
        cost.offering_title,
        cost.tres,
        cost.purchase_option,
        cost.is_provisional,
    )


class _UnpricedDay(NamedTuple):
    day: date
    offering_id: int | None
    tres: str
    purchase_option: str
    is_provisional: bool


@dataclass(slots=True)
class _Days:
    """Unit-seconds by day: of each line (and whether it is final), and of what has no price."""

    lines: dict[tuple[LineKey, bool], dict[date, int]] = field(
        default_factory=lambda: defaultdict(lambda: defaultdict(int))
    )
    unpriced: dict[_UnpricedDay, int] = field(default_factory=lambda: defaultdict(int))


def _split_days(project: Project, month: date, prices: Prices, zone: ZoneInfo) -> _Days:
    days = _Days()
    records = UsageRecord.objects.filter(project=project, period=month)
    rows = list(records.values_list(*GROUP_FIELDS, *SPAN_FIELDS))
    for row, (group, parts, _) in zip(rows, price_records(rows, prices), strict=True):
        units, elapsed_seconds, _total, start_at, end_at, is_final = row[len(GROUP_FIELDS) :]
        for part in parts:
            line = days.lines[make_key(group, part.rate), is_final]
            seconds = part.unit_seconds // units
            for day, share in list_days_of(part.start_at, part.end_at, seconds, zone):
                line[day] += units * share
        if not parts:
            names = (group.offering_id, group.tres, group.purchase_option, not is_final)
            for day, share in list_days_of(start_at, end_at, elapsed_seconds, zone):
                days.unpriced[_UnpricedDay(day, *names)] += units * share
    return days


class _DayKey(NamedTuple):
    day: date
    offering_title: str
    tres: str
    purchase_option: str
    is_provisional: bool


def _sum_days(
    lines: dict[tuple[LineKey, bool], dict[date, int]],
    titles: dict[int | None, str],
    currency: Currency,
) -> Iterator[DayCost]:
    seconds: dict[_DayKey, int] = defaultdict(int)
    amounts: dict[_DayKey, Money] = defaultdict(lambda: Money.zero(currency))
    for (line, is_final), days in lines.items():
        total, before = 0, Money.zero(currency)
        for day in sorted(days):
            total += days[day]
            until = price_line(total, line.unit_price_micros, currency)
            title = titles.get(line.offering_id, "")
            key = _DayKey(day, title, line.tres, line.purchase_option, not is_final)
            seconds[key] += days[day]
            amounts[key] += until - before
            before = until
    for key in seconds:
        yield DayCost(*key[:4], seconds[key], amounts[key], key.is_provisional)


def cost_by_person(project: Project, month: date) -> tuple[PersonCost, ...]:
    """Return the project's cost in a month by Slurm user, offering and purchase option.

    Computed from usage and prices as they are now; the posted amounts are the same once the ledger
    has caught up. A fixed number of queries.
    """
    months = {
        is_final: price_month(month, list_records(is_final=is_final).filter(project=project))
        for is_final in (True, False)
    }
    titles = load_titles(
        key.offering_id for priced in months.values() for key in priced.list_keys()
    )
    costs = [
        cost
        for is_final, priced in months.items()
        for cost in _list_person_costs(priced, titles, is_final=is_final)
    ]
    return tuple(sorted(costs, key=_sort_by_person))


def _sort_by_person(cost: PersonCost) -> tuple[str, str, str, str, bool]:
    return (
        cost.user,
        cost.offering_title,
        cost.tres,
        cost.purchase_option,
        cost.is_provisional,
    )


def _list_person_costs(
    priced: PricedMonth, titles: dict[int | None, str], *, is_final: bool
) -> Iterator[PersonCost]:
    merged: dict[tuple[str, str, str, str], tuple[int, int, Money]] = {}
    for key, line in priced.lines.items():
        amount = price_line(line.unit_seconds, key.unit_price_micros, priced.currency)
        name = (key.user, titles.get(key.offering_id, ""), key.tres, key.purchase_option)
        seconds, jobs, before = merged.get(name, (0, 0, Money.zero(priced.currency)))
        merged[name] = (
            seconds + line.unit_seconds,
            jobs + line.job_count,
            before + amount,
        )
    for name, (seconds, jobs, amount) in merged.items():
        yield PersonCost(*name, seconds, jobs, amount, not is_final)
    for group, line in priced.unpriced.items():
        yield PersonCost(
            group.user,
            titles.get(group.offering_id, ""),
            group.tres,
            group.purchase_option,
            line.unit_seconds,
            line.job_count,
            None,
            not is_final,
        )


def load_titles(offering_ids: Iterable[int | None]) -> dict[int | None, str]:
    """Return offering id -> title."""
    ids = {pk for pk in offering_ids if pk is not None}
    return dict(Offering.objects.filter(pk__in=ids).values_list("id", "title"))
