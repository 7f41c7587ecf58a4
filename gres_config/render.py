"""Renders inventory values as the text of slurm.conf and gres.conf."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from gres_config.inventory import GpuSpec, NodeGroup, Partition, list_gres_types

DEVICE_ROOT = PurePosixPath("/dev")


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    """Where a node's slurmd listens, when that isn't told by its name."""

    hostname: str
    address: str
    port: int


@dataclass(frozen=True, slots=True)
class GresRecord:
    """One line of gres.conf: a type and its device files; a MIG instance has several files."""

    gres_type: str
    files: tuple[PurePosixPath, ...]


def render_accounting_tres(groups: Iterable[NodeGroup]) -> str:
    """Return the value of AccountingStorageTRES: gres/gpu and one entry for each type.

    Without the typed entries limits on them are silently not enforced.
    """
    return ",".join(["gres/gpu", *(f"gres/gpu:{name}" for name in list_gres_types(groups))])


def render_nodes(
    groups: Iterable[NodeGroup], endpoints: Mapping[str, NodeEndpoint] | None = None
) -> str:
    """Return the NodeName lines of slurm.conf, one for each node."""
    known = endpoints or {}
    lines = [_render_node(name, group, known.get(name)) for group in groups for name in group.names]
    return "".join(f"{line}\n" for line in lines)


def _render_node(name: str, group: NodeGroup, endpoint: NodeEndpoint | None) -> str:
    words = [f"NodeName={name}"]
    if endpoint:
        words += [
            f"NodeHostname={endpoint.hostname}",
            f"NodeAddr={endpoint.address}",
            f"Port={endpoint.port}",
        ]
    words += [f"CPUs={group.cpus}", f"RealMemory={group.memory_mib}"]
    units = group.count_units()
    if units:
        words.append("Gres=" + ",".join(f"gpu:{name}:{count}" for name, count in units.items()))
    return " ".join([*words, "State=UNKNOWN"])


def render_partitions(partitions: Iterable[Partition]) -> str:
    """Return the PartitionName lines of slurm.conf."""
    return "".join(f"{_render_partition(partition)}\n" for partition in partitions)


def _render_partition(partition: Partition) -> str:
    limit = partition.max_time_minutes
    words = [
        f"PartitionName={partition.name}",
        f"Nodes={','.join(partition.nodes)}",
        f"Default={'YES' if partition.is_default else 'NO'}",
        f"PriorityTier={partition.priority_tier}",
        f"DefaultTime={partition.default_time_minutes}",
        f"MaxTime={'UNLIMITED' if limit is None else limit}",
    ]
    if partition.preempt_mode:
        words.append(f"PreemptMode={partition.preempt_mode}")
    return " ".join([*words, "State=UP"])


def render_gres_conf(groups: Iterable[NodeGroup], device_root: PurePosixPath = DEVICE_ROOT) -> str:
    """Return gres.conf: whole GPUs by File, each MIG instance by MultipleFiles.

    The same count of files as slurm.conf's Gres says, or the node turns invalid.
    """
    lines = []
    for group in groups:
        for record in list_gres_records(group, device_root):
            key = "File" if len(record.files) == 1 else "MultipleFiles"
            files = ",".join(str(file) for file in record.files)
            names = ",".join(group.names)
            lines.append(f"NodeName={names} Name=gpu Type={record.gres_type} {key}={files}\n")
    return "".join(lines)


def list_gres_records(
    group: NodeGroup, device_root: PurePosixPath = DEVICE_ROOT
) -> tuple[GresRecord, ...]:
    """Return the gres.conf records of a node of the group, in the order of its devices."""
    records: list[GresRecord] = []
    first = 0
    for spec in group.gpus:
        for gpu_index in range(first, first + spec.count):
            records.extend(_list_gpu_records(spec, gpu_index, device_root))
        first += spec.count
    return tuple(records)


def _list_gpu_records(
    spec: GpuSpec, gpu_index: int, device_root: PurePosixPath
) -> Iterator[GresRecord]:
    gpu = device_root / f"nvidia{gpu_index}"
    if not spec.mig_layout:
        yield GresRecord(spec.gres_type, (gpu,))
        return
    caps = device_root / "nvidia-caps"
    for instance, profile in enumerate(spec.mig_layout, start=1):
        # The driver's numbering in /proc/driver/nvidia-caps/mig-minors: 135 minors for each GPU,
        # nine for each GPU instance: its own access file, then those of its compute instances.
        minor = 3 + 135 * gpu_index + 9 * instance
        files = (gpu, caps / f"nvidia-cap{minor}", caps / f"nvidia-cap{minor + 1}")
        yield GresRecord(profile, files)
