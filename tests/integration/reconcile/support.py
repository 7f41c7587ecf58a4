"""What reconcile's tests share: a run, a gateway that breaks, and short looks at Slurm."""

from collections.abc import Callable
from datetime import datetime
from typing import Any

from portal.reconcile.models import ReconcileRun
from portal.reconcile.services import reconcile_cluster
from portal.slurm.factory import FakeGateway, get_fake
from portal.slurm.values import LiveJob, Qos
from tests.integration.factories import NOW, World


class Killed(Exception):
    """Stands for a worker that dies: nothing in the product foresees it."""


class BreakingGateway:
    """Passes calls on to a fake; the nth one raises, before or after it has been done."""

    def __init__(
        self, fake: FakeGateway, nth: int, error: Exception, *, is_done: bool = False
    ) -> None:
        self.fake, self.nth, self.error, self.is_done = fake, nth, error, is_done
        self.count = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self.fake, name)

        def call(*args: Any) -> Any:
            self.count += 1
            if self.count == self.nth:
                if self.is_done:
                    method(*args)
                raise self.error
            return method(*args)

        return call


def run(world: World, now: datetime = NOW, gateway: Any = None, **options: Any) -> ReconcileRun:
    result = reconcile_cluster(world.cluster, gateway or get_slurm(world), now, **options)
    assert result is not None
    world.cluster.refresh_from_db()
    return result


def get_slurm(world: World) -> FakeGateway:
    return get_fake(world.cluster.name)


def get_qos(world: World, name: str) -> Qos:
    return {qos.name: qos for qos in get_slurm(world).list_qos()}[name]


def list_pairs(world: World) -> set[tuple[str, str]]:
    rows = get_slurm(world).list_associations()
    return {(row.account, row.user) for row in rows if row.account != "root"}


def make_job(user: str, qos: str, job_id: str = "7") -> LiveJob:
    return LiveJob(
        job_id=job_id,
        account="p1001",
        user=user,
        state="RUNNING",
        partition="gpu",
        qos=qos,
        reason="",
    )


def take_picture(world: World) -> tuple[object, ...]:
    """Return everything that Slurm shows, to compare two ways of getting there."""
    slurm = get_slurm(world)
    return (
        slurm.list_accounts(),
        slurm.list_users(),
        slurm.list_associations(),
        slurm.list_qos(),
    )
