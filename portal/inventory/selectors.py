"""Reads clusters and pools with what was last observed of them."""

from django.db.models import QuerySet

from portal.common.errors import NotFound
from portal.inventory.models import Cluster, Pool


def list_active_clusters() -> QuerySet[Cluster]:
    """Return the clusters that ticks work on."""
    return Cluster.objects.filter(is_active=True).order_by("name")


def get_cluster(name: str) -> Cluster:
    """Return a cluster by its Slurm name; raises NotFound."""
    cluster = Cluster.objects.filter(name=name).first()
    if cluster is None:
        raise NotFound(f"There is no cluster “{name}” in the portal.")
    return cluster


def list_pools(cluster: Cluster | None = None) -> QuerySet[Pool]:
    """Return the pools of a cluster, or of all active clusters, with their cluster."""
    pools = Pool.objects.select_related("cluster")
    if cluster is not None:
        pools = pools.filter(cluster=cluster)
    else:
        pools = pools.filter(cluster__is_active=True)
    return pools.order_by("cluster__name", "title")


def get_free_units(pool: Pool) -> int | None:
    """Return how many units are free now; None where Slurm was not asked or does not know.

    Unavailable units are those of closed nodes that no job holds, so they are not counted twice.
    """
    total, used = pool.observed_total_units, pool.observed_used_units
    if total is None or used is None:
        return None
    return max(0, total - used - (pool.observed_unavailable_units or 0))
