"""Writes the lines of slurm.conf that GRES need: types, accounted TRES, nodes, partitions."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from gres_config.hostlist import fold_hostlist
from gres_config.inventory import (
    Inventory,
    NodeGroup,
    Partition,
    list_gres_names,
    list_gres_types,
)
from gres_config.render.words import join_words, render_word


@dataclass(frozen=True, slots=True)
class NodeEndpoint:
    """Where a node's slurmd listens, when that isn't told by its name."""

    hostname: str
    address: str
    port: int


def render_gres_types(groups: Iterable[NodeGroup]) -> str:
    """Return the value of GresTypes; shard and mps bring gpu with them, or slurmctld ends."""
    return ",".join(list_gres_names(groups))


def render_accounting_tres(groups: Iterable[NodeGroup], further: Iterable[str] = ()) -> str:
    """Return the value of AccountingStorageTRES: each GRES, and one entry for each of its types.

    Without the typed entries limits on them are silently not enforced.
    """
    groups = tuple(groups)
    words = [f"gres/gpu:{name}" for name in list_gres_types(groups)]
    plain = {key for group in groups for key in group.count_gres() if key[0] != "gpu"}
    if any(group.gpus for group in groups):
        words.insert(0, "gres/gpu")
    for name in sorted({name for name, _type in plain}):
        words.append(f"gres/{name}")
        types = sorted(kind for other, kind in plain if other == name and kind)
        words += [f"gres/{name}:{kind}" for kind in types]
    return ",".join(dict.fromkeys([*words, *further]))


def render_cluster(inventory: Inventory) -> str:
    """Return the lines of the whole cluster: GresTypes, AccountingStorageTRES, defaults, others."""
    names = render_gres_types(inventory.node_groups)
    tres = render_accounting_tres(inventory.node_groups, inventory.accounting_tres)
    lines = [render_word("GresTypes", names)] if names else []
    if tres:
        lines.append(render_word("AccountingStorageTRES", tres))
    for key, value in (
        ("DefMemPerCPU", inventory.memory_per_cpu_mib),
        ("DefMemPerGPU", inventory.memory_per_gpu_mib),
        *inventory.extra,
    ):
        if value is not None:
            lines.append(render_word(key, value))
    return "".join(f"{line}\n" for line in lines)


def render_nodes(
    groups: Iterable[NodeGroup], endpoints: Mapping[str, NodeEndpoint] | None = None
) -> str:
    """Return the NodeName lines of slurm.conf: one for each group.

    With `endpoints` each node has a line of its own, with its address where it has one.
    """
    if endpoints is None:
        return "".join(_render_group(fold_hostlist(group.nodes), group) for group in groups)
    return "".join(
        _render_group(name, group, endpoints.get(name)) for group in groups for name in group.nodes
    )


def _render_group(names: str, group: NodeGroup, endpoint: NodeEndpoint | None = None) -> str:
    words = [f"NodeName={names}"]
    if endpoint:
        words += [
            f"NodeHostname={endpoint.hostname}",
            f"NodeAddr={endpoint.address}",
            f"Port={endpoint.port}",
        ]
    words += [
        f"CPUs={group.cpus}",
        f"Sockets={group.sockets}",
        f"CoresPerSocket={group.cores_per_socket}",
        f"ThreadsPerCore={group.threads_per_core}",
        f"RealMemory={group.memory_mib}",
    ]
    if group.restricted_cores_per_gpu is not None:
        words.append(f"RestrictedCoresPerGPU={group.restricted_cores_per_gpu}")
    gres = render_node_gres(group)
    if gres:
        words.append(f"Gres={gres}")
    if group.features:
        words.append("Feature=" + ",".join(group.features))
    words += [render_word(key, value) for key, value in group.extra]
    return join_words([*words, f"State={group.state}"])


def render_node_gres(group: NodeGroup) -> str:
    """Return the value of a node's Gres, "gpu:a100:4,gpu:1g.10gb:7,shard:8"; "" for none."""
    words = []
    for (name, gres_type), count in group.count_gres().items():
        words.append(f"{name}:{gres_type}:{count}" if gres_type else f"{name}:{count}")
    return ",".join(words)


def render_partitions(partitions: Iterable[Partition]) -> str:
    """Return the PartitionName lines of slurm.conf."""
    return "".join(map(_render_partition, partitions))


def _render_partition(partition: Partition) -> str:
    words = [
        f"PartitionName={partition.name}",
        f"Nodes={partition.hostlist}",
        f"Default={'YES' if partition.is_default else 'NO'}",
        f"PriorityTier={partition.priority_tier}",
        *_list_limits(partition),
        *_list_access(partition),
    ]
    if partition.billing_weights:
        weights = ",".join(f"{name}={weight}" for name, weight in partition.billing_weights)
        words.append(f'TRESBillingWeights="{weights}"')
    words += [render_word(key, value) for key, value in partition.extra]
    return join_words([*words, f"State={partition.state}"])


def _list_limits(partition: Partition) -> Iterator[str]:
    limit = partition.max_time_minutes
    for key, value in (
        ("DefaultTime", partition.default_time_minutes),
        ("MaxTime", "UNLIMITED" if limit is None else limit),
        ("MaxNodes", partition.max_nodes),
        ("PreemptMode", partition.preempt_mode),
        ("DefMemPerCPU", partition.memory_per_cpu_mib),
        ("DefMemPerGPU", partition.memory_per_gpu_mib),
        ("DefCpuPerGPU", partition.cpus_per_gpu),
    ):
        if value is not None:
            yield f"{key}={value}"


def _list_access(partition: Partition) -> Iterator[str]:
    for key, names in (
        ("AllowAccounts", partition.allow_accounts),
        ("DenyAccounts", partition.deny_accounts),
        ("AllowGroups", partition.allow_groups),
        ("AllowQos", partition.allow_qos),
        ("DenyQos", partition.deny_qos),
    ):
        if names:
            yield f"{key}={','.join(names)}"
    if partition.qos:
        yield f"QOS={partition.qos}"
