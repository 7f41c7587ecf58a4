"""Reads from the portal's rows what a cluster should know, with a fixed number of queries."""

from collections import defaultdict
from collections.abc import Iterable
from datetime import date

from portal.allocations.models import AllocationHold, AllocationLine
from portal.inventory.models import Cluster
from portal.projects.choices import ProjectState
from portal.projects.models import Membership, Organisation
from portal.reconcile.wanted import WantedCluster, WantedLine, WantedOrganisation, WantedProject


def load_wanted(cluster: Cluster, today: date) -> WantedCluster:
    """Return what the cluster should know on a day of the site's zone.

    A project appears with its first line that has begun, and stays: ended and held lines keep
    their QOS, which then takes no new jobs, so that running jobs and past usage keep their place.
    """
    lines = _list_begun_lines(cluster, today)
    holds = dict(
        AllocationHold.objects.filter(
            released_at=None, line__offering__pool__cluster=cluster
        ).values_list("line_id", "reason")
    )
    organisations = _load_organisations()
    grouped: dict[int, list[AllocationLine]] = defaultdict(list)
    for line in lines:
        grouped[line.allocation.project_id].append(line)
    members, notes = _load_members(grouped)
    by_id = {organisation.pk: wanted for organisation, wanted in organisations}
    projects = []
    for project_id, project_lines in grouped.items():
        project = project_lines[0].allocation.project
        projects.append(
            WantedProject(
                code=project.code,
                title=project.title,
                organisation=by_id[project.organisation_id],
                members=frozenset(members[project_id]),
                lines=tuple(_to_wanted(line, holds.get(line.pk), today) for line in project_lines),
            )
        )
    return WantedCluster(
        organisations={wanted.account: wanted for _, wanted in organisations},
        projects=tuple(sorted(projects, key=lambda project: project.code)),
        notes=tuple(notes),
    )


def _list_begun_lines(cluster: Cluster, today: date) -> Iterable[AllocationLine]:
    return (
        AllocationLine.objects.filter(
            offering__pool__cluster=cluster, allocation__start_date__lte=today
        )
        .select_related("allocation__project", "offering__pool")
        .order_by("id")
    )


def _load_organisations() -> list[tuple[Organisation, WantedOrganisation]]:
    rows = list(Organisation.objects.order_by("id"))
    accounts = {row.pk: row.slurm_account for row in rows}
    return [
        (
            row,
            WantedOrganisation(
                code=row.code,
                name=row.name,
                account=row.slurm_account,
                parent=accounts[row.parent_id] if row.parent_id is not None else "",
            ),
        )
        for row in rows
    ]


def _load_members(project_ids: Iterable[int]) -> tuple[dict[int, set[str]], list[str]]:
    """Return Unix logins by project, and a sentence for each member who has none."""
    members: dict[int, set[str]] = defaultdict(set)
    notes = []
    rows = (
        Membership.objects.filter(project_id__in=list(project_ids), user__is_active=True)
        .values_list("project_id", "project__code", "user__username", "user__unix_name")
        .order_by("project__code", "user__username")
    )
    for project_id, code, username, unix_name in rows:
        if unix_name:
            members[project_id].add(unix_name)
        else:
            notes.append(
                f"{username} has no Unix login and gets no access to {code} in Slurm: "
                "an operator enters the login."
            )
    return members, notes


def _to_wanted(line: AllocationLine, hold: str | None, today: date) -> WantedLine:
    allocation, pool = line.allocation, line.offering.pool
    is_spot = line.purchase_option == "spot"
    return WantedLine(
        line_id=line.pk,
        allocation_id=allocation.pk,
        qos=line.qos_name,
        gres_type=pool.gres_type,
        partition=pool.spot_partition if is_spot else pool.partition,
        units=line.units,
        unit_hours=line.unit_hours,
        purchase_option=line.purchase_option,
        offering_title=line.offering.title,
        max_wall_hours=line.offering.max_wall_hours,
        stop=_find_stop(line, hold, today),
    )


def _find_stop(line: AllocationLine, hold: str | None, today: date) -> str | None:
    """Return the sentence that says why the line takes no new jobs, None where it does."""
    project = line.allocation.project
    if project.state == ProjectState.ENDED:
        return f"Project {project.code} has ended."
    if line.allocation.end_date <= today:
        return f"The allocation ended on {line.allocation.end_date.isoformat()}."
    if hold is not None:
        return f"The allocation is on hold: {hold.rstrip('. ')}."
    return None
