"""Asking for GPUs: the form, the list, one request, and its requester's acts."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from portal.allocations.choices import RequestState
from portal.allocations.models import AllocationRequest
from portal.allocations.selectors import can_comment, can_edit, get_request, list_requests_of
from portal.allocations.services import (
    add_comment,
    resubmit_request,
    submit_request,
    withdraw_request,
)
from portal.common.errors import Conflict, InvalidInput, NotPermitted
from portal.projects.models import Project
from portal.projects.selectors import list_requestable_projects
from portal.web.access import get_user
from portal.web.forms.requests import (
    LineFormSet,
    RequestForm,
    add_request_errors,
    change_lines,
    fill_in_defaults,
    make_submit_key,
    read_request_input,
)
from portal.web.forms.reviews import CommentForm, VersionForm
from portal.web.presenters.estimates import make_estimate, make_price_list
from portal.web.presenters.prices import OfferingView, list_offering_views
from portal.web.presenters.requests import list_timeline, make_request_view
from portal.web.site import SiteView, read_site
from portal.web.views.pages import paginate


@dataclass
class Editor:
    """The two forms of the request page, with what they choose from."""

    form: RequestForm
    lines: Any
    projects: list[Project]
    offerings: list[OfferingView]


@require_safe
def list_requests(request: HttpRequest) -> HttpResponse:
    """Show the requests of the person and of the projects that they lead."""
    user = get_user(request)
    page = paginate(request, list_requests_of(user))
    can_ask = list_requestable_projects(user).exists()
    return render(request, "requests/list.html", {"page": page, "can_ask": can_ask})


@require_http_methods(["GET", "HEAD", "POST"])
def create(request: HttpRequest) -> HttpResponse:
    """Show the empty form, or store what was sent and lead to the request."""
    site, user = read_site(request), get_user(request)
    if request.method != "POST":
        return _show_editor(request, _open_new(request, site), None)
    editor = _open_sent(request, site)
    if _is_only_a_change(request):
        return _show_editor(request, editor, None)
    if editor.form.is_valid() & editor.lines.is_valid():
        project = editor.form.get_project()
        try:
            if project is None:
                raise _refuse_project(editor)
            data = _read(editor)
            stored = submit_request(actor=user, project=project, data=data, now=site.now)
        except InvalidInput as error:
            add_request_errors(editor.form, editor.lines, error.fields)
        else:
            messages.success(request, "The request was sent. Its reviewers see it now.")
            return redirect("request_detail", pk=stored.pk)
    return _show_editor(request, editor, None, status=400)


@require_http_methods(["GET", "HEAD", "POST"])
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    """Show an undecided request in the form, or send it changed before the reviewers again."""
    site, user = read_site(request), get_user(request)
    stored = get_request(user, pk)
    _check_can_edit(request, stored)
    if request.method != "POST":
        return _show_editor(request, _open_stored(request, stored, site), stored)
    editor = _open_sent(request, site, stored)
    if _is_only_a_change(request):
        return _show_editor(request, editor, stored)
    if editor.form.is_valid() & editor.lines.is_valid():
        version = editor.form.cleaned_data["version"] or 0
        try:
            data = _read(editor)
            resubmit_request(actor=user, request_id=pk, version=version, data=data, now=site.now)
        except InvalidInput as error:
            add_request_errors(editor.form, editor.lines, error.fields)
        else:
            messages.success(request, "The changed request was sent to its reviewers.")
            return redirect("request_detail", pk=pk)
    return _show_editor(request, editor, stored, status=400)


@require_safe
def show_request(request: HttpRequest, pk: int) -> HttpResponse:
    """Show a request with its lines, conversation and history."""
    return _show_request(request, pk, CommentForm())


@require_http_methods(["GET", "HEAD", "POST"])
def withdraw(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask whether to take the request back, then do it."""
    site, user = read_site(request), get_user(request)
    stored = get_request(user, pk)
    if request.method == "POST":
        form = VersionForm(request.POST)
        version = form.cleaned_data["version"] if form.is_valid() else 0
        withdraw_request(actor=user, request_id=pk, version=version, now=site.now)
        messages.success(request, "The request was withdrawn.")
        return redirect("request_detail", pk=pk)
    _check_can_edit(request, stored)
    form = VersionForm(initial={"version": stored.version})
    return render(request, "requests/withdraw.html", {"request_row": stored, "form": form})


@require_POST
def comment(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a remark to the conversation."""
    site, user = read_site(request), get_user(request)
    get_request(user, pk)
    form = CommentForm(request.POST)
    if form.is_valid():
        body = form.cleaned_data["comment"]
        try:
            add_comment(actor=user, request_id=pk, body=body, now=site.now)
        except InvalidInput as error:
            form.add_error("comment", error.fields.get("comment", error.message))
        else:
            return redirect("request_detail", pk=pk)
    return _show_request(request, pk, form, status=400)


def _show_request(
    request: HttpRequest, pk: int, form: CommentForm, status: int = 200
) -> HttpResponse:
    site, user = read_site(request), get_user(request)
    stored = get_request(user, pk)
    context = {
        "view": make_request_view(stored, site),
        "comments": stored.comments.select_related("author").order_by("at", "id"),
        "timeline": list_timeline(stored),
        "form": form,
        "can_edit": can_edit(user, stored),
        "can_comment": can_comment(user, stored),
        "needs_changes": stored.state == RequestState.CHANGES_REQUESTED,
    }
    return render(request, "requests/detail.html", context, status=status)


def _check_can_edit(request: HttpRequest, stored: AllocationRequest) -> None:
    if can_edit(get_user(request), stored):
        return
    if stored.state in (RequestState.SUBMITTED, RequestState.CHANGES_REQUESTED):
        raise NotPermitted(f"Only the PI and managers of {stored.project.code} can do this.")
    label = stored.get_state_display().lower()
    raise Conflict(f"This request is already {label}; nothing was changed.", code="decided")


def _list_projects(request: HttpRequest) -> list[Project]:
    projects = list_requestable_projects(get_user(request)).select_related("organisation")
    return list(projects.order_by("code"))


def _open_new(request: HttpRequest, site: SiteView) -> Editor:
    projects = _list_projects(request)
    code = request.GET.get("project", "")
    project = next((one for one in projects if one.code == code), projects[0] if projects else None)
    offerings = list_offering_views(site, project.organisation if project else None)
    wanted = request.GET.get("offering", "")
    chosen = next((view.offering for view in offerings if view.offering.code == wanted), None)
    if chosen is None and wanted:
        messages.warning(request, "That offering is no longer available: choose another.")
    offering = chosen or (offerings[0].offering if offerings else None)
    days = offering.default_days if offering else 90
    initial = {
        "project": project.code if project and (code or len(projects) == 1) else "",
        "start_date": site.today,
        "end_date": site.today + timedelta(days=days),
        "submit_key": make_submit_key(),
    }
    line = {
        "offering": offering.code if offering else "",
        "purchase_option": request.GET.get("option", "on_demand"),
        "units": offering.default_units if offering else 1,
        "unit_hours": offering.default_unit_hours if offering else 100,
    }
    return Editor(
        RequestForm(initial=initial, projects=projects),
        _make_lines(offerings, initial=[line]),
        projects,
        offerings,
    )


def _open_stored(request: HttpRequest, stored: AllocationRequest, site: SiteView) -> Editor:
    offerings = list_offering_views(site, stored.project.organisation)
    initial = {
        "project": stored.project.code,
        "start_date": stored.start_date,
        "end_date": stored.end_date,
        "justification": stored.justification,
        "submit_key": str(stored.submit_key),
        "version": stored.version,
    }
    lines = [
        {
            "offering": line.offering.code,
            "purchase_option": line.purchase_option,
            "units": line.units,
            "unit_hours": line.unit_hours,
        }
        for line in stored.lines.all()
    ]
    projects = [stored.project]
    return Editor(
        RequestForm(initial=initial, projects=projects),
        _make_lines(offerings, initial=lines),
        projects,
        offerings,
    )


def _open_sent(
    request: HttpRequest, site: SiteView, stored: AllocationRequest | None = None
) -> Editor:
    projects = [stored.project] if stored else _list_projects(request)
    project = next((one for one in projects if one.code == request.POST.get("project")), None)
    offerings = list_offering_views(site, project.organisation if project else None)
    data: Any = request.POST
    if _is_only_a_change(request):
        data = fill_in_defaults(change_lines(data), [view.offering for view in offerings])
    return Editor(
        RequestForm(data, projects=projects), _make_lines(offerings, data), projects, offerings
    )


def _make_lines(
    offerings: list[OfferingView], data: Any = None, initial: list[dict[str, Any]] | None = None
) -> Any:
    choices = [(view.offering.code, _label(view)) for view in offerings]
    lines: Any = LineFormSet(
        data, initial=initial, prefix="lines", form_kwargs={"offerings": choices}
    )
    if initial:
        lines.extra = 0
    return lines


def _label(view: OfferingView) -> str:
    return f"{view.offering.title} · {view.offering.pool.cluster.title}"


def _is_only_a_change(request: HttpRequest) -> bool:
    return any(name in request.POST for name in ("add_line", "remove_line", "recalculate"))


def _read(editor: Editor) -> Any:
    offerings = [view.offering for view in editor.offerings]
    return read_request_input(editor.form, editor.lines, offerings)


def _refuse_project(editor: Editor) -> InvalidInput:
    if not editor.projects:
        return InvalidInput({"project": "You lead no project: ask its PI to send the request."})
    return InvalidInput({"project": "Choose one of the projects that you lead."})


def _show_editor(
    request: HttpRequest, editor: Editor, stored: AllocationRequest | None, status: int = 200
) -> HttpResponse:
    site = read_site(request)
    bound = editor.form.is_bound and status == 200
    if bound:
        _forget_errors(editor.form, *editor.lines.forms)
    context = {
        "form": editor.form,
        "lines": editor.lines,
        "estimate": make_estimate(editor.lines, editor.offerings, site),
        "prices": make_price_list(editor.projects, editor.offerings, site),
        "stored": stored,
        "can_ask": bool(editor.projects),
        "offerings": editor.offerings,
    }
    return render(request, "requests/form.html", context, status=status)


def _forget_errors(*several: forms.BaseForm) -> None:
    """A line was only added or taken away: nothing was sent yet, so nothing is wrong yet."""
    for form in several:
        form._errors = {}  # type: ignore[attr-defined]
