"""Reconcile on the real Slurm: what it makes, what Slurm then refuses, and what it leaves alone."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from portal.allocations.models import Allocation
from portal.allocations.services import place_hold
from portal.inventory.services import observe_cluster, open_cluster_gateway
from portal.projects.models import Membership
from portal.reconcile.models import ReconcileRun
from portal.reconcile.selectors import get_slurm_state
from portal.reconcile.services import plan_cluster, reconcile_cluster
from portal.sandbox.cluster import Sandbox
from portal.slurm.values import Account, Association
from tests.functional.conftest import submit
from tests.integration.factories import World, add_person, make_user
from tests.sandbox_fixtures import SANDBOX_USERS

ADA, BEN = SANDBOX_USERS
Wait = Callable[[Callable[[], bool], float], None]
pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]


@pytest.fixture
def allocation(world: World) -> Allocation:
    now = timezone.now()
    today = now.date()
    request = world.submit(now, start_date=today, end_date=today + timedelta(days=30))
    return world.approve(request, now)


def run(world: World, **options: bool) -> ReconcileRun:
    gateway = open_cluster_gateway(world.cluster)
    result = reconcile_cluster(world.cluster, gateway, timezone.now(), **options)
    assert result is not None
    return result


def read_qos(sandbox: Sandbox, name: str) -> str:
    columns = "GrpTRES%100,GrpTRESMins%100,GrpSubmit,Flags%60,MaxWall"
    return sandbox.run(
        ["sacctmgr", "-nP", "show", "qos", f"name={name}", f"format={columns}"]
    ).stdout.strip()


def test_an_allocation_becomes_real_objects_and_the_next_run_has_nothing_to_do(
    sandbox: Sandbox, world: World, allocation: Allocation
):
    assert run(world).outcome == "changed"
    line = allocation.lines.get(offering=world.a100)
    told = read_qos(sandbox, line.qos_name)
    assert "gres/gpu=4,gres/gpu:a100=4" in told or "gres/gpu:a100=4,gres/gpu=4" in told
    assert "DenyOnLimit" in told
    assert "NoDecay" in told
    assert get_slurm_state(allocation).is_in_force
    plan = plan_cluster(world.cluster, open_cluster_gateway(world.cluster), timezone.now())
    assert not plan.has_drift, [change.sentence for change in plan.changes]
    assert run(world).outcome == "in_force"


def test_a_member_submits_and_a_hold_refuses_at_once(
    sandbox: Sandbox, world: World, allocation: Allocation
):
    run(world)
    accepted = submit(sandbox, ADA, "-A", "r1001", "--gres=gpu:a100:1")
    assert accepted.isdigit(), accepted
    line = allocation.lines.get(offering=world.a100)
    place_hold(actor=world.operator, line=line, reason="Unpaid", now=timezone.now())
    assert run(world).outcome == "changed"
    refused = submit(sandbox, ADA, "-A", "r1001", f"--qos={line.qos_name}", "--gres=gpu:a100:1")
    assert not refused.isdigit()
    assert "Unpaid" in submit(sandbox, ADA, "-A", "r1001", "--gres=gpu:a100:1")
    held = sandbox.run(["squeue", "-h", "-j", accepted, "-o", "%T"]).stdout.strip()
    assert held in ("RUNNING", "PENDING", "CONFIGURING")


def test_a_waiting_job_cannot_be_changed_past_the_allocation(
    sandbox: Sandbox, world: World, allocation: Allocation
):
    run(world)
    job = submit(sandbox, ADA, "--hold", "-A", "r1001", "--gres=gpu:a100:1")
    assert job.isdigit(), job

    def change(*settings: str) -> int:
        return sandbox.run_as(ADA, ["scontrol", "update", f"jobid={job}", *settings]).returncode

    assert change("gres=gpu:3g.40gb:1") != 0
    assert change("gres=gpu:a100:5") != 0
    assert change("gres=gpu:a100:2") == 0
    assert change("gres=gpu:1g.10gb:2") == 0
    line = allocation.lines.get(offering=world.mig)
    shown = sandbox.run(["squeue", "-h", "-j", job, "-O", "qos:60,tres-per-node:60"])
    assert shown.stdout.split() == [line.qos_name, "gres:gpu:1g.10gb:2"]


def test_a_member_with_a_job_stays_until_it_ends_and_then_goes(
    sandbox: Sandbox, world: World, allocation: Allocation, wait_until: Wait
):
    run(world)
    gateway = open_cluster_gateway(world.cluster)
    gateway.save_accounts([Account("r2002", "root", "others", "others")])
    gateway.save_associations([Association("r2002", BEN, frozenset({"normal"}), "normal")])
    job = submit(sandbox, BEN, "-A", "r1001", "--gres=gpu:a100:1")
    assert job.isdigit(), job
    Membership.objects.get(project=world.project, user=world.member).delete()
    result = run(world)
    assert [change["action"] for change in result.changes] == ["defer"]
    sandbox.run(["scancel", job])
    wait_until(lambda: not any(j.job_id == job for j in gateway.list_jobs()), 20)
    assert run(world).outcome == "changed"
    pairs = {(a.account, a.user) for a in gateway.list_associations()}
    assert ("r1001", BEN) not in pairs
    assert ("r2002", BEN) in pairs
    assert {u.name: u.default_account for u in gateway.list_users()}[BEN] == "r2002"


def test_a_member_whose_only_association_it_was_leaves(
    sandbox: Sandbox, world: World, allocation: Allocation
):
    run(world)
    Membership.objects.get(project=world.project, user=world.member).delete()
    assert run(world).outcome == "changed"
    pairs = {(a.account, a.user) for a in open_cluster_gateway(world.cluster).list_associations()}
    assert ("r1001", BEN) not in pairs
    assert ("r1001", ADA) in pairs
    Membership.objects.create(project=world.project, user=world.member)
    assert run(world).outcome == "changed"


def test_an_account_of_others_is_left_alone(sandbox: Sandbox, world: World, allocation: Allocation):
    gateway = open_cluster_gateway(world.cluster)
    gateway.save_accounts([Account("r1001", "root", "since 2016", "others")])
    assert run(world).outcome == "blocked"
    found = {account.name: account for account in gateway.list_accounts()}["r1001"]
    assert (found.parent, found.description) == ("root", "since 2016")
    assert "did not make it" in get_slurm_state(allocation).reason


def test_a_limit_changed_by_hand_is_drift(sandbox: Sandbox, world: World, allocation: Allocation):
    run(world)
    line = allocation.lines.get(offering=world.a100)
    before = read_qos(sandbox, line.qos_name)
    sandbox.run(
        ["sacctmgr", "-i", "modify", "qos", line.qos_name, "set", "GrpTRES=gres/gpu=99,cpu=5"]
    )
    with pytest.raises(SystemExit):
        call_command("reconcile", "--check")
    assert run(world).outcome == "changed"
    assert read_qos(sandbox, line.qos_name) == before
    call_command("reconcile", "--check")


def test_a_nested_organisation_that_moves_moves_its_account(
    sandbox: Sandbox, world: World, allocation: Allocation
):
    run(world)
    add_person(world.project, make_user("rnora", unix_name=None))
    world.project.organisation.slurm_account = "sw-rphysics2"
    world.project.organisation.save()
    result = run(world)
    assert result.outcome == "changed", result.error
    found = {a.name: a for a in open_cluster_gateway(world.cluster).list_accounts()}
    assert found["r1001"].parent == "sw-rphysics2"
    assert "sw-rphysics" not in found


def test_the_pools_are_observed_and_the_preflight_passes(sandbox: Sandbox, world: World):
    gateway = open_cluster_gateway(world.cluster)
    assert observe_cluster(world.cluster, gateway, timezone.now()) == 2
    world.a100_pool.refresh_from_db()
    world.mig_pool.refresh_from_db()
    assert world.a100_pool.observed_total_units == 24
    assert world.mig_pool.observed_total_units == 28
    assert world.a100_pool.observed_unavailable_units == 0
    call_command("reconcile")
    call_command("check_slurm")
