"""Checks of nodes: names, what the release knows, settings that are written from other keys."""

from collections.abc import Iterator, Mapping

from gres_config.description import InventoryPart
from gres_config.hostlist import expand_hostlist
from gres_config.problems import Place
from gres_config.versions import get_version

Found = Iterator[tuple[Place, str]]

# Slurm's words that the inventory has keys of its own for, in lower case.
_CLUSTER_KEYS = {
    "clustername": "cluster",
    "grestypes": "node_groups",
    "accountingstoragetres": "accounting_tres",
    "defmempercpu": "memory_per_cpu_mib",
    "defmempergpu": "memory_per_gpu_mib",
    "nodename": "node_groups",
    "partitionname": "partitions",
    "include": "slurm",
}
_NODE_KEYS = {
    "nodename": "nodes",
    "cpus": "cores_per_socket",
    "sockets": "sockets",
    "socketsperboard": "sockets",
    "corespersocket": "cores_per_socket",
    "threadspercore": "threads_per_core",
    "realmemory": "memory_mib",
    "gres": "gpus",
    "feature": "features",
    "features": "features",
    "state": "state",
    "restrictedcorespergpu": "restricted_cores_per_gpu",
}
_PARTITION_KEYS = {
    "partitionname": "name",
    "nodes": "nodes",
    "default": "default",
    "prioritytier": "tier",
    "preemptmode": "preempt_mode",
    "defaulttime": "default_time_minutes",
    "maxtime": "max_time_minutes",
    "maxnodes": "max_nodes",
    "allowaccounts": "allow_accounts",
    "denyaccounts": "deny_accounts",
    "allowgroups": "allow_groups",
    "allowqos": "allow_qos",
    "denyqos": "deny_qos",
    "qos": "qos",
    "defmempercpu": "memory_per_cpu_mib",
    "defmempergpu": "memory_per_gpu_mib",
    "defcpupergpu": "cpus_per_gpu",
    "tresbillingweights": "billing_weights",
    "state": "state",
}


def check_names_once(part: InventoryPart) -> Found:
    """A node that stands in two groups would have two kinds of hardware."""
    first: dict[str, int] = {}
    for number, group in enumerate(part.node_groups):
        place: Place = ("node_groups", number, "nodes")
        twice: dict[int, list[str]] = {}
        for name in expand_hostlist(group.nodes):
            if name in first:
                twice.setdefault(first[name], []).append(name)
            first.setdefault(name, number)
        for other, names in twice.items():
            shown = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
            where = "in this group" if other == number else f"in node_groups[{other}]"
            yield place, f"{shown} stands already {where}."


def check_versions(part: InventoryPart) -> Found:
    """What the release does not know."""
    release = get_version(part.slurm_version)
    if part.cgroup_plugin not in release.cgroup_plugins:
        known = ", ".join(sorted(release.cgroup_plugins))
        yield ("cgroup_plugin",), f"Slurm {release.name} knows {known}."
    for index, tres in enumerate(part.accounting_tres):
        if tres.lower() in ("gres/gpuutil", "gres/gpumem") and not release.has_gpu_usage_tres:
            yield ("accounting_tres", index), f"Slurm {release.name} has no {tres}; 23.02 has."
    for number, group in enumerate(part.node_groups):
        if group.restricted_cores_per_gpu and not release.has_restricted_cores:
            place: Place = ("node_groups", number, "restricted_cores_per_gpu")
            yield place, f"Slurm {release.name} has no RestrictedCoresPerGPU; 24.05 has."


def check_settings(part: InventoryPart) -> Found:
    """A setting that is written already would stand twice in slurm.conf."""
    yield from _find_known(("slurm",), part.slurm, _CLUSTER_KEYS)
    for number, group in enumerate(part.node_groups):
        yield from _find_known(("node_groups", number, "slurm"), group.slurm, _NODE_KEYS)
    for number, partition in enumerate(part.partitions):
        place: Place = ("partitions", number, "slurm")
        yield from _find_known(place, partition.slurm, _PARTITION_KEYS)


def _find_known(place: Place, settings: Mapping[str, str], keys: Mapping[str, str]) -> Found:
    for name in settings:
        if name.lower() in keys:
            yield (*place, name), f"This is written from “{keys[name.lower()]}”; give it there."
