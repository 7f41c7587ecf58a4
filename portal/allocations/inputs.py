"""Input of requests and reviews, and the rules that it must keep; no writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from portal.allocations.models import RequestLine
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.catalog.selectors import list_offerings, list_purchase_options, list_rates_at
from portal.common.errors import InvalidInput
from portal.projects.models import Project

MAX_LINES = 12
MAX_TEXT = 5_000


@dataclass(frozen=True, slots=True)
class LineInput:
    """One line of a request: concurrent units and unit-hours of an offering."""

    offering_id: int
    purchase_option: str
    units: int
    unit_hours: int


@dataclass(frozen=True, slots=True)
class RequestInput:
    """All that a requester says; the period is [start_date, end_date)."""

    lines: Sequence[LineInput]
    start_date: date
    end_date: date
    justification: str
    submit_key: UUID


@dataclass(frozen=True, slots=True)
class Grant:
    """What a reviewer grants of one line; 0 units leaves the line out."""

    units: int
    unit_hours: int


def check_request(
    data: RequestInput, *, project: Project, today: date, now: datetime
) -> list[Offering]:
    """Return the offering of each line; raises InvalidInput that names every wrong field.

    Field names are "start_date", "end_date", "justification", "lines" and
    "lines.<index>.<field>".
    """
    offerings = {offering.pk: offering for offering in list_offerings()}
    options = list_purchase_options(offerings.values(), list_rates_at(now, project.organisation))
    errors: dict[str, str] = {}
    chosen: list[Offering] = []
    for index, line in enumerate(data.lines):
        offering = offerings.get(line.offering_id)
        problems = _check_line(line, offering, options.get(line.offering_id, []))
        errors |= {f"lines.{index}.{field}": text for field, text in problems.items()}
        if offering is not None:
            chosen.append(offering)
    errors |= _check_lines_together(data.lines)
    errors |= _check_period(data, chosen, today)
    errors |= _check_justification(data.justification)
    if errors:
        raise InvalidInput(errors)
    return chosen


def _check_line(
    line: LineInput, offering: Offering | None, options: Sequence[str]
) -> dict[str, str]:
    if offering is None:
        return {"offering": "This offering is no longer available: choose another."}
    problems: dict[str, str] = {}
    if line.purchase_option not in options:
        names = " or ".join(PurchaseOption(option).label for option in options)
        problems["purchase_option"] = (
            f"{offering.title} can be had as: {names}."
            if names
            else f"{offering.title} has no price now: ask the site's operators."
        )
    if not 1 <= line.units <= offering.max_units:
        problems["units"] = f"Ask for 1 to {offering.max_units} units of {offering.title}."
    if not 1 <= line.unit_hours <= offering.max_unit_hours:
        problems["unit_hours"] = (
            f"Ask for 1 to {offering.max_unit_hours} unit-hours of {offering.title}."
        )
    return problems


def _check_lines_together(lines: Sequence[LineInput]) -> dict[str, str]:
    if not lines:
        return {"lines": "Ask for at least one offering."}
    if len(lines) > MAX_LINES:
        return {"lines": f"One request holds up to {MAX_LINES} lines: make a second one."}
    seen: set[tuple[int, str]] = set()
    for index, line in enumerate(lines):
        key = (line.offering_id, line.purchase_option)
        if key in seen:
            return {
                f"lines.{index}.offering": "This offering and purchase option stand in a line "
                "above: put the units together there."
            }
        seen.add(key)
    return {}


def _check_period(data: RequestInput, offerings: Sequence[Offering], today: date) -> dict[str, str]:
    if data.end_date <= data.start_date:
        return {"end_date": "The period must end after it begins."}
    if data.start_date < today:
        return {"start_date": "The period cannot begin in the past."}
    if (data.start_date - today).days > 366:
        return {"start_date": "The period must begin within a year."}
    for offering in offerings:
        if (data.end_date - data.start_date).days > offering.max_days:
            return {"end_date": f"{offering.title} can be had for up to {offering.max_days} days."}
    return {}


def _check_justification(text: str) -> dict[str, str]:
    if not text.strip():
        return {"justification": "Say in a sentence or two what the GPUs are for."}
    if len(text) > MAX_TEXT:
        return {"justification": f"Use at most {MAX_TEXT} characters."}
    if "\x00" in text:
        return {"justification": "The text holds a character that cannot be stored."}
    return {}


def check_grants(
    lines: Sequence[RequestLine], grants: Mapping[int, Grant]
) -> dict[RequestLine, Grant]:
    """Return the grant of each line, whole where none was said; raises InvalidInput.

    Field names are "grants" and "grants.<line id>.<field>".
    """
    errors: dict[str, str] = {}
    known = {line.pk for line in lines}
    if not set(grants) <= known:
        errors["grants"] = "A granted line does not belong to this request: load the page again."
    granted: dict[RequestLine, Grant] = {}
    for line in lines:
        grant = grants.get(line.pk, Grant(line.units, line.unit_hours))
        granted[line] = grant
        if not 0 <= grant.units <= line.units:
            errors[f"grants.{line.pk}.units"] = f"Grant 0 to {line.units} units."
        elif grant.units and not 1 <= grant.unit_hours <= line.unit_hours:
            errors[f"grants.{line.pk}.unit_hours"] = f"Grant 1 to {line.unit_hours} unit-hours."
    if not errors and not any(grant.units for grant in granted.values()):
        errors["grants"] = "Nothing is granted: reject the request instead."
    if errors:
        raise InvalidInput(errors)
    return granted
