"""Pages for errors: each says what happened and what to do next."""

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from portal.common.errors import PortalError


@dataclass(frozen=True, slots=True)
class Advice:
    """What an error page says: a title, the sentence, and the next step."""

    title: str
    message: str
    next_step: str


TITLES = {
    400: "That could not be read",
    403: "Not allowed",
    404: "Not found",
    405: "Not like that",
    409: "Nothing was changed",
}
NEXT_STEPS = {
    400: "Go back, correct it, and send it again.",
    403: "If you should be allowed to do this, ask your project's PI or the site's operators.",
    404: "Check the address, or start from your home page.",
    405: "This address only takes a form. Open the page that the form is on.",
    409: "Load the page again to see how things stand now, and decide then.",
}


def show_portal_error(request: HttpRequest, error: PortalError) -> HttpResponse:
    """Return the page of one of the portal's errors, with its status and its sentence."""
    return _show(request, error.status, error.message)


def show_not_allowed(request: HttpRequest, refused: HttpResponse) -> HttpResponse:
    """Return the page for an address that does not take this method, with its Allow header."""
    response = _show(request, 405, "This address cannot be opened like this.")
    response["Allow"] = refused["Allow"]
    return response


def show_bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for a request that Django refused to read."""
    return _show(request, 400, "The request was not understood.")


def show_forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for something that the person may not do."""
    return _show(request, 403, "You are not allowed to open this page.")


def show_csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Return the page for a form whose token is missing or old."""
    advice = Advice(
        title="The form had expired",
        message="Nothing was stored: the page with the form was open for too long, or you have "
        "signed in or out since.",
        next_step="Go back, load the page again, and send the form once more.",
    )
    return _render(request, 403, advice)


def show_not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Return the page for an address that leads nowhere."""
    return _show(request, 404, "There is no page at this address.")


def show_server_error(request: HttpRequest) -> HttpResponse:
    """Return a page that needs neither the database nor a context."""
    return HttpResponse(render_to_string("errors/server_error.html"), status=500)


def _show(request: HttpRequest, status: int, message: str) -> HttpResponse:
    advice = Advice(
        title=TITLES.get(status, TITLES[400]),
        message=message,
        next_step=NEXT_STEPS.get(status, NEXT_STEPS[400]),
    )
    return _render(request, status, advice)


def _render(request: HttpRequest, status: int, advice: Advice) -> HttpResponse:
    return render(request, "errors/error.html", {"advice": advice}, status=status)
