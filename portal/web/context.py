"""What every page knows: the site, the reader's roles and the navigation."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import reverse

from portal.projects.models import User
from portal.web.access import NO_ROLES, SiteRoles, get_site_roles
from portal.web.site import read_site_or_none


@dataclass(frozen=True, slots=True)
class NavItem:
    """One entry of the main navigation."""

    label: str
    url: str
    is_current: bool


def add_portal_context(request: HttpRequest) -> dict[str, Any]:
    """Return `portal` (the site), `site_zone`, `roles` and `nav` for the templates."""
    site = read_site_or_none(request)
    user = getattr(request, "user", None)
    is_signed_in = isinstance(user, User) and user.is_authenticated
    roles = get_site_roles(user) if is_signed_in and isinstance(user, User) else NO_ROLES
    return {
        "portal": site,
        "site_zone": site.zone if site else "UTC",
        "roles": roles,
        "nav": list_nav(request.path, roles) if is_signed_in else [],
    }


def list_nav(path: str, roles: SiteRoles) -> list[NavItem]:
    """Return the navigation for a reader with these roles; the entry of `path` is current."""
    entries = [("Home", "home"), ("Projects", "project_list"), ("Catalogue", "catalogue")]
    entries += [("Requests", "request_list")]
    if roles.is_approver:
        entries.append(("Reviews", "review_queue"))
    entries += [("Allocations", "allocation_list"), ("Chargeback", "chargeback_latest")]
    if roles.is_operator:
        entries.append(("Operations", "operations"))
    items = []
    for label, name in entries:
        url = reverse(name)
        is_current = path == url if name == "home" else path.startswith(url)
        items.append(NavItem(label, url, is_current))
    return items
