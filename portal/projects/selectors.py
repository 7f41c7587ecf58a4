"""Reads the site, projects, people and what they may do."""

from zoneinfo import ZoneInfo

from django.db.models import Case, Q, QuerySet, When

from portal.common.errors import PortalError
from portal.projects.choices import ProjectRole, ProjectState, SiteRole
from portal.projects.models import Membership, Organisation, Project, Site, User

LEADING_ROLES = (ProjectRole.PI, ProjectRole.MANAGER)


def get_site() -> Site:
    """Return the site's row; raises PortalError before a site description was loaded."""
    site = Site.objects.filter(pk=1).first()
    if site is None:
        raise PortalError("No site is set up yet: run manage.py load_site FILE.", code="no_site")
    return site


def get_site_zone() -> ZoneInfo:
    """Return the time zone in which the site's days and months begin."""
    return ZoneInfo(get_site().time_zone)


def list_organisations_below(organisation_id: int) -> set[int]:
    """Return the ids of an organisation and of all below it."""
    children: dict[int | None, list[int]] = {}
    for pk, parent_id in Organisation.objects.values_list("id", "parent_id"):
        children.setdefault(parent_id, []).append(pk)
    found: set[int] = set()
    waiting = [organisation_id]
    while waiting:
        pk = waiting.pop()
        if pk not in found:
            found.add(pk)
            waiting.extend(children.get(pk, ()))
    return found


def list_granted_organisations(user: User, role: SiteRole) -> set[int] | None:
    """Return the organisations on which the person holds the role; None means all of them."""
    grants = list(user.role_grants.filter(role=role).values_list("organisation_id", flat=True))
    if user.is_superuser or None in grants:
        return None
    found: set[int] = set()
    for organisation_id in grants:
        if organisation_id is not None:
            found |= list_organisations_below(organisation_id)
    return found


def has_site_role(user: User, role: SiteRole) -> bool:
    """Say whether the person holds the role anywhere."""
    return user.is_superuser or user.role_grants.filter(role=role).exists()


def has_role_on(user: User, role: SiteRole, project: Project) -> bool:
    """Say whether the person holds the role for the project's organisation."""
    granted = list_granted_organisations(user, role)
    return granted is None or project.organisation_id in granted


def is_member(user: User, project: Project) -> bool:
    """Say whether the person is a member of the project in any role."""
    return Membership.objects.filter(project=project, user=user).exists()


def can_request_for(user: User, project: Project) -> bool:
    """Say whether the person may ask for GPUs in the project's name: its PI or a manager."""
    return Membership.objects.filter(project=project, user=user, role__in=LEADING_ROLES).exists()


def can_view_project(user: User, project: Project) -> bool:
    """Say whether the person may see the project: members, and site roles over it."""
    return list_visible_projects(user).filter(pk=project.pk).exists()


def list_visible_projects(user: User) -> QuerySet[Project]:
    """Return the projects that the person may see."""
    projects = Project.objects.all()
    allowed = Q(memberships__user=user)
    for role in SiteRole:
        granted = list_granted_organisations(user, role)
        if granted is None:
            return projects
        allowed |= Q(organisation_id__in=granted)
    return projects.filter(allowed, is_suspense=False).distinct()


def list_requestable_projects(user: User) -> QuerySet[Project]:
    """Return the active projects for which the person may ask for GPUs."""
    return list_led_projects(user).filter(state=ProjectState.ACTIVE)


def list_led_projects(user: User) -> QuerySet[Project]:
    """Return the projects that the person leads or led, those that have ended included."""
    return Project.objects.filter(
        is_suspense=False, memberships__user=user, memberships__role__in=LEADING_ROLES
    ).distinct()


def list_members(project: Project) -> QuerySet[Membership]:
    """Return the project's memberships with their people: PIs, managers, members."""
    ranks = [When(role=role, then=rank) for rank, role in enumerate(ProjectRole.values)]
    return (
        Membership.objects.filter(project=project)
        .select_related("user")
        .order_by(Case(*ranks), "user__last_name", "user__username")
    )
