"""Requests as pages show them: lines with what they cost at most, and their history in words."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from accounting.money import Money
from portal.allocations.models import AllocationRequest, RequestLine
from portal.audit.models import AuditEvent
from portal.audit.selectors import list_events
from portal.catalog.selectors import list_rates_at
from portal.projects.models import User
from portal.web.presenters.prices import (
    AvailabilityView,
    estimate_line,
    get_availability,
    sum_or_none,
    to_money,
)
from portal.web.site import SiteView

ACTION_WORDS = {
    "submit_request": "sent the request",
    "resubmit_request": "changed the request and sent it again",
    "withdraw_request": "withdrew the request",
    "approve_request": "approved it",
    "reject_request": "rejected it",
    "ask_for_changes": "asked for changes",
    "comment_request": "wrote a comment",
}


@dataclass(frozen=True, slots=True)
class RequestLineView:
    """A line with its price, its cost at most, and what is free of it now."""

    line: RequestLine
    price: Money | None
    cost: Money | None
    availability: AvailabilityView


@dataclass(frozen=True, slots=True)
class RequestView:
    """A request with its lines and the sum of their costs."""

    request: AllocationRequest
    lines: tuple[RequestLineView, ...]
    total: Money | None
    is_cut: bool


@dataclass(frozen=True, slots=True)
class TimelineEntry:
    """Who did what and when."""

    at: datetime
    actor: str
    words: str


def make_request_view(request: AllocationRequest, site: SiteView) -> RequestView:
    """Return a request with costs at today's prices of its organisation."""
    rates = list_rates_at(site.now, request.project.organisation)
    views = []
    for line in request.lines.all():
        rate = rates.get((line.offering_id, line.purchase_option))
        hours = line.unit_hours if line.granted_unit_hours is None else line.granted_unit_hours
        views.append(
            RequestLineView(
                line=line,
                price=to_money(rate.unit_price_micros, site) if rate else None,
                cost=estimate_line(rates, line.offering_id, line.purchase_option, hours, site),
                availability=get_availability(line.offering.pool),
            )
        )
    return RequestView(
        request=request,
        lines=tuple(views),
        total=sum_or_none((view.cost for view in views), site),
        is_cut=any(_is_cut(view.line) for view in views),
    )


def _is_cut(line: RequestLine) -> bool:
    return line.granted_units is not None and (
        line.granted_units < line.units or (line.granted_unit_hours or 0) < line.unit_hours
    )


def list_timeline(request: AllocationRequest) -> list[TimelineEntry]:
    """Return what happened to a request, oldest first."""
    events = list(list_events("request", request.pk))
    names = _name_people(events)
    return [
        TimelineEntry(
            at=event.at,
            actor=names.get(event.actor, event.actor),
            words=ACTION_WORDS.get(event.action, event.action.replace("_", " ")),
        )
        for event in events
    ]


def _name_people(events: Iterable[AuditEvent]) -> dict[str, str]:
    people = User.objects.filter(username__in={event.actor for event in events})
    return {person.username: person.get_full_name() or person.username for person in people}
