"""The sandbox on this machine: real jobs of ordinary users, the plugin, restarts, nothing left."""

import json
import os
import pwd
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.reconcile.policy import Policy, PolicyAccount, PolicyLine, write_policy
from portal.sandbox.cluster import Sandbox
from portal.sandbox.errors import SandboxError
from portal.sandbox.processes import MARKER, ServiceState, list_pids, read_environment
from portal.sandbox.spec import SandboxSpec
from tests.sandbox_fixtures import SANDBOX_USERS

ADA, BEN = SANDBOX_USERS
ACCOUNT = "t1001"
PROJECT_URL = "http://portal.test/projects/t1001/"
Wait = Callable[[Callable[[], bool], float], None]


def make_line(gres_type: str, units: int, number: int, **changes: object) -> PolicyLine:
    values: dict[str, object] = {
        "qos": f"sw-{ACCOUNT}-{gres_type}-{number}",
        "gres_type": gres_type,
        "partition": "gpu",
        "units": units,
        "purchase_option": "on_demand",
        "offering_title": f"One {gres_type}",
        "remaining_unit_minutes": 60_000,
        "hold": None,
        "url": f"http://portal.test/allocations/{number}/",
    }
    return PolicyLine(**{**values, **changes})  # type: ignore[arg-type]


def make_policy(hold: str | None = None) -> Policy:
    lines = (
        make_line("a100", 4, 1, hold=hold),
        make_line("1g.10gb", 4, 2),
        make_line("a100", 8, 3, partition="spot", purchase_option="spot"),
    )
    account = PolicyAccount(ACCOUNT, "Folding", frozenset({ADA}), lines, PROJECT_URL)
    types = frozenset({"a100", "3g.40gb", "1g.10gb"})
    return Policy(datetime.now(UTC), "http://portal.test/", types, (account,))


def run_sacctmgr(sandbox: Sandbox, *words: str) -> None:
    done = sandbox.run(["sacctmgr", "-i", *words])
    # sacctmgr exits with 1 where there is nothing to change.
    assert done.returncode == 0 or "Nothing" in done.stdout, done


@pytest.fixture(scope="module")
def cluster(sandbox: Sandbox) -> Sandbox:
    """The sandbox with one account, its QOS and one member, set up by sacctmgr."""
    run_sacctmgr(sandbox, "add", "account", ACCOUNT, "parent=root")
    for line in make_policy().accounts[0].lines:
        limit = f"gres/gpu:{line.gres_type}={line.units},gres/gpu={line.units}"
        flags = "Flags=DenyOnLimit,NoDecay"
        run_sacctmgr(sandbox, "add", "qos", line.qos, "set", f"GrpTRES={limit}", flags)
    names = ",".join(line.qos for line in make_policy().accounts[0].lines)
    default = make_policy().accounts[0].lines[0].qos
    run_sacctmgr(
        sandbox, "add", "user", ADA, f"account={ACCOUNT}", f"qos={names}",
        f"defaultqos={default}",
    )  # fmt: skip
    return sandbox


pytestmark = pytest.mark.sandbox


@pytest.fixture(autouse=True)
def _fresh_policy(request: pytest.FixtureRequest) -> None:
    if "cluster" in request.fixturenames:
        write_policy(make_policy(), request.getfixturevalue("cluster").policy_folder)


def submit(
    sandbox: Sandbox, *words: str, user: str = ADA, wrap: str = "hostname"
) -> subprocess.CompletedProcess[str]:
    argv = ["sbatch", "--parsable", "-A", ACCOUNT, "-o", "job-%j.out", *words, "--wrap", wrap]
    return sandbox.run_as(user, argv)


def read_job(sandbox: Sandbox, job_id: str) -> dict[str, str]:
    names = ["State", "Partition", "QOS", "AllocTRES", "User"]
    done = sandbox.run(["sacct", "-X", "-n", "-P", "-D", "-j", job_id, "-o", ",".join(names)])
    rows = done.stdout.splitlines()
    return dict(zip(names, rows[-1].split("|"), strict=True)) if rows else {"State": "UNKNOWN"}


def wait_for_state(sandbox: Sandbox, wait_until: Wait, job_id: str, state: str) -> dict[str, str]:
    """Return sacct's row once it is whole: for a moment it may have a state and no partition."""

    def is_there() -> bool:
        row = read_job(sandbox, job_id)
        return row["State"].startswith(state) and bool(row["Partition"])

    wait_until(is_there, 30)
    return read_job(sandbox, job_id)


def save_jobs(sandbox: Sandbox, wait_until: Wait, job_id: str) -> None:
    """Have slurmctld write its jobs down: it does so some seconds after a change alone."""
    changed_at = time.time()
    sandbox.run(["scontrol", "update", f"JobId={job_id}", "Comment=written down"])
    state = sandbox.paths.controller_state / "job_state"
    wait_until(lambda: state.exists() and state.stat().st_mtime > changed_at, 30)


def test_runs_a_job_with_full_gpus_as_an_ordinary_user(cluster: Sandbox, wait_until: Wait) -> None:
    done = submit(cluster, "--gres=gpu:a100:2", wrap="id -un; echo $CUDA_VISIBLE_DEVICES")
    assert done.returncode == 0, done.stderr
    job = wait_for_state(cluster, wait_until, done.stdout.strip(), "COMPLETED")
    assert "gres/gpu:a100=2" in job["AllocTRES"]
    assert (job["Partition"], job["QOS"]) == ("gpu", "sw-t1001-a100-1")
    output = Path(pwd.getpwnam(ADA).pw_dir) / f"job-{done.stdout.strip()}.out"
    wait_until(lambda: output.exists() and ADA in output.read_text(), 10)


def test_runs_an_array_on_mig_instances(cluster: Sandbox, wait_until: Wait) -> None:
    done = submit(cluster, "--gres=gpu:1g.10gb:1", "--array=1-3")
    assert done.returncode == 0, done.stderr
    job = wait_for_state(cluster, wait_until, f"{done.stdout.strip()}_3", "COMPLETED")
    assert "gres/gpu:1g.10gb=1" in job["AllocTRES"]
    assert job["QOS"] == "sw-t1001-1g.10gb-2"


def test_a_job_in_the_spot_partition_gets_the_spot_qos(cluster: Sandbox, wait_until: Wait) -> None:
    done = submit(cluster, "--gres=gpu:a100:6", "-p", "spot")
    assert done.returncode == 0, done.stderr
    job = wait_for_state(cluster, wait_until, done.stdout.strip(), "COMPLETED")
    assert (job["Partition"], job["QOS"]) == ("spot", "sw-t1001-a100-3")


def test_an_on_demand_job_preempts_a_spot_job(cluster: Sandbox, wait_until: Wait) -> None:
    words = ("-w", "gpu1", "--gres=gpu:a100:8")
    spot = submit(cluster, *words, "-p", "spot", wrap="sleep 120").stdout.strip()
    wait_for_state(cluster, wait_until, spot, "RUNNING")
    urgent = submit(cluster, "-w", "gpu1", "--gres=gpu:a100:4").stdout.strip()
    try:
        wait_for_state(cluster, wait_until, urgent, "COMPLETED")
    finally:
        cluster.run(["scancel", spot, urgent])


@pytest.mark.parametrize(
    ("words", "user", "sentence"),
    [
        (("--gres=gpu:1",), ADA, "say which GPU you want"),
        (("--gpus=2",), ADA, "say which GPU you want"),
        (("--gres=gpu:3g.40gb:1",), ADA, "has no allocation of 3g.40gb"),
        (("--gres=gpu:a100:5",), ADA, "asks for 5 a100 at once"),
        (("--gpus-per-node=a100:3", "-N", "2"), ADA, "asks for 6 a100 at once"),
        (("--gpus-per-task=a100:1", "-n", "5"), ADA, "asks for 5 a100 at once"),
        (("--gpus=a100:9",), ADA, "asks for 9 a100 at once"),
        (("--gres=gpu:a100:1",), BEN, f"{BEN} is not a member of project t1001"),
    ],
)
def test_refuses_with_a_sentence(
    cluster: Sandbox, words: tuple[str, ...], user: str, sentence: str
) -> None:
    done = submit(cluster, *words, user=user)
    assert done.returncode != 0
    assert sentence in done.stderr
    assert "http://portal.test/" in done.stderr


def test_every_update_of_the_policy_is_taken_up_at_once(cluster: Sandbox) -> None:
    began = time.monotonic()
    for number in range(8):
        sentence = f'Hold "{number}" \\ für 100%.'
        assert write_policy(make_policy(hold=sentence), cluster.policy_folder)
        assert sentence in submit(cluster, "--gres=gpu:a100:1").stderr
    assert time.monotonic() - began < 8


def test_a_broken_policy_lets_jobs_pass(cluster: Sandbox) -> None:
    write_policy(make_policy(hold="Closed."), cluster.policy_folder)
    policy_file = cluster.policy_folder / "sluiceway_policy.lua"
    policy_file.write_text("this is no Lua")
    script = cluster.policy_folder / "job_submit.lua"
    ahead = script.stat().st_mtime + 2
    os.utime(script, (ahead, ahead))
    done = submit(cluster, "--gres=gpu:a100:1")
    assert done.returncode == 0, done.stderr


def test_listens_on_loopback_alone(sandbox: Sandbox) -> None:
    ports = {f"{port:04X}" for port in sandbox.state.ports.values()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    bound = [row[1] for row in rows if row[3] == "0A" and row[1].split(":")[1] in ports]
    assert len(bound) == len(ports)
    assert {address.split(":")[0] for address in bound} == {"0100007F"}


def test_a_second_up_is_quick_and_changes_nothing(sandbox: Sandbox) -> None:
    before = sandbox.status()
    began = time.monotonic()
    sandbox.up(print)
    assert time.monotonic() - began < 2
    assert sandbox.status() == before


def test_up_brings_back_what_was_killed_and_keeps_the_jobs(
    cluster: Sandbox, wait_until: Wait
) -> None:
    done = submit(cluster, "--gres=gpu:a100:1", "-w", "gpu1", wrap="sleep 60")
    wait_for_state(cluster, wait_until, done.stdout.strip(), "RUNNING")
    save_jobs(cluster, wait_until, done.stdout.strip())
    for status in cluster.status():
        if status.name in {"slurmctld", "slurmd-gpu1", "munged", "mariadb"}:
            assert status.pid is not None
            os.kill(status.pid, signal.SIGKILL)
    # Another start, interrupted before it could write its PID file, must not end in two.
    (cluster.paths.pids / "slurmd-gpu2.json").unlink(missing_ok=True)
    cluster.up(print)
    assert {status.state for status in cluster.status()} == {ServiceState.RUNNING}
    queue = cluster.run(["squeue", "-h", "-o", "%i %T"])
    assert f"{done.stdout.strip()} RUNNING" in queue.stdout
    cluster.run(["scancel", done.stdout.strip()])


def test_a_pid_file_of_another_process_is_not_believed(sandbox: Sandbox) -> None:
    service_file = sandbox.paths.pids / "slurmd-gpu1.json"
    original = service_file.read_text()
    try:
        service_file.write_text(json.dumps({**json.loads(original), "pid": os.getpid()}))
        gpu1 = next(status for status in sandbox.status() if status.name == "slurmd-gpu1")
        assert gpu1.pid == json.loads(original)["pid"]
    finally:
        service_file.write_text(original)


@pytest.fixture
def second(sandbox: Sandbox, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    """A second sandbox beside the first, in a folder that only root can enter."""
    root = tmp_path_factory.mktemp("private dir")
    root.chmod(0o700)
    spec = SandboxSpec(cluster_name="second", user_prefix="swt-", users=("swt-zoe",))
    cluster = Sandbox(root, spec)
    yield cluster
    cluster.destroy()


def test_two_sandboxes_live_side_by_side_and_destroy_leaves_nothing(
    sandbox: Sandbox, second: Sandbox
) -> None:
    lines: list[str] = []
    second.up(lines.append)
    public = second.paths.public
    assert public.parent == Path("/var/tmp")
    assert any(str(public) in line for line in lines)
    for cluster, name in ((sandbox, "sluiceway"), (second, "second")):
        assert f"= {name}" in cluster.run(["scontrol", "show", "config"]).stdout
    seen = second.run_as("swt-zoe", ["sinfo", "-h", "-o", "%n"])
    assert seen.returncode == 0, seen.stderr
    users_before = {entry.pw_name for entry in pwd.getpwall()}
    second.destroy()
    assert not public.exists()
    assert not second.paths.root.exists()
    assert users_before - {entry.pw_name for entry in pwd.getpwall()} == {"swt-zoe"}
    marked = [read_environment(pid).get(MARKER, "") for pid in list_pids()]
    assert not [path for path in marked if path.startswith(str(second.paths.root))]
    assert {status.state for status in sandbox.status()} == {ServiceState.RUNNING}


def test_a_port_taken_meanwhile_is_chosen_anew(second: Sandbox) -> None:
    second.up(print)
    port = second.state.ports["slurmctld"]
    second.down()
    with socket.create_server(("127.0.0.1", port)):
        second.up(print)
        assert second.state.ports["slurmctld"] != port
        assert {status.state for status in second.status()} == {ServiceState.RUNNING}


def test_a_user_who_is_none_of_the_sandboxs_is_never_touched(tmp_path: Path) -> None:
    cluster = Sandbox(tmp_path / "box", SandboxSpec(user_prefix="dae", users=("daemon",)))
    with pytest.raises(SandboxError, match="none of the sandbox's"):
        cluster.up(print)
    assert not cluster.paths.root.exists()
