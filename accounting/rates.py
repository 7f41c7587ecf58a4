"""Dated prices per unit-hour, who gets which, and the exact price of whole unit-seconds."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise

from accounting.errors import NoRateError, RateError
from accounting.money import Currency, read_exact
from accounting.usage import UnitUsage, split_seconds

__all__ = ["NoRateError", "PricedUsage", "Rate", "RateCard", "RateError", "price_usage"]

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Rate:
    """A price per unit-hour of (offering, purchase option) over [starts_at, ends_at).

    organisation None is the list price; ends_at None is "until further notice". Instants are aware,
    on whole seconds, held in UTC. A negative or inexact price raises.
    """

    rate_id: str
    offering: str
    purchase_option: str
    organisation: str | None
    unit_price: Decimal
    currency: Currency
    starts_at: datetime
    ends_at: datetime | None = None

    def __post_init__(self) -> None:
        price = read_exact(self.unit_price)
        if price < 0:
            raise RateError(f"rate {self.rate_id}: a price is not negative, as {price} is")
        object.__setattr__(self, "unit_price", price)
        object.__setattr__(self, "starts_at", _read_instant(self.rate_id, self.starts_at))
        if self.ends_at is not None:
            object.__setattr__(self, "ends_at", _read_instant(self.rate_id, self.ends_at))
            if self.ends_at <= self.starts_at:
                raise RateError(f"rate {self.rate_id} ends before it starts")


@dataclass(frozen=True, slots=True)
class PricedUsage:
    """A part of a usage, [start_at, end_at), to which one rate applies."""

    rate: Rate
    unit_seconds: int
    start_at: datetime
    end_at: datetime


_Key = tuple[str, str, str | None]


class RateCard:
    """All prices of a site. Two rates for the same (offering, purchase option, organisation) must
    not overlap (RateError); gaps are allowed and found when something was used in them."""

    def __init__(self, rates: Sequence[Rate]) -> None:
        self._rates: dict[_Key, list[Rate]] = {}
        for rate in sorted(rates, key=lambda rate: rate.starts_at):
            key = (rate.offering, rate.purchase_option, rate.organisation)
            known = self._rates.setdefault(key, [])
            if known and (known[-1].ends_at is None or known[-1].ends_at > rate.starts_at):
                raise RateError(
                    f"the rates {known[-1].rate_id} and {rate.rate_id} for {_render_key(key)}"
                    f" overlap at {rate.starts_at:%Y-%m-%dT%H:%M:%SZ}"
                )
            known.append(rate)
        self._starts = {
            key: [rate.starts_at for rate in known] for key, known in self._rates.items()
        }

    def find(
        self, offering: str, purchase_option: str, organisation: str | None, at: datetime
    ) -> Rate:
        """Return the price at an instant: the organisation's own where it has one, else the list's.

        NoRateError names offering, purchase option, organisation and instant.
        """
        for key in _list_keys(offering, purchase_option, organisation):
            rate = self._find_exact(key, at)
            if rate is not None:
                return rate
        raise NoRateError(
            f"no price for {_render_key((offering, purchase_option, organisation))}"
            f" at {at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        )

    def split(
        self, usage: UnitUsage, offering: str, purchase_option: str, organisation: str | None
    ) -> tuple[PricedUsage, ...]:
        """Return the usage cut at the instants where its price changes.

        The parts' unit_seconds add up to the usage's. Seconds are whole and divided as in
        `split_seconds`: by the clock, or evenly where the job was suspended. Parts of 0 s are left
        out. NoRateError if any second has no price.
        """
        parts: list[PricedUsage] = []
        for start_at, end_at in self._list_spans(usage, offering, purchase_option, organisation):
            seconds = split_seconds(usage.elapsed_seconds, usage.start_at, usage.end_at, end_at)
            seconds -= split_seconds(usage.elapsed_seconds, usage.start_at, usage.end_at, start_at)
            if seconds == 0:
                continue
            rate = self.find(offering, purchase_option, organisation, start_at)
            unit_seconds = seconds * usage.units
            if parts and parts[-1].rate == rate:  # a change of a price that does not apply here
                last = parts.pop()
                start_at, unit_seconds = last.start_at, last.unit_seconds + unit_seconds
            parts.append(PricedUsage(rate, unit_seconds, start_at, end_at))
        return tuple(parts)

    def _list_spans(
        self, usage: UnitUsage, offering: str, purchase_option: str, organisation: str | None
    ) -> Iterator[tuple[datetime, datetime]]:
        cuts = {usage.start_at, usage.end_at}
        for key in _list_keys(offering, purchase_option, organisation):
            for rate in self._rates.get(key, ()):
                edges = (rate.starts_at, rate.ends_at)
                cuts.update(e for e in edges if e and usage.start_at < e < usage.end_at)
        edges_in_order = sorted(cuts)
        return pairwise(edges_in_order)

    def _find_exact(self, key: _Key, at: datetime) -> Rate | None:
        starts = self._starts.get(key)
        position = bisect_right(starts, at) if starts else 0
        if position == 0:
            return None
        rate = self._rates[key][position - 1]
        return rate if rate.ends_at is None or at < rate.ends_at else None


def price_usage(unit_seconds: int, unit_price: Decimal) -> Fraction:
    """Return the exact, unrounded price of unit-seconds at a price per unit-hour."""
    if type(unit_seconds) is not int:
        raise TypeError(f"unit-seconds are an int, not {type(unit_seconds).__name__}")
    return Fraction(read_exact(unit_price)) * unit_seconds / SECONDS_PER_HOUR


def _list_keys(offering: str, purchase_option: str, organisation: str | None) -> list[_Key]:
    keys: list[_Key] = [(offering, purchase_option, None)]
    if organisation is not None:
        keys.insert(0, (offering, purchase_option, organisation))
    return keys


def _read_instant(rate_id: str, instant: datetime) -> datetime:
    if instant.tzinfo is None or instant.microsecond:
        raise RateError(f"rate {rate_id}: {instant!r} is not aware and on a whole second")
    return instant.astimezone(UTC)


def _render_key(key: _Key) -> str:
    offering, purchase_option, organisation = key
    owner = "the price list" if organisation is None else f"organisation {organisation}"
    return f"offering {offering}, purchase option {purchase_option}, {owner}"
