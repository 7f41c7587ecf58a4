"""What the request form's lines cost at most, and the price list that its script reads."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accounting.money import Money
from portal.catalog.models import Rate
from portal.catalog.selectors import list_rates_at
from portal.projects.models import Project
from portal.web.presenters.prices import OfferingView, estimate_cost, find_price, sum_or_none
from portal.web.presenters.requests import RequestView
from portal.web.site import SiteView


@dataclass(frozen=True, slots=True)
class EstimateView:
    """The cost at most of each line, in the lines' order, and of all; None where unknown."""

    lines: tuple[Money | None, ...]
    total: Money | None


def make_estimate(lines: Any, offerings: Sequence[OfferingView], site: SiteView) -> EstimateView:
    """Return the estimate of a formset's lines as they stand, valid or not."""
    costs = tuple(_estimate(form, offerings) for form in lines.forms)
    return EstimateView(costs, sum_or_none(costs, site) if costs else None)


def _estimate(form: Any, offerings: Sequence[OfferingView]) -> Money | None:
    text = str(form["unit_hours"].value() or "")
    price = find_price(
        offerings, str(form["offering"].value()), str(form["purchase_option"].value())
    )
    if price is None or not (text.isascii() and text.isdigit() and len(text) <= 12):
        return None
    return estimate_cost(int(text), price)


def make_price_list(
    projects: Sequence[Project], offerings: Sequence[OfferingView], site: SiteView
) -> str:
    """Return JSON for the script: bounds of each offering, and prices in whole micro-units.

    {"exponent", "currency", "offerings": {code: {...}}, "prices": {project: {code: {option: n}}}}
    """
    by_organisation = {
        project.organisation_id: list_rates_at(site.now, project.organisation)
        for project in projects
    }
    known = {
        project.code: _price_offerings(offerings, by_organisation[project.organisation_id])
        for project in projects
    }
    known[""] = _price_offerings(offerings, list_rates_at(site.now))
    return json.dumps(
        {
            "currency": site.currency.code,
            "exponent": site.currency.exponent,
            "prices": known,
            "offerings": {
                view.offering.code: {
                    "units": view.offering.default_units,
                    "unit_hours": view.offering.default_unit_hours,
                    "max_units": view.offering.max_units,
                    "max_unit_hours": view.offering.max_unit_hours,
                }
                for view in offerings
            },
        },
        sort_keys=True,
    )


def make_grant_prices(view: RequestView, site: SiteView) -> str:
    """Return JSON for the review's script: the price of each line in whole micro-units.

    {"exponent", "currency", "lines": {line id: n}}; a line without a price is left out.
    """
    prices = {
        str(line.line.pk): str(line.price.micros) for line in view.lines if line.price is not None
    }
    money = {"currency": site.currency.code, "exponent": site.currency.exponent}
    return json.dumps({**money, "lines": prices}, sort_keys=True)


def _price_offerings(
    offerings: Sequence[OfferingView], rates: dict[tuple[int, str], Rate]
) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {view.offering.code: {} for view in offerings}
    codes = {view.offering.pk: view.offering for view in offerings}
    for (offering_id, option), rate in rates.items():
        offering = codes.get(offering_id)
        if offering and (option != "spot" or offering.pool.spot_partition):
            found[offering.code][option] = str(rate.unit_price_micros)
    return found
