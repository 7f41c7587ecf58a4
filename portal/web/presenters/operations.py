"""What operators watch: clusters, the last runs, and rows that could not be read."""

from dataclasses import dataclass

from portal.inventory.models import Cluster
from portal.inventory.selectors import list_active_clusters
from portal.reconcile.models import ReconcileRun
from portal.reconcile.selectors import list_runs
from portal.usage.models import ImportRun, QuarantinedRow
from portal.usage.selectors import count_open_quarantine, list_import_runs, list_quarantined
from portal.web.presenters.links import ClusterLink, list_cluster_links

SHOWN_RUNS = 8
SHOWN_ROWS = 50
RUN_TONES = {"in_force": "good", "changed": "good", "waiting": "wait", "failed": "bad"}
SHOWN_BYTES = 300


@dataclass(frozen=True, slots=True)
class RunView:
    """A reconcile run: how it ended, and its changes as sentences."""

    run: ReconcileRun
    tone: str
    sentences: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RowView:
    """A row in quarantine with what can be shown of it."""

    row: QuarantinedRow
    text: str


@dataclass(frozen=True, slots=True)
class ClusterView:
    """A cluster with its latest runs."""

    cluster: Cluster
    runs: tuple[RunView, ...]
    imports: tuple[ImportRun, ...]


@dataclass(frozen=True, slots=True)
class OperationsView:
    """The operators' page."""

    links: tuple[ClusterLink, ...]
    clusters: tuple[ClusterView, ...]
    rows: tuple[RowView, ...]
    row_count: int


def make_operations_view() -> OperationsView:
    """Return what operators watch; the number of queries grows with clusters only."""
    clusters = list(list_active_clusters())
    return OperationsView(
        links=tuple(list_cluster_links(clusters)),
        clusters=tuple(_make_cluster(cluster) for cluster in clusters),
        rows=tuple(_make_row(row) for row in list_quarantined()[:SHOWN_ROWS]),
        row_count=count_open_quarantine(),
    )


def _make_cluster(cluster: Cluster) -> ClusterView:
    return ClusterView(
        cluster,
        tuple(_make_run(run) for run in list_runs(cluster)[:SHOWN_RUNS]),
        tuple(list_import_runs(cluster)[:SHOWN_RUNS]),
    )


def _make_run(run: ReconcileRun) -> RunView:
    sentences = [str(change.get("sentence", "")) for change in run.changes]
    return RunView(run, RUN_TONES.get(run.outcome, "idle"), tuple(filter(None, sentences)))


def _make_row(row: QuarantinedRow) -> RowView:
    return RowView(row, bytes(row.line)[:SHOWN_BYTES].decode("utf-8", "backslashreplace"))
