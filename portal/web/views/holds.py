"""Holds: operators stop new jobs of an allocation's line, and let them start again."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from portal.allocations.models import Allocation, AllocationLine
from portal.allocations.selectors import can_hold, get_allocation
from portal.allocations.services import place_hold, release_hold
from portal.common.errors import InvalidInput, NotFound, NotPermitted
from portal.web.access import get_user
from portal.web.forms.allocations import HoldForm
from portal.web.forms.fields import add_errors
from portal.web.site import read_site
from portal.web.views.allocations import render_allocation


@require_POST
def place(request: HttpRequest, pk: int, line_pk: int) -> HttpResponse:
    """Stop new jobs of a line, or show the allocation again with what is wrong."""
    site, user = read_site(request), get_user(request)
    row = get_allocation(user, pk)
    line = _find_line(row, line_pk)
    if not can_hold(user, row.project):
        raise NotPermitted("Only operators place and release holds.")
    form = HoldForm(request.POST, line=line)
    if form.is_valid():
        try:
            place_hold(actor=user, line=line, reason=form.cleaned_data["reason"], now=site.now)
        except InvalidInput as error:
            add_errors(form, error.fields)
        else:
            messages.success(request, "On hold. Slurm refuses new jobs from the next tick on.")
            return redirect("allocation_detail", pk=pk)
    return render_allocation(request, row, {line_pk: form}, status=400)


@require_POST
def release(request: HttpRequest, pk: int, line_pk: int) -> HttpResponse:
    """Let new jobs of a line start again."""
    site, user = read_site(request), get_user(request)
    line = _find_line(get_allocation(user, pk), line_pk)
    release_hold(actor=user, line=line, now=site.now)
    messages.success(request, "Released. Slurm takes new jobs from the next tick on.")
    return redirect("allocation_detail", pk=pk)


def _find_line(row: Allocation, line_pk: int) -> AllocationLine:
    line = next((one for one in row.lines.all() if one.pk == line_pk), None)
    if line is None:
        raise NotFound("There is no such line in this allocation.")
    return line
