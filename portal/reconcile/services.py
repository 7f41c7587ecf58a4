"""Makes a cluster as the portal wants it: safe to run every minute and to kill anywhere."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from time import monotonic

from django.conf import settings
from django.db import transaction

from portal.audit.services import record_event
from portal.common.leases import hold_lease
from portal.inventory.models import Cluster
from portal.inventory.selectors import list_pools
from portal.inventory.services import check_cluster_name, record_contact
from portal.projects.selectors import get_site_zone
from portal.reconcile import rows
from portal.reconcile.apply import apply_plan, observe
from portal.reconcile.desired import load_wanted
from portal.reconcile.diff import diff
from portal.reconcile.models import ReconcileRun
from portal.reconcile.options import get_options
from portal.reconcile.policy import write_policy
from portal.reconcile.policy_data import build_policy
from portal.reconcile.state import (
    DesiredState,
    ObservedState,
    Plan,
    RemovalLimit,
    list_observed_keys,
)
from portal.reconcile.wanted import WantedCluster, build_desired_state
from portal.slurm.errors import SlurmError, SlurmUnavailable
from portal.slurm.gateway import SlurmGateway

# Short, so that a killed worker holds nobody up: a run that takes longer may meet another one,
# which both bear.
LEASE_SECONDS = 30
MAX_TOLD_ERRORS = 5
ACTOR = "tick reconcile"
Outcome = ReconcileRun.Outcome
# Takes QOS names and returns the unit-seconds used under each.
UsedReader = Callable[[Sequence[str]], Mapping[str, int]]


@dataclass(slots=True)
class _Run:
    """A run in progress: what it wants, and what it has found and done so far."""

    cluster: Cluster
    gateway: SlurmGateway
    now: datetime
    wanted: WantedCluster
    desired: DesiredState
    limit: RemovalLimit
    row: ReconcileRun | None = None
    plan: Plan | None = None
    errors: list[str] = field(default_factory=list)
    began: float = field(default_factory=monotonic)

    def get_end(self) -> datetime:
        """Return the instant of now on the run's own clock."""
        return self.now + timedelta(seconds=monotonic() - self.began)


def plan_cluster(
    cluster: Cluster, gateway: SlurmGateway, now: datetime, *, allow_removals: bool = False
) -> Plan:
    """Return the Plan that a run would apply now; writes nothing. Raises SlurmError."""
    run = _prepare(cluster, gateway, now, allow_removals)
    check_cluster_name(cluster, gateway)
    return _look(run)[1]


def reconcile_cluster(
    cluster: Cluster,
    gateway: SlurmGateway,
    now: datetime,
    *,
    read_used: UsedReader | None = None,
    allow_removals: bool = False,
) -> ReconcileRun | None:
    """Make Slurm as the portal wants it and return how the run ended.

    None means that another worker is at it. Slurm being away or refusing is an outcome, not an
    error. `read_used` tells the unit-seconds used, for the plugin's policy; unknown without it.
    `allow_removals` lifts the guard against mass deletion for this run.
    """
    with hold_lease(f"reconcile {cluster.name}", seconds=LEASE_SECONDS) as is_ours:
        if not is_ours:
            return None
        rows.close_interrupted_runs(cluster, now)
        run = _prepare(cluster, gateway, now, allow_removals)
        rows.mark_wanted(cluster, run.desired, now)
        try:
            _work(run, read_used)
        except SlurmError as error:
            record_contact(cluster, now, str(error))
            is_away = isinstance(error, SlurmUnavailable)
            return _end(run, Outcome.WAITING if is_away else Outcome.FAILED, str(error))
        record_contact(cluster, now)
        return _end(run, *_judge(run))


def _prepare(cluster: Cluster, gateway: SlurmGateway, now: datetime, allow_removals: bool) -> _Run:
    options = get_options()
    wanted = load_wanted(cluster, now.astimezone(get_site_zone()).date())
    desired = build_desired_state(wanted, options.priorities)
    limit = RemovalLimit(percent=100) if allow_removals else options.removal_limit
    return _Run(cluster, gateway, now, wanted, desired, limit)


def _work(run: _Run, read_used: UsedReader | None) -> None:
    """Look, change what differs, look again and store what Slurm then shows."""
    check_cluster_name(run.cluster, run.gateway)
    observed, plan = _look(run)
    run.plan = plan
    if plan.changes:
        run.row = rows.start_run(run.cluster, plan, run.now)
        rows.claim_objects(run.cluster, plan.changes, run.now)
        run.errors.extend(apply_plan(run.gateway, plan))
        applied = {change.key for change in plan.changes}
        observed, plan = _look(run)
        left = [change for change in plan.changes if change.key in applied]
        if not run.errors:
            run.errors += [f"Slurm does not show this yet: {change.sentence}" for change in left]
        run.plan = plan
    rows.confirm_objects(run.cluster, run.desired, observed, plan, run.now)
    _write_policy(run, observed, read_used)


def _look(run: _Run) -> tuple[ObservedState, Plan]:
    """Observe first and read ownership then: what another worker just made is marked by then."""
    observed = observe(run.gateway)
    owned = rows.load_owned_keys(run.cluster)
    return observed, diff(run.desired, observed, owned, run.limit)


def _write_policy(run: _Run, observed: ObservedState, read_used: UsedReader | None) -> None:
    if not run.cluster.policy_dir:
        return
    owned = rows.load_owned_keys(run.cluster)
    names = [qos.name for qos in run.desired.qos]
    policy = build_policy(
        run.wanted,
        present=owned & list_observed_keys(observed),
        used_unit_seconds=read_used(names) if read_used else {},
        gres_types=frozenset(pool.gres_type for pool in list_pools(run.cluster)),
        portal_url=settings.PUBLIC_URL,
        now=run.now,
    )
    try:
        write_policy(policy, Path(run.cluster.policy_dir))
    except OSError as error:
        run.errors.append(f"The job_submit policy could not be written: {error}")


def _judge(run: _Run) -> tuple[str, str]:
    """Return the outcome and error of a run that reached Slurm throughout."""
    if run.errors:
        return Outcome.FAILED, _tell(run.errors)
    if run.plan is not None and run.plan.blocked:
        return Outcome.BLOCKED, _tell([change.sentence for change in run.plan.blocked])
    return (Outcome.IN_FORCE if run.row is None else Outcome.CHANGED), ""


def _tell(sentences: list[str]) -> str:
    more = len(sentences) - MAX_TOLD_ERRORS
    told = sentences[:MAX_TOLD_ERRORS] + ([f"… and {more} more."] if more > 0 else [])
    return "\n".join(told)


@transaction.atomic
def _end(run: _Run, outcome: str, error: str) -> ReconcileRun:
    row, is_news = rows.end_run(run.cluster, run.row, run.plan, outcome, error, run.get_end())
    if is_news and run.row is not None:
        record_event(
            at=run.now,
            actor=ACTOR,
            action="reconcile",
            object_type="cluster",
            object_id=run.cluster.name,
            data={"run": row.pk, "outcome": str(outcome), "error": error, "changes": row.changes},
        )
    return row
