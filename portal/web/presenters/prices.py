"""Offerings with their prices and what is free now, and what a line costs at most."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction

from accounting.money import Money, round_posting, sum_money
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering, Rate
from portal.catalog.selectors import list_offerings, list_purchase_options, list_rates_at
from portal.inventory.models import Pool
from portal.inventory.selectors import get_free_units
from portal.projects.models import Organisation
from portal.web.site import SiteView

MICROS = 1_000_000
Rates = Mapping[tuple[int, str], Rate]


@dataclass(frozen=True, slots=True)
class PriceView:
    """What a unit-hour costs with one purchase option; `listed` where the own price differs."""

    option: str
    label: str
    price: Money
    listed: Money | None


@dataclass(frozen=True, slots=True)
class AvailabilityView:
    """What of a pool is free; None where Slurm was never asked."""

    free_units: int | None
    total_units: int | None
    observed_at: datetime | None

    @property
    def used_units(self) -> int | None:
        """What is not free."""
        if self.free_units is None or self.total_units is None:
            return None
        return self.total_units - self.free_units


@dataclass(frozen=True, slots=True)
class OfferingView:
    """An offering as the catalogue and the request form show it."""

    offering: Offering
    prices: tuple[PriceView, ...]
    availability: AvailabilityView

    @property
    def unit_hours_name(self) -> str:
        """Return "GPU-hours", or what the unit is called."""
        return f"{self.offering.unit_name}-hours"


def get_availability(pool: Pool) -> AvailabilityView:
    """Return what is free in a pool by the last observation."""
    return AvailabilityView(get_free_units(pool), pool.observed_total_units, pool.observed_at)


def list_offering_views(site: SiteView, organisation: Organisation | None) -> list[OfferingView]:
    """Return what can be requested now, with the organisation's prices beside the list's."""
    offerings = list(list_offerings())
    own, listed = list_rates_at(site.now, organisation), list_rates_at(site.now)
    options = list_purchase_options(offerings, own)
    return [
        OfferingView(
            offering=offering,
            prices=tuple(
                _make_price(own, listed, offering, option, site) for option in options[offering.pk]
            ),
            availability=get_availability(offering.pool),
        )
        for offering in offerings
    ]


def _make_price(
    own: Rates, listed: Rates, offering: Offering, option: str, site: SiteView
) -> PriceView:
    key = (offering.pk, option)
    price = to_money(own[key].unit_price_micros, site)
    list_price = to_money(listed[key].unit_price_micros, site) if key in listed else None
    return PriceView(
        option=option,
        label=PurchaseOption(option).label,
        price=price,
        listed=list_price if list_price != price else None,
    )


def to_money(micros: int, site: SiteView) -> Money:
    """Return stored micro-units as money of the site."""
    return Money.from_micros(micros, site.currency)


def estimate_cost(unit_hours: int, price: Money) -> Money:
    """Return what all the unit-hours cost, rounded as a posting would be."""
    return round_posting(Fraction(price.amount) * unit_hours, price.currency)


def estimate_line(
    rates: Rates, offering_id: int, option: str, unit_hours: int, site: SiteView
) -> Money | None:
    """Return what a line costs at most at today's price; None where it has no price."""
    rate = rates.get((offering_id, option))
    if rate is None:
        return None
    return estimate_cost(unit_hours, to_money(rate.unit_price_micros, site))


def sum_or_none(amounts: Iterable[Money | None], site: SiteView) -> Money | None:
    """Return the sum, or None where a part of it is unknown."""
    known: list[Money] = []
    for amount in amounts:
        if amount is None:
            return None
        known.append(amount)
    return sum_money(known, site.currency)


def find_price(views: Sequence[OfferingView], code: str, option: str) -> Money | None:
    """Return the price of an offering's code with a purchase option, or None."""
    for view in views:
        if view.offering.code == code:
            return next((price.price for price in view.prices if price.option == option), None)
    return None
