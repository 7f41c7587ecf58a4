"""How fresh what the portal knows of each cluster is, and what stands in Slurm."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from portal.inventory.models import Cluster
from portal.reconcile.models import OwnedObject
from portal.usage.models import ImportRun
from portal.usage.selectors import get_freshness


@dataclass(frozen=True, slots=True)
class ClusterLink:
    """When a cluster was last heard of; `error` is why not since, "" while contact holds."""

    cluster: Cluster
    contact_at: datetime | None
    error: str
    read_until_at: datetime | None

    @property
    def is_lost(self) -> bool:
        """Whether the last try to speak to Slurm failed."""
        return bool(self.error)


def list_cluster_links(clusters: Iterable[Cluster]) -> list[ClusterLink]:
    """Return the freshness of clusters, by title."""
    return [
        ClusterLink(cluster, cluster.contact_at, cluster.contact_error, get_freshness(cluster))
        for cluster in sorted(clusters, key=lambda one: one.title)
    ]


def list_read_clusters() -> set[int]:
    """Return the ids of clusters whose accounting was read at least once."""
    runs = ImportRun.objects.filter(is_complete=True).order_by()
    return set(runs.values_list("cluster_id", flat=True).distinct())


def list_qos_states(names: Iterable[str]) -> dict[str, str]:
    """Return QOS name -> state of the owned object; a name without one is left out."""
    objects = OwnedObject.objects.filter(kind=OwnedObject.Kind.QOS, name__in=list(names))
    return dict(objects.values_list("name", "state"))
