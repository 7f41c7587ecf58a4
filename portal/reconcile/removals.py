"""Decides what may be removed: only owned objects, none with jobs, never too many at once."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from portal.reconcile.state import (
    Action,
    Change,
    DesiredState,
    Kind,
    ObjectKey,
    ObservedState,
    RemovalLimit,
    list_observed_keys,
    list_wanted,
    make_key,
)
from portal.reconcile.wording import name_object
from portal.slurm.values import Account, Association, LiveJob, Qos


@dataclass(frozen=True, slots=True)
class Removals:
    """What goes (associations, then QOS, then accounts), what waits, and what is refused."""

    changes: tuple[Change, ...]
    deferred: tuple[Change, ...]
    blocked: tuple[Change, ...]

    @property
    def keys(self) -> frozenset[ObjectKey]:
        """Return the keys of what goes now."""
        return frozenset(change.key for change in self.changes)


def plan_removals(
    desired: DesiredState,
    observed: ObservedState,
    owned: frozenset[ObjectKey],
    limit: RemovalLimit,
) -> Removals:
    """Return the removals of owned objects that are not wanted any more."""
    unwanted = owned - list_wanted(desired).keys()
    going: list[Change] = []
    deferred: list[Change] = []
    for association in observed.associations:
        if make_key(association) in unwanted:
            jobs = [job for job in observed.jobs if _is_under(job, association)]
            (deferred if jobs else going).append(_plan_one(association, _tell_jobs(jobs)))
    rewritten = _list_rewritten(desired, observed, owned) | {change.key for change in going}
    listed = {name: a for a in observed.associations if make_key(a) not in rewritten
              for name in {*a.qos, a.default_qos}}  # fmt: skip
    for qos in observed.qos:
        if make_key(qos) in unwanted:
            reason = _tell_jobs([job for job in observed.jobs if job.qos == qos.name])
            if not reason and qos.name in listed:
                reason = f"{name_object(make_key(listed[qos.name]))} lists it"
            (deferred if reason else going).append(_plan_one(qos, reason))
    parents = {a.name: a.parent for a in observed.accounts}
    parents |= {a.name: a.parent for a in desired.accounts if make_key(a) in owned}
    _plan_accounts(observed, parents, unwanted, going, deferred)
    owned_count = len(owned & list_observed_keys(observed))
    if limit.is_exceeded(len(going), owned_count):
        return Removals((), tuple(deferred), (_refuse(going, owned_count, limit),))
    return Removals(tuple(going), tuple(deferred), ())


def _list_rewritten(
    desired: DesiredState, observed: ObservedState, owned: frozenset[ObjectKey]
) -> set[ObjectKey]:
    """Return the associations whose QOS list will be written before a QOS goes.

    An association that keeps its list must not lose the last QOS in it: it would inherit its
    account's, which has no limits of ours.
    """
    theirs = list_observed_keys(observed) - owned
    ours = {qos.name for qos in desired.qos if make_key(qos) not in theirs}
    return {
        make_key(association)
        for association in desired.associations
        if association.qos & ours
        and not {make_key(association), ObjectKey(Kind.ACCOUNT, association.account)} & theirs
    }


def _is_under(job: LiveJob, association: Association) -> bool:
    return (job.account, job.user) == (association.account, association.user)


def _tell_jobs(jobs: list[LiveJob]) -> str:
    if not jobs:
        return ""
    noun = "job runs or waits" if len(jobs) == 1 else "jobs run or wait"
    return f"{len(jobs)} {noun} under it ({jobs[0].job_id}{', …' if len(jobs) > 1 else ''})"


def _plan_accounts(
    observed: ObservedState,
    parents: Mapping[str, str],
    unwanted: frozenset[ObjectKey],
    going: list[Change],
    deferred: list[Change],
) -> None:
    """Add the accounts, children before parents, that nothing stays under.

    `parents` is the tree as it is when removals begin: moves of wanted accounts come before.
    """
    waiting = {a.name: a for a in observed.accounts if make_key(a) in unwanted}
    gone = {change.key for change in going}
    while waiting:
        is_parent = {a.parent for a in waiting.values()}
        leaves = sorted(waiting.keys() - is_parent) or sorted(waiting)
        for name in leaves:
            account = waiting.pop(name)
            reason = _find_reason_to_keep(account, observed, parents, gone)
            change = _plan_one(account, reason)
            if reason:
                deferred.append(change)
            else:
                going.append(change)
                gone.add(change.key)


def _find_reason_to_keep(
    account: Account, observed: ObservedState, parents: Mapping[str, str], gone: set[ObjectKey]
) -> str:
    jobs = [job for job in observed.jobs if job.account == account.name]
    if jobs:
        return _tell_jobs(jobs)
    below: Iterable[Account | Association] = (
        *(a for a in observed.associations if a.account == account.name),
        *(a for a in observed.accounts if parents[a.name] == account.name),
    )
    left = sorted(make_key(a) for a in below if make_key(a) not in gone)
    return f"{name_object(left[0])} is still under it" if left else ""


def _plan_one(thing: Account | Association | Qos, reason: str) -> Change:
    key = make_key(thing)
    if not reason:
        return Change(Action.REMOVE, key.kind, key.name, f"Remove {name_object(key)}.", thing)
    sentence = f"{_capitalise(name_object(key))} is to go, but {reason}: it stays until then."
    return Change(Action.DEFER, key.kind, key.name, sentence, thing)


def _capitalise(text: str) -> str:
    return text if ":" in text or "'" in text else text[0].upper() + text[1:]


def _refuse(going: list[Change], owned: int, limit: RemovalLimit) -> Change:
    names = ", ".join(name_object(change.key) for change in going[:5])
    more = f" and {len(going) - 5} more" if len(going) > 5 else ""
    sentence = (
        f"This would remove {len(going)} of {owned} objects ({names}{more}), which is more than "
        f"{limit.percent} % at once: nothing is removed. Look at manage.py reconcile --dry-run; "
        "if it is meant, run manage.py reconcile --allow-removals."
    )
    return Change(Action.BLOCK, Kind.ACCOUNT, "(removals)", sentence)
