"""Frozen values that cross the gateway, named as in Slurm's manuals.

TRES mappings are tuples of (name, count) pairs sorted by name, so that equal limits compare equal;
`make_tres` builds them. Limits that are not set are None, never 0. Names and texts of accounting
objects are kept as Slurm keeps them (`clean_name`, `clean_text`), so that what was written and
what is read back compare equal.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

TresCounts = tuple[tuple[str, int], ...]


def make_tres(counts: Mapping[str, int]) -> TresCounts:
    """Return the counts as sorted pairs, e.g. {"gres/gpu": 4} -> (("gres/gpu", 4),)."""
    return tuple(sorted(counts.items()))


TEXT_MAX_BYTES = 255
_TEXT_REPLACEMENTS = str.maketrans({"'": "`", '"': "`", "|": "/"})


def clean_name(name: str) -> str:
    """Return an account, user or QOS name as slurmdbd stores it: in lower case."""
    return name.strip().lower()


def clean_text(text: str) -> str:
    """Return a description or organization as Slurm keeps and prints it without loss.

    sacctmgr 22.05 lower-cases texts and turns both quotes into a backquote; `sacctmgr -P` does
    not escape its delimiter or a newline, so "|" becomes "/" and control characters become
    spaces. MariaDB's default character set, Latin-1, turns what it lacks into "?": such letters
    lose their marks here, and "?" stands for the rest. Runs of white space become one space; the
    result has at most 255 bytes of UTF-8. "=", ",", ";", "$", "%" and backslashes are kept.
    """
    fitted = "".join(map(_fit_latin_1, unicodedata.normalize("NFC", text)))
    spaced = re.sub(r"[\s\x00-\x1f\x7f-\x9f]+", " ", fitted)
    kept = spaced.translate(_TEXT_REPLACEMENTS).lower().strip()
    return kept.encode()[:TEXT_MAX_BYTES].decode("utf-8", "ignore").strip()


def _fit_latin_1(character: str) -> str:
    if ord(character) < 0x100:
        return character
    base = unicodedata.normalize("NFKD", character)[0]
    return base if ord(base) < 0x80 else "?"


@dataclass(frozen=True, slots=True)
class ClusterInfo:
    """What `scontrol show config` says of a cluster that answers."""

    cluster_name: str
    slurm_version: str
    config: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Node:
    """A node with its configured and used GRES as typed counts, e.g. gpu:a100 -> 8.

    `states` holds Slurm's upper-case state words: base state first, then flags
    (IDLE, MIXED, ALLOCATED, DOWN, DRAIN, ...).
    """

    name: str
    states: tuple[str, ...]
    partitions: tuple[str, ...]
    gres: TresCounts
    gres_used: TresCounts
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition, its nodes (expanded) and its place among the tiers."""

    name: str
    states: tuple[str, ...]
    nodes: tuple[str, ...]
    priority_tier: int
    preempt_mode: str


@dataclass(frozen=True, slots=True)
class Account:
    """A Slurm account; `parent` is "root" at the top of the tree.

    An empty description or organization means: leave what Slurm has (it cannot store none).
    """

    name: str
    parent: str = "root"
    description: str = ""
    organization: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_name(self.name))
        object.__setattr__(self, "parent", clean_name(self.parent))
        object.__setattr__(self, "description", clean_text(self.description))
        object.__setattr__(self, "organization", clean_text(self.organization))


@dataclass(frozen=True, slots=True)
class SlurmUser:
    """A user in Slurm's database; `default_account` is "" where there is none."""

    name: str
    default_account: str = ""
    admin_level: str = "None"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_name(self.name))
        object.__setattr__(self, "default_account", clean_name(self.default_account))


@dataclass(frozen=True, slots=True)
class Association:
    """A (user, account) association on this cluster, without a partition.

    As read, `qos` is the effective list. Slurm cannot hold an empty one: writing an empty `qos`
    clears the association's own list, and it then inherits the account's (often "normal").
    """

    account: str
    user: str
    qos: frozenset[str] = frozenset()
    default_qos: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "account", clean_name(self.account))
        object.__setattr__(self, "user", clean_name(self.user))
        object.__setattr__(self, "qos", frozenset(clean_name(name) for name in self.qos))
        object.__setattr__(self, "default_qos", clean_name(self.default_qos))


@dataclass(frozen=True, slots=True)
class Qos:
    """A QOS with the limits that an allocation line becomes.

    grp_tres: counts held at once; grp_tres_mins: TRES-minutes in all;
    max_wall_minutes: wall time of one job; grp_submit_jobs = 0 refuses every submission.
    An empty description means: leave what Slurm has.
    """

    name: str
    description: str = ""
    priority: int = 0
    flags: frozenset[str] = frozenset()
    grp_tres: TresCounts = ()
    grp_tres_mins: TresCounts = ()
    max_tres_per_user: TresCounts = ()
    max_wall_minutes: int | None = None
    max_submit_jobs_per_user: int | None = None
    grp_submit_jobs: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", clean_name(self.name))
        object.__setattr__(self, "description", clean_text(self.description))


@dataclass(frozen=True, slots=True)
class AccountingObjects:
    """What slurmdbd holds for a cluster, read at one time."""

    accounts: tuple[Account, ...] = ()
    users: tuple[SlurmUser, ...] = ()
    associations: tuple[Association, ...] = ()
    qos: tuple[Qos, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveJob:
    """A job as squeue shows it now."""

    job_id: str
    account: str
    user: str
    state: str
    partition: str
    qos: str
    reason: str
    submit_at: datetime | None = None
    start_at: datetime | None = None
