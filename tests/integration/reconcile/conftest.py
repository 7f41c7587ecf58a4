"""An empty Slurm for every test of reconcile, and an allocation that it does not know yet."""

from collections.abc import Iterator

import pytest

from portal.allocations.models import Allocation
from portal.slurm.factory import forget_fakes
from tests.integration.factories import World


@pytest.fixture(autouse=True)
def empty_slurm() -> Iterator[None]:
    forget_fakes()
    yield
    forget_fakes()


@pytest.fixture
def allocation(world: World) -> Allocation:
    return world.approve(world.submit())
