"""Charge lines, each rounded once, and statements whose totals are sums of their lines."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from accounting.errors import StatementError
from accounting.money import Currency, Money, render_amount, round_posting, sum_money
from accounting.rates import SECONDS_PER_HOUR, Rate, price_usage

_PERIOD = re.compile(r"[0-9]{4}-(0[1-9]|1[0-2])")


@dataclass(frozen=True, slots=True)
class ChargeItem:
    """Priced usage on its way to a line: of one job's part, or of many already added up.

    job_count: how many jobs stand behind it. A job whose use comes in several items of the same
    line is counted in one of them (1) and not in the others (0).
    """

    period: str
    organisation: str
    cost_centre: str
    project: str
    user: str
    offering: str
    purchase_option: str
    tres: str
    rate: Rate
    unit_seconds: int
    job_count: int = 1


@dataclass(frozen=True, slots=True)
class ChargeLine:
    """What a user of a project is charged for one offering at one rate in one period.

    unit_price is per unit-hour. amount is rounded; from `make_charge_lines` it is the exact price
    of all its unit_seconds, rounded once. A correction may be negative.
    """

    project: str
    offering: str
    purchase_option: str
    user: str
    tres: str
    unit_seconds: int
    rate_id: str
    unit_price: Decimal
    currency: Currency
    amount: Money
    organisation: str
    cost_centre: str
    period: str
    job_count: int

    def __post_init__(self) -> None:
        if not _PERIOD.fullmatch(self.period):
            raise StatementError(f"a period is YYYY-MM, not {self.period!r}")
        if self.amount.currency != self.currency:
            raise StatementError(f"{self.amount} on a line in {self.currency.code}")
        if not self.amount.is_rounded:
            raise StatementError(f"{self.amount} is not rounded: it comes from round_posting")

    @property
    def sort_key(self) -> tuple[str | int | Decimal, ...]:
        """The order of lines: by who pays, then what for; the same for the same lines.

        Rates count as numbers do, 9 before 10.
        """
        return (
            self.period,
            self.organisation,
            self.cost_centre,
            self.project,
            self.user,
            self.offering,
            self.tres,
            self.purchase_option,
            self.currency.code,
            len(self.rate_id),
            self.rate_id,
            self.unit_price,
            self.unit_seconds,
            self.amount.amount,
            self.job_count,
        )


def make_charge_lines(items: Iterable[ChargeItem]) -> tuple[ChargeLine, ...]:
    """Return the lines of items, in `sort_key` order, whatever the order of the items.

    Items that differ in nothing but seconds and jobs become one line: its seconds are added up
    first, then priced and rounded once. A line of 0 unit-seconds is left out. StatementError if one
    rate_id stands for two rates.
    """
    groups: dict[tuple[str, ...], tuple[ChargeItem, list[int]]] = {}
    for item in items:
        key = (
            item.period,
            item.organisation,
            item.cost_centre,
            item.project,
            item.user,
            item.offering,
            item.purchase_option,
            item.tres,
            item.rate.rate_id,
        )
        first, sums = groups.setdefault(key, (item, [0, 0]))
        if first.rate is not item.rate and first.rate != item.rate:
            raise StatementError(f"rate id {item.rate.rate_id} stands for two rates")
        sums[0] += item.unit_seconds
        sums[1] += item.job_count
    lines = (_make_line(first, *sums) for first, sums in groups.values() if sums[0])
    return tuple(sorted(lines, key=lambda line: line.sort_key))


def _make_line(item: ChargeItem, unit_seconds: int, job_count: int) -> ChargeLine:
    rate = item.rate
    return ChargeLine(
        project=item.project,
        offering=item.offering,
        purchase_option=item.purchase_option,
        user=item.user,
        tres=item.tres,
        unit_seconds=unit_seconds,
        rate_id=rate.rate_id,
        unit_price=rate.unit_price,
        currency=rate.currency,
        amount=round_posting(price_usage(unit_seconds, rate.unit_price), rate.currency),
        organisation=item.organisation,
        cost_centre=item.cost_centre,
        period=item.period,
        job_count=job_count,
    )


@dataclass(frozen=True, slots=True)
class Statement:
    """The charge lines of one period, in `sort_key` order; every total is a sum of its lines."""

    period: str
    lines: tuple[ChargeLine, ...]

    def __post_init__(self) -> None:
        if not _PERIOD.fullmatch(self.period):
            raise StatementError(f"a period is YYYY-MM, not {self.period!r}")
        strays = sorted({line.period for line in self.lines} - {self.period})
        if strays:
            raise StatementError(f"lines of {', '.join(strays)} in the statement of {self.period}")
        ordered = tuple(sorted(self.lines, key=lambda line: line.sort_key))
        object.__setattr__(self, "lines", ordered)

    def sum_by_currency(self) -> dict[Currency, Money]:
        """Return the whole of the statement, per currency."""
        return {currency: money for (_, currency), money in self._sum(lambda line: "").items()}

    def sum_by_project(self) -> dict[tuple[str, Currency], Money]:
        """Return (project, currency) -> total, in the order of names."""
        return self._sum(lambda line: line.project)

    def sum_by_organisation(self) -> dict[tuple[str, Currency], Money]:
        """Return (organisation, currency) -> total, in the order of names."""
        return self._sum(lambda line: line.organisation)

    def sum_by_cost_centre(self) -> dict[tuple[str, Currency], Money]:
        """Return (cost centre, currency) -> total, in the order of names."""
        return self._sum(lambda line: line.cost_centre)

    def _sum(self, group_of: Callable[[ChargeLine], str]) -> dict[tuple[str, Currency], Money]:
        groups: dict[tuple[str, Currency], list[Money]] = {}
        for line in self.lines:
            groups.setdefault((group_of(line), line.currency), []).append(line.amount)
        return {key: sum_money(groups[key], key[1]) for key in sorted(groups)}


def render_money(money: Money, *, separator: str = ",") -> str:
    """Return "1,234.50 CNY", for people: thousands grouped, every digit kept."""
    text = render_amount(money)
    sign, digits = ("-", text[1:]) if text.startswith("-") else ("", text)
    whole, point, rest = digits.partition(".")
    grouped = f"{int(whole):,}".replace(",", separator)
    return f"{sign}{grouped}{point}{rest} {money.currency.code}"


def render_unit_hours(unit_seconds: int, *, places: int = 6) -> str:
    """Return unit-seconds as hours in decimal, half to even at `places` digits: for reading.

    A third of an hour has no exact decimal; unit_seconds is the exact figure, and no amount is ever
    computed from this text.
    """
    scaled = round(Fraction(unit_seconds, SECONDS_PER_HOUR) * 10**places)
    digits = str(abs(scaled)).rjust(places + 1, "0")
    sign = "-" if scaled < 0 else ""
    return f"{sign}{digits[:-places]}.{digits[-places:]}"
