"""Decisions on requests and allocations: check, change, audit, in one transaction each."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction

from portal.allocations.choices import RequestState
from portal.allocations.inputs import (
    MAX_TEXT,
    Grant,
    RequestInput,
    check_grants,
    check_request,
)
from portal.allocations.models import (
    Allocation,
    AllocationHold,
    AllocationLine,
    AllocationRequest,
    RequestComment,
    RequestLine,
)
from portal.allocations.selectors import can_comment, can_hold, can_review
from portal.audit.services import record_event
from portal.catalog.models import Offering
from portal.common.errors import Conflict, InvalidInput, NotFound, NotPermitted
from portal.common.ticks import request_tick
from portal.projects.choices import ProjectState
from portal.projects.models import Project, User
from portal.projects.selectors import can_request_for, get_site_zone

QOS_NAME_LENGTH = 42
QOS_GRES_LENGTH = 16
OPEN_STATES = (RequestState.SUBMITTED, RequestState.CHANGES_REQUESTED)


def submit_request(
    *, actor: User, project: Project, data: RequestInput, now: datetime
) -> AllocationRequest:
    """Store a request and return it.

    The same submit_key of the same person returns the request that was stored first, so that a
    double click is harmless. Raises NotPermitted, Conflict or InvalidInput.
    """
    _check_may_request(actor, project)
    stored = _find_submitted(actor, data)
    if stored is not None:
        return stored
    offerings = _check_data(data, project, now)
    try:
        with transaction.atomic():
            return _store_request(actor, project, data, offerings, now)
    except IntegrityError:
        stored = _find_submitted(actor, data)
        if stored is None:
            raise
        return stored


def _find_submitted(actor: User, data: RequestInput) -> AllocationRequest | None:
    stored = AllocationRequest.objects.filter(submit_key=data.submit_key).first()
    if stored is not None and stored.requester_id != actor.pk:
        raise Conflict("This form was already used by somebody else: load it again.")
    return stored


def _check_may_request(actor: User, project: Project) -> None:
    if not can_request_for(actor, project):
        raise NotPermitted(f"Only the PI and managers of {project.code} can ask for its GPUs.")
    if project.state != ProjectState.ACTIVE:
        raise Conflict(f"Project {project.code} has ended.")


def _check_data(data: RequestInput, project: Project, now: datetime) -> list[Offering]:
    today = now.astimezone(get_site_zone()).date()
    return check_request(data, project=project, today=today, now=now)


def _store_request(
    actor: User,
    project: Project,
    data: RequestInput,
    offerings: list[Offering],
    now: datetime,
) -> AllocationRequest:
    request = AllocationRequest.objects.create(
        project=project,
        requester=actor,
        start_date=data.start_date,
        end_date=data.end_date,
        justification=data.justification.strip(),
        submit_key=data.submit_key,
        submitted_at=now,
    )
    _store_lines(request, data, offerings)
    _audit(actor, "submit_request", request, now)
    return request


def _store_lines(request: AllocationRequest, data: RequestInput, offerings: list[Offering]) -> None:
    RequestLine.objects.bulk_create(
        RequestLine(
            request=request,
            offering=offering,
            purchase_option=line.purchase_option,
            units=line.units,
            unit_hours=line.unit_hours,
        )
        for line, offering in zip(data.lines, offerings, strict=True)
    )


@transaction.atomic
def resubmit_request(
    *, actor: User, request_id: int, version: int, data: RequestInput, now: datetime
) -> AllocationRequest:
    """Replace an undecided request's content and put it before the reviewers again."""
    request = _lock_open_request(request_id, version)
    _check_may_request(actor, request.project)
    offerings = _check_data(data, request.project, now)
    request.lines.all().delete()
    request.start_date = data.start_date
    request.end_date = data.end_date
    request.justification = data.justification.strip()
    request.submitted_at = now
    _store_lines(request, data, offerings)
    _change_state(request, RequestState.SUBMITTED)
    _audit(actor, "resubmit_request", request, now)
    return request


@transaction.atomic
def withdraw_request(
    *, actor: User, request_id: int, version: int, now: datetime
) -> AllocationRequest:
    """Take an undecided request back."""
    request = _lock_open_request(request_id, version)
    if not can_request_for(actor, request.project):
        raise NotPermitted("Only the project's PI and managers can withdraw its requests.")
    _change_state(request, RequestState.WITHDRAWN)
    _audit(actor, "withdraw_request", request, now)
    return request


@transaction.atomic
def approve_request(
    *,
    actor: User,
    request_id: int,
    version: int,
    grants: Mapping[int, Grant],
    comment: str = "",
    now: datetime,
) -> Allocation:
    """Grant a request, whole or less, and return the allocation that it becomes.

    `grants` maps line ids to what is granted; a line without an entry is granted whole. The
    decision stands at once; Slurm follows with the next reconcile tick.
    """
    request = _lock_for_review(actor, request_id, version)
    if request.project.state != ProjectState.ACTIVE:
        raise Conflict(f"Project {request.project.code} has ended.")
    if request.end_date <= now.astimezone(get_site_zone()).date():
        raise Conflict("The period asked for is over: ask the requester for new dates.")
    lines = request.lines.select_related("offering__pool").order_by("id")
    granted = check_grants(list(lines), grants)
    for line, grant in granted.items():
        line.granted_units = grant.units
        line.granted_unit_hours = grant.unit_hours if grant.units else 0
    RequestLine.objects.bulk_update(granted, ["granted_units", "granted_unit_hours"])
    _store_comment(actor, request, comment, now)
    _decide(actor, request, RequestState.APPROVED, now)
    allocation = _store_allocation(request, granted)
    _audit(actor, "approve_request", request, now, allocation=allocation.pk)
    request_tick("reconcile")
    return allocation


def _store_allocation(
    request: AllocationRequest, granted: Mapping[RequestLine, Grant]
) -> Allocation:
    allocation = Allocation.objects.create(
        project=request.project,
        request=request,
        start_date=request.start_date,
        end_date=request.end_date,
    )
    for line, grant in granted.items():
        if grant.units:
            _store_allocation_line(allocation, line, grant)
    return allocation


def _store_allocation_line(allocation: Allocation, line: RequestLine, grant: Grant) -> None:
    stored = AllocationLine.objects.create(
        allocation=allocation,
        offering=line.offering,
        purchase_option=line.purchase_option,
        units=grant.units,
        unit_hours=grant.unit_hours,
        qos_name=f"new-{allocation.pk}-{line.pk}",
    )
    stored.qos_name = make_qos_name(allocation.project.code, stored)
    stored.save(update_fields=["qos_name"])


def make_qos_name(project_code: str, line: AllocationLine) -> str:
    """Return the line's QOS name: readable, and unique through the line's id at its end.

    slurmdbd tells QOS apart by their first 42 characters alone (as_mysql, "unique index
    (name(42))"): of two that begin alike it silently keeps the first, with the second's limits.
    """
    ending = f"-{line.offering.pool.gres_type[:QOS_GRES_LENGTH]}-{line.pk}"
    beginning = f"sw-{project_code}"[: QOS_NAME_LENGTH - len(ending)].rstrip("-_.")
    return f"{beginning}{ending}".lower()


@transaction.atomic
def reject_request(
    *, actor: User, request_id: int, version: int, comment: str, now: datetime
) -> AllocationRequest:
    """Refuse a request; the comment says why and is needed."""
    request = _lock_for_review(actor, request_id, version)
    _require_comment(comment, "Say why the request is rejected.")
    _store_comment(actor, request, comment, now)
    _decide(actor, request, RequestState.REJECTED, now)
    _audit(actor, "reject_request", request, now)
    return request


@transaction.atomic
def ask_for_changes(
    *, actor: User, request_id: int, version: int, comment: str, now: datetime
) -> AllocationRequest:
    """Send a request back to its requester; the comment says what to change and is needed."""
    request = _lock_for_review(actor, request_id, version)
    _require_comment(comment, "Say what should change.")
    _store_comment(actor, request, comment, now)
    _change_state(request, RequestState.CHANGES_REQUESTED)
    _audit(actor, "ask_for_changes", request, now)
    return request


@transaction.atomic
def add_comment(*, actor: User, request_id: int, body: str, now: datetime) -> RequestComment:
    """Add a remark to a request's conversation."""
    request = AllocationRequest.objects.select_related("project").filter(pk=request_id).first()
    if request is None:
        raise NotFound("There is no such request.")
    if not can_comment(actor, request):
        raise NotPermitted("Only the project's members and reviewers can comment.")
    _require_comment(body, "Write a comment first.")
    comment = _store_comment(actor, request, body, now)
    assert comment is not None
    _audit(actor, "comment_request", request, now)
    return comment


@transaction.atomic
def place_hold(*, actor: User, line: AllocationLine, reason: str, now: datetime) -> AllocationHold:
    """Stop new jobs of a line; running jobs go on."""
    _check_may_hold(actor, line)
    if not reason.strip() or len(reason) > 200:
        raise InvalidInput({"reason": "Give a reason of up to 200 characters."})
    hold, is_new = AllocationHold.objects.get_or_create(
        line=line,
        released_at=None,
        defaults={"reason": reason.strip(), "placed_by": actor.username, "placed_at": now},
    )
    if not is_new:
        raise Conflict(f"The line is on hold already: {hold.reason}")
    _audit_line(actor, "place_hold", line, now, reason=hold.reason)
    return hold


@transaction.atomic
def release_hold(*, actor: User, line: AllocationLine, now: datetime) -> None:
    """Let new jobs of a line start again."""
    _check_may_hold(actor, line)
    count = AllocationHold.objects.filter(line=line, released_at=None).update(
        released_at=now, released_by=actor.username
    )
    if not count:
        raise Conflict("The line is not on hold.")
    _audit_line(actor, "release_hold", line, now)


def _check_may_hold(actor: User, line: AllocationLine) -> None:
    if not can_hold(actor, line.allocation.project):
        raise NotPermitted("Only operators place and release holds.")


def _lock_open_request(request_id: int, version: int) -> AllocationRequest:
    request = (
        AllocationRequest.objects.select_for_update(of=("self",))
        .select_related("project__organisation")
        .filter(pk=request_id)
        .first()
    )
    if request is None:
        raise NotFound("There is no such request.")
    if request.state not in OPEN_STATES:
        label = RequestState(request.state).label.lower()
        raise Conflict(f"This request is already {label}; nothing was changed.", code="decided")
    if request.version != version:
        raise Conflict(
            "The request has changed since you opened it: look at it again.", code="stale"
        )
    return request


def _lock_for_review(actor: User, request_id: int, version: int) -> AllocationRequest:
    request = AllocationRequest.objects.select_related("project").filter(pk=request_id).first()
    if request is None:
        raise NotFound("There is no such request.")
    if not can_review(actor, request):
        raise NotPermitted(
            "Only approvers of the project's organisation decide, and nobody decides on their "
            "own request."
        )
    return _lock_open_request(request_id, version)


def _change_state(request: AllocationRequest, state: RequestState) -> None:
    request.state = state
    request.version += 1
    request.save()


def _decide(actor: User, request: AllocationRequest, state: RequestState, now: datetime) -> None:
    request.decided_by = actor
    request.decided_at = now
    _change_state(request, state)


def _require_comment(body: str, sentence: str) -> None:
    if not body.strip():
        raise InvalidInput({"comment": sentence})


def _store_comment(
    actor: User, request: AllocationRequest, body: str, now: datetime
) -> RequestComment | None:
    if not body.strip():
        return None
    if len(body) > MAX_TEXT or "\x00" in body:
        raise InvalidInput({"comment": f"Use at most {MAX_TEXT} printable characters."})
    return RequestComment.objects.create(request=request, author=actor, body=body.strip(), at=now)


def _audit(
    actor: User, action: str, request: AllocationRequest, now: datetime, **more: Any
) -> None:
    lines = [
        {
            "offering": line.offering.code,
            "purchase_option": line.purchase_option,
            "units": line.units,
            "unit_hours": line.unit_hours,
            "granted_units": line.granted_units,
            "granted_unit_hours": line.granted_unit_hours,
        }
        for line in request.lines.select_related("offering").order_by("id")
    ]
    record_event(
        at=now,
        actor=actor.username,
        action=action,
        object_type="request",
        object_id=request.pk,
        project_code=request.project.code,
        data={"state": str(request.state), "lines": lines, **more},
    )


def _audit_line(actor: User, action: str, line: AllocationLine, now: datetime, **data: Any) -> None:
    project = line.allocation.project
    record_event(
        at=now,
        actor=actor.username,
        action=action,
        object_type="allocation_line",
        object_id=line.pk,
        project_code=project.code,
        data=data,
    )
    request_tick("reconcile")
