"""What Slurm shows of nodes and partitions becomes a pool's counts; unknown stays unknown."""

import pytest

from portal.inventory.models import Pool
from portal.inventory.selectors import get_free_units
from portal.inventory.services import observe_cluster
from portal.slurm.errors import SlurmUnavailable
from portal.slurm.factory import FakeGateway
from portal.slurm.values import Node, Partition, make_tres
from tests.integration.factories import NOW, World


def make_node(name: str, *states: str, used: int = 0) -> Node:
    gres = make_tres({"gpu:a100": 8, "gpu:1g.10gb": 2})
    return Node(name, states, ("gpu",), gres, make_tres({"gpu:a100": used}))


def observe(world: World, *nodes: Node, states: tuple[str, ...] = ("UP",)) -> Pool:
    slurm = FakeGateway("c1")
    for node in nodes:
        slurm.add_node(node)
    slurm.add_partition(Partition("gpu", states, tuple(n.name for n in nodes), 1, "OFF"))
    assert observe_cluster(world.cluster, slurm, NOW) == 2
    world.a100_pool.refresh_from_db()
    return world.a100_pool


def test_free_is_what_no_job_holds(world: World) -> None:
    pool = observe(world, make_node("n1", "MIXED", used=3), make_node("n2", "IDLE"))
    assert (pool.observed_total_units, pool.observed_used_units) == (16, 3)
    assert (pool.observed_unavailable_units, pool.observed_at) == (0, NOW)
    assert get_free_units(pool) == 13


@pytest.mark.parametrize(
    "states",
    [("DOWN",), ("IDLE", "DRAIN"), ("IDLE", "MAINTENANCE", "RESERVED"), ("IDLE", "NOT_RESPONDING")],
)
def test_a_closed_node_has_nothing_free_and_keeps_what_its_jobs_hold(
    world: World, states: tuple[str, ...]
) -> None:
    pool = observe(world, make_node("n1", "IDLE"), make_node("n2", *states, used=2))
    assert (pool.observed_used_units, pool.observed_unavailable_units) == (2, 6)
    assert get_free_units(pool) == 8


def test_a_closed_partition_has_nothing_free(world: World) -> None:
    assert get_free_units(observe(world, make_node("n1", "IDLE"), states=("DOWN",))) == 0


def test_a_partition_that_slurm_does_not_have_is_unknown_and_not_0(world: World) -> None:
    Pool.objects.filter(pk=world.a100_pool.pk).update(partition="gone", observed_total_units=9)
    assert get_free_units(observe(world, make_node("n1", "IDLE"))) is None


def test_slurm_that_is_away_leaves_the_last_counts(world: World) -> None:
    observe(world, make_node("n1", "IDLE"))
    slurm = FakeGateway("c1")
    slurm.is_away = True
    with pytest.raises(SlurmUnavailable):
        observe_cluster(world.cluster, slurm, NOW)
    world.a100_pool.refresh_from_db()
    assert get_free_units(world.a100_pool) == 8
    world.cluster.refresh_from_db()
    assert "does not answer" in world.cluster.contact_error
