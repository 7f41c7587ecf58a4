"""The operators' page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.common.errors import NotPermitted
from portal.web.access import get_site_roles, get_user
from portal.web.presenters.operations import make_operations_view


@require_safe
def show_operations(request: HttpRequest) -> HttpResponse:
    """Show clusters, their last runs, and the rows in quarantine, to operators only."""
    if not get_site_roles(get_user(request)).is_operator:
        raise NotPermitted("This page is for the site's operators.")
    return render(request, "operations.html", {"view": make_operations_view()})
