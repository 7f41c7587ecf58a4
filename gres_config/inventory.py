"""What a cluster has, as frozen values: GPUs in their modes, other GRES, nodes, partitions.

These values say what should be; load.py makes them from a file, render/ writes them as Slurm's
configuration, adopt.py makes them from an existing one. A value that is wrong by itself cannot be
built; what can be wrong between values is checked by load.py.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist
from gres_config.mig import check_mig_layout, get_mig_product

# slurm.conf and sacctmgr read such a Type as a count, or break on it ("80gb", "a100-40").
_NUMBER = re.compile(r"\d+([kmgtp](i?b)?)?", re.IGNORECASE)
_TYPE = re.compile(r"[A-Za-z0-9_.]+")
_GRES_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
GPU_NAMES = frozenset({"gpu", "shard", "mps"})

Pairs = tuple[tuple[str, str], ...]


class GpuMode(StrEnum):
    """How one GPU is given out: as a whole, as MIG instances, or shared in time.

    A shared GPU can still be asked for as a whole; Slurm then gives no share of it.
    """

    WHOLE = "whole"
    MIG = "mig"
    SHARD = "shard"
    MPS = "mps"


class Detection(StrEnum):
    """Who names a node's device files: the inventory (files), or slurmd's AutoDetect.

    Which words a Slurm version knows is told by versions/.
    """

    FILES = "files"
    NVML = "nvml"
    NVIDIA = "nvidia"
    RSMI = "rsmi"
    ONEAPI = "oneapi"
    NRT = "nrt"
    FULL = "full"


def check_gres_type(gres_type: str) -> None:
    """Raise GresConfigError for a GRES type that Slurm would misread."""
    if _NUMBER.fullmatch(gres_type):
        raise GresConfigError(f"Slurm reads the GRES type {gres_type!r} as a count")
    if not _TYPE.fullmatch(gres_type):
        raise GresConfigError(f"GRES type {gres_type!r} may hold only letters, digits, '_' and '.'")


@lru_cache(maxsize=4096)
def check_layout(model: str, layout: tuple[str, ...]) -> None:
    """Raise GresConfigError unless a GPU of the model can hold the layout; remembers the good."""
    check_mig_layout(get_mig_product(model), layout)


# Flags of shard and mps lines: whether one GPU of a node is shared at a time, or all.
SHARING_FLAGS = frozenset({"one_sharing", "all_sharing"})
# What every Slurm accounts, whatever AccountingStorageTRES says, in lower case.
PLAIN_TRES = frozenset({"billing", "cpu", "energy", "fs/disk", "mem", "node", "pages", "vmem"})


def name_instance_type(profile: str, detection: Detection = Detection.FILES) -> str:
    """Return the default GRES type of a MIG profile: its name, without signs that break Slurm.

    "1g.10gb+me" becomes "1g.10gb.me" with named files. With AutoDetect a Type must be a part of
    the detected name (gres.conf(5)), so there it is "1g.10gb", which matches both.
    """
    if detection is not Detection.FILES:
        return re.split(r"[+-]", profile)[0]
    return profile.replace("+", ".").replace("-", ".no_")


@dataclass(frozen=True, slots=True)
class GpuSpec:
    """`count` equal GPUs of a node, all in the same mode; a mixed node has several specs.

    model        key of the MIG table ("A100-80GB"), or any name for a product without MIG.
    gres_type    Type of whole and shared GPUs ("a100"); "" leaves them untyped.
    mig_layout   profiles of each GPU's instances, in the order of their device numbers.
    mig_types    (profile, Type) where an instance's Type is not name_instance_type(profile).
    shares       shards or MPS percent of each GPU.
    files        one device file for each GPU; empty: /dev/nvidia<number> in the node's order.
    mig_files    for each GPU and instance its device files (GPU, instance's and compute instance's
                 caps); empty: the driver's numbering.
    cores        Cores= (logical core ranges), links Links=: empty, one for all, one for each GPU.
    flags        Flags= of gres.conf (nvidia_gpu_env, one_sharing ...), in Slurm's spelling.
    """

    model: str
    count: int
    gres_type: str = ""
    mode: GpuMode = GpuMode.WHOLE
    mig_layout: tuple[str, ...] = ()
    mig_types: Pairs = ()
    shares: int = 0
    files: tuple[str, ...] = ()
    mig_files: tuple[tuple[tuple[str, ...], ...], ...] = ()
    cores: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.count < 1:
            raise GresConfigError(f"{self.model}: a count of {self.count} GPUs makes no sense")
        for gres_type in (self.gres_type, *dict(self.mig_types).values()):
            if gres_type:
                check_gres_type(gres_type)
        self._check_mode()
        self._check_lists()

    def _check_mode(self) -> None:
        is_mig, is_shared = self.mode is GpuMode.MIG, self.is_shared
        if is_mig != bool(self.mig_layout):
            raise GresConfigError(f"{self.model}: mode mig and a MIG layout belong together")
        if is_shared != (self.shares > 0):
            raise GresConfigError(f"{self.model}: a number of shares belongs to mode shard or mps")
        if is_mig:
            check_layout(self.model, self.mig_layout)

    def _check_lists(self) -> None:
        if len(self.files) not in (0, self.count):
            raise GresConfigError(
                f"{self.model}: {self.count} GPUs, but {len(self.files)} device files"
            )
        if self.mig_files:
            instances = len(self.mig_layout)
            if len(self.mig_files) != self.count or any(
                len(gpu) != instances for gpu in self.mig_files
            ):
                raise GresConfigError(
                    f"{self.model}: mig_files must name the files of {self.count} x {instances} "
                    "instances"
                )
            if any(len(files) < 2 for gpu in self.mig_files for files in gpu):
                raise GresConfigError(f"{self.model}: a MIG instance has at least two files")
        for what, values in (("cores", self.cores), ("links", self.links)):
            if len(values) not in (0, 1, self.count):
                raise GresConfigError(
                    f"{self.model}: {what} has {len(values)} entries for {self.count} GPUs"
                )

    @property
    def is_shared(self) -> bool:
        """Whether the GPUs are shared in time, as shards or through MPS."""
        return self.mode in (GpuMode.SHARD, GpuMode.MPS)

    def list_instance_types(self, detection: Detection = Detection.FILES) -> tuple[str, ...]:
        """Return the GRES type of each instance of one GPU, in the layout's order."""
        named = dict(self.mig_types)
        return tuple(
            named.get(profile) or name_instance_type(profile, detection)
            for profile in self.mig_layout
        )

    def count_units(self, detection: Detection = Detection.FILES) -> Mapping[str, int]:
        """Return GRES gpu by type, e.g. {"a100": 4} or {"3g.40gb": 4}; shares are not in it."""
        if self.mode is not GpuMode.MIG:
            return {self.gres_type: self.count}
        types = Counter(self.list_instance_types(detection))
        return {name: number * self.count for name, number in types.items()}


@dataclass(frozen=True, slots=True)
class GenericGres:
    """Any other countable thing of a node: FPGA, NPU, a licence dongle; `type` may be "".

    `files` is empty (a mere count, Flags=CountOnly) or has `count` device files.
    """

    name: str
    count: int
    type: str = ""
    files: tuple[str, ...] = ()
    cores: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _GRES_NAME.fullmatch(self.name) or self.name in GPU_NAMES:
            raise GresConfigError(f"{self.name!r} cannot be the name of a plain GRES")
        if self.count < 1:
            raise GresConfigError(f"{self.name}: a count of {self.count} makes no sense")
        if self.type:
            check_gres_type(self.type)
        if len(self.files) not in (0, self.count):
            raise GresConfigError(f"{self.name}: {self.count}, but {len(self.files)} device files")
        if len(self.cores) not in (0, 1, self.count):
            raise GresConfigError(f"{self.name}: cores has {len(self.cores)} entries")


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Nodes of equal hardware, named by a hostlist; `nodes` is its expansion.

    `gpus` are in the order of the device numbers. `extra` holds further words of the NodeName
    line (("Weight", "10"), ...), in Slurm's spelling.
    """

    hostlist: str
    sockets: int
    cores_per_socket: int
    memory_mib: int
    threads_per_core: int = 1
    gpus: tuple[GpuSpec, ...] = ()
    gres: tuple[GenericGres, ...] = ()
    features: tuple[str, ...] = ()
    detection: Detection = Detection.FILES
    state: str = "UNKNOWN"
    restricted_cores_per_gpu: int | None = None
    extra: Pairs = ()
    nodes: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for what in ("sockets", "cores_per_socket", "threads_per_core", "memory_mib"):
            if getattr(self, what) < 1:
                raise GresConfigError(f"{self.hostlist}: {what} must be at least 1")
        object.__setattr__(self, "nodes", expand_hostlist(self.hostlist))

    @property
    def cpus(self) -> int:
        """Slurm's CPUs of one node: hardware threads."""
        return self.sockets * self.cores_per_socket * self.threads_per_core

    def count_units(self) -> Mapping[str, int]:
        """Return GRES gpu of one node by type, in the order they first appear."""
        total: Counter[str] = Counter()
        for spec in self.gpus:
            total.update(spec.count_units(self.detection))
        return dict(total)

    def count_gres(self) -> Mapping[tuple[str, str], int]:
        """Return every GRES of one node by (name, type), in the order of slurm.conf's Gres=.

        Shares count ("shard", ""): Slurm allows one untyped entry over all GPUs of a node.
        """
        total: Counter[tuple[str, str]] = Counter(
            {("gpu", gres_type): count for gres_type, count in self.count_units().items()}
        )
        for spec in self.gpus:
            if spec.is_shared:
                total[spec.mode.value, ""] += spec.count * spec.shares
        for item in self.gres:
            total[item.name, item.type] += item.count
        return dict(total)


@dataclass(frozen=True, slots=True)
class Partition:
    """A partition over a hostlist ("ALL": every node); None leaves Slurm's default.

    `preempt_mode` is Slurm's word (OFF, REQUEUE, CANCEL ...). `billing_weights` are pairs such as
    ("gres/gpu:a100", "1.5"), kept as text. `extra`: further words, in Slurm's spelling.
    """

    name: str
    hostlist: str
    priority_tier: int = 1
    preempt_mode: str | None = None
    is_default: bool = False
    default_time_minutes: int | None = 60
    max_time_minutes: int | None = None
    max_nodes: int | None = None
    allow_accounts: tuple[str, ...] = ()
    deny_accounts: tuple[str, ...] = ()
    allow_groups: tuple[str, ...] = ()
    allow_qos: tuple[str, ...] = ()
    deny_qos: tuple[str, ...] = ()
    qos: str = ""
    memory_per_cpu_mib: int | None = None
    memory_per_gpu_mib: int | None = None
    cpus_per_gpu: int | None = None
    billing_weights: Pairs = ()
    state: str = "UP"
    extra: Pairs = ()

    def __post_init__(self) -> None:
        if self.memory_per_cpu_mib is not None and self.memory_per_gpu_mib is not None:
            raise GresConfigError(
                f"{self.name}: memory_per_cpu_mib and memory_per_gpu_mib exclude each other"
            )


@dataclass(frozen=True, slots=True)
class Inventory:
    """One cluster. `slurm_version` is a release of versions/ ("24.11").

    `memory_per_cpu_mib` and `memory_per_gpu_mib` are the cluster's DefMemPerCPU and DefMemPerGPU;
    `cgroup_plugin` is cgroup.conf's CgroupPlugin (autodetect, cgroup/v1, cgroup/v2, disabled).
    `accounting_tres` are TRES beside those of the GRES; `other_models` GPU models that no table
    has; `extra` further lines of slurm.conf, in Slurm's spelling.
    """

    cluster_name: str
    slurm_version: str
    node_groups: tuple[NodeGroup, ...]
    partitions: tuple[Partition, ...] = ()
    memory_per_cpu_mib: int | None = None
    memory_per_gpu_mib: int | None = None
    cgroup_plugin: str = "autodetect"
    accounting_tres: tuple[str, ...] = ()
    other_models: tuple[str, ...] = ()
    extra: Pairs = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """Return the names of all nodes, in the order of the groups."""
        return tuple(name for group in self.node_groups for name in group.nodes)

    def list_partition_nodes(self, partition: Partition) -> tuple[str, ...]:
        """Return the names of the partition's nodes."""
        if partition.hostlist == "ALL":
            return self.node_names
        return expand_hostlist(partition.hostlist)


def list_gres_types(groups: Iterable[NodeGroup]) -> tuple[str, ...]:
    """Return every type of GRES gpu of the groups once, sorted; without the untyped one."""
    return tuple(sorted({name for group in groups for name in group.count_units() if name}))


def list_gres_names(groups: Iterable[NodeGroup]) -> tuple[str, ...]:
    """Return every GRES name of the groups once: gpu first, the others sorted (GresTypes)."""
    names = {name for group in groups for name, _type in group.count_gres()}
    return tuple(sorted(names, key=lambda name: (name != "gpu", name)))
