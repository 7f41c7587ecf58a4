"""Reads a cluster's state and applies a Plan through the gateway, in batches by kind."""

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import Any

from portal.reconcile.state import Action, Change, DefaultAccount, Kind, ObservedState, Plan
from portal.slurm.errors import SlurmError, SlurmUnavailable, WrongCluster
from portal.slurm.gateway import SlurmGateway
from portal.slurm.values import Association


def observe(gateway: SlurmGateway) -> ObservedState:
    """Return what Slurm shows now: two calls, whatever the number of objects.

    Jobs are read last, so that a job that appeared meanwhile is seen before anything is removed.
    """
    found = gateway.read_accounting()
    return ObservedState(
        accounts=found.accounts,
        users=found.users,
        associations=found.associations,
        qos=found.qos,
        jobs=gateway.list_jobs(),
    )


def apply_plan(gateway: SlurmGateway, plan: Plan) -> tuple[str, ...]:
    """Apply the changes in order and return what Slurm refused, in words.

    One refused object does not hold up the others: its batch is then tried one by one. Raises
    SlurmUnavailable when a daemon goes away; the next run continues from what Slurm shows.
    """
    refusals: list[str] = []
    for (kind, is_removal), group in groupby(plan.changes, key=_get_batch):
        changes = list(group)
        call = _REMOVERS[kind] if is_removal else _SAVERS[kind]
        _apply_batch(gateway, call, changes, refusals)
    return tuple(refusals)


def _get_batch(change: Change) -> tuple[Kind, bool]:
    return change.kind, change.action is Action.REMOVE


_Call = Callable[[SlurmGateway, Sequence[Change]], None]


def _apply_batch(
    gateway: SlurmGateway, call: _Call, changes: Sequence[Change], refusals: list[str]
) -> None:
    try:
        call(gateway, changes)
    except (SlurmUnavailable, WrongCluster):
        raise
    except SlurmError as error:
        if len(changes) == 1:
            refusals.append(f"{changes[0].sentence} Slurm refused: {error}")
            return
        for change in changes:
            _apply_batch(gateway, call, [change], refusals)


def _afters(changes: Sequence[Change]) -> list[Any]:
    return [change.after for change in changes]


def _names(changes: Sequence[Change]) -> list[str]:
    return [change.name for change in changes]


def _set_default_accounts(gateway: SlurmGateway, changes: Sequence[Change]) -> None:
    for change in changes:
        assert isinstance(change.after, DefaultAccount)
        gateway.set_default_account(change.after.user, change.after.account)


def _delete_associations(gateway: SlurmGateway, changes: Sequence[Change]) -> None:
    pairs = [
        (change.before.account, change.before.user)
        for change in changes
        if isinstance(change.before, Association)
    ]
    gateway.delete_associations(pairs)


_SAVERS: dict[Kind, _Call] = {
    Kind.ACCOUNT: lambda gateway, changes: gateway.save_accounts(_afters(changes)),
    Kind.QOS: lambda gateway, changes: gateway.save_qos(_afters(changes)),
    Kind.ASSOCIATION: lambda gateway, changes: gateway.save_associations(_afters(changes)),
    Kind.DEFAULT_ACCOUNT: _set_default_accounts,
}
_REMOVERS: dict[Kind, _Call] = {
    Kind.ACCOUNT: lambda gateway, changes: gateway.delete_accounts(_names(changes)),
    Kind.QOS: lambda gateway, changes: gateway.delete_qos(_names(changes)),
    Kind.ASSOCIATION: _delete_associations,
}
