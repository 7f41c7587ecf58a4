"""Slurm away on the real sandbox: decisions stand, jobs count, and all is made so once it is back.

Daemons are killed, as a machine that fails does it, and brought back by the sandbox.
"""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from portal.allocations.choices import RequestState
from portal.inventory.services import open_cluster_gateway
from portal.ops.ticks import run_ingest, run_observe, run_post_ledger, run_reconcile
from portal.reconcile.selectors import get_slurm_state
from portal.reconcile.services import plan_cluster
from portal.sandbox.cluster import Sandbox
from portal.usage.models import Job, UsageRecord
from tests.functional.conftest import ADA, submit
from tests.integration.factories import World

Wait = Callable[[Callable[[], bool], float], None]
pytestmark = [pytest.mark.sandbox, pytest.mark.django_db]


def kill(sandbox: Sandbox, *names: str) -> None:
    for status in sandbox.status():
        if status.name in names and status.pid:
            with suppress(ProcessLookupError):
                os.kill(status.pid, signal.SIGKILL)


def bring_back(sandbox: Sandbox) -> None:
    sandbox.up(lambda _line: None)


@pytest.fixture(autouse=True)
def slurm_is_back_at_the_end(sandbox: Sandbox, world: World):
    yield
    bring_back(sandbox)


def ask(world: World):
    today = timezone.now().date()
    dates = {"start_date": today, "end_date": today + timedelta(days=30)}
    return world.submit(timezone.now(), **dates)


@pytest.mark.parametrize("gone", [("slurmdbd",), ("slurmdbd", "slurmctld")])
def test_an_approval_while_slurm_is_away_stands_and_the_next_tick_makes_it_so(
    sandbox: Sandbox, world: World, client: Client, gone: tuple[str, ...]
):
    request = ask(world)
    kill(sandbox, *gone)
    allocation = world.approve(request, timezone.now())
    request.refresh_from_db()
    assert request.state == RequestState.APPROVED
    assert "waiting" in run_reconcile()[world.cluster.name]
    state = get_slurm_state(allocation)
    assert not state.is_in_force
    client.force_login(world.pi)
    page = client.get(f"/allocations/{allocation.pk}/")
    assert page.status_code == 200
    assert "aits for Slurm" in page.content.decode()
    run_observe()  # the other ticks wait as well; none of them breaks
    run_ingest()

    bring_back(sandbox)
    assert "changed" in run_reconcile()[world.cluster.name]
    assert get_slurm_state(allocation).is_in_force
    plan = plan_cluster(world.cluster, open_cluster_gateway(world.cluster), timezone.now())
    assert not plan.has_drift
    assert submit(sandbox, ADA, "-A", "r1001", "--gres=gpu:a100:1").isdigit()


def test_a_job_that_runs_while_slurmdbd_is_away_counts_in_full(
    sandbox: Sandbox, world: World, wait_until: Wait
):
    world.approve(ask(world), timezone.now())
    run_reconcile()
    job = submit(sandbox, ADA, "-A", "r1001", "--gres=gpu:a100:2", "--wrap", "sleep 4", script="")
    assert job.isdigit(), job
    wait_until(lambda: read_state(sandbox, job) == "RUNNING", 20)
    kill(sandbox, "slurmdbd")
    assert "Connection refused" in run_ingest()[world.cluster.name]
    wait_until(lambda: read_state(sandbox, job) == "COMPLETED", 30)
    bring_back(sandbox)

    def is_stored() -> bool:
        run_ingest()
        return Job.objects.filter(job_id=job, is_final=True).exists()

    wait_until(is_stored, 30)
    argv = ["sacct", "-nXP", "-j", job, "-o", "ElapsedRaw,Partition,QOS"]
    elapsed, partition, qos = sandbox.run(argv).stdout.strip().split("|")
    assert int(elapsed) >= 4
    (usage,) = UsageRecord.objects.filter(job__job_id=job)
    assert (usage.unit_seconds, usage.is_final) == (2 * int(elapsed), True)
    assert (usage.offering, usage.job.partition, usage.qos) == (world.a100, partition, qos)
    assert run_post_ledger() == {"ledger": "1 transactions"}


def read_state(sandbox: Sandbox, job: str) -> str:
    """Return the job's state by slurmctld, which needs no slurmdbd."""
    return sandbox.run(["squeue", "-h", "-t", "all", "-j", job, "-o", "%T"]).stdout.strip()
