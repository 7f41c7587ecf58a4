"""Finds who pays for a job and as what: account -> project, (QOS, partition, TRES) -> offering."""

from collections import defaultdict

from portal.allocations.models import AllocationLine
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.inventory.models import Cluster, Pool
from portal.projects.models import Project
from portal.projects.services import ensure_suspense_project

GPU_TRES = "gres/gpu"


class ProjectResolver:
    """Project ids by Slurm account, read once; the suspense project is made when first needed."""

    def __init__(self) -> None:
        projects = Project.objects.filter(is_suspense=False)
        self._projects: dict[str, int] = dict(projects.values_list("code", "id"))
        self._suspense_id: int | None = None

    @property
    def suspense_id(self) -> int:
        """The suspense project's id."""
        if self._suspense_id is None:
            self._suspense_id = ensure_suspense_project().pk
        return self._suspense_id

    def find(self, account: str) -> int | None:
        """Return the id of the project that owns the account, or None."""
        return self._projects.get(account.lower())


class OfferingResolver:
    """Offerings of one cluster by QOS, then by partition and GRES type, read once."""

    def __init__(self, cluster: Cluster) -> None:
        self._by_qos = {
            qos: (gres_type, offering_id, option)
            for qos, gres_type, offering_id, option in AllocationLine.objects.filter(
                offering__pool__cluster=cluster
            ).values_list("qos_name", "offering__pool__gres_type", "offering_id", "purchase_option")
        }
        self._by_partition: dict[str, dict[str, int | None]] = defaultdict(dict)
        self._spot_partitions: set[str] = set()
        offerings = _list_pool_offerings(cluster)
        for pool in Pool.objects.filter(cluster=cluster):
            offering_id = offerings.get(pool.pk)
            self._by_partition[pool.partition][pool.gres_type] = offering_id
            if pool.spot_partition:
                self._by_partition[pool.spot_partition][pool.gres_type] = offering_id
                self._spot_partitions.add(pool.spot_partition)
        self._found: dict[tuple[str, str, str], tuple[int | None, str]] = {}

    def find(self, partition: str, qos: str, tres: str) -> tuple[int | None, str]:
        """Return (offering id or None, purchase option) of what a job holds.

        The QOS of an allocation line says both. Other jobs are matched by partition and GRES
        type; GPUs without a type belong to the partition's one pool, where it has only one.
        """
        key = (partition, qos, tres)
        if key not in self._found:
            self._found[key] = self._look_up(partition, qos, tres)
        return self._found[key]

    def _look_up(self, partition: str, qos: str, tres: str) -> tuple[int | None, str]:
        is_spot = partition in self._spot_partitions
        option: str = PurchaseOption.SPOT if is_spot else PurchaseOption.ON_DEMAND
        family, _, gres_type = tres.partition(":")
        if family != GPU_TRES:
            return None, option
        line = self._by_qos.get(qos)
        if line is not None and gres_type in ("", line[0]):
            return line[1], self._judge_option(partition, line[2])
        pools = self._by_partition.get(partition, {})
        if gres_type:
            return pools.get(gres_type), option
        return (next(iter(pools.values())) if len(pools) == 1 else None), option

    def _judge_option(self, partition: str, option: str) -> str:
        """Return spot only for what could be preempted: a spot QOS elsewhere is on demand.

        Nothing but the plugin keeps a job with a spot QOS out of the other partitions.
        """
        is_elsewhere = partition in self._by_partition and partition not in self._spot_partitions
        return PurchaseOption.ON_DEMAND if is_elsewhere else option


def _list_pool_offerings(cluster: Cluster) -> dict[int, int | None]:
    """Return pool id -> its offering; an active one before a retired one, None if that is open."""
    found: dict[int, list[tuple[bool, int]]] = defaultdict(list)
    offerings = Offering.objects.filter(pool__cluster=cluster)
    for pk, pool_id, is_active in offerings.values_list("id", "pool_id", "is_active"):
        found[pool_id].append((is_active, pk))
    chosen: dict[int, int | None] = {}
    for pool_id, candidates in found.items():
        active = [pk for is_active, pk in candidates if is_active] or [pk for _, pk in candidates]
        chosen[pool_id] = active[0] if len(active) == 1 else None
    return chosen
