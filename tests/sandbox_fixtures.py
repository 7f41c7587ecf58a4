"""The real Slurm that contract, functional and browser tests share: one sandbox per test run."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from portal.sandbox.cluster import Sandbox
from portal.sandbox.spec import SandboxSpec

KEPT_ROOT_VARIABLE = "SLUICEWAY_TEST_SANDBOX"
SANDBOX_ROOT = Path(__file__).resolve().parents[1] / "var" / "test-sandbox"
SANDBOX_USERS = ("sw-t-ada", "sw-t-ben")


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """Give a running sandbox with the users of SANDBOX_USERS, and take it away at the end.

    With SLUICEWAY_TEST_SANDBOX set to a folder, the sandbox there is used, started where it is
    not, and kept. The sandbox runs jobs as several Unix users, so without root this fails.
    """
    if os.geteuid() != 0:
        pytest.fail("the Slurm sandbox runs jobs as several Unix users: run the tests as root")
    kept_root = os.environ.get(KEPT_ROOT_VARIABLE)
    cluster = Sandbox(
        Path(kept_root) if kept_root else SANDBOX_ROOT, SandboxSpec(users=SANDBOX_USERS)
    )
    cluster.up(lambda line: print(line, file=sys.stderr))
    yield cluster
    if not kept_root:
        cluster.destroy()
