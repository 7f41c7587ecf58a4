"""Fixtures that integration tests share."""

import pytest

from tests.integration.factories import World


@pytest.fixture
def world(db: None) -> World:
    """A small site with people, a project and offerings."""
    return World()
