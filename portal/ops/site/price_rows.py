"""Stores the prices of a site description as dated rates."""

from collections import defaultdict
from datetime import date, datetime, time
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from portal.catalog.models import Offering, Rate
from portal.ops.site.description import PriceDescription
from portal.ops.site.outcomes import Verb
from portal.ops.site.prices import DatedPrice, PastPriceError, PriceChange, plan_prices
from portal.projects.models import Organisation

if TYPE_CHECKING:
    from portal.ops.site.load import SiteLoader

Key = tuple[str, str, str | None]
MICROS = 1_000_000


def store_prices(loader: "SiteLoader") -> None:
    """Store all prices of the file, list prices first; refusals go to the loader."""
    zone = ZoneInfo(loader.description.site.time_zone)
    grouped: dict[Key, dict[datetime, int]] = defaultdict(dict)
    for index, item in enumerate(loader.description.prices):
        key = (item.offering, str(item.purchase_option), item.organisation)
        grouped[key][_get_start(item.from_date, zone)] = index
    past = {key: _is_past_priced(loader, key) for key in grouped}
    for key, indexes in grouped.items():
        wanted = [
            DatedPrice(start, _get_micros(loader.description.prices[index]))
            for start, index in indexes.items()
        ]
        try:
            changes = plan_prices(
                [DatedPrice(rate.starts_at, rate.unit_price_micros, rate.ends_at)
                 for rate in _list_rates(loader, key)],
                wanted,
                now=loader.now,
                is_past_priced=past[key],
            )  # fmt: skip
        except PastPriceError as error:
            place = ("prices", indexes[error.wanted.starts_at], "from_date")
            loader.refuse(place, error.sentence)
            continue
        for change in changes:
            _store_change(loader, key, change, zone)


def _get_start(day: date, zone: ZoneInfo) -> datetime:
    return datetime.combine(day, time(), zone)


def _get_micros(item: PriceDescription) -> int:
    return int(item.per_unit_hour * MICROS)


def _list_rates(loader: "SiteLoader", key: Key) -> list[Rate]:
    offering, option, organisation = key
    rates = Rate.objects.filter(offering=loader.offerings[offering], purchase_option=option)
    if organisation is None:
        rates = rates.filter(organisation__isnull=True)
    else:
        rates = rates.filter(organisation=loader.organisations[organisation])
    return list(rates.order_by("starts_at"))


def _is_past_priced(loader: "SiteLoader", key: Key) -> bool:
    """Whether a stored list price was in force for the organisation of an own price."""
    offering, option, organisation = key
    if organisation is None:
        return False
    return any(
        rate.starts_at < loader.now for rate in _list_rates(loader, (offering, option, None))
    )


def _store_change(loader: "SiteLoader", key: Key, change: PriceChange, zone: ZoneInfo) -> None:
    offering_code, option, organisation_code = key
    offering: Offering = loader.offerings[offering_code]
    organisation: Organisation | None = (
        loader.organisations[organisation_code] if organisation_code else None
    )
    after = change.after
    whose = f" for {organisation_code}" if organisation_code else ""
    day = after.starts_at.astimezone(zone).date()
    name = f"{offering_code} {option}{whose} from {day}"
    if change.before == after:
        loader.note(Verb.SAME, "price", name)
        return
    values = {"unit_price_micros": after.micros, "ends_at": after.ends_at}
    if change.before is None:
        Rate.objects.create(
            offering=offering,
            purchase_option=option,
            organisation=organisation,
            starts_at=after.starts_at,
            currency=loader.description.site.currency,
            **values,
        )
        loader.note(Verb.CREATED, "price", name)
        return
    Rate.objects.filter(
        offering=offering,
        purchase_option=option,
        organisation=organisation,
        starts_at=after.starts_at,
    ).update(**values)
    details = "price" if change.before.micros != after.micros else "ends where the next begins"
    loader.note(Verb.CHANGED, "price", name, details)
