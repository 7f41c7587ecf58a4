"""Turns the portal's own errors, and refused methods, into pages with a next step."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed

from portal.common.errors import PortalError
from portal.web.views.errors import show_not_allowed, show_portal_error


class PortalErrorMiddleware:
    """Answers a PortalError that a view let through; every other error stays Django's."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if isinstance(response, HttpResponseNotAllowed) and not response.content:
            return show_not_allowed(request, response)
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Return the error's page, or None for an error that is not the portal's."""
        if isinstance(error, PortalError):
            return show_portal_error(request, error)
        return None
