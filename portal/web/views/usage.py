"""A project's usage and cost, and its jobs."""

from datetime import date

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from portal.inventory.selectors import list_active_clusters
from portal.web.access import get_user
from portal.web.charts import render_bar_chart
from portal.web.presenters.jobs import list_job_views
from portal.web.presenters.links import list_cluster_links
from portal.web.presenters.people import name_people
from portal.web.presenters.usage import find_neighbours, make_usage_view
from portal.web.site import read_site
from portal.web.views.projects import get_project

SHOWN_JOBS = 100


@require_safe
def show_latest_usage(request: HttpRequest, code: str) -> HttpResponse:
    """Lead to the month that runs now in the site's zone."""
    month = read_site(request).today.replace(day=1)
    return redirect("project_usage", code=code, month=month)


@require_safe
def show_usage(request: HttpRequest, code: str, month: date) -> HttpResponse:
    """Show a project's month by day and by person."""
    site = read_site(request)
    project = get_project(get_user(request), code)
    view = make_usage_view(project, month, site)
    previous, following = find_neighbours(month, site.today)
    context = {
        "project": project,
        "view": view,
        "chart": render_bar_chart(view.chart) if view.chart else "",
        "month": month,
        "previous": previous,
        "next": following,
        "links": list_cluster_links(list_active_clusters()),
    }
    return render(request, "projects/usage.html", context)


@require_safe
def list_jobs(request: HttpRequest, code: str) -> HttpResponse:
    """Show a project's newest jobs with what each costs."""
    project = get_project(get_user(request), code)
    jobs = list_job_views(project, SHOWN_JOBS, read_site(request))
    context = {
        "project": project,
        "jobs": jobs,
        "names": name_people(view.job.user for view in jobs),
        "shown": SHOWN_JOBS,
        "links": list_cluster_links(list_active_clusters()),
    }
    return render(request, "projects/jobs.html", context)
