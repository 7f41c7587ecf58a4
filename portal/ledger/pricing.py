"""Prices a month's usage records: what the books should say, computed from usage and rates."""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from django.db.models import Case, Count, IntegerField, Q, QuerySet, Sum, Value, When

from accounting.money import Currency, Money, round_posting
from accounting.rates import NoRateError, PricedUsage, Rate, RateCard, price_usage
from accounting.usage import UnitUsage, Window
from portal.catalog import models as catalog
from portal.catalog.selectors import MICROS, to_unit_price
from portal.projects.models import Site
from portal.projects.selectors import get_site
from portal.usage.metering import get_month_window
from portal.usage.models import UsageRecord

GROUP_FIELDS = (
    "project_id",
    "project__organisation_id",
    "project__organisation__cost_centre",
    "user",
    "offering_id",
    "tres",
    "purchase_option",
)
SPAN_FIELDS = ("units", "elapsed_seconds", "unit_seconds", "start_at", "end_at", "is_final")


class UsageGroup(NamedTuple):
    """Who used what; offering_id is None where the catalogue knows no offering."""

    project_id: int
    organisation_id: int
    cost_centre: str
    user: str
    offering_id: int | None
    tres: str
    purchase_option: str


class LineKey(NamedTuple):
    """A charge line: a usage group at one rate and price."""

    project_id: int
    organisation_id: int
    cost_centre: str
    user: str
    offering_id: int
    tres: str
    purchase_option: str
    rate_id: int
    unit_price_micros: int


@dataclass(slots=True)
class LineSum:
    """The unit-seconds and the jobs behind a line."""

    unit_seconds: int = 0
    job_count: int = 0

    def add(self, unit_seconds: int, job_count: int) -> None:
        """Add usage to the line."""
        self.unit_seconds += unit_seconds
        self.job_count += job_count


@dataclass(slots=True)
class PricedMonth:
    """A month's lines, and the usage that has no offering or no price and is not in them."""

    currency: Currency
    lines: dict[LineKey, LineSum] = field(default_factory=lambda: defaultdict(LineSum))
    unpriced: dict[UsageGroup, LineSum] = field(default_factory=lambda: defaultdict(LineSum))

    def list_keys(self) -> Iterator["LineKey | UsageGroup"]:
        """Yield the keys of lines and of unpriced groups."""
        yield from self.lines
        yield from self.unpriced


@dataclass(frozen=True, slots=True)
class Prices:
    """The rates that touch a month, and the instants in it at which any price changes."""

    window: Window
    currency: Currency
    card: RateCard
    edges: tuple[datetime, ...]

    def find(self, group: UsageGroup, at: datetime) -> Rate:
        """Return the rate of a group at an instant; raises NoRateError."""
        return self.card.find(*self._name(group), at)

    def split(self, group: UsageGroup, usage: UnitUsage) -> tuple[PricedUsage, ...]:
        """Return the usage cut where its price changes; raises NoRateError."""
        return self.card.split(usage, *self._name(group))

    @staticmethod
    def _name(group: UsageGroup) -> tuple[str, str, str]:
        if group.offering_id is None:
            raise NoRateError(f"no offering for {group.tres}")
        return str(group.offering_id), group.purchase_option, str(group.organisation_id)


def get_currency(site: Site) -> Currency:
    """Return the site's currency."""
    return Currency(site.currency, site.currency_exponent)


def load_prices(month: date) -> Prices:
    """Return the prices of a month, in the site's currency.

    Of two rates in force at once the one that began later holds, so that a new price supersedes an
    open-ended older one.
    """
    site = get_site()
    window = get_month_window(month, ZoneInfo(site.time_zone))
    currency = get_currency(site)
    rates = catalog.Rate.objects.filter(
        Q(ends_at__isnull=True) | Q(ends_at__gt=window.start_at),
        starts_at__lt=window.end_at,
        currency=currency.code,
    ).order_by("starts_at", "id")
    by_key: dict[tuple[int, str, int | None], list[catalog.Rate]] = defaultdict(list)
    edges: set[datetime] = set()
    for rate in rates:
        by_key[rate.offering_id, rate.purchase_option, rate.organisation_id].append(rate)
        edges.update(at for at in (rate.starts_at, rate.ends_at) if at and _is_inside(at, window))
    pieces = [piece for group in by_key.values() for piece in _list_pieces(group, currency)]
    ends = (window.start_at, *sorted(edges), window.end_at)
    return Prices(window, currency, RateCard(pieces), ends)


def _is_inside(at: datetime, window: Window) -> bool:
    return window.start_at < at < window.end_at


def _list_pieces(rates: list[catalog.Rate], currency: Currency) -> Iterator[Rate]:
    """Yield rates that do not overlap: at each instant the one that began last."""
    cuts = sorted({at for rate in rates for at in (rate.starts_at, rate.ends_at) if at})
    for start_at, end_at in zip(cuts, [*cuts[1:], None], strict=True):
        in_force = [
            rate
            for rate in rates
            if rate.starts_at <= start_at and (rate.ends_at is None or rate.ends_at > start_at)
        ]
        if not in_force:
            continue
        rate = in_force[-1]
        yield Rate(
            rate_id=str(rate.pk),
            offering=str(rate.offering_id),
            purchase_option=rate.purchase_option,
            organisation=None if rate.organisation_id is None else str(rate.organisation_id),
            unit_price=to_unit_price(rate),
            currency=currency,
            starts_at=start_at,
            ends_at=end_at,
        )


def price_month(month: date, records: QuerySet[UsageRecord]) -> PricedMonth:
    """Return the lines of these usage records of a month.

    Records during which no price changes are added up by the database; only those that run across
    a change are read one by one. Two queries, whatever their number.
    """
    prices = load_prices(month)
    priced = PricedMonth(prices.currency)
    records = records.filter(period=month).annotate(segment=_segment(prices.edges)).order_by()
    totals = (
        records.filter(segment__gte=0)
        .values_list(*GROUP_FIELDS, "segment")
        .annotate(total=Sum("unit_seconds"), jobs=Count("id"))
    )
    for *names, segment, total, jobs in totals:
        group = UsageGroup(*names)
        try:
            rate = prices.find(group, prices.edges[segment])
        except NoRateError:
            priced.unpriced[group].add(total, jobs)
        else:
            priced.lines[make_key(group, rate)].add(total, jobs)
    across = records.filter(segment__lt=0).values_list(*GROUP_FIELDS, *SPAN_FIELDS)
    for group, parts, unit_seconds in price_records(across.iterator(), prices):
        if not parts:
            priced.unpriced[group].add(unit_seconds, 1)
        seen: set[LineKey] = set()
        for part in parts:
            key = make_key(group, part.rate)
            priced.lines[key].add(part.unit_seconds, int(key not in seen))
            seen.add(key)
    return priced


def _segment(edges: tuple[datetime, ...]) -> Case:
    """Return the number of the stretch between two edges that holds a record, -1 for none."""
    return Case(
        *(
            When(start_at__gte=start_at, end_at__lte=end_at, then=Value(number))
            for number, (start_at, end_at) in enumerate(pairwise(edges))
        ),
        default=Value(-1),
        output_field=IntegerField(),
    )


def price_records(
    rows: Iterable[tuple[Any, ...]], prices: Prices
) -> Iterator[tuple[UsageGroup, tuple[PricedUsage, ...], int]]:
    """Yield (group, priced parts, unit-seconds) of rows of GROUP_FIELDS and SPAN_FIELDS.

    No parts where any second has no price.
    """
    width = len(GROUP_FIELDS)
    for row in rows:
        group = UsageGroup(*row[:width])
        units, elapsed_seconds, unit_seconds, start_at, end_at, is_final = row[width:]
        usage = UnitUsage(
            tres=group.tres,
            units=units,
            elapsed_seconds=elapsed_seconds,
            unit_seconds=unit_seconds,
            start_at=start_at,
            end_at=end_at,
            is_final=is_final,
            is_split_estimated=False,
        )
        try:
            yield group, prices.split(group, usage), usage.unit_seconds
        except NoRateError:
            yield group, (), usage.unit_seconds


def make_key(group: UsageGroup, rate: Rate) -> LineKey:
    """Return the line of a group at a rate."""
    assert group.offering_id is not None
    return LineKey(
        *group[:4],
        group.offering_id,
        group.tres,
        group.purchase_option,
        int(rate.rate_id),
        int(rate.unit_price * MICROS),
    )


def price_line(unit_seconds: int, unit_price_micros: int, currency: Currency) -> Money:
    """Return a line's amount, rounded once."""
    return round_posting(price_usage(unit_seconds, Decimal(unit_price_micros) / MICROS), currency)


def list_records(*, is_final: bool) -> QuerySet[UsageRecord]:
    """Return the usage records that are final, or those that may still change."""
    return UsageRecord.objects.filter(is_final=is_final)
