"""Runs every contract test on the fake and, where there is one, on the real Slurm."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.sandbox.cluster import Sandbox
from portal.slurm.factory import open_gateway
from tests.contract.worlds import (
    ADA,
    PREFIX,
    World,
    make_cli_world,
    make_fake_world,
    make_settings,
    wait_until,
)


@pytest.fixture(params=["fake", pytest.param("cli", marks=pytest.mark.sandbox)])
def world(request: pytest.FixtureRequest, tmp_path: Path) -> World:
    prefix = f"{PREFIX}{uuid.uuid4().hex[:6]}-"
    if request.param == "fake":
        return make_fake_world(prefix)
    return make_cli_world(prefix, request.getfixturevalue("swept_sandbox"), tmp_path)


@pytest.fixture(scope="module")
def swept_sandbox(sandbox: Sandbox) -> Iterator[Sandbox]:
    """Give the sandbox, and take away what these tests left in it: 22.05 needs 0.3 s a command."""
    yield sandbox
    gateway = open_gateway(make_settings(sandbox))
    sandbox.run(["scancel", f"--user={ADA}"])
    wait_until(lambda: not gateway.list_jobs())
    lists = {
        "user": {row.user for row in gateway.list_associations()},
        "account": {row.name for row in gateway.list_accounts()},
        "qos": {row.name for row in gateway.list_qos()},
    }
    for entity, names in lists.items():
        own = ",".join(sorted(name for name in names if name.startswith((PREFIX, ADA))))
        argv = ["sacctmgr", "-i", "delete", entity, "where", f"name={own}"]
        wait_until(lambda argv=argv: sandbox.run(argv).returncode == 0)
