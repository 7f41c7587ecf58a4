"""What tests of pages share: clients that are signed in."""

from collections.abc import Callable

import pytest
import time_machine
from django.test import Client

from portal.projects.models import User
from portal.slurm.factory import forget_fakes
from tests.integration.factories import NOW


@pytest.fixture
def sign_in() -> Callable[[User], Client]:
    """Return a function that returns a client signed in as a person."""

    def make(user: User) -> Client:
        client = Client()
        client.force_login(user)
        return client

    return make


@pytest.fixture(autouse=True)
def empty_slurm():
    forget_fakes()
    yield
    forget_fakes()


@pytest.fixture(autouse=True)
def clock():
    """Let it be the factories' day, for pages read the clock themselves."""
    with time_machine.travel(NOW, tick=False):
        yield
