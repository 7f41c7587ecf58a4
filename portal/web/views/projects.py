"""Projects: the list, and one with its people, allocations and requests."""

from django.db.models import Count
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.allocations.selectors import list_project_allocations, list_project_requests
from portal.common.errors import NotFound
from portal.projects.models import Project, User
from portal.projects.selectors import can_request_for, list_members, list_visible_projects
from portal.projects.services import can_manage_members
from portal.web.access import get_user
from portal.web.forms.projects import MemberForm
from portal.web.presenters.allocations import list_allocation_views
from portal.web.presenters.usage import get_month_total
from portal.web.site import read_site
from portal.web.views.pages import paginate

SHOWN = 10


def get_project(user: User, code: str) -> Project:
    """Return a project that the person may see; raises NotFound otherwise."""
    projects = list_visible_projects(user).select_related("organisation__parent")
    project = projects.filter(code=code).first()
    if project is None:
        raise NotFound("There is no such project, or it is not yours to see.")
    return project


@require_safe
def list_projects(request: HttpRequest) -> HttpResponse:
    """Show the projects that the person may see."""
    user = get_user(request)
    projects = (
        list_visible_projects(user)
        .filter(is_suspense=False)
        .select_related("organisation")
        .annotate(member_count=Count("memberships", distinct=True))
        .order_by("state", "code")
    )
    return render(request, "projects/list.html", {"page": paginate(request, projects)})


@require_safe
def show_project(request: HttpRequest, code: str) -> HttpResponse:
    """Show one project."""
    return render_project(request, get_project(get_user(request), code), MemberForm())


def render_project(
    request: HttpRequest, project: Project, form: MemberForm, status: int = 200
) -> HttpResponse:
    """Return the project's page with the member form in the given state."""
    site, user = read_site(request), get_user(request)
    rows = list(list_project_allocations(project)[: SHOWN + 1])
    requests = list(list_project_requests(project)[: SHOWN + 1])
    context = {
        "project": project,
        "members": list_members(project),
        "allocations": list_allocation_views(rows[:SHOWN], site),
        "requests": requests[:SHOWN],
        "has_more": len(rows) > SHOWN or len(requests) > SHOWN,
        "month": get_month_total(project, site.today.replace(day=1), site),
        "form": form,
        "can_manage": can_manage_members(user, project),
        "can_ask": can_request_for(user, project) and project.state == "active",
    }
    return render(request, "projects/detail.html", context, status=status)
