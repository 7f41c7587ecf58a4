"""The home page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.web.access import get_user
from portal.web.presenters.home import make_home_view
from portal.web.site import read_site


@require_safe
def show_home(request: HttpRequest) -> HttpResponse:
    """Show what needs the reader's attention, and the reader's projects."""
    view = make_home_view(get_user(request), read_site(request))
    return render(request, "home.html", {"view": view})
