"""The chargeback of a month, on screen and as CSV."""

import io
from datetime import date

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_safe

from accounting.export import write_csv
from portal.common.errors import NotPermitted
from portal.web.access import get_user
from portal.web.presenters.chargeback import Scope, find_scope, get_statement, make_chargeback_view
from portal.web.presenters.usage import find_neighbours, next_month
from portal.web.site import read_site


@require_safe
def show_latest(request: HttpRequest) -> HttpResponse:
    """Lead to the month that runs now in the site's zone."""
    return redirect("chargeback", month=read_site(request).today.replace(day=1))


@require_safe
def show_month(request: HttpRequest, month: date) -> HttpResponse:
    """Show a month's charges by organisation, project and person."""
    site = read_site(request)
    scope = find_scope(get_user(request))
    previous, following = find_neighbours(month, site.today)
    context = {
        "month": month,
        "previous": previous,
        "next": following,
        "is_running": month <= site.today < next_month(month),
        "scope": scope,
        "view": None if scope.is_empty else make_chargeback_view(month, scope, site),
    }
    return render(request, "chargeback/month.html", context)


@require_safe
def download_csv(request: HttpRequest, month: date) -> HttpResponse:
    """Answer the month's statement as a CSV file, exact, for the same people."""
    scope = find_scope(get_user(request))
    _check_any(scope)
    stream = io.StringIO(newline="")
    write_csv(get_statement(month, scope), stream)
    response = HttpResponse(stream.getvalue(), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="chargeback-{month:%Y-%m}.csv"'
    return response


def _check_any(scope: Scope) -> None:
    if scope.is_empty:
        raise NotPermitted("Chargeback is for finance, operators, and PIs of their own projects.")
