"""Fills in a site file's pools from the inventory that the cluster's nodes are configured from.

A cluster that names its inventory file need not repeat there what GPUs a GRES type stands for and
which partitions have it; what it does say is held against the inventory.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gres_config.document import Document
from gres_config.errors import GresConfigError
from gres_config.inventory import GpuMode, GpuSpec, Inventory, Partition
from gres_config.load import load_inventory
from gres_config.mig import load_mig_products
from gres_config.problems import Place, Problem, suggest

Found = Iterator[tuple[Place, str]]


def fill_pools(document: Document) -> list[Problem]:
    """Complete the pools of the document's data in place; return what contradicts an inventory."""
    clusters = document.data.get("clusters") if isinstance(document.data, dict) else None
    found = [
        Problem(document.find_line(place), place, sentence)
        for index, cluster in enumerate(clusters if isinstance(clusters, list) else ())
        if isinstance(cluster, dict) and isinstance(cluster.get("inventory"), str)
        for place, sentence in _fill_cluster(("clusters", index), cluster, document.file_name)
    ]
    return found


def _fill_cluster(place: Place, cluster: dict[str, Any], file_name: str) -> Found:
    path = Path(file_name).parent / cluster["inventory"]
    try:
        inventory = load_inventory(path)
    except GresConfigError as error:
        yield (*place, "inventory"), f"The inventory was refused: {str(error).splitlines()[0]}"
        return
    if cluster.get("name") != inventory.cluster_name:
        yield (*place, "name"), f"The inventory is that of “{inventory.cluster_name}”."
    pools = cluster.get("pools")
    for index, pool in enumerate(pools if isinstance(pools, list) else ()):
        if isinstance(pool, dict) and isinstance(pool.get("gres_type"), str):
            yield from _fill_pool((*place, "pools", index), pool, inventory)


def _fill_pool(place: Place, pool: dict[str, Any], inventory: Inventory) -> Found:
    """Complete one pool; a partition is filled in where only one can be meant."""
    wanted = pool["gres_type"]
    specs = _find_specs(inventory)
    if wanted not in specs:
        hint = suggest(wanted, specs) or f" It has {', '.join(sorted(specs))}."
        yield (*place, "gres_type"), f"The inventory has no GRES type “{wanted}”.{hint}"
        return
    spec = specs[wanted]
    product = load_mig_products().get(spec.model)
    names = product.nvml_names if product else ()
    pool.setdefault("gpu_model", names[0] if names else spec.model)
    pool.setdefault("is_mig", "true" if spec.mode is GpuMode.MIG else "false")
    having = {item.name: item for item in _list_partitions(inventory, wanted)}
    for key, partition in _choose_partitions(list(having.values())).items():
        pool.setdefault(key, partition.name)
    for key in ("partition", "spot_partition"):
        if pool.get(key) is not None and pool[key] not in having:
            known = ", ".join(having) or "none"
            yield (*place, key), f"The inventory's partitions with “{wanted}”: {known}."


def _find_specs(inventory: Inventory) -> dict[str, GpuSpec]:
    """Return a spec for each GRES type, the first one that has it."""
    specs: dict[str, GpuSpec] = {}
    for group in inventory.node_groups:
        for spec in group.gpus:
            for name in spec.count_units(group.detection):
                specs.setdefault(name, spec)
    return specs


def _list_partitions(inventory: Inventory, gres_type: str) -> Iterator[Partition]:
    nodes = {
        name
        for group in inventory.node_groups
        if gres_type in group.count_units()
        for name in group.nodes
    }
    for partition in inventory.partitions:
        if nodes & set(inventory.list_partition_nodes(partition)):
            yield partition


def _choose_partitions(partitions: list[Partition]) -> dict[str, Partition]:
    preemptible = [item for item in partitions if item.preempt_mode not in (None, "OFF")]
    firm = [item for item in partitions if item not in preemptible]
    default = [item for item in firm if item.is_default]
    chosen = {"partition": default or firm, "spot_partition": preemptible}
    return {key: items[0] for key, items in chosen.items() if len(items) == 1}
