"""The ticks, their schedule and the commands that run them."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django_q.models import OrmQ, Schedule

from portal.inventory.models import Cluster
from portal.inventory.selectors import get_free_units
from portal.ops import ticks
from portal.ops.ticks import (
    TickError,
    run_ingest,
    run_observe,
    run_post_ledger,
    run_reconcile,
)
from portal.slurm.factory import forget_fakes, get_fake
from portal.slurm.values import Account, Node, Partition
from tests.integration.factories import World, make_cluster


@pytest.fixture(autouse=True)
def empty_slurm():
    forget_fakes()
    yield
    forget_fakes()


def add_nodes(world: World, *nodes: Node) -> None:
    slurm = get_fake(world.cluster.name)
    for node in nodes:
        slurm.add_node(node)
    names = tuple(node.name for node in nodes)
    slurm.add_partition(Partition("gpu", ("UP",), names, 10, "OFF"))
    slurm.add_partition(Partition("spot", ("UP",), names, 1, "REQUEUE"))


def make_node(name: str, total: int, used: int, *states: str) -> Node:
    gres = (("gpu:a100", total),)
    return Node(name, states or ("IDLE",), ("gpu", "spot"), gres, (("gpu:a100", used),))


def call(*args: str) -> str:
    out = StringIO()
    call_command(*args, stdout=out)
    return out.getvalue()


def test_one_cluster_that_is_away_does_not_stop_the_others(world: World):
    other = make_cluster("c2")
    get_fake(world.cluster.name).is_away = True
    summary = run_reconcile()
    assert summary["c1"].startswith("waiting")
    assert summary["c2"].startswith("in_force")
    other.refresh_from_db()
    assert other.contact_at is not None


def test_one_cluster_that_fails_unforeseen_does_not_stop_the_others(world: World, monkeypatch):
    make_cluster("c2")
    seen = []

    def break_first(cluster: Cluster, *args: object, **kwargs: object) -> None:
        seen.append(cluster.name)
        if cluster.name == "c1":
            raise ZeroDivisionError("a bug")

    monkeypatch.setattr(ticks, "observe_cluster", break_first)
    with pytest.raises(TickError, match="c1: ZeroDivisionError"):
        run_observe()
    assert seen == ["c1", "c2"]


def test_a_cluster_without_a_slurm_conf_says_so(world: World):
    Cluster.objects.filter(pk=world.cluster.pk).update(backend="cli")
    assert "slurm.conf" in run_reconcile()["c1"]
    world.cluster.refresh_from_db()
    assert "slurm.conf" in world.cluster.contact_error


def test_free_units_leave_out_used_ones_and_closed_nodes(world: World):
    add_nodes(
        world,
        make_node("n1", 8, 3, "MIXED"),
        make_node("n2", 8, 0, "DOWN"),
        make_node("n3", 8, 2, "MIXED", "DRAIN"),
    )
    assert run_observe() == {"c1": "2 pools"}
    world.a100_pool.refresh_from_db()
    assert world.a100_pool.observed_total_units == 24
    assert world.a100_pool.observed_used_units == 5
    assert world.a100_pool.observed_unavailable_units == 14
    assert get_free_units(world.a100_pool) == 5


def test_a_partition_that_slurm_lacks_leaves_the_counts_unknown(world: World):
    run_observe()
    world.a100_pool.refresh_from_db()
    assert world.a100_pool.observed_total_units is None
    assert get_free_units(world.a100_pool) is None


def test_counts_keep_their_age_while_slurm_is_away(world: World):
    add_nodes(world, make_node("n1", 8, 0))
    run_observe()
    world.a100_pool.refresh_from_db()
    seen_at = world.a100_pool.observed_at
    get_fake("c1").is_away = True
    assert run_observe()["c1"].startswith("waits")
    world.a100_pool.refresh_from_db()
    world.cluster.refresh_from_db()
    assert world.a100_pool.observed_at == seen_at
    assert world.a100_pool.observed_total_units == 8
    assert world.cluster.contact_error


def test_the_schedule_holds_each_tick_once_and_leaves_others_alone(world: World):
    Schedule.objects.create(name="someone's", func="os.getcwd", schedule_type=Schedule.DAILY)
    Schedule.objects.create(name="tick gone", func="x.y", schedule_type=Schedule.MINUTES)
    assert "created reconcile" in call("schedule_ticks")
    first = set(Schedule.objects.values_list("id", "name", "func"))
    assert "kept reconcile" in call("schedule_ticks")
    assert set(Schedule.objects.values_list("id", "name", "func")) == first
    assert {name for _, name, _ in first} == {
        "someone's",
        "tick reconcile",
        "tick observe",
        "tick ingest",
        "tick post_ledger",
    }
    assert set(
        Schedule.objects.filter(name__startswith="tick ").values_list("minutes", flat=True)
    ) == {1}


def test_run_tick_prints_its_summary(world: World):
    assert json.loads(call("run_tick", "reconcile")) == {"c1": "in_force, 0 changes"}


@pytest.mark.django_db(transaction=True)
def test_run_tick_can_ask_the_worker():
    call("run_tick", "observe", "--queue")
    assert OrmQ.objects.count() == 1


def test_run_tick_without_a_site_says_what_to_do(db):
    make_cluster("c1")
    with pytest.raises((CommandError, TickError), match="load_site"):
        call("run_tick", "reconcile")


def test_a_dry_run_prints_the_plan_and_changes_nothing(world: World):
    world.approve(world.submit())
    told = call("reconcile", "--dry-run")
    assert "Create account p1001" in told
    assert "Create sw-ada's association with p1001" in told
    assert get_fake("c1").list_accounts() == ()
    plan = json.loads(call("reconcile", "--dry-run", "--json"))["c1"]
    assert plan["has_drift"]
    assert plan["changes"][0]["action"] == "create"


def test_check_ends_with_1_on_drift_and_is_silent_on_none(world: World):
    world.approve(world.submit())
    with pytest.raises(SystemExit) as ended:
        call("reconcile", "--check")
    assert ended.value.code == 1
    assert "c1: Changed" in call("reconcile")
    assert call("reconcile", "--check") == ""
    assert call("reconcile", "--check", "--json") == ""


def test_a_run_that_is_blocked_ends_with_1(world: World):
    world.approve(world.submit())
    get_fake("c1").save_accounts([Account("p1001", "root", "theirs")])
    with pytest.raises(SystemExit):
        call("reconcile", "--cluster", "c1")


def test_a_cluster_that_the_portal_does_not_know_is_named(world: World):
    with pytest.raises(CommandError, match="no cluster “nowhere”"):
        call("reconcile", "--cluster", "nowhere")


def test_a_dry_run_without_slurm_says_so(world: World):
    get_fake("c1").is_away = True
    with pytest.raises(CommandError, match="does not answer"):
        call("reconcile", "--dry-run")


def test_the_preflight_names_each_wrong_setting(world: World):
    add_nodes(world, make_node("n1", 8, 0))
    out = StringIO()
    with pytest.raises(SystemExit):
        call_command("check_slurm", stdout=out)
    told = out.getvalue()
    assert "write: AccountingStorageTRES=gres/gpu,gres/gpu:1g.10gb,gres/gpu:a100" in told
    assert "write: AccountingStorageEnforce=associations,limits,qos,safe" in told
    assert "write: JobSubmitPlugins=lua" in told
    assert "partition gpu of pool a100: 8 x gpu:a100" in told


def test_ingest_posts_only_when_usage_changed(world: World, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(ticks, "request_tick", asked.append)
    assert run_ingest()["c1"].startswith("0 new, 0 changed")
    assert asked == []
    monkeypatch.setattr(ticks, "_ingest", lambda cluster: "3 new, 0 changed, 0 quarantined")
    run_ingest()
    assert asked == ["post_ledger"]


def test_posting_without_usage_posts_nothing(world: World):
    assert run_post_ledger() == {"ledger": "0 transactions"}
