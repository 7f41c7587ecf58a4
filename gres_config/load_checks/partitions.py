"""Checks of partitions: names, nodes, one default, default memory, billing weights."""

from collections.abc import Iterator

from gres_config.description import InventoryPart
from gres_config.hostlist import expand_hostlist
from gres_config.inventory import PLAIN_TRES, GpuMode, name_instance_type
from gres_config.problems import Place, suggest

Found = Iterator[tuple[Place, str]]
PREEMPT_MODES = frozenset({"OFF", "CANCEL", "REQUEUE", "SUSPEND", "GANG", "SUSPEND,GANG", "WITHIN"})


def check_partitions_once(part: InventoryPart) -> Found:
    """Two partitions of one name, two default partitions, a preempt mode that Slurm lacks."""
    names: dict[str, int] = {}
    defaults: list[int] = []
    for number, partition in enumerate(part.partitions):
        place: Place = ("partitions", number)
        if partition.name in names:
            sentence = f"“{partition.name}” stands already at partitions[{names[partition.name]}]."
            yield (*place, "name"), sentence
        names.setdefault(partition.name, number)
        if partition.default:
            defaults.append(number)
        if partition.preempt_mode and partition.preempt_mode not in PREEMPT_MODES:
            yield (*place, "preempt_mode"), f"Use one of {', '.join(sorted(PREEMPT_MODES))}."
    for number in defaults[1:]:
        sentence = f"partitions[{defaults[0]}] is the default already."
        yield ("partitions", number, "default"), sentence


def check_partition_nodes(part: InventoryPart) -> Found:
    """slurmctld ends on a partition with a node that no NodeName line has."""
    known = {name for group in part.node_groups for name in expand_hostlist(group.nodes)}
    for number, partition in enumerate(part.partitions):
        if partition.nodes == "ALL":
            continue
        missing = [name for name in expand_hostlist(partition.nodes) if name not in known]
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            hint = suggest(missing[0], known) if len(known) <= 1000 else ""
            sentence = f"No node group has {missing[0]}{more}.{hint}"
            yield ("partitions", number, "nodes"), sentence


def check_default_memory(part: InventoryPart) -> Found:
    """DefMemPerCPU and DefMemPerGPU exclude each other (slurm.conf(5))."""
    sentence = "memory_per_cpu_mib and memory_per_gpu_mib exclude each other."
    if part.memory_per_cpu_mib and part.memory_per_gpu_mib:
        yield ("memory_per_gpu_mib",), sentence
    for number, partition in enumerate(part.partitions):
        if partition.memory_per_cpu_mib and partition.memory_per_gpu_mib:
            yield ("partitions", number, "memory_per_gpu_mib"), sentence


def check_billing_weights(part: InventoryPart) -> Found:
    """slurmctld ends on a weight for a TRES that it does not account."""
    known = PLAIN_TRES | _list_gres_tres(part) | {name.lower() for name in part.accounting_tres}
    for number, partition in enumerate(part.partitions):
        for name in partition.billing_weights:
            if name.lower() not in known:
                hint = (
                    suggest(name.lower(), known) or " Name it in accounting_tres, or take it out."
                )
                sentence = f"Nothing here is accounted as {name}.{hint}"
                yield ("partitions", number, "billing_weights", name), sentence


def _list_gres_tres(part: InventoryPart) -> set[str]:
    """Return what render names in AccountingStorageTRES for the GRES, in lower case."""
    found: set[tuple[str, str]] = set()
    for group in part.node_groups:
        found |= {(item.name, item.type) for item in group.gres}
        for gpu in group.gpus:
            if gpu.mode is GpuMode.MIG:
                found |= {
                    ("gpu", gpu.types.get(profile) or name_instance_type(profile, group.detection))
                    for profile in gpu.layout
                }
            else:
                found |= {("gpu", gpu.type or "")}
            if gpu.mode in (GpuMode.SHARD, GpuMode.MPS):
                found |= {(gpu.mode.value, "")}
    names = {f"gres/{name}" for name, _type in found}
    return {name.lower() for name in names | {f"gres/{n}:{kind}" for n, kind in found if kind}}
