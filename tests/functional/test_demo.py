"""`make demo`, `status`, `stop` and `clean` on the real thing, in a var folder of their own.

The tests run in their order: the first makes the demo, the last takes it away.
"""

import csv
import json
import os
import pwd
import re
import signal
import socket
import subprocess
import time
from collections import defaultdict
from contextlib import suppress
from fractions import Fraction
from pathlib import Path

import pytest

from portal.sandbox.processes import MARKER, list_pids, read_environment

ROOT = Path(__file__).resolve().parents[2]
VAR = ROOT / "var" / "test-demo"
PREFIX = "swt-"
USERS = [f"{PREFIX}{name}" for name in ("mira", "jonas", "lea")]
PRICES = {
    ("a100", "on_demand"): Fraction("2.40"),
    ("a100", "spot"): Fraction("0.96"),
    ("1g.10gb", "on_demand"): Fraction("0.375"),
}
OFFERINGS = {"a100": "a100", "1g.10gb": "a100-1g-10gb"}
ENVIRONMENT = {
    **{k: v for k, v in os.environ.items() if not k.startswith(("SLUICEWAY_", "MAKE", "MFLAGS"))},
    "SLUICEWAY_VAR_DIR": str(VAR),
    "SLUICEWAY_USER_PREFIX": PREFIX,
}
pytestmark = [
    pytest.mark.sandbox,
    pytest.mark.skipif(os.geteuid() != 0, reason="the demo needs root"),
]


def make(target, timeout=180):
    return subprocess.run(
        ["make", target],
        cwd=ROOT,
        env=ENVIRONMENT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout,
        check=False,
    )


@pytest.fixture(scope="module", autouse=True)
def demo_is_taken_away():
    make("clean")
    yield
    make("clean")


class BackgroundDemo:
    """A `make demo` in a process group of its own, as a terminal would start it."""

    def __init__(self, output):
        self.path = output
        with output.open("wb") as stream:
            self.process = subprocess.Popen(
                ["make", "demo"],
                cwd=ROOT,
                env=ENVIRONMENT,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def text(self):
        return self.path.read_text("utf-8", "replace")

    def wait_for(self, words, seconds=60):
        deadline = time.monotonic() + seconds
        while words not in self.text:
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.02)

    def end(self, number):
        os.killpg(self.process.pid, number)
        return self.process.wait(timeout=60)


def run_sacct():
    conf = VAR / "sandbox" / "etc" / "slurm.conf"
    if not conf.exists():
        conf = Path(json.loads((VAR / "sandbox/sandbox.json").read_text())["public"]) / (
            "etc/slurm.conf"
        )
    fields = "Account,User,Partition,State,ElapsedRaw,AllocTRES"
    done = subprocess.run(
        ["sacct", "-aXDnP", "-S", "now-20days", "-o", fields],
        env={"PATH": os.environ["PATH"], "SLURM_CONF": str(conf)},
        stdout=subprocess.PIPE,
        text=True,
        timeout=60,
        check=True,
    )
    return [line.split("|") for line in done.stdout.splitlines()]


def compute_bill():
    """Return {(project, user, offering, option): (unit-seconds, amount)} from sacct alone."""
    seconds = defaultdict(int)
    for account, user, partition, state, elapsed, tres in run_sacct():
        typed = re.search(r"gres/gpu:([\w.]+)=(\d+)", tres)
        if typed and state.split()[0] not in ("RUNNING", "PENDING"):
            option = "spot" if partition == "spot" else "on_demand"
            seconds[account, user, typed[1], option] += int(elapsed) * int(typed[2])
    return {
        (account, user, OFFERINGS[gres], option): (
            total,
            Fraction(round(total * PRICES[gres, option] * 10_000 / 3600), 10_000),
        )
        for (account, user, gres, option), total in seconds.items()
        if total
    }


def read_csv():
    (path,) = VAR.glob("chargeback-*.csv")
    with path.open(encoding="utf-8", newline="") as stream:
        return {
            (row["project"], row["user"], row["offering"], row["purchase_option"]): (
                int(row["unit_seconds"]),
                Fraction(row["amount"]),
            )
            for row in csv.DictReader(stream)
        }


def list_own_processes():
    return [
        pid for pid in list_pids() if read_environment(pid).get(MARKER, "").startswith(f"{VAR}/")
    ]


def test_plays_the_main_job_on_a_fresh_folder_beside_a_taken_port():
    with socket.socket() as holder:
        with suppress(OSError):  # somebody else's then, which serves as well
            holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            holder.bind(("127.0.0.1", 8000))
            holder.listen(1)
        done = make("demo")
    assert done.returncode == 0, done.stdout
    assert "port 8000 is taken by another program" in done.stdout
    for sentence in (
        "swt-mira, swt-jonas, swt-lea",
        "mira (PI) sent the form: request 1",
        "sacctmgr shows account p1001",
        "swt-lea is not a member of project p1001",
        "6 jobs COMPLETED",
        "The main job ran end to end",
    ):
        assert sentence in done.stdout
    assert all(pwd.getpwnam(user) for user in USERS)


def test_its_amounts_are_those_of_sacct_computed_apart():
    bill = compute_bill()
    assert {key[0] for key in bill} == {"p1001"}
    assert len(bill) == 3
    assert read_csv() == bill


def test_keeps_passwords_and_keys_from_other_people():
    for name in ("demo-logins.json", "sluiceway.env"):
        assert (VAR / name).stat().st_mode & 0o077 == 0
    passwords = json.loads((VAR / "demo-logins.json").read_text()).values()
    assert len(set(passwords)) == 6
    log = (VAR / "log" / "demo.log").read_text("utf-8")
    assert not any(password in log for password in passwords)


def test_status_shows_what_runs_and_where():
    done = make("status")
    assert done.returncode == 0, done.stdout
    for word in ("gunicorn", "qcluster", "slurmctld", "http://127.0.0.1:"):
        assert word in done.stdout


def test_runs_again_at_once_while_a_second_one_is_told_so(tmp_path):
    first = BackgroundDemo(tmp_path / "first.txt")
    first.wait_for("Python environment")
    second = make("demo")
    assert second.returncode != 0
    assert "is at work on" in second.stdout
    assert first.process.wait(timeout=180) == 0, first.text
    assert "nothing downloaded" in first.text
    assert read_csv() == compute_bill()


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("Sandbox: ", signal.SIGKILL),
        ("Database: ", signal.SIGKILL),
        ("Web server and task worker: ", signal.SIGKILL),
        ("Approval: ", signal.SIGKILL),
        ("Jobs end: ", signal.SIGINT),
    ],
)
def test_can_be_interrupted_anywhere(tmp_path, words, number):
    demo = BackgroundDemo(tmp_path / "output.txt")
    demo.wait_for(words)
    time.sleep(0.3)
    assert demo.end(number) != 0
    if number == signal.SIGINT:
        assert "Interrupted in the step “Jobs end”" in demo.text


def test_runs_after_the_interruptions_and_after_what_a_reboot_leaves():
    for pid in list_own_processes():
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert make("status").returncode != 0
    done = make("demo")
    assert done.returncode == 0, done.stdout
    assert read_csv() == compute_bill()


def test_a_failure_names_the_step_the_log_and_what_to_do():
    site = VAR / "sluiceway.sqlite3"
    moved = VAR / "kept.sqlite3"
    assert make("stop").returncode == 0
    site.rename(moved)
    site.write_bytes(b"this is no database" * 100)
    for name in ("sluiceway.sqlite3-wal", "sluiceway.sqlite3-shm"):
        (VAR / name).unlink(missing_ok=True)
    done = make("demo")
    moved.rename(site)
    assert done.returncode != 0
    for words in ("failed in the step “Database”", "reason: ", "log:    ", "or make clean, then"):
        assert words in done.stdout


def test_stop_ends_every_process_and_can_be_said_twice():
    for _ in range(2):
        assert make("stop").returncode == 0
    assert list_own_processes() == []
    done = make("status")
    assert done.returncode != 0
    assert "Nothing runs. next: make demo" in done.stdout


def test_clean_takes_the_users_and_the_folder_away_and_can_be_said_twice():
    for _ in range(2):
        done = make("clean")
        assert done.returncode == 0, done.stdout
        assert not VAR.exists()
    assert list_own_processes() == []
    for user in USERS:
        with pytest.raises(KeyError):
            pwd.getpwnam(user)
    assert make("status").returncode != 0
    assert make("stop").returncode == 0
    assert not VAR.exists()
