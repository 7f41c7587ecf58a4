"""Where signing in leads: to the page that was asked for, or that holds the form that was sent."""

from urllib.parse import urlsplit

from django.urls import Resolver404, get_script_prefix, resolve, reverse

# Addresses that cannot be opened, with the page that holds their form and what it is named by.
FORM_PAGES: dict[str, tuple[str, tuple[str, ...]]] = {
    "login": ("home", ()),
    "logout": ("home", ()),
    "member_add": ("project_detail", ("code",)),
    "request_comment": ("request_detail", ("pk",)),
    "hold_place": ("allocation_detail", ("pk",)),
    "hold_release": ("allocation_detail", ("pk",)),
}


def find_landing(url: str) -> str:
    """Return the page to open for an address of the portal: itself, or the page of its form."""
    try:
        match = resolve("/" + urlsplit(url).path.removeprefix(get_script_prefix()))
    except Resolver404:
        return url
    if match.url_name not in FORM_PAGES:
        return url
    page, names = FORM_PAGES[match.url_name]
    return reverse(page, kwargs={name: match.kwargs[name] for name in names})
