"""What reconcile compares and what it plans, as pure values named after Slurm's objects."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from portal.slurm.values import Account, Association, LiveJob, Qos, SlurmUser


class Kind(StrEnum):
    """Kinds of objects in Slurm; a default account belongs to a user and is never owned."""

    ACCOUNT = "account"
    QOS = "qos"
    ASSOCIATION = "association"
    DEFAULT_ACCOUNT = "default_account"


class Action(StrEnum):
    """What becomes of an object; deferred and blocked changes are told and not applied."""

    CREATE = "create"
    CHANGE = "change"
    REMOVE = "remove"
    DEFER = "defer"
    BLOCK = "block"


class ObjectKey(NamedTuple):
    """An object's identity: its kind and its name, "account:user" for an association."""

    kind: Kind
    name: str


@dataclass(frozen=True, slots=True)
class DefaultAccount:
    """A user's default account, as it should be."""

    user: str
    account: str


SlurmObject = Account | Qos | Association | DefaultAccount


@dataclass(frozen=True, slots=True)
class Change:
    """One step of a Plan with a sentence for people; `after` is None for a removal."""

    action: Action
    kind: Kind
    name: str
    sentence: str
    before: SlurmObject | None = None
    after: SlurmObject | None = None

    @property
    def key(self) -> ObjectKey:
        """Return the identity of the object that it is about."""
        return ObjectKey(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class DesiredState:
    """What the portal wants of a cluster.

    `accounts` stand parents first. `conflicts` are wishes that contradict each other and `notes`
    sentences on what could not be wished for, such as members without a Unix login.
    """

    accounts: tuple[Account, ...] = ()
    qos: tuple[Qos, ...] = ()
    associations: tuple[Association, ...] = ()
    conflicts: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ObservedState:
    """What Slurm shows of a cluster, everything in it, owned or not."""

    accounts: tuple[Account, ...] = ()
    users: tuple[SlurmUser, ...] = ()
    associations: tuple[Association, ...] = ()
    qos: tuple[Qos, ...] = ()
    jobs: tuple[LiveJob, ...] = ()


@dataclass(frozen=True, slots=True)
class RemovalLimit:
    """A Plan that removes more than `count` objects and more than `percent` of the owned stops."""

    percent: int = 30
    count: int = 5

    def is_exceeded(self, removals: int, owned: int) -> bool:
        """Say whether so many removals need a person's word."""
        return removals > self.count and removals * 100 > self.percent * owned


@dataclass(frozen=True, slots=True)
class Plan:
    """The ordered changes to apply, and what is told only.

    `in_force` holds the wanted and owned objects that Slurm already shows as wanted.
    """

    changes: tuple[Change, ...] = ()
    deferred: tuple[Change, ...] = ()
    blocked: tuple[Change, ...] = ()
    notes: tuple[str, ...] = ()
    in_force: frozenset[ObjectKey] = frozenset()

    @property
    def has_drift(self) -> bool:
        """Say whether Slurm differs from what is wanted; what waits for jobs does not count."""
        return bool(self.changes or self.blocked)


def name_association(account: str, user: str) -> str:
    """Return the name under which an association is owned."""
    return f"{account}:{user}"


def make_key(thing: Account | Qos | Association) -> ObjectKey:
    """Return the key of an object that can be owned."""
    if isinstance(thing, Account):
        return ObjectKey(Kind.ACCOUNT, thing.name)
    if isinstance(thing, Qos):
        return ObjectKey(Kind.QOS, thing.name)
    return ObjectKey(Kind.ASSOCIATION, name_association(thing.account, thing.user))


def list_wanted(desired: DesiredState) -> dict[ObjectKey, Account | Qos | Association]:
    """Return everything wanted by key."""
    things: Iterable[Account | Qos | Association] = (
        *desired.accounts,
        *desired.qos,
        *desired.associations,
    )
    return {make_key(thing): thing for thing in things}


def list_observed_keys(observed: ObservedState) -> set[ObjectKey]:
    """Return the keys of everything that Slurm shows."""
    things: Iterable[Account | Qos | Association] = (
        *observed.accounts,
        *observed.qos,
        *observed.associations,
    )
    return {make_key(thing) for thing in things}
