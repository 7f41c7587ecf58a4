"""Turns what is wanted of a cluster into the job_submit plugin's policy."""

from collections.abc import Mapping
from datetime import datetime

from portal.reconcile.policy import Policy, PolicyAccount, PolicyLine
from portal.reconcile.state import Kind, ObjectKey
from portal.reconcile.wanted import WantedCluster, WantedLine, WantedProject


def build_policy(
    wanted: WantedCluster,
    *,
    present: frozenset[ObjectKey],
    used_unit_seconds: Mapping[str, int],
    gres_types: frozenset[str],
    portal_url: str,
    now: datetime,
) -> Policy:
    """Return the policy for the accounts and QOS that are the portal's and stand in Slurm.

    `present` holds those objects; what is not in Slurm is left out, so that the plugin never names
    a QOS that Slurm would refuse. `used_unit_seconds` maps QOS names to what was used; a QOS
    without an entry is unknown.
    """
    accounts = [
        _build_account(project, present, used_unit_seconds, portal_url)
        for project in wanted.projects
        if ObjectKey(Kind.ACCOUNT, project.code) in present
    ]
    return Policy(
        generated_at=now,
        portal_url=portal_url,
        gres_types=gres_types,
        accounts=tuple(accounts),
    )


def _build_account(
    project: WantedProject,
    present: frozenset[ObjectKey],
    used: Mapping[str, int],
    portal_url: str,
) -> PolicyAccount:
    lines = tuple(
        _build_line(line, used.get(line.qos), portal_url)
        for line in project.lines
        if ObjectKey(Kind.QOS, line.qos) in present
    )
    return PolicyAccount(
        name=project.code,
        title=project.title,
        members=project.members,
        lines=lines,
        url=f"{portal_url}/projects/{project.code}/",
    )


def _build_line(line: WantedLine, used_seconds: int | None, portal_url: str) -> PolicyLine:
    granted = line.unit_hours * 60
    remaining = None if used_seconds is None else max(0, granted - used_seconds // 60)
    return PolicyLine(
        qos=line.qos,
        gres_type=line.gres_type,
        partition=line.partition,
        units=line.units,
        purchase_option=line.purchase_option,
        offering_title=line.offering_title,
        remaining_unit_minutes=remaining,
        hold=line.stop,
        url=f"{portal_url}/allocations/{line.allocation_id}/",
    )
