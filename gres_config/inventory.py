"""What a cluster has, as frozen values: GPUs (whole or split), nodes, partitions."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gres_config.errors import GresConfigError
from gres_config.mig import check_mig_layout, get_mig_product

# slurm.conf and sacctmgr read such a Type as a count, or break on it ("80gb", "a100-40").
_NUMBER = re.compile(r"\d+([kmgtp](i?b)?)?", re.IGNORECASE)
_TYPE = re.compile(r"[A-Za-z0-9_.]+")


def check_gres_type(gres_type: str) -> None:
    """Raise GresConfigError for a GRES type that Slurm would misread."""
    if _NUMBER.fullmatch(gres_type):
        raise GresConfigError(f"Slurm reads the GRES type {gres_type!r} as a count")
    if not _TYPE.fullmatch(gres_type):
        raise GresConfigError(f"GRES type {gres_type!r} may hold only letters, digits, '_' and '.'")


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """`count` equal GPUs of a node: whole ones, or each split into the instances of `mig_layout`.

    `gres_type` names whole GPUs ("a100"); an instance's type is its profile ("3g.40gb").
    """

    gres_type: str
    product: str
    count: int
    mig_layout: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise GresConfigError(f"{self.product}: a count of {self.count} GPUs makes no sense")
        for gres_type in (self.gres_type, *self.mig_layout):
            check_gres_type(gres_type)
        if self.mig_layout:
            check_mig_layout(get_mig_product(self.product), self.mig_layout)

    def count_units(self) -> Mapping[str, int]:
        """Return schedulable units by GRES type, e.g. {"a100": 4} or {"3g.40gb": 4}."""
        if not self.mig_layout:
            return {self.gres_type: self.count}
        return {name: n * self.count for name, n in Counter(self.mig_layout).items()}


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of equal hardware. `gpus` are in the order of the device numbers."""

    names: tuple[str, ...]
    cpus: int
    memory_mib: int
    gpus: tuple[GpuSpec, ...] = ()

    def count_units(self) -> Mapping[str, int]:
        """Return the units of one node by GRES type, in the order they first appear."""
        total: Counter[str] = Counter()
        for spec in self.gpus:
            total.update(spec.count_units())
        return dict(total)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition over named nodes; jobs of a higher `priority_tier` preempt where it is allowed.

    `preempt_mode` is Slurm's word (OFF, REQUEUE, CANCEL); None leaves the cluster's default.
    """

    name: str
    nodes: tuple[str, ...]
    priority_tier: int = 1
    preempt_mode: str | None = None
    is_default: bool = False
    default_time_minutes: int = 60
    max_time_minutes: int | None = None


def list_gres_types(groups: Iterable[NodeGroup]) -> tuple[str, ...]:
    """Return every GRES type of the groups once, sorted."""
    return tuple(sorted({name for group in groups for name in group.count_units()}))
