"""Writes an inventory as the YAML file that load.py reads; what is a default is left out."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from gres_config.hostlist import fold_files
from gres_config.inventory import (
    Detection,
    GenericGres,
    GpuMode,
    GpuSpec,
    Inventory,
    NodeGroup,
    Partition,
)
from gres_config.mig.profiles import render_layout

Value = Any


def dump_inventory(inventory: Inventory, comments: tuple[str, ...] = ()) -> str:
    """Return the file's text, opened by the comments; load_inventory reads the same values."""
    head = "".join(f"# {line}\n" if line else "#\n" for line in comments)
    body = yaml.safe_dump(
        dict(_list_cluster(inventory)),
        sort_keys=False,
        allow_unicode=True,
        default_flow_style=None,
        width=100,
    )
    return head + str(body)


def _drop_empty(values: Mapping[str, Value]) -> dict[str, Value]:
    return {key: value for key, value in values.items() if value not in (None, "", [], {}, False)}


def _list_cluster(inventory: Inventory) -> Iterator[tuple[str, Value]]:
    yield "cluster", inventory.cluster_name
    yield "slurm_version", inventory.slurm_version
    optional = {
        "memory_per_cpu_mib": inventory.memory_per_cpu_mib,
        "memory_per_gpu_mib": inventory.memory_per_gpu_mib,
        "cgroup_plugin": inventory.cgroup_plugin if inventory.cgroup_plugin != "autodetect" else "",
        "accounting_tres": list(inventory.accounting_tres),
        "other_models": list(inventory.other_models),
        "slurm": dict(inventory.extra),
    }
    yield from _drop_empty(optional).items()
    yield "node_groups", [_dump_group(group) for group in inventory.node_groups]
    if inventory.partitions:
        yield "partitions", [_dump_partition(partition) for partition in inventory.partitions]


def _dump_group(group: NodeGroup) -> dict[str, Value]:
    detection = group.detection.value if group.detection is not Detection.FILES else ""
    return _drop_empty(
        {
            "nodes": group.hostlist,
            "sockets": group.sockets,
            "cores_per_socket": group.cores_per_socket,
            "threads_per_core": group.threads_per_core if group.threads_per_core > 1 else None,
            "memory_mib": group.memory_mib,
            "detection": detection,
            "gpus": [_dump_gpu(spec) for spec in group.gpus],
            "gres": [_dump_gres(item) for item in group.gres],
            "features": list(group.features),
            "state": group.state if group.state != "UNKNOWN" else "",
            "restricted_cores_per_gpu": group.restricted_cores_per_gpu,
            "slurm": dict(group.extra),
        }
    )


def _dump_gpu(spec: GpuSpec) -> dict[str, Value]:
    found = _drop_empty(
        {
            "model": spec.model,
            "count": spec.count,
            "mode": spec.mode.value if spec.mode is not GpuMode.WHOLE else "",
            "layout": _dump_layout(spec),
            "types": dict(spec.mig_types),
            "shares": spec.shares,
            "files": [fold_files(spec.files)] if spec.files else [],
            "mig_files": [[list(files) for files in gpu] for gpu in spec.mig_files],
            "cores": list(spec.cores),
            "links": list(spec.links),
            "flags": list(spec.flags),
        }
    )
    if spec.mode is not GpuMode.MIG:
        found = {"model": found.pop("model"), "type": spec.gres_type, **found}
    return found


def _dump_layout(spec: GpuSpec) -> list[str]:
    return render_layout(spec.mig_layout).replace(",", " ").split() if spec.mig_layout else []


def _dump_gres(item: GenericGres) -> dict[str, Value]:
    return _drop_empty(
        {
            "name": item.name,
            "type": item.type,
            "count": item.count,
            "files": [fold_files(item.files)] if item.files else [],
            "cores": list(item.cores),
            "flags": list(item.flags),
        }
    )


def _dump_partition(partition: Partition) -> dict[str, Value]:
    found = _drop_empty(
        {
            "name": partition.name,
            "nodes": partition.hostlist,
            "preempt_mode": partition.preempt_mode,
            "default": partition.is_default,
            "max_time_minutes": partition.max_time_minutes,
            "max_nodes": partition.max_nodes,
            "allow_accounts": list(partition.allow_accounts),
            "deny_accounts": list(partition.deny_accounts),
            "allow_groups": list(partition.allow_groups),
            "allow_qos": list(partition.allow_qos),
            "deny_qos": list(partition.deny_qos),
            "qos": partition.qos,
            "memory_per_cpu_mib": partition.memory_per_cpu_mib,
            "memory_per_gpu_mib": partition.memory_per_gpu_mib,
            "cpus_per_gpu": partition.cpus_per_gpu,
            "billing_weights": dict(partition.billing_weights),
            "state": partition.state if partition.state != "UP" else "",
            "slurm": dict(partition.extra),
        }
    )
    found["tier"] = partition.priority_tier
    found["default_time_minutes"] = partition.default_time_minutes
    return found
