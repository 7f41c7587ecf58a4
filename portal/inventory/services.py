"""Writes what was observed of a cluster, and opens the gateway to it."""

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import cast

from portal.inventory.models import Cluster, Pool
from portal.slurm.errors import SlurmError, WrongCluster
from portal.slurm.factory import BackendName, GatewaySettings, open_gateway
from portal.slurm.gateway import SlurmGateway
from portal.slurm.values import Node, Partition

CLOSED_NODE_STATES = frozenset(
    {
        "DOWN",
        "DRAIN",
        "DRAINING",
        "DRAINED",
        "FAIL",
        "FAILING",
        "FUTURE",
        "INVAL",
        "INVALID_REG",
        "MAINTENANCE",
        "NOT_RESPONDING",
        "NO_RESPOND",
        "REBOOT",
        "REBOOT_ISSUED",
        "REBOOT_REQUESTED",
        "UNKNOWN",
    }
)
CLOSED_PARTITION_STATES = frozenset({"DOWN", "DRAIN", "INACTIVE"})


def open_cluster_gateway(cluster: Cluster) -> SlurmGateway:
    """Return a gateway to the cluster; raises SlurmError where none can be made."""
    return open_gateway(
        GatewaySettings(
            backend=cast(BackendName, cluster.backend),
            cluster_name=cluster.name,
            slurm_conf=Path(cluster.slurm_conf) if cluster.slurm_conf else None,
            bin_dir=Path(cluster.slurm_bin_dir) if cluster.slurm_bin_dir else None,
        )
    )


def check_cluster_name(cluster: Cluster, gateway: SlurmGateway) -> None:
    """Raise WrongCluster where the Slurm that answers has another ClusterName."""
    found = gateway.get_cluster().cluster_name
    if found != cluster.name:
        raise WrongCluster(
            f"The Slurm that answers is “{found}”, not “{cluster.name}”: nothing was done. Check "
            "the path of slurm.conf in the cluster's record."
        )


def record_contact(cluster: Cluster, now: datetime, error: str = "") -> None:
    """Store that the cluster answered now, or why it did not; contact_at is the last answer."""
    cluster.contact_error = error
    if not error:
        cluster.contact_at = now
    cluster.save(update_fields=["contact_at", "contact_error", "updated_at"])


def observe_cluster(cluster: Cluster, gateway: SlurmGateway, now: datetime) -> int:
    """Store what is free in the cluster's pools and return how many pools were seen.

    A cluster that does not answer keeps its last counts with their age; the SlurmError is stored
    as the cluster's contact error and raised again.
    """
    try:
        check_cluster_name(cluster, gateway)
        nodes = gateway.list_nodes()
        partitions = gateway.list_partitions()
    except SlurmError as error:
        record_contact(cluster, now, str(error))
        raise
    pools = list(Pool.objects.filter(cluster=cluster).order_by("id"))
    for pool in pools:
        _store_counts(pool, nodes, partitions, now)
    Pool.objects.bulk_update(
        pools,
        [
            "observed_total_units",
            "observed_used_units",
            "observed_unavailable_units",
            "observed_at",
        ],
    )
    record_contact(cluster, now)
    return len(pools)


def _store_counts(
    pool: Pool, nodes: Sequence[Node], partitions: Sequence[Partition], now: datetime
) -> None:
    """Set the pool's counts; a partition that Slurm does not have leaves them unknown."""
    pool.observed_at = now
    partition = next((p for p in partitions if p.name == pool.partition), None)
    if partition is None:
        pool.observed_total_units = None
        pool.observed_used_units = None
        pool.observed_unavailable_units = None
        return
    is_closed = bool(CLOSED_PARTITION_STATES & set(partition.states))
    members = set(partition.nodes)
    total = used = unavailable = 0
    for node in nodes:
        if node.name not in members:
            continue
        node_total = dict(node.gres).get(f"gpu:{pool.gres_type}", 0)
        node_used = min(node_total, dict(node.gres_used).get(f"gpu:{pool.gres_type}", 0))
        total += node_total
        used += node_used
        if is_closed or CLOSED_NODE_STATES & set(node.states):
            unavailable += node_total - node_used
    pool.observed_total_units = total
    pool.observed_used_units = used
    pool.observed_unavailable_units = unavailable
