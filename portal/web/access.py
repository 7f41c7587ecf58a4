"""Who is reading: the signed-in person, typed, and what the navigation may offer."""

from dataclasses import dataclass
from typing import cast

from django.http import HttpRequest

from portal.projects.choices import SiteRole
from portal.projects.models import User


@dataclass(frozen=True, slots=True)
class SiteRoles:
    """The site roles that a person holds anywhere."""

    is_approver: bool
    is_operator: bool
    is_finance: bool


NO_ROLES = SiteRoles(is_approver=False, is_operator=False, is_finance=False)


def get_user(request: HttpRequest) -> User:
    """Return the signed-in person; LoginRequiredMiddleware lets nobody else through."""
    return cast(User, request.user)


def get_site_roles(user: User) -> SiteRoles:
    """Return the person's site roles, read once per request and kept on the person."""
    known = getattr(user, "_site_roles", None)
    if isinstance(known, SiteRoles):
        return known
    held = set(user.role_grants.values_list("role", flat=True))
    roles = SiteRoles(
        is_approver=user.is_superuser or SiteRole.APPROVER in held,
        is_operator=user.is_superuser or SiteRole.OPERATOR in held,
        is_finance=user.is_superuser or SiteRole.FINANCE in held,
    )
    user._site_roles = roles  # type: ignore[attr-defined]
    return roles
