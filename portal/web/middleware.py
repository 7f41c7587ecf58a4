"""Turns the portal's own errors, and what was refused, into pages with a next step."""

from collections.abc import Callable

from django.contrib import messages
from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
)

from portal.common.errors import PortalError
from portal.web.views.errors import show_not_allowed, show_portal_error

NOT_STORED = "You are signed out, so nothing was stored. Sign in, and send it once more."


class PortalErrorMiddleware:
    """Answers a PortalError that a view let through; every other error stays Django's.

    Who sends a form after the session has ended is told so on the login page.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            return show_not_allowed(request, response)
        if isinstance(response, HttpResponseRedirect) and _is_sent_signed_out(request):
            messages.warning(request, NOT_STORED)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the error's page, or None for an error that is not the portal's."""
        if isinstance(error, PortalError):
            return show_portal_error(request, error)
        return None


def _is_sent_signed_out(request: HttpRequest) -> bool:
    """Say whether a form was sent that LoginRequiredMiddleware kept from its view."""
    view = request.resolver_match.func if request.resolver_match else None
    needs_login = getattr(view, "login_required", True)
    return request.method == "POST" and needs_login and not request.user.is_authenticated
