"""Compares what should be with what is: a pure function to a Plan, the heart of reconcile."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from portal.reconcile.removals import plan_removals
from portal.reconcile.state import (
    Action,
    Change,
    DefaultAccount,
    DesiredState,
    Kind,
    ObjectKey,
    ObservedState,
    Plan,
    RemovalLimit,
    make_key,
    name_association,
)
from portal.reconcile.wording import describe_creation, describe_difference, name_object
from portal.slurm.values import Account, Association, Qos


def diff(
    desired: DesiredState,
    observed: ObservedState,
    owned: frozenset[ObjectKey],
    limit: RemovalLimit,
) -> Plan:
    """Return the Plan that makes Slurm as desired, touching only what is owned or new.

    An object that is wanted, exists and is not owned is somebody else's: it is blocked with a
    sentence, and what hangs on it waits. Order: accounts (parents first), QOS, associations,
    default accounts, then removals of associations, QOS and accounts.
    """
    draft = _Draft(owned)
    draft.blocked.extend(desired.conflicts)
    removals = plan_removals(desired, observed, owned, limit)
    accounts = _plan_accounts(draft, desired, observed)
    qos = _plan_qos(draft, desired, observed)
    wanted = [a for a in desired.associations if a.account in accounts]
    leaving = {key.name for key in removals.keys if key.kind is Kind.QOS}
    wanted = _plan_associations(draft, wanted, observed, qos, leaving)
    _plan_default_accounts(draft, wanted, observed, removals.keys)
    return Plan(
        changes=(*draft.changes, *removals.changes),
        deferred=removals.deferred,
        blocked=(*draft.blocked, *removals.blocked),
        notes=desired.notes,
        in_force=frozenset(draft.in_force),
    )


@dataclass(slots=True)
class _Draft:
    """A Plan in the making."""

    owned: frozenset[ObjectKey]
    changes: list[Change] = field(default_factory=list)
    blocked: list[Change] = field(default_factory=list)
    in_force: set[ObjectKey] = field(default_factory=set)

    def plan_object(
        self, before: Account | Qos | Association | None, after: Account | Qos | Association
    ) -> bool:
        """Plan one wanted object; return False where it is somebody else's."""
        key = make_key(after)
        if before is None:
            sentence = describe_creation(key, after)
            self.changes.append(Change(Action.CREATE, key.kind, key.name, sentence, None, after))
        elif key not in self.owned:
            self.block(key, _tell_collision(key))
            return False
        elif _fold(before) != _fold(after):
            sentence = f"Change {name_object(key)}: {describe_difference(before, after)}."
            self.changes.append(Change(Action.CHANGE, key.kind, key.name, sentence, before, after))
        else:
            self.in_force.add(key)
        return True

    def block(self, key: ObjectKey, sentence: str) -> None:
        """Tell of an object that cannot be made so."""
        self.blocked.append(Change(Action.BLOCK, key.kind, key.name, sentence))


def _tell_collision(key: ObjectKey) -> str:
    name = name_object(key)
    return (
        f"Slurm already has {name}, and the portal did not make it: it is left alone, and what "
        "hangs on it waits. Remove or rename it in Slurm, or rename what the portal wants."
    )


def _fold(thing: Account | Qos | Association) -> Account | Qos | Association:
    """Return the object as it compares: sacctmgr stores descriptions in lower case."""
    if isinstance(thing, Account):
        return replace(
            thing,
            description=thing.description.casefold(),
            organization=thing.organization.casefold(),
        )
    if isinstance(thing, Qos):
        flags = frozenset(flag.casefold() for flag in thing.flags)
        return replace(thing, description=thing.description.casefold(), flags=flags)
    return thing


def _plan_accounts(draft: _Draft, desired: DesiredState, observed: ObservedState) -> set[str]:
    """Plan the accounts; return the names of those that associations can stand under."""
    existing = {account.name: account for account in observed.accounts}
    wanted = {account.name for account in desired.accounts}
    usable: set[str] = set()
    for account in desired.accounts:
        if account.parent in wanted and account.parent not in usable:
            sentence = (
                f"Account {account.name} waits: its parent account {account.parent} is blocked."
            )
            draft.block(make_key(account), sentence)
        elif draft.plan_object(existing.get(account.name), account):
            usable.add(account.name)
    return usable


def _plan_qos(draft: _Draft, desired: DesiredState, observed: ObservedState) -> set[str]:
    """Plan the QOS; return the names of those that associations can list."""
    existing = {qos.name: qos for qos in observed.qos}
    return {qos.name for qos in desired.qos if draft.plan_object(existing.get(qos.name), qos)}


def _plan_associations(
    draft: _Draft,
    wanted: Sequence[Association],
    observed: ObservedState,
    usable_qos: set[str],
    leaving_qos: set[str],
) -> list[Association]:
    """Plan the associations; return those that will stand.

    A QOS of ours that is to go but must stay for its jobs stays in the list of those who have it.
    An association without any QOS of its own would inherit others' limits, so it is not made.
    """
    existing = {(a.account, a.user): a for a in observed.associations}
    own_qos = {key.name for key in draft.owned if key.kind is Kind.QOS}
    wanted_qos = {name for association in wanted for name in association.qos}
    staying = {qos.name for qos in observed.qos} & own_qos - leaving_qos - wanted_qos
    standing = []
    for association in wanted:
        before = existing.get((association.account, association.user))
        names = association.qos & usable_qos
        if not names:
            draft.block(make_key(association), _tell_no_qos(association))
            continue
        default = association.default_qos
        after = replace(
            association,
            qos=names | (before.qos & staying if before else frozenset()),
            default_qos=default if default in names else min(names),
        )
        if draft.plan_object(before, after):
            standing.append(after)
    return standing


def _tell_no_qos(association: Association) -> str:
    return (
        f"{association.user} gets no association with {association.account}: none of its QOS is "
        "the portal's."
    )


def _plan_default_accounts(
    draft: _Draft,
    wanted: Sequence[Association],
    observed: ObservedState,
    leaving: frozenset[ObjectKey],
) -> None:
    """Give users a default account who lose theirs, or who have associations of ours but none."""
    ours: dict[str, list[str]] = {}
    for association in wanted:
        ours.setdefault(association.user, []).append(association.account)
    others: dict[str, list[str]] = {}
    for association in observed.associations:
        if make_key(association) not in leaving:
            others.setdefault(association.user, []).append(association.account)
    for user in observed.users:
        default = user.default_account
        loses = ObjectKey(Kind.ASSOCIATION, name_association(default, user.name)) in leaving
        is_without = not default and user.name in ours
        accounts = sorted(ours.get(user.name, ())) or sorted(others.get(user.name, ()))
        if (loses or is_without) and accounts:
            draft.changes.append(_set_default(user.name, default, accounts[0]))


def _set_default(user: str, before: str, after: str) -> Change:
    key = ObjectKey(Kind.DEFAULT_ACCOUNT, user)
    sentence = f"Change {name_object(key)} from {before or 'none'} to {after}."
    return Change(
        Action.CHANGE,
        key.kind,
        key.name,
        sentence,
        DefaultAccount(user, before) if before else None,
        DefaultAccount(user, after),
    )
