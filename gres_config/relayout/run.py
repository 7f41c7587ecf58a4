"""Carries a plan out, node by node; it can be killed at any step and run again."""

import time
from collections.abc import Callable
from pathlib import Path

from gres_config.inventory import NodeGroup
from gres_config.relayout.actions import Actions, make_device_files, verify_device_files
from gres_config.relayout.journal import Journal
from gres_config.relayout.plan import (
    NodeChange,
    Plan,
    RelayoutError,
    Step,
    account_new_tres,
    mix_inventories,
)
from gres_config.relayout.slurm import NodeState, SlurmControl
from gres_config.render import render_files, write_folder
from gres_config.versions import get_version

POLL_SECONDS = 0.5
SETTLE_SECONDS = 120.0
# Steps that touch the node or what it runs on: before each, it must be drained by us and empty.
TOUCHING = frozenset({Step.STOP, Step.APPLY, Step.WRITE, Step.LOAD, Step.START})
# Looked at anew in every run: a node may have been resumed, rebooted or changed meanwhile.
ALWAYS = frozenset({Step.DRAIN, Step.WAIT, Step.VERIFY_DEVICES, Step.VERIFY_NODE})


class StillBusyError(RelayoutError):
    """Jobs still run on a drained node; run again later, or wait longer."""


class Relayout:
    """One run. `conf` is the folder of the rendered files, `wait_seconds` the patience with jobs.

    `report` takes a line for a person; `sleep` and `clock` (monotonic seconds) are for tests.
    """

    def __init__(
        self,
        plan: Plan,
        journal: Journal,
        slurm: SlurmControl,
        actions: Actions,
        conf: Path,
        *,
        wait_seconds: float = 0,
        report: Callable[[str], None] = print,
        sleep: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.plan, self.journal, self.slurm, self.actions = plan, journal, slurm, actions
        self.conf, self.wait_seconds, self.report = conf, wait_seconds, report
        self._sleep, self._clock = sleep, clock
        self.mark = f"relayout {plan.plan_id}"
        self._steps: dict[Step, Callable[[NodeChange], None]] = {
            Step.DRAIN: self._drain,
            Step.WAIT: self._wait,
            Step.STOP: lambda change: self._act("stop", change),
            Step.APPLY: self._apply,
            Step.VERIFY_DEVICES: self._verify_devices,
            Step.WRITE: self._write,
            Step.LOAD: self._load,
            Step.START: lambda change: self._act("start", change),
            Step.VERIFY_NODE: self._verify_node,
            Step.RESUME: self._resume,
        }

    def run(self) -> None:
        """Change all nodes of the plan that are not finished, one after the other.

        Before the first, slurmctld gets to know the GRES types that no node had. Raises
        RelayoutError at the first step that fails: that node stays drained, those after it are
        not touched.
        """
        with self.journal.hold(self.plan):
            self._account_new_types()
            for change in self.plan.list_chosen():
                if not self.journal.is_finished(change.node):
                    self.report(f"{change.node}: {change.describe()}")
                    self._change(change)

    def _account_new_types(self) -> None:
        """Have slurmctld account the new types; looked at anew in each run, not journalled."""
        missing = self._list_unaccounted()
        if not missing:
            return
        self._check_files()
        self.report(f"cluster: account {missing} and restart slurmctld")
        moved = [c.node for c in self.plan.changes if self.journal.is_done(c.node, Step.WRITE)]
        inventory = account_new_tres(self.plan, mix_inventories(self.plan, moved))
        write_folder(self.conf, render_files(inventory))
        for action in ("publish", "restart_controller"):
            self._act(action)
        self._wait_until(self.slurm.is_answering, "slurmctld does not answer", "")
        missing = self._list_unaccounted()
        if missing:
            raise RelayoutError(
                f"slurmctld does not account {missing}: let slurm.conf Include "
                f"{self.conf / 'slurm-gres.conf'} in the place of its own AccountingStorageTRES, "
                "and run this again; no node was touched"
            )

    def _list_unaccounted(self) -> str:
        tres = self.plan.list_new_tres()
        known = self.slurm.list_accounted_tres() if tres else None
        return ", ".join(name for name in tres if known is not None and name.lower() not in known)

    def _change(self, change: NodeChange) -> None:
        node = change.node
        if self._was_resumed(change):
            self.journal.finish(node, Step.RESUME)
            self.report(f"{node}: back in service already")
            return
        self._check_start(change)
        has_applied = self.journal.is_done(node, Step.APPLY)
        for step in (Step.DRAIN, Step.WAIT):
            self._do(step, change)
        if has_applied and not self._is_applied(change):
            # Rebooted meanwhile, say: instances do not outlive that.
            self.journal.forget(node, Step.STOP)
        for step in list(Step)[2:]:
            if step in ALWAYS or not self.journal.is_done(node, step):
                self._do(step, change)

    def _check_start(self, change: NodeChange) -> None:
        """Raise RelayoutError where files or node aren't what the old inventory and journal say.

        Otherwise the files that are written for one node would undo what another one has.
        """
        self._check_files()
        state = self.slurm.get_node(change.node)
        if not self.journal.has_begun(change.node, Step.STOP) and not _has_gres(
            change.before, state
        ):
            raise RelayoutError(
                f"{change.node} has {dict(state.gres)}: not the old inventory's GRES"
            )

    def _check_files(self) -> None:
        moved = [c.node for c in self.plan.changes if self.journal.is_done(c.node, Step.WRITE)]
        begun = [c.node for c in self.plan.changes if self.journal.has_begun(c.node, Step.WRITE)]
        possible = [render_files(mix_inventories(self.plan, nodes)) for nodes in (moved, begun)]
        for name in ("slurm-nodes.conf", "gres.conf"):
            path = self.conf / name
            text = path.read_text("utf-8") if path.is_file() else ""
            if text not in {files[name] for files in possible}:
                raise RelayoutError(
                    "this is not what the old inventory renders", file_name=str(path)
                )

    def _was_resumed(self, change: NodeChange) -> bool:
        """Whether an earlier run was killed after it resumed the node."""
        if not self.journal.has_begun(change.node, Step.RESUME):
            return False
        state = self.slurm.get_node(change.node)
        return state.is_in_service and _has_gres(change.after, state)

    def _is_applied(self, change: NodeChange) -> bool:
        try:
            self._verify_devices(change)
        except RelayoutError:
            return False
        return True

    def _do(self, step: Step, change: NodeChange) -> None:
        node = change.node
        try:
            if step in TOUCHING or step is Step.RESUME:
                self._guard(change)
            self.report(f"{node}: {step.value}")
            self.journal.begin(node, step)
            self._steps[step](change)
        except RelayoutError as error:
            self.journal.fail(node, step, error.reason)
            raise
        self.journal.finish(node, step)

    def _guard(self, change: NodeChange) -> None:
        """Raise RelayoutError unless the node is drained, by us, and has no job."""
        state = self.slurm.get_node(change.node)
        if not state.is_drained:
            raise RelayoutError(f"{change.node} is not drained any more; nothing was touched")
        self._check_owner(change, state)
        jobs = self._list_jobs(change, state)
        if jobs:
            raise StillBusyError(f"{change.node} has jobs ({jobs}); nothing was touched")

    def _check_owner(self, change: NodeChange, state: NodeState) -> None:
        """A drain of somebody else's is not ours to use, nor to end."""
        is_ours = state.reason.startswith(self.mark)
        # Slurm itself puts its reason in the place of ours when a node turns INVAL.
        is_slurms = state.reason.startswith("gres/") and self.journal.is_done(
            change.node, Step.DRAIN
        )
        if not (is_ours or is_slurms):
            raise RelayoutError(
                f"{change.node} was drained by somebody else ({state.reason or 'no reason given'})"
            )

    def _list_jobs(self, change: NodeChange, state: NodeState) -> str:
        jobs = self.slurm.list_jobs(change.node)
        if jobs:
            return ", ".join(jobs)
        if state.allocated_cpus or state.words & {"COMPLETING", "ALLOCATED", "MIXED"}:
            return "completing"
        return ""

    def _drain(self, change: NodeChange) -> None:
        state = self.slurm.get_node(change.node)
        if state.is_drained:
            self._check_owner(change, state)
        else:
            self.slurm.drain(change.node, self.mark)

    def _wait(self, change: NodeChange) -> None:
        deadline = self._clock() + self.wait_seconds
        while True:
            jobs = self._list_jobs(change, self.slurm.get_node(change.node))
            if not jobs:
                return
            if self._clock() >= deadline:
                raise StillBusyError(
                    f"{change.node} still has jobs ({jobs}); it stays drained, run again later"
                )
            self._sleep(POLL_SECONDS)

    def _act(self, action: str, change: NodeChange | None = None) -> None:
        self.actions.run(
            action,
            {
                "node": change.node if change else "",
                "profile": change.profile_name if change else "",
                "mig_parted": str(self._get_layout_file()),
                "conf": str(self.conf),
            },
        )

    def _apply(self, change: NodeChange) -> None:
        if self.actions.device_files:
            make_device_files(change, mix_inventories(self.plan, self._list_moved(change)))
        self._write_layouts()
        self._act("apply", change)

    def _write_layouts(self) -> None:
        """Write the new layouts beside the folder: slurmctld must not see new files yet."""
        text = render_files(self.plan.new).get("mig-parted.yaml", "")
        path = self._get_layout_file()
        fresh = path.with_name(f".{path.name}.new")
        fresh.write_text(text, "utf-8")
        fresh.replace(path)

    def _get_layout_file(self) -> Path:
        return self.conf.parent / f"{self.conf.name}.mig-parted.yaml"

    def _verify_devices(self, change: NodeChange) -> None:
        if self.actions.device_files:
            verify_device_files(change, mix_inventories(self.plan, self._list_moved(change)))
        self._act("verify", change)

    def _list_moved(self, change: NodeChange) -> list[str]:
        """Return the nodes whose files are the new ones once this node is changed."""
        done = [c.node for c in self.plan.changes if self.journal.is_done(c.node, Step.WRITE)]
        return [*done, change.node]

    def _write(self, change: NodeChange) -> None:
        """Write all files of the cluster as it now is; the folder changes as a whole."""
        inventory = mix_inventories(self.plan, self._list_moved(change))
        write_folder(self.conf, render_files(inventory))
        self._act("publish", change)

    def _load(self, change: NodeChange) -> None:
        if get_version(self.plan.new.slurm_version).reconfigures_gres:
            self.slurm.reconfigure()
        else:
            self._act("restart_controller", change)
        self._wait_until(self.slurm.is_answering, "slurmctld does not answer")

    def _verify_node(self, change: NodeChange) -> None:
        """Wait until slurmd has registered with exactly what is configured."""

        def is_right() -> bool:
            state = self.slurm.get_node(change.node)
            return state.is_responding and _has_gres(change.after, state)

        self._wait_until(is_right, f"{change.node} does not register with its new GRES")

    def _resume(self, change: NodeChange) -> None:
        self.slurm.resume(change.node)
        self._wait_until(
            lambda: self.slurm.get_node(change.node).is_in_service,
            f"{change.node} does not come back into service",
        )

    def _wait_until(
        self, is_true: Callable[[], bool], sentence: str, after: str = "; it stays drained"
    ) -> None:
        deadline = self._clock() + SETTLE_SECONDS
        while not is_true():
            if self._clock() >= deadline:
                raise RelayoutError(f"{sentence} within {SETTLE_SECONDS:g} s{after}")
            self._sleep(POLL_SECONDS)


def _has_gres(group: NodeGroup, state: NodeState) -> bool:
    wanted = {kind.lower(): count for kind, count in group.count_units().items()}
    return dict(state.gres) == wanted
