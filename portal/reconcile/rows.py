"""Keeps reconcile's own rows: what it owns in Slurm, and what its runs did."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import islice

from portal.inventory.models import Cluster
from portal.reconcile.models import OwnedObject, ReconcileRun
from portal.reconcile.state import (
    Action,
    Change,
    DesiredState,
    Kind,
    ObjectKey,
    ObservedState,
    Plan,
    list_observed_keys,
    list_wanted,
)
from portal.reconcile.wording import describe_object, tell_plan

BATCH = 500
State = OwnedObject.State
Outcome = ReconcileRun.Outcome


def load_owned(cluster: Cluster) -> dict[ObjectKey, OwnedObject]:
    """Return the cluster's owned objects by key."""
    rows = OwnedObject.objects.filter(cluster=cluster)
    return {ObjectKey(Kind(row.kind), row.name): row for row in rows}


def load_owned_keys(cluster: Cluster) -> frozenset[ObjectKey]:
    """Return the keys of the cluster's owned objects."""
    rows = OwnedObject.objects.filter(cluster=cluster).values_list("kind", "name")
    return frozenset(ObjectKey(Kind(kind), name) for kind, name in rows)


def mark_wanted(cluster: Cluster, desired: DesiredState, now: datetime) -> None:
    """Turn owned objects that are wanted otherwise, or no more, from in force to waiting.

    This needs no Slurm, so that a page tells the truth while Slurm is away.
    """
    wanted = list_wanted(desired)
    changed = []
    for key, row in load_owned(cluster).items():
        thing = wanted.get(key)
        spec = row.spec if thing is None else describe_object(thing)
        if thing is None and row.state != State.LEAVING:
            changed.append(_set_state(row, State.LEAVING, spec, now))
        elif thing is not None and (spec != row.spec or row.state == State.LEAVING):
            changed.append(_set_state(row, State.WAITING, spec, now))
    _save_rows(changed)


def claim_objects(cluster: Cluster, changes: Iterable[Change], now: datetime) -> None:
    """Store ownership of what will be created, before it is: a kill between loses nothing."""
    rows = (
        OwnedObject(
            cluster=cluster,
            kind=change.kind.value,
            name=change.name,
            spec=describe_object(change.after),
            wanted_since=now,
        )
        for change in changes
        if change.action is Action.CREATE and change.after is not None
    )
    OwnedObject.objects.bulk_create(rows, batch_size=BATCH, ignore_conflicts=True)


def confirm_objects(
    cluster: Cluster, desired: DesiredState, observed: ObservedState, plan: Plan, now: datetime
) -> None:
    """Store what Slurm shows: `plan` is the difference that is left, from a fresh look."""
    wanted = list_wanted(desired)
    present = list_observed_keys(observed)
    changed, gone = [], []
    for key, row in load_owned(cluster).items():
        thing = wanted.get(key)
        if thing is None and key not in present:
            gone.append(row.pk)
            continue
        spec = row.spec if thing is None else describe_object(thing)
        state = State.LEAVING
        if thing is not None:
            state = State.IN_FORCE if key in plan.in_force else State.WAITING
        if (row.state, row.spec) != (state, spec):
            changed.append(_set_state(row, state, spec, now))
    _save_rows(changed)
    for pks in _batches(gone):
        OwnedObject.objects.filter(pk__in=pks).delete()
    OwnedObject.objects.filter(cluster=cluster, state=State.IN_FORCE).update(confirmed_at=now)


def _set_state(row: OwnedObject, state: str, spec: dict[str, str], now: datetime) -> OwnedObject:
    if state != State.IN_FORCE and (row.state != state or row.spec != spec):
        row.wanted_since = now
    row.state = state
    row.spec = spec
    return row


def _save_rows(rows: Sequence[OwnedObject]) -> None:
    OwnedObject.objects.bulk_update(rows, ["state", "spec", "wanted_since"], batch_size=BATCH)


def _batches(items: Iterable[int]) -> Iterator[list[int]]:
    iterator = iter(items)
    while batch := list(islice(iterator, BATCH)):
        yield batch


def close_interrupted_runs(cluster: Cluster, now: datetime) -> None:
    """End runs whose worker died; the caller holds the cluster's lease."""
    ReconcileRun.objects.filter(cluster=cluster, outcome=Outcome.RUNNING).update(
        outcome=Outcome.FAILED,
        finished_at=now,
        error="The run was interrupted; the next one continued from what Slurm showed.",
    )


def start_run(cluster: Cluster, plan: Plan, now: datetime) -> ReconcileRun:
    """Store a run that is about to change Slurm."""
    return ReconcileRun.objects.create(cluster=cluster, started_at=now, changes=tell_plan(plan))


def end_run(
    cluster: Cluster,
    run: ReconcileRun | None,
    plan: Plan | None,
    outcome: str,
    error: str,
    at: datetime,
) -> tuple[ReconcileRun, bool]:
    """Store how a run ended; return its row and whether it tells anything new.

    `run` is the row of a run that meant to change something. A run that ends just like the one
    before it shares that one's row, so that a quiet or stuck cluster does not pile up rows.
    """
    changes = run.changes if run else tell_plan(plan) if plan else []
    before = find_latest_run(cluster, but=run)
    ending = (outcome, error, changes)
    if (
        before is not None
        and outcome != Outcome.CHANGED
        and ending == (before.outcome, before.error, before.changes)
    ):
        if run is not None:
            run.delete()
        before.finished_at = at
        before.save(update_fields=["finished_at"])
        return before, False
    if run is None:
        run = ReconcileRun(cluster=cluster, started_at=at, changes=changes)
    run.outcome, run.error, run.finished_at = outcome, error, at
    run.save()
    return run, True


def find_latest_run(cluster: Cluster, but: ReconcileRun | None = None) -> ReconcileRun | None:
    """Return the cluster's latest run, or the latest one but a given one."""
    runs = ReconcileRun.objects.filter(cluster=cluster).order_by("-started_at", "-id")
    return (runs if but is None else runs.exclude(pk=but.pk)).first()
