"""Allocations: the list, and one with its limits, its use, and what it became in Slurm."""

from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.allocations.models import Allocation
from portal.allocations.selectors import can_hold, get_allocation, list_allocations_of
from portal.reconcile.selectors import get_slurm_state, list_objects_for_allocation
from portal.web.access import get_user
from portal.web.forms.allocations import HoldForm
from portal.web.presenters.allocations import list_allocation_views
from portal.web.presenters.links import list_cluster_links
from portal.web.presenters.requests import make_request_view
from portal.web.site import read_site
from portal.web.views.pages import paginate


@require_safe
def list_allocations(request: HttpRequest) -> HttpResponse:
    """Show the allocations that the person may see, the latest first."""
    page = paginate(request, list_allocations_of(get_user(request)))
    views = list_allocation_views(list(page.object_list), read_site(request))
    return render(request, "allocations/list.html", {"page": page, "views": views})


@require_safe
def show_allocation(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one allocation."""
    return render_allocation(request, get_allocation(get_user(request), pk))


def render_allocation(
    request: HttpRequest,
    row: Allocation,
    sent: Mapping[int, HoldForm] | None = None,
    status: int = 200,
) -> HttpResponse:
    """Return an allocation's page; `sent` holds a line's hold form that was refused."""
    site, user = read_site(request), get_user(request)
    view = list_allocation_views([row], site)[0]
    forms = dict(sent or {})
    if can_hold(user, row.project) and row.end_date > site.today:
        for line in row.lines.all():
            forms.setdefault(line.pk, HoldForm(line=line))
    clusters = {line.line.offering.pool.cluster for line in view.lines}
    context = {
        "view": view,
        "lines": [(line, forms.get(line.line.pk)) for line in view.lines],
        "hold_forms": list((sent or {}).values()),
        "costs": make_request_view(row.request, site),
        "slurm": get_slurm_state(row, site.now),
        "objects": list_objects_for_allocation(row),
        "links": list_cluster_links(clusters),
    }
    return render(request, "allocations/detail.html", context, status=status)
