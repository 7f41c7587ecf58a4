"""Writes memberships: each decision checks, changes and audits in one transaction."""

from datetime import datetime

from django.db import transaction

from portal.audit.services import record_event
from portal.common.errors import Conflict, InvalidInput, NotPermitted
from portal.common.ticks import request_tick
from portal.projects import selectors
from portal.projects.choices import ProjectRole, ProjectState, SiteRole
from portal.projects.models import Membership, Organisation, Project, User


def can_manage_members(user: User, project: Project) -> bool:
    """Say whether the person may add and remove members: PI, manager or operator."""
    return selectors.can_request_for(user, project) or selectors.has_role_on(
        user, SiteRole.OPERATOR, project
    )


@transaction.atomic
def add_member(
    *, actor: User, project: Project, username: str, role: str, now: datetime
) -> Membership:
    """Make a person a member; raises InvalidInput, NotPermitted or Conflict."""
    _check_may_manage(actor, project)
    user = User.objects.filter(username=username.strip(), is_active=True).first()
    if user is None:
        raise InvalidInput({"username": f"Nobody here has the login “{username.strip()}”."})
    if role not in ProjectRole.values:
        raise InvalidInput({"role": "Choose one of the roles of the list."})
    if project.state != ProjectState.ACTIVE:
        raise Conflict("The project has ended; it takes no new members.")
    membership, is_new = Membership.objects.get_or_create(
        project=project, user=user, defaults={"role": role}
    )
    if not is_new:
        raise InvalidInput({"username": f"{user.get_full_name() or user} is already a member."})
    _audit(actor, "add_member", membership, now)
    request_tick("reconcile")
    return membership


@transaction.atomic
def remove_member(*, actor: User, membership: Membership, now: datetime) -> None:
    """End a membership; the project's last PI stays."""
    project = membership.project
    _check_may_manage(actor, project)
    pis = Membership.objects.select_for_update().filter(project=project, role=ProjectRole.PI)
    if membership.role == ProjectRole.PI and len(pis) == 1:
        raise Conflict("The last principal investigator cannot be removed: name another first.")
    _audit(actor, "remove_member", membership, now)
    membership.delete()
    request_tick("reconcile")


def _check_may_manage(actor: User, project: Project) -> None:
    if not can_manage_members(actor, project):
        raise NotPermitted("Only the project's PI, its managers and operators change its members.")


def _audit(actor: User, action: str, membership: Membership, now: datetime) -> None:
    record_event(
        at=now,
        actor=actor.username,
        action=action,
        object_type="project",
        object_id=membership.project.code,
        project_code=membership.project.code,
        data={"user": membership.user.username, "role": membership.role},
    )


def ensure_suspense_project() -> Project:
    """Return the project that takes the usage of Slurm accounts that no project owns.

    Made with its organisation when it is first needed; it never becomes a Slurm account.
    """
    project = Project.objects.filter(is_suspense=True).first()
    if project is not None:
        return project
    organisation, _ = Organisation.objects.get_or_create(
        code="suspense", defaults={"name": "Not assigned yet", "slurm_account": "suspense"}
    )
    project, _ = Project.objects.get_or_create(
        is_suspense=True,
        defaults={
            "code": "suspense",
            "title": "Usage that no project owns",
            "organisation": organisation,
        },
    )
    return project
