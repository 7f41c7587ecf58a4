"""The catalogue of offerings."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.projects.selectors import list_requestable_projects
from portal.web.access import get_user
from portal.web.presenters.prices import list_offering_views
from portal.web.site import read_site


@require_safe
def show_catalogue(request: HttpRequest) -> HttpResponse:
    """Show what can be requested, at the prices of the chosen project's organisation."""
    site = read_site(request)
    projects = list(
        list_requestable_projects(get_user(request)).select_related("organisation").order_by("code")
    )
    code = request.GET.get("project", "")
    chosen = next((project for project in projects if project.code == code), None)
    project = chosen or (projects[0] if projects else None)
    context = {
        "offerings": list_offering_views(site, project.organisation if project else None),
        "projects": projects,
        "project": project,
    }
    return render(request, "catalog/list.html", context)
