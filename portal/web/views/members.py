"""Adding and removing a project's members."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from portal.common.errors import InvalidInput, NotFound, NotPermitted
from portal.projects.selectors import list_members
from portal.projects.services import add_member, can_manage_members, remove_member
from portal.web.access import get_user
from portal.web.forms.fields import add_errors
from portal.web.forms.projects import MemberForm
from portal.web.site import read_site
from portal.web.views.projects import get_project, render_project


@require_POST
def add(request: HttpRequest, code: str) -> HttpResponse:
    """Make a person a member, or show the project again with what is wrong."""
    site, user = read_site(request), get_user(request)
    project = get_project(user, code)
    form = MemberForm(request.POST)
    if form.is_valid():
        try:
            member = add_member(actor=user, project=project, now=site.now, **form.cleaned_data)
        except InvalidInput as error:
            add_errors(form, error.fields)
        else:
            name = member.user.get_full_name() or member.user.username
            messages.success(request, f"{name} is a member now. Slurm follows with the next tick.")
            return redirect("project_detail", code=project.code)
    return render_project(request, project, form, status=400)


@require_http_methods(["GET", "HEAD", "POST"])
def remove(request: HttpRequest, code: str, pk: int) -> HttpResponse:
    """Ask whether to end a membership, then do it."""
    site, user = read_site(request), get_user(request)
    project = get_project(user, code)
    member = list_members(project).filter(pk=pk).first()
    if member is None:
        raise NotFound("This person is no member of the project any more.")
    if request.method == "POST":
        remove_member(actor=user, membership=member, now=site.now)
        messages.success(request, "The membership has ended. Slurm follows with the next tick.")
        return redirect("project_detail", code=project.code)
    if not can_manage_members(user, project):
        raise NotPermitted("Only the project's PI, its managers and operators change its members.")
    return render(request, "projects/remove_member.html", {"project": project, "member": member})
