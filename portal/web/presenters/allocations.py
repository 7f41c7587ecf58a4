"""Allocations as pages show them: limits, what is used and left, and how to use them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from portal.allocations.models import Allocation, AllocationLine
from portal.allocations.selectors import list_shared_kinds
from portal.catalog.choices import PurchaseOption
from portal.reconcile.models import OwnedObject
from portal.reconcile.selectors import list_qos_states
from portal.usage.selectors import list_read_clusters, used_unit_seconds_by_qos
from portal.web.site import SiteView

SECONDS_PER_HOUR = 3600
SOON_DAYS = 30
SOON_PART = 4
NEARLY_USED_PERCENT = 80


@dataclass(frozen=True, slots=True)
class LineView:
    """An allocation's line; used_unit_seconds is None while Slurm's accounting was never read."""

    line: AllocationLine
    used_unit_seconds: int | None
    tone: str
    state_label: str
    sbatch: str

    @property
    def granted_unit_seconds(self) -> int:
        """What was granted, in unit-seconds."""
        return self.line.unit_hours * SECONDS_PER_HOUR

    @property
    def left_unit_seconds(self) -> int | None:
        """What is left; never below 0, for running jobs may pass the limit a little."""
        if self.used_unit_seconds is None:
            return None
        return max(self.granted_unit_seconds - self.used_unit_seconds, 0)

    @property
    def used_percent(self) -> int | None:
        """Whole percent used, rounded down."""
        if self.used_unit_seconds is None:
            return None
        return self.used_unit_seconds * 100 // self.granted_unit_seconds

    @property
    def is_nearly_used(self) -> bool:
        """Whether more than four fifths are used."""
        return (
            self.used_unit_seconds is not None
            and self.used_unit_seconds * 100 > self.granted_unit_seconds * NEARLY_USED_PERCENT
        )


@dataclass(frozen=True, slots=True)
class AllocationView:
    """An allocation with its lines."""

    allocation: Allocation
    lines: tuple[LineView, ...]
    days_left: int
    is_in_force: bool

    @property
    def ends_soon(self) -> bool:
        """Whether it is in force, in its last quarter, and ends within 30 days."""
        row = self.allocation
        is_late = self.days_left * SOON_PART <= (row.end_date - row.start_date).days
        return self.is_in_force and self.days_left <= SOON_DAYS and is_late


def list_allocation_views(rows: Sequence[Allocation], site: SiteView) -> list[AllocationView]:
    """Return allocations with their use and state; a fixed number of queries."""
    lines = [line for row in rows for line in row.lines.all()]
    names = [line.qos_name for line in lines]
    used, states = used_unit_seconds_by_qos(names), list_qos_states(names)
    read = list_read_clusters()
    shared = list_shared_kinds({row.project for row in rows}, site.today)
    return [_make_view(row, used, read, states, shared, site.today) for row in rows]


def _make_view(
    row: Allocation,
    used: Mapping[str, int],
    read: Collection[int],
    states: Mapping[str, str],
    shared: Collection[tuple[int, int, str, str]],
    today: date,
) -> AllocationView:
    views = []
    for line in row.lines.all():
        seconds = used.get(line.qos_name, 0) if line.offering.pool.cluster_id in read else None
        tone, label = describe_line(row, line, seconds, states.get(line.qos_name), today)
        pool = line.offering.pool
        kind = (row.project_id, pool.cluster_id, pool.gres_type, line.purchase_option)
        sbatch = make_sbatch(row.project.code, line, is_shared=kind in shared)
        views.append(LineView(line, seconds, tone, label, sbatch))
    return AllocationView(
        allocation=row,
        lines=tuple(views),
        days_left=(row.end_date - today).days,
        is_in_force=row.start_date <= today < row.end_date,
    )


def describe_line(
    row: Allocation, line: AllocationLine, used: int | None, slurm_state: str | None, today: date
) -> tuple[str, str]:
    """Return a line's tone and its state in words; what stops new jobs comes first."""
    if row.end_date <= today:
        return "idle", "Ended"
    if row.start_date > today:
        return "idle", "Not begun yet"
    if getattr(line, "open_holds", None):
        return "bad", "On hold"
    if used is not None and used >= line.unit_hours * SECONDS_PER_HOUR:
        return "bad", "Used up"
    if slurm_state != OwnedObject.State.IN_FORCE:
        return "wait", "Waits for Slurm"
    return "good", "In force"


def make_sbatch(project_code: str, line: AllocationLine, *, is_shared: bool) -> str:
    """Return a line that can be pasted into a shell on the login node.

    It names the QOS where another line of the project serves the same GPUs, so that the job
    counts against this one.
    """
    pool = line.offering.pool
    units = 1 if pool.is_mig else min(line.units, 2)
    words = ["sbatch", "-A", project_code, f"--gres=gpu:{pool.gres_type}:{units}"]
    if line.purchase_option == PurchaseOption.SPOT:
        words += ["-p", pool.spot_partition]
    if is_shared:
        words.append(f"--qos={line.qos_name}")
    return " ".join([*words, "--time=01:00:00", "job.sh"])


def list_lines(views: Iterable[AllocationView]) -> list[tuple[AllocationView, LineView]]:
    """Return every line beside its allocation."""
    return [(view, line) for view in views for line in view.lines]
