"""Killed anywhere, run twice, run by two workers: the next run ends in the same state."""

from datetime import timedelta

import pytest

from portal.allocations.models import Allocation
from portal.projects.models import Membership
from portal.reconcile import services
from portal.reconcile.models import OwnedObject, ReconcileRun
from portal.reconcile.selectors import get_slurm_state
from portal.slurm.errors import SlurmUnavailable
from portal.slurm.factory import forget_fakes
from tests.integration.factories import NOW, World
from tests.integration.reconcile.support import (
    BreakingGateway,
    Killed,
    get_slurm,
    list_pairs,
    run,
    take_picture,
)


def start_over() -> None:
    forget_fakes()
    OwnedObject.objects.all().delete()
    ReconcileRun.objects.all().delete()


def count_calls(world: World) -> int:
    gateway = BreakingGateway(get_slurm(world), 0, Killed())
    run(world, gateway=gateway)
    return gateway.count


@pytest.mark.parametrize("is_done", [False, True])
def test_killed_at_any_call_the_next_run_ends_in_the_same_state(
    world: World, allocation: Allocation, is_done: bool
):
    total = count_calls(world)
    wanted = take_picture(world)
    assert total == 8
    for nth in range(1, total + 1):
        start_over()
        with pytest.raises(Killed):
            run(world, gateway=BreakingGateway(get_slurm(world), nth, Killed(), is_done=is_done))
        run(world)
        assert take_picture(world) == wanted, f"killed at call {nth}"
        assert get_slurm_state(allocation, NOW).is_in_force
        assert run(world).outcome == "in_force"


@pytest.mark.parametrize("is_done", [False, True])
def test_slurm_away_at_any_call_waits_and_goes_on(
    world: World, allocation: Allocation, is_done: bool
):
    total = count_calls(world)
    wanted = take_picture(world)
    for nth in range(1, total + 1):
        start_over()
        gateway = BreakingGateway(
            get_slurm(world), nth, SlurmUnavailable("slurmdbd went away"), is_done=is_done
        )
        assert run(world, gateway=gateway).outcome == "waiting"
        assert not get_slurm_state(allocation, NOW).is_in_force
        run(world)
        assert take_picture(world) == wanted, f"away at call {nth}"
        assert get_slurm_state(allocation, NOW).is_in_force


def test_killed_while_a_member_leaves_nobody_else_loses_access(
    world: World, allocation: Allocation
):
    run(world)
    Membership.objects.get(project=world.project, user=world.member).delete()
    for nth in range(1, 8):
        try:
            run(world, gateway=BreakingGateway(get_slurm(world), nth, Killed()))
        except Killed:
            assert ("p1001", "sw-ada") in list_pairs(world)
    run(world)
    assert list_pairs(world) == {("p1001", "sw-ada")}


def test_an_interrupted_run_is_told_as_such(world: World, allocation: Allocation):
    with pytest.raises(Killed):
        run(world, gateway=BreakingGateway(get_slurm(world), 5, Killed()))
    assert ReconcileRun.objects.get().outcome == "running"
    run(world, NOW + timedelta(minutes=1))
    first, second = ReconcileRun.objects.order_by("id")
    assert first.outcome == "failed"
    assert "interrupted" in first.error
    assert second.outcome == "changed"


def test_two_workers_in_one_another_see_no_foreign_objects(
    world: World, allocation: Allocation, monkeypatch: pytest.MonkeyPatch
):
    """The lease of a slow worker ran out: the second runs whole inside each call of the first."""
    from contextlib import contextmanager

    @contextmanager
    def no_lease(name: str, *, seconds: int):
        yield True

    monkeypatch.setattr(services, "hold_lease", no_lease)
    total = count_calls(world)
    wanted = take_picture(world)

    for nth in range(1, total + 1):
        start_over()

        class Interleaving(BreakingGateway):
            def __getattr__(self, name):
                method = getattr(self.fake, name)

                def call(*args):
                    self.count += 1
                    if self.count == self.nth:
                        inner = services.reconcile_cluster(world.cluster, self.fake, NOW)
                        assert inner is not None
                        assert inner.outcome in ("changed", "in_force")
                    return method(*args)

                return call

        outer = run(world, gateway=Interleaving(get_slurm(world), nth, Killed()))
        assert outer.outcome in ("changed", "in_force"), (nth, outer.error)
        assert take_picture(world) == wanted
        assert get_slurm_state(allocation, NOW).is_in_force
        assert run(world).outcome == "in_force"


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_end_in_the_same_state():
    from concurrent.futures import ThreadPoolExecutor

    from django.db import connection

    world = World()
    allocation = world.approve(world.submit())

    def work(_: int) -> str:
        try:
            result = services.reconcile_cluster(world.cluster, get_slurm(world), NOW)
            return "busy" if result is None else result.outcome
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        outcomes = list(pool.map(work, range(4)))
    assert outcomes.count("changed") == 1
    assert set(outcomes) <= {"changed", "in_force", "busy"}
    assert get_slurm_state(allocation, NOW).is_in_force
    assert OwnedObject.objects.count() == 6
