"""Reads requests and allocations, each only for those who may see it."""

from collections.abc import Collection
from datetime import date

from django.db.models import Count, Prefetch, Q, QuerySet

from portal.allocations.choices import RequestState
from portal.allocations.models import (
    Allocation,
    AllocationHold,
    AllocationLine,
    AllocationRequest,
    RequestLine,
)
from portal.common.errors import NotFound
from portal.inventory.models import Cluster
from portal.projects.choices import ProjectState, SiteRole
from portal.projects.models import Project, User
from portal.projects.selectors import (
    can_request_for,
    can_view_project,
    has_role_on,
    is_member,
    list_granted_organisations,
    list_visible_projects,
)


def can_review(user: User, request: AllocationRequest) -> bool:
    """Say whether the person may decide: an approver over the project, not the requester."""
    return request.requester_id != user.pk and has_role_on(user, SiteRole.APPROVER, request.project)


def can_comment(user: User, request: AllocationRequest) -> bool:
    """Say whether the person may take part in the request's conversation."""
    return is_member(user, request.project) or has_role_on(user, SiteRole.APPROVER, request.project)


def can_edit(user: User, request: AllocationRequest) -> bool:
    """Say whether the person may change or withdraw the request now."""
    is_open = request.state in (RequestState.SUBMITTED, RequestState.CHANGES_REQUESTED)
    return is_open and can_request_for(user, request.project)


def can_hold(user: User, project: Project) -> bool:
    """Say whether the person may place and release holds: an operator over the project."""
    return has_role_on(user, SiteRole.OPERATOR, project)


def _with_lines(requests: QuerySet[AllocationRequest]) -> QuerySet[AllocationRequest]:
    lines = RequestLine.objects.select_related("offering__pool").order_by("id")
    return requests.select_related(
        "project__organisation", "requester", "decided_by", "allocation"
    ).prefetch_related(Prefetch("lines", queryset=lines))


def get_request(user: User, request_id: int) -> AllocationRequest:
    """Return a request with its lines; raises NotFound also where the person may not see it."""
    request = _with_lines(AllocationRequest.objects.filter(pk=request_id)).first()
    if request is None or not can_view_project(user, request.project):
        raise NotFound("There is no such request, or it is not yours to see.")
    return request


def list_requests_of(user: User) -> QuerySet[AllocationRequest]:
    """Return the requests of the person and of the projects that they lead, newest first."""
    mine = Q(requester=user) | Q(
        project__memberships__user=user, project__memberships__role__in=("pi", "manager")
    )
    requests = AllocationRequest.objects.filter(mine).distinct()
    return _with_lines(requests).order_by("-submitted_at", "-id")


def list_review_queue(user: User) -> QuerySet[AllocationRequest]:
    """Return what waits for this person's decision, oldest first."""
    granted = list_granted_organisations(user, SiteRole.APPROVER)
    requests = AllocationRequest.objects.filter(state=RequestState.SUBMITTED).exclude(
        requester=user
    )
    if granted is not None:
        requests = requests.filter(project__organisation_id__in=granted)
    return _with_lines(requests).order_by("submitted_at", "id")


def list_project_requests(project: Project) -> QuerySet[AllocationRequest]:
    """Return a project's requests, newest first."""
    return _with_lines(AllocationRequest.objects.filter(project=project)).order_by(
        "-submitted_at", "-id"
    )


def _with_allocation_lines(allocations: QuerySet[Allocation]) -> QuerySet[Allocation]:
    open_holds = AllocationHold.objects.filter(released_at=None)
    lines = (
        AllocationLine.objects.select_related("offering__pool__cluster")
        .prefetch_related(Prefetch("holds", queryset=open_holds, to_attr="open_holds"))
        .order_by("id")
    )
    return allocations.select_related("project__organisation", "request").prefetch_related(
        Prefetch("lines", queryset=lines)
    )


def get_allocation(user: User, allocation_id: int) -> Allocation:
    """Return an allocation with lines and open holds (line.open_holds); raises NotFound."""
    allocation = _with_allocation_lines(Allocation.objects.filter(pk=allocation_id)).first()
    if allocation is None or not can_view_project(user, allocation.project):
        raise NotFound("There is no such allocation, or it is not yours to see.")
    return allocation


def list_project_allocations(project: Project) -> QuerySet[Allocation]:
    """Return a project's allocations with lines, the latest first."""
    return _with_allocation_lines(Allocation.objects.filter(project=project)).order_by(
        "-start_date", "-id"
    )


def list_allocations_of(user: User) -> QuerySet[Allocation]:
    """Return the allocations that the person may see, the latest first."""
    return _with_allocation_lines(
        Allocation.objects.filter(project__in=list_visible_projects(user))
    ).order_by("-start_date", "-id")


def list_shared_kinds(projects: Collection[Project], on: date) -> set[tuple[int, int, str, str]]:
    """Return (project id, cluster id, GRES type, purchase option) that several lines serve.

    Lines in force on the day are counted: of these, a job must name its QOS.
    """
    kind = (
        "allocation__project_id",
        "offering__pool__cluster_id",
        "offering__pool__gres_type",
        "purchase_option",
    )
    lines = AllocationLine.objects.filter(
        allocation__project__in=projects,
        allocation__start_date__lte=on,
        allocation__end_date__gt=on,
    )
    counted = lines.order_by().values_list(*kind).annotate(count=Count("id"))
    return {(row[0], row[1], row[2], row[3]) for row in counted.filter(count__gt=1)}


def list_lines_in_force(cluster: Cluster, on: date) -> QuerySet[AllocationLine]:
    """Return the cluster's lines whose period holds the day and whose project is active."""
    open_holds = AllocationHold.objects.filter(released_at=None)
    return (
        AllocationLine.objects.filter(
            offering__pool__cluster=cluster,
            allocation__start_date__lte=on,
            allocation__end_date__gt=on,
            allocation__project__state=ProjectState.ACTIVE,
        )
        .select_related("allocation__project__organisation", "offering__pool")
        .prefetch_related(Prefetch("holds", queryset=open_holds, to_attr="open_holds"))
        .order_by("id")
    )
