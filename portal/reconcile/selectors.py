"""Reads what became of allocations in Slurm, and how reconcile's runs ended."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import Q, QuerySet
from django.utils import timezone

from portal.allocations.models import Allocation, AllocationLine
from portal.inventory.models import Cluster
from portal.projects.selectors import get_site_zone
from portal.reconcile.models import OwnedObject, ReconcileRun
from portal.reconcile.rows import find_latest_run

State = OwnedObject.State
NEXT_RUN = "The next run makes it so, within a minute."


@dataclass(frozen=True, slots=True)
class SlurmObjectState:
    """One Slurm object of an allocation; `spec` is readable text, `state` of OwnedObject.State.

    `confirmed_at` says when Slurm last showed it so, None where it never did.
    """

    cluster: str
    kind: str
    kind_label: str
    name: str
    spec: str
    state: str
    state_label: str
    confirmed_at: datetime | None


@dataclass(frozen=True, slots=True)
class SlurmState:
    """What an allocation is in Slurm: in_force, waiting or not_started.

    `since` is when it began to wait, or when Slurm last confirmed it. `reason` is a sentence, ""
    when in force. `contact_error` is not empty while a cluster does not answer, so that what is
    shown is as old as `checked_at`.
    """

    state: str
    since: datetime | None
    reason: str
    checked_at: datetime | None
    contact_error: str = ""

    @property
    def is_in_force(self) -> bool:
        """Say whether Slurm showed all of it as wanted when it last answered."""
        return self.state == "in_force"


def latest_run(cluster: Cluster) -> ReconcileRun | None:
    """Return the cluster's latest run, None before the first."""
    return find_latest_run(cluster)


def list_runs(cluster: Cluster) -> QuerySet[ReconcileRun]:
    """Return the cluster's runs, the latest first."""
    return ReconcileRun.objects.filter(cluster=cluster).order_by("-started_at", "-id")


def list_qos_states(names: Iterable[str]) -> dict[str, str]:
    """Return QOS name -> OwnedObject.State; a QOS that Slurm was never asked for is left out."""
    rows = OwnedObject.objects.filter(kind=OwnedObject.Kind.QOS, name__in=list(names))
    return dict(rows.values_list("name", "state"))


def list_objects_for_allocation(allocation: Allocation) -> tuple[SlurmObjectState, ...]:
    """Return the account, QOS and associations that the allocation became or becomes.

    What Slurm has not been asked for yet stands there as waiting.
    """
    lines = _list_lines(allocation)
    account = allocation.project.code
    found: list[SlurmObjectState] = []
    for cluster in _list_clusters(lines):
        names = {line.qos_name for line in lines if line.offering.pool.cluster_id == cluster.pk}
        objects = [_to_state(cluster, row) for row in _list_rows(cluster, account, names)]
        known = {(thing.kind, thing.name) for thing in objects}
        needed = [("account", account), *(("qos", name) for name in sorted(names))]
        objects.extend(_make_waiting(cluster, *key) for key in needed if key not in known)
        order = {"account": 0, "qos": 1, "association": 2}
        found.extend(sorted(objects, key=lambda thing: (order[thing.kind], thing.name)))
    return tuple(found)


def get_slurm_state(allocation: Allocation, now: datetime | None = None) -> SlurmState:
    """Return whether the allocation is in force in Slurm, and if not, since when and why."""
    today = (now or timezone.now()).astimezone(get_site_zone()).date()
    lines = _list_lines(allocation)
    clusters = _list_clusters(lines)
    checks = [cluster.contact_at for cluster in clusters]
    checked_at = None if None in checks else min((c for c in checks if c), default=None)
    contact_error = next((c.contact_error for c in clusters if c.contact_error), "")
    if allocation.start_date > today:
        reason = f"It begins on {allocation.start_date.isoformat()}; Slurm learns of it that day."
        return SlurmState("not_started", None, reason, checked_at, contact_error)
    waits = [
        wait for cluster in clusters if (wait := _find_wait(allocation, cluster, lines)) is not None
    ]
    if not waits:
        return SlurmState("in_force", checked_at, "", checked_at, contact_error)
    return SlurmState("waiting", *min(waits), checked_at, contact_error)


def _list_lines(allocation: Allocation) -> list[AllocationLine]:
    return list(allocation.lines.select_related("offering__pool__cluster").order_by("id"))


def _list_clusters(lines: list[AllocationLine]) -> list[Cluster]:
    clusters = {line.offering.pool.cluster_id: line.offering.pool.cluster for line in lines}
    return [clusters[pk] for pk in sorted(clusters)]


def _list_rows(cluster: Cluster, account: str, qos: set[str]) -> QuerySet[OwnedObject]:
    kinds = OwnedObject.Kind
    return OwnedObject.objects.filter(cluster=cluster).filter(
        Q(kind=kinds.ACCOUNT, name=account)
        | Q(kind=kinds.QOS, name__in=qos)
        | Q(kind=kinds.ASSOCIATION, name__startswith=f"{account}:")
    )


def _to_state(cluster: Cluster, row: OwnedObject) -> SlurmObjectState:
    return SlurmObjectState(
        cluster=cluster.name,
        kind=row.kind,
        kind_label=row.get_kind_display(),
        name=row.name,
        spec=", ".join(f"{name}={value}" for name, value in row.spec.items() if value),
        state=row.state,
        state_label=row.get_state_display(),
        confirmed_at=row.confirmed_at,
    )


def _make_waiting(cluster: Cluster, kind: str, name: str) -> SlurmObjectState:
    return SlurmObjectState(
        cluster=cluster.name,
        kind=kind,
        kind_label=OwnedObject.Kind(kind).label,
        name=name,
        spec="",
        state=State.WAITING.value,
        state_label=State.WAITING.label,
        confirmed_at=None,
    )


def _find_wait(
    allocation: Allocation, cluster: Cluster, lines: list[AllocationLine]
) -> tuple[datetime, str] | None:
    """Return since when and why the allocation waits on a cluster, None where it is in force."""
    account = allocation.project.code
    names = {line.qos_name for line in lines if line.offering.pool.cluster_id == cluster.pk}
    found = list(_list_rows(cluster, account, names))
    waiting = [row for row in found if row.state == State.WAITING]
    known = {(row.kind, row.name) for row in found}
    is_missing = not known >= {("account", account), *(("qos", name) for name in names)}
    if not waiting and not is_missing:
        return None
    since = min([row.wanted_since for row in waiting], default=allocation.created_at)
    return since, _find_reason(cluster, {account, *names})


def _find_reason(cluster: Cluster, names: set[str]) -> str:
    if cluster.contact_error:
        return f"Slurm does not answer: {cluster.contact_error}"
    run = find_latest_run(cluster)
    if run is None:
        return NEXT_RUN
    for change in run.changes:
        if change["action"] == "block" and change["name"].partition(":")[0] in names:
            return str(change["sentence"])
    if run.outcome == ReconcileRun.Outcome.FAILED and run.error:
        return run.error.splitlines()[0]
    return NEXT_RUN
