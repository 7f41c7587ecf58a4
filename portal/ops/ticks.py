"""The ticks: what runs each minute and when something asks for it; thin, one call per cluster."""

import logging
import time
from collections.abc import Callable

from django.utils import timezone

from portal.common.ticks import request_tick
from portal.inventory.models import Cluster
from portal.inventory.selectors import list_active_clusters
from portal.inventory.services import observe_cluster, open_cluster_gateway, record_contact
from portal.ledger.services import post_open_periods
from portal.reconcile.models import ReconcileRun
from portal.reconcile.services import UsedReader, reconcile_cluster
from portal.slurm.errors import SlurmError
from portal.usage.selectors import get_freshness, used_unit_seconds_by_qos
from portal.usage.services import ingest_cluster

logger = logging.getLogger(__name__)

# A wake may meet a run that began before the change that it is about, or the lease of a worker that
# was killed: it waits for its turn, a little longer than a lease lasts.
TURN_ATTEMPTS = 70
TURN_SECONDS = 0.5

Summary = dict[str, str]


class TickError(Exception):
    """A tick met an error that nobody foresaw; the task worker shows it as failed."""


def run_reconcile() -> Summary:
    """Make every active cluster as the portal wants it; return cluster -> outcome."""
    return _run_per_cluster("reconcile", _reconcile)


def run_observe() -> Summary:
    """Store what is free in every active cluster; return cluster -> outcome."""
    return _run_per_cluster("observe", _observe)


def run_ingest() -> Summary:
    """Read every active cluster's accounting; return cluster -> counts.

    Usage that changed is posted to the ledger at once.
    """
    summary = _run_per_cluster("ingest", _ingest)
    if any("0 new, 0 changed" not in told for told in summary.values()):
        request_tick("post_ledger")
    return summary


def run_post_ledger() -> Summary:
    """Post every open month that has usage; return how many transactions were added."""
    return {"ledger": f"{post_open_periods(timezone.now())} transactions"}


def _run_per_cluster(tick: str, work: Callable[[Cluster], str]) -> Summary:
    """Do the work for each cluster; one that fails does not stop the others."""
    summary: Summary = {}
    unforeseen: list[str] = []
    for cluster in list_active_clusters():
        try:
            summary[cluster.name] = work(cluster)
        except SlurmError as error:
            summary[cluster.name] = f"waits: {error}"
            logger.warning("%s of %s waits: %s", tick, cluster.name, error)
        except Exception as error:
            logger.exception("%s of %s failed", tick, cluster.name)
            unforeseen.append(f"{cluster.name}: {error!r}")
    if unforeseen:
        raise TickError(f"{tick} failed: {'; '.join(unforeseen)}")
    return summary


def _reconcile(cluster: Cluster) -> str:
    now = timezone.now()
    try:
        gateway = open_cluster_gateway(cluster)
    except SlurmError as error:
        record_contact(cluster, now, str(error))
        raise
    for _ in range(TURN_ATTEMPTS):
        run = reconcile_cluster(
            cluster, gateway, timezone.now(), read_used=make_used_reader(cluster)
        )
        if run is not None:
            return _tell_run(run)
        time.sleep(TURN_SECONDS)
    return "another worker is at it"


def make_used_reader(cluster: Cluster) -> UsedReader | None:
    """Return what tells reconcile the usage; None before the first reading: unknown is not 0."""
    return used_unit_seconds_by_qos if get_freshness(cluster) is not None else None


def _tell_run(run: ReconcileRun) -> str:
    changes = sum(1 for change in run.changes if change["action"] not in ("defer", "block"))
    told = f"{run.outcome}, {changes} changes"
    return f"{told}: {run.error}" if run.error else told


def _observe(cluster: Cluster) -> str:
    count = observe_cluster(cluster, open_cluster_gateway(cluster), timezone.now())
    return f"{count} pools"


def _ingest(cluster: Cluster) -> str:
    run = ingest_cluster(cluster, open_cluster_gateway(cluster), timezone.now())
    counts = (
        f"{run.new_count} new, {run.changed_count} changed, {run.quarantined_count} quarantined"
    )
    return f"{counts}; {run.error}" if run.error else counts
