"""Reads offerings and their prices."""

from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal

from django.db.models import Q, QuerySet

from portal.catalog.models import Offering, Rate
from portal.projects.models import Organisation

MICROS = Decimal(1_000_000)


def list_offerings() -> QuerySet[Offering]:
    """Return what can be requested now, with pool and cluster."""
    return (
        Offering.objects.filter(is_active=True)
        .select_related("pool__cluster")
        .order_by("pool__cluster__name", "title")
    )


def list_rates_at(
    at: datetime, organisation: Organisation | None = None
) -> dict[tuple[int, str], Rate]:
    """Return the rate in force for each (offering id, purchase option).

    An organisation's own price comes before the list price.
    """
    rates = Rate.objects.filter(
        Q(ends_at__isnull=True) | Q(ends_at__gt=at), starts_at__lte=at
    ).filter(Q(organisation__isnull=True) | Q(organisation=organisation))
    found: dict[tuple[int, str], Rate] = {}
    for rate in rates.order_by("starts_at"):
        key = (rate.offering_id, rate.purchase_option)
        is_own = rate.organisation_id is not None
        if key not in found or is_own or found[key].organisation_id is None:
            found[key] = rate
    return found


def to_unit_price(rate: Rate) -> Decimal:
    """Return a rate's price per unit-hour as an exact Decimal in the currency's main unit."""
    return (Decimal(rate.unit_price_micros) / MICROS).normalize()


def list_purchase_options(
    offerings: Iterable[Offering], rates: dict[tuple[int, str], Rate]
) -> dict[int, list[str]]:
    """Return the purchase options that have a price now, by offering id.

    Spot is offered only where the pool has a preemptible partition.
    """
    found: dict[int, list[str]] = {}
    for offering in offerings:
        options = [option for (pk, option) in rates if pk == offering.pk]
        if not offering.pool.spot_partition:
            options = [option for option in options if option != "spot"]
        found[offering.pk] = sorted(options)
    return found
