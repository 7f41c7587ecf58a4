"""How fresh what the portal knows of each cluster is."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from portal.inventory.models import Cluster
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
