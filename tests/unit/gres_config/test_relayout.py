"""A change of MIG layouts: the plan, the journal, and a run that is killed at every point."""

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gres_config.commands.relayout import render_plan
from gres_config.document import parse_document
from gres_config.errors import DocumentError
from gres_config.inventory import Inventory
from gres_config.load import parse_inventory
from gres_config.relayout.actions import DEFAULTS, parse_actions
from gres_config.relayout.journal import Journal
from gres_config.relayout.plan import Plan, RelayoutError, Step, make_plan, mix_inventories
from gres_config.relayout.run import Relayout, StillBusyError
from gres_config.relayout.slurm import (
    NodeState,
    parse_accounted_tres,
    parse_gpu_counts,
    parse_node,
)
from gres_config.render import render_files, write_folder


def make_inventory(
    layouts: dict[str, str], version: str = "24.11", memory: int = 1000
) -> Inventory:
    groups = [
        {
            "nodes": node, "cores_per_socket": 8, "memory_mib": memory,
            "gpus": [{"model": "A100-80GB", "count": 1, "mode": "mig", "layout": layout}],
        }
        for node, layout in layouts.items()
    ]  # fmt: skip
    document = {"cluster": "c", "slurm_version": version, "node_groups": groups}
    return parse_inventory(json.dumps(document), "inventory.json")[0]


SMALL, LARGE = "1g.10gb*7", "3g.40gb*2"
HALF = {"m1": SMALL, "m2": LARGE, "m3": SMALL}
ACCOUNT = "restart_controller "
OLD = make_inventory({"m1": SMALL, "m2": SMALL, "m3": SMALL})
NEW = make_inventory({"m1": LARGE, "m2": LARGE, "m3": SMALL})


class Killed(BaseException):
    """Stands for SIGKILL: no handler of the program sees it coming."""


class World:
    """Slurm and the nodes. It counts what is done to it, and kills at a chosen count."""

    device_files = False

    def __init__(self, conf: Path) -> None:
        self.conf = conf
        self.hardware = dict.fromkeys(("m1", "m2", "m3"), "1g.10gb:7")
        self.loaded = dict(self.hardware)
        self.registered = dict(self.hardware)
        self.reasons: dict[str, str] = {}
        self.is_up = dict.fromkeys(self.hardware, True)
        self.jobs: dict[str, int] = Counter()
        self.accounted: frozenset[str] | None = frozenset({"gres/gpu", "gres/gpu:1g.10gb"})
        self.includes_gres = True
        self.acts = 0
        self.kill_at = -1
        self.log: list[str] = []

    def act(self, what: str, effect: Callable[[], None]) -> None:
        """Do something that can be killed before or after it has had its effect."""
        for is_after in (False, True):
            self.acts += 1
            if self.acts == self.kill_at:
                raise Killed
            if not is_after:
                self.log.append(what)
                effect()

    def get_node(self, node: str) -> NodeState:
        words = {"IDLE"} if not self.jobs[node] else {"MIXED"}
        words |= {"DRAIN"} if node in self.reasons else set()
        words |= set() if self.is_up[node] else {"NOT_RESPONDING"}
        if self.is_up[node] and self.registered[node] != self.loaded[node]:
            words |= {"INVALID_REG"}
        kind, _, count = self.loaded[node].rpartition(":")
        reason = self.reasons.get(node, "")
        return NodeState(frozenset(words), reason, {kind: int(count)}, self.jobs[node])

    def list_jobs(self, node: str) -> tuple[str, ...]:
        return tuple(str(100 + number) for number in range(self.jobs[node]))

    def drain(self, node: str, reason: str) -> None:
        self.act(f"drain {node}", lambda: self.reasons.__setitem__(node, reason))

    def resume(self, node: str) -> None:
        assert self.registered[node] == self.hardware[node] == self.loaded[node]
        assert self.is_up[node]
        self.act(f"resume {node}", lambda: self.reasons.pop(node, None) and None)

    def reconfigure(self) -> None:
        self.act("reconfigure", self._load)

    def is_answering(self) -> bool:
        return True

    def list_accounted_tres(self) -> frozenset[str] | None:
        return self.accounted

    def _load(self) -> None:
        if self.includes_gres and self.accounted is not None:
            text = (self.conf / "slurm-gres.conf").read_text()
            line = next(x for x in text.splitlines() if x.startswith("AccountingStorageTRES="))
            self.accounted = frozenset(line.partition("=")[2].split(","))
        for line in (self.conf / "slurm-nodes.conf").read_text().splitlines():
            if line.startswith("NodeName="):
                words = dict(word.partition("=")[::2] for word in line.split())
                for node in self.hardware:
                    if node == words["NodeName"] or words["NodeName"] == "m[1-2]":
                        self.loaded[node] = words["Gres"].removeprefix("gpu:")
                if words["NodeName"] == "m[1-3]":
                    self.loaded = dict.fromkeys(self.hardware, words["Gres"].removeprefix("gpu:"))

    def run(self, name: str, words: dict[str, str]) -> None:
        node = words["node"]
        if node and name in ("stop", "apply", "start", "restart_controller"):
            assert not self.jobs[node], "a node with a running job is touched"
            assert node in self.reasons, "a node that is not drained is touched"
        effects: dict[str, Callable[[], None]] = {
            "stop": lambda: self.is_up.__setitem__(node, False),
            "apply": lambda: self.hardware.__setitem__(node, "3g.40gb:2"),
            "start": lambda: self._start(node),
            "restart_controller": self._load,
        }
        if name == "verify":
            if self.hardware[node] != "3g.40gb:2":
                raise RelayoutError("the layout is not applied")
        elif name in effects:
            self.act(f"{name} {node}", effects[name])

    def _start(self, node: str) -> None:
        self.is_up[node] = True
        self.registered[node] = self.hardware[node]


@pytest.fixture
def world(tmp_path: Path) -> World:
    conf = tmp_path / "conf"
    write_folder(conf, render_files(OLD))
    return World(conf)


def make_relayout(world: World, plan: Plan, **options: object) -> Relayout:
    journal = Journal(world.conf.parent / "journal.jsonl")
    quiet = {"report": lambda _line: None, "sleep": lambda _seconds: None, **options}
    return Relayout(plan, journal, world, world, world.conf, **quiet)  # type: ignore[arg-type]


def assert_done(world: World) -> None:
    assert world.hardware == {"m1": "3g.40gb:2", "m2": "3g.40gb:2", "m3": "1g.10gb:7"}
    assert world.loaded == world.registered == world.hardware
    assert world.reasons == {}
    assert (world.conf / "gres.conf").read_text() == render_files(NEW)["gres.conf"]


def test_changes_one_node_after_the_other_in_the_order_of_the_steps(world: World) -> None:
    make_relayout(world, make_plan(OLD, NEW)).run()
    assert_done(world)
    steps = ["drain", "stop", "apply", "reconfigure", "start", "resume"]
    words = [line.split()[0] for line in world.log]
    assert words == ["restart_controller", *steps * 2]
    assert not any("m3" in line for line in world.log)


def test_on_a_release_whose_reconfigure_keeps_the_old_counts_slurmctld_is_restarted(
    world: World,
) -> None:
    old, new = (replace(inventory, slurm_version="22.05") for inventory in (OLD, NEW))
    write_folder(world.conf, render_files(old))
    make_relayout(world, make_plan(old, new)).run()
    assert "restart_controller m1" in world.log
    assert "reconfigure" not in world.log


@pytest.mark.parametrize("kill_at", range(1, 28))
def test_killed_at_any_point_and_run_again_it_ends_the_same(world: World, kill_at: int) -> None:
    plan = make_plan(OLD, NEW)
    world.kill_at = kill_at
    try:
        make_relayout(world, plan).run()
        assert kill_at > 26, "the run was killed"
    except Killed:
        make_relayout(world, plan).run()
    assert_done(world)
    assert Counter(world.log)["apply m1"] <= 2


def test_killed_again_and_again_it_still_gets_there(world: World) -> None:
    plan = make_plan(OLD, NEW)
    for _ in range(60):
        world.kill_at = world.acts + 2
        try:
            make_relayout(world, plan).run()
            break
        except Killed:
            continue
    world.kill_at = -1
    make_relayout(world, plan).run()
    assert_done(world)


def test_a_node_with_a_job_is_drained_and_not_touched(world: World) -> None:
    world.jobs["m1"] = 1
    with pytest.raises(StillBusyError, match="m1 still has jobs"):
        make_relayout(world, make_plan(OLD, NEW)).run()
    assert world.log == [ACCOUNT, "drain m1"]
    world.jobs["m1"] = 0
    make_relayout(world, make_plan(OLD, NEW)).run()
    assert_done(world)


def test_waits_for_the_jobs_of_a_node_as_long_as_it_is_told(world: World) -> None:
    world.jobs["m1"] = 1
    seconds = iter(range(1000))

    def sleep(_seconds: float) -> None:
        world.jobs["m1"] = 0

    options = {"wait_seconds": 10, "sleep": sleep, "clock": lambda: float(next(seconds))}
    make_relayout(world, make_plan(OLD, NEW), **options).run()
    assert_done(world)


def test_a_node_that_somebody_else_drained_is_left_alone(world: World) -> None:
    world.reasons["m1"] = "bad DIMM"
    with pytest.raises(RelayoutError, match=r"m1 was drained by somebody else .bad DIMM."):
        make_relayout(world, make_plan(OLD, NEW)).run()
    assert world.log == [ACCOUNT]


def test_a_node_resumed_by_hand_in_between_is_drained_again_and_its_job_waited_for(
    world: World,
) -> None:
    plan = make_plan(OLD, NEW)
    world.kill_at = 7
    with pytest.raises(Killed):
        make_relayout(world, plan).run()
    world.reasons, world.jobs["m1"], world.is_up["m1"] = {}, 1, True
    with pytest.raises(StillBusyError):
        make_relayout(world, plan).run()
    world.jobs["m1"] = 0
    make_relayout(world, plan).run()
    assert_done(world)


def test_a_layout_lost_by_a_reboot_in_between_is_applied_again(world: World) -> None:
    plan = make_plan(OLD, NEW)
    world.kill_at = 10
    with pytest.raises(Killed):
        make_relayout(world, plan).run()
    world.hardware["m1"] = "1g.10gb:7"
    make_relayout(world, plan).run()
    assert_done(world)


def test_a_node_that_cannot_be_verified_stays_drained_and_the_next_is_not_begun(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(world, "_start", lambda node: world.is_up.__setitem__(node, True))
    seconds = iter(range(0, 100_000, 50))
    relayout = make_relayout(world, make_plan(OLD, NEW), clock=lambda: float(next(seconds)))
    with pytest.raises(RelayoutError, match="m1 does not register"):
        relayout.run()
    assert set(world.reasons) == {"m1"}
    assert not any("m2" in line for line in world.log)


def test_the_plan_refuses_what_is_more_than_a_layout() -> None:
    with pytest.raises(RelayoutError, match="more than the MIG layout"):
        make_plan(OLD, make_inventory({"m1": LARGE, "m2": SMALL, "m3": SMALL}, memory=2000))
    with pytest.raises(RelayoutError, match="differ in more"):
        make_plan(OLD, make_inventory({"m1": LARGE}))
    with pytest.raises(RelayoutError, match="no layout changes"):
        make_plan(OLD, OLD)
    with pytest.raises(RelayoutError, match="nothing changes on m3"):
        make_plan(OLD, NEW, ["m3"])


def test_some_nodes_now_and_the_others_later_end_in_the_new_files(world: World) -> None:
    for nodes in (["m2"], ["m1"]):
        make_relayout(world, make_plan(OLD, NEW, nodes)).run()
    assert_done(world)


def test_files_that_are_not_those_of_the_old_inventory_are_not_overwritten(world: World) -> None:
    write_folder(world.conf, render_files(NEW))
    with pytest.raises(RelayoutError, match=r"slurm-nodes.conf: this is not what the old"):
        make_relayout(world, make_plan(OLD, NEW)).run()
    assert world.log == []


def test_a_node_that_is_not_as_the_old_inventory_says_is_not_touched(world: World) -> None:
    world.loaded["m1"], world.accounted = "1g.10gb:4", None
    with pytest.raises(RelayoutError, match=r"m1 has .*: not the old inventory's"):
        make_relayout(world, make_plan(OLD, NEW)).run()
    assert world.log == []


def test_the_plan_has_a_step_for_types_that_slurmctld_does_not_account_yet() -> None:
    plan = make_plan(OLD, NEW)
    assert plan.list_new_tres() == ("gres/gpu:3g.40gb",)
    lines = render_plan(plan).splitlines()
    assert lines[1] == "cluster: gres/gpu:3g.40gb is new"
    assert "restart slurmctld" in lines[3]
    assert "cluster" not in render_plan(make_plan(NEW, make_inventory(HALF)))


def test_new_types_are_accounted_before_the_first_node_is_touched(world: World) -> None:
    world.jobs["m1"] = 1
    with pytest.raises(StillBusyError):
        make_relayout(world, make_plan(OLD, NEW)).run()
    assert world.accounted == {"gres/gpu", "gres/gpu:1g.10gb", "gres/gpu:3g.40gb"}
    world.jobs["m1"] = 0
    make_relayout(world, make_plan(OLD, NEW)).run()
    assert_done(world)
    assert world.log.count(ACCOUNT) == 1


def test_refuses_with_what_to_do_where_slurm_conf_has_its_own_list_of_tres(world: World) -> None:
    world.includes_gres = False
    with pytest.raises(RelayoutError, match=r"account gres/gpu:3g.40gb: let slurm.conf Include"):
        make_relayout(world, make_plan(OLD, NEW)).run()
    assert world.log == [ACCOUNT]
    world.includes_gres = True
    make_relayout(world, make_plan(OLD, NEW)).run()
    assert_done(world)


def test_without_slurmdbd_there_is_nothing_to_account(world: World) -> None:
    world.accounted = None
    make_relayout(world, make_plan(OLD, NEW)).run()
    assert_done(world)
    assert ACCOUNT not in world.log


def test_reads_what_slurmctld_accounts() -> None:
    text = "AccountingStorageTRES   = cpu,mem,gres/gpu:A100\nAccountingStorageType   = {}\n"
    known = parse_accounted_tres(text.format("accounting_storage/slurmdbd"))
    assert known == {"cpu", "mem", "gres/gpu:a100"}
    assert parse_accounted_tres(text.format("(null)")) is None


def test_the_files_in_between_hold_each_node_as_it_is() -> None:
    plan = make_plan(OLD, NEW)
    groups = {g.hostlist: g.count_units() for g in mix_inventories(plan, ["m1"]).node_groups}
    assert groups == {"m1": {"3g.40gb": 2}, "m[2-3]": {"1g.10gb": 7}}
    assert mix_inventories(plan, ["m1", "m2"]) is plan.new


def test_a_second_run_with_the_same_journal_is_refused_while_the_first_works(
    tmp_path: Path,
) -> None:
    plan, path = make_plan(OLD, NEW), tmp_path / "journal.jsonl"
    with (
        Journal(path).hold(plan),
        pytest.raises(RelayoutError, match="another run"),
        Journal(path).hold(plan),
    ):
        pass


def test_the_journal_survives_a_line_that_was_cut_off(tmp_path: Path) -> None:
    plan, path = make_plan(OLD, NEW), tmp_path / "journal.jsonl"
    with Journal(path).hold(plan) as journal:
        journal.begin("m1", Step.DRAIN)
        journal.finish("m1", Step.DRAIN)
    with path.open("ab") as handle:
        handle.write(b'{"event": "done", "node": "m1", "st')
    with Journal(path).hold(plan) as journal:
        assert journal.is_done("m1", Step.DRAIN)
        assert not journal.has_begun("m1", Step.WAIT)
        journal.begin("m1", Step.WAIT)
    with Journal(path).hold(plan) as journal:
        assert journal.has_begun("m1", Step.WAIT)


def test_a_journal_of_another_unfinished_change_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "journal.jsonl"
    with Journal(path).hold(make_plan(OLD, NEW)) as journal:
        journal.begin("m1", Step.DRAIN)
    with (
        pytest.raises(RelayoutError, match=r"of another change .* not finished on m1"),
        Journal(path).hold(make_plan(NEW, OLD)),
    ):
        pass


def test_reads_a_node_of_scontrol() -> None:
    line = (
        "NodeName=m1 Arch=x86_64 CPUAlloc=4 CPUTot=64 Gres=gpu:A100:1(S:0),gpu:3g.40gb:2(S:0-1) "
        "State=MIXED*+DRAIN ThreadsPerCore=1 Reason=relayout ab x [root@2026-11-30T15:00:00]"
    )
    state = parse_node(line)
    assert state.words == {"MIXED", "DRAIN", "NOT_RESPONDING"}
    assert (state.reason, state.allocated_cpus) == ("relayout ab x", 4)
    assert state.gres == {"a100": 1, "3g.40gb": 2}
    assert parse_gpu_counts("gpu:2,shard:8") == {"": 2}


def test_a_node_that_has_not_registered_since_slurmctld_started_is_not_responding() -> None:
    line = "NodeName=m1 CPUAlloc=0 Gres=gpu:3g.40gb:2 State=IDLE+DRAIN SlurmdStartTime=None"
    assert not parse_node(line).is_responding
    assert parse_node(line.replace("None", "2026-11-30T15:00:00")).is_responding


def test_the_site_names_its_own_commands() -> None:
    actions = parse_actions(parse_document("stop: [[a, '{node}'], [b]]\n", "actions.yaml"))
    assert actions.commands["stop"] == (("a", "{node}"), ("b",))
    assert actions.commands["apply"] == DEFAULTS["apply"]
    files = parse_actions(parse_document("device_files: true\n", "actions.yaml"))
    assert (files.device_files, files.commands["apply"]) == (True, ())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("stopp: []\n", "no action “stopp”.*Did you mean “stop”"),
        ("start: [systemctl start slurmd]\n", "list of commands"),
        ("start: [[]]\n", "list of commands"),
        ("device_files: perhaps\n", "Use true or false"),
    ],
)
def test_a_mistake_in_the_actions_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=f"actions.yaml:1: .*{problem}"):
        parse_actions(parse_document(text, "actions.yaml"))
