"""The reviewers' queue and one review."""

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_safe

from portal.allocations.choices import RequestState
from portal.allocations.models import AllocationRequest
from portal.allocations.selectors import (
    can_review,
    get_request,
    list_project_allocations,
    list_review_queue,
)
from portal.allocations.services import approve_request, ask_for_changes, reject_request
from portal.common.errors import InvalidInput, NotPermitted
from portal.projects.models import User
from portal.web.access import get_user
from portal.web.forms.reviews import Decision, ReviewForm
from portal.web.presenters.allocations import list_allocation_views, list_lines
from portal.web.presenters.estimates import make_grant_prices
from portal.web.presenters.requests import list_timeline, make_request_view
from portal.web.site import SiteView, read_site
from portal.web.views.pages import paginate

SHOWN_LINES = 8


@require_safe
def show_queue(request: HttpRequest) -> HttpResponse:
    """Show what waits for this person's decision, oldest first."""
    page = paginate(request, list_review_queue(get_user(request)))
    return render(request, "reviews/queue.html", {"page": page})


@require_http_methods(["GET", "HEAD", "POST"])
def review(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a request to its reviewer, or take the decision."""
    site, user = read_site(request), get_user(request)
    stored = get_request(user, pk)
    lines = list(stored.lines.all())
    if request.method != "POST":
        _check_can_review(user, stored)
        if stored.state != RequestState.SUBMITTED:
            return redirect("request_detail", pk=pk)
        form = ReviewForm(initial={"version": stored.version}, lines=lines)
        return _show_review(request, stored, form, site)
    form = ReviewForm(request.POST, lines=lines)
    if form.is_valid():
        try:
            sentence = _decide(user, pk, form, site)
        except InvalidInput as error:
            form.add_service_errors(error.fields)
        else:
            messages.success(request, sentence)
            return redirect("request_detail", pk=pk)
    _check_can_review(user, stored)
    return _show_review(request, stored, form, site, status=400)


def _check_can_review(user: User, stored: AllocationRequest) -> None:
    if not can_review(user, stored):
        raise NotPermitted(
            "Only approvers of the project's organisation decide, and nobody decides on their "
            "own request."
        )


def _decide(user: User, pk: int, form: ReviewForm, site: SiteView) -> str:
    version, comment = form.cleaned_data["version"], form.cleaned_data["comment"]
    common: dict[str, Any] = {
        "actor": user,
        "request_id": pk,
        "version": version,
        "comment": comment,
        "now": site.now,
    }
    if form.cleaned_data["decision"] == Decision.APPROVE:
        approve_request(grants=form.read_grants(), **common)
        return "Approved. Slurm's limits follow with the next tick."
    act: Callable[..., AllocationRequest]
    if form.cleaned_data["decision"] == Decision.REJECT:
        act, sentence = reject_request, "Rejected. The requester sees your reason."
    else:
        act, sentence = ask_for_changes, "Sent back. The requester sees what should change."
    act(**common)
    return sentence


def _show_review(
    request: HttpRequest,
    stored: AllocationRequest,
    form: ReviewForm,
    site: SiteView,
    status: int = 200,
) -> HttpResponse:
    view = make_request_view(stored, site)
    held = list_project_allocations(stored.project).filter(end_date__gt=site.today)
    lines = list_lines(list_allocation_views(list(held[:50]), site))
    context = {
        "view": view,
        "form": form,
        "prices": make_grant_prices(view, site),
        "rows": [
            (line, form[f"units-{line.line.pk}"], form[f"unit_hours-{line.line.pk}"])
            for line in view.lines
        ],
        "held": lines[:SHOWN_LINES],
        "more_count": max(len(lines) - SHOWN_LINES, 0),
        "comments": stored.comments.select_related("author").order_by("at", "id"),
        "timeline": list_timeline(stored),
    }
    return render(request, "reviews/review.html", context, status=status)
