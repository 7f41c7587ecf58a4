"""What the functional tests share beside the sandbox itself (tests/sandbox_fixtures.py)."""

import time
from collections.abc import Callable, Iterator

import pytest

from portal.sandbox.cluster import Sandbox
from tests.integration.factories import World
from tests.sandbox_fixtures import SANDBOX_USERS

ADA, BEN = SANDBOX_USERS


@pytest.fixture(scope="session")
def wait_until() -> Callable[[Callable[[], bool], float], None]:
    """Return a function that waits until a condition holds, and fails after some seconds."""

    def wait(is_true: Callable[[], bool], timeout_seconds: float) -> None:
        deadline = time.monotonic() + timeout_seconds
        while not is_true():
            if time.monotonic() > deadline:
                pytest.fail(f"not so after {timeout_seconds} s: {is_true}")
            time.sleep(0.1)

    return wait


@pytest.fixture
def world(sandbox: Sandbox) -> Iterator[World]:
    """A site with a project r1001 on the sandbox's cluster; all of it leaves Slurm at the end."""
    world = World("r")
    world.cluster.name = sandbox.spec.cluster_name
    world.cluster.backend = "cli"
    world.cluster.slurm_conf = str(sandbox.slurm_conf)
    world.cluster.policy_dir = str(sandbox.policy_folder)
    world.cluster.save()
    world.project.code = "r1001"
    world.project.title = "Climate “Zürich”, part 2"
    world.project.save()
    for user, unix_name in ((world.pi, ADA), (world.member, BEN)):
        user.unix_name = unix_name
        user.save()
    yield world
    remove_everything(sandbox)


def remove_everything(sandbox: Sandbox) -> None:
    """Take what the tests made out of Slurm, by its names."""
    sandbox.run(["scancel", "--account=r1001"])
    names = sandbox.run(["sacctmgr", "-nP", "show", "qos", "format=name"]).stdout.split()
    own = ",".join(name for name in names if name.startswith("sw-r1001-"))
    for entity, *where in (
        ("user", f"name={ADA},{BEN}", "account=r1001,r2002"),
        ("account", "name=r1001,r2002,sw-rphysics,sw-rphysics2"),
        *([("qos", f"name={own}")] if own else []),
    ):
        done = sandbox.run(["sacctmgr", "-i", "delete", entity, "where", *where])
        assert done.returncode == 0 or "Nothing deleted" in done.stdout, done


def submit(
    sandbox: Sandbox, user: str, *options: str, script: str = "#!/bin/sh\nexec sleep 60\n"
) -> str:
    """Submit as the user; return the job's number, or what sbatch says where it refuses."""
    command = ["sbatch", "--parsable", "--output=/dev/null", *options]
    done = sandbox.run_as(user, command, stdin=script)
    return done.stdout.strip() if done.returncode == 0 else done.stderr.strip()
