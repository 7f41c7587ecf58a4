"""A project's usage and cost, and its jobs."""

from datetime import date

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from portal.inventory.selectors import list_active_clusters
from portal.usage.selectors import list_recent_jobs
from portal.web.access import get_user
from portal.web.charts import render_bar_chart
from portal.web.presenters.links import list_cluster_links
from portal.web.presenters.people import name_people
from portal.web.presenters.usage import make_usage_view, next_month, previous_month
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
    context = {
        "project": project,
        "view": view,
        "chart": render_bar_chart(view.chart) if view.chart else "",
        "month": month,
        "previous": previous_month(month),
        "next": next_month(month) if next_month(month) <= site.today else None,
        "links": list_cluster_links(list_active_clusters()),
    }
    return render(request, "projects/usage.html", context)


@require_safe
def list_jobs(request: HttpRequest, code: str) -> HttpResponse:
    """Show a project's newest jobs."""
    project = get_project(get_user(request), code)
    jobs = list(list_recent_jobs(project, SHOWN_JOBS))
    context = {
        "project": project,
        "jobs": jobs,
        "names": name_people(job.user for job in jobs),
        "shown": SHOWN_JOBS,
        "links": list_cluster_links(list_active_clusters()),
    }
    return render(request, "projects/jobs.html", context)
