"""The worlds of the contract tests: a backend, and ways to make happen what only Slurm can."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from portal.sandbox.cluster import Sandbox
from portal.slurm.factory import FakeGateway, GatewaySettings, open_gateway
from portal.slurm.gateway import SlurmGateway
from portal.slurm.values import Account, Association, LiveJob, Node, Partition, Qos, make_tres

PREFIX = "ct"
# The one Unix user that submits jobs; all others are users in Slurm's database only.
ADA = "sw-t-ada"


@dataclass
class World:
    """One backend and the ways to make happen what only Slurm and its users can."""

    gateway: SlurmGateway
    prefix: str
    submit: Callable[[str, str], str]
    cancel: Callable[[str], None]
    open_away: Callable[[], SlurmGateway]
    open_misnamed: Callable[[], SlurmGateway]

    def name(self, word: str) -> str:
        """Return a name of this test's own."""
        return f"{self.prefix}{word}"

    def add_project(self, *users: str) -> tuple[str, str]:
        """Make an account with one QOS and its members; return the names of both."""
        account, qos = self.name("p"), self.name("q")
        self.gateway.save_accounts([Account(account, "root", "a project", "an organisation")])
        self.gateway.save_qos([Qos(qos)])
        self.gateway.save_associations(
            [Association(account, user, frozenset({qos}), qos) for user in users]
        )
        return account, qos


def make_fake_world(prefix: str) -> World:
    fake = FakeGateway("contract")
    fake.add_node(
        Node("n1", ("IDLE",), ("gpu",), make_tres({"gpu:a100": 8}), make_tres({"gpu:a100": 0}))
    )
    fake.add_partition(Partition("gpu", ("UP",), ("n1",), 10, "OFF"))

    def submit(account: str, user: str) -> str:
        job_id = str(100 + fake.calls["submit"])
        fake.calls["submit"] += 1
        now = datetime.now(UTC)
        qos = next(
            row.default_qos
            for row in fake.list_associations()
            if (row.account, row.user) == (account, user)
        )
        fake.add_job(LiveJob(job_id, account, user, "RUNNING", "gpu", qos, "", now, now))
        columns = {"JobIDRaw": job_id, "Account": account, "User": user, "State": "RUNNING"}
        fake.add_sacct_row({**columns, "JobName": "wrap"}, now)
        return job_id

    def open_away() -> SlurmGateway:
        away = FakeGateway("contract")
        away.is_away = True
        return away

    def open_misnamed() -> SlurmGateway:
        other = FakeGateway("contract")
        other.answering_cluster = "another"
        return other

    return World(fake, prefix, submit, fake.end_job, open_away, open_misnamed)


def make_settings(sandbox: Sandbox) -> GatewaySettings:
    return GatewaySettings("cli", sandbox.spec.cluster_name, sandbox.slurm_conf)


def make_cli_world(prefix: str, sandbox: Sandbox, tmp_path: Path) -> World:
    settings = make_settings(sandbox)

    def submit(account: str, user: str) -> str:
        argv = ["sbatch", "--parsable", "-A", account, "-o", "/dev/null", "--gres=gpu:a100:1"]
        done = sandbox.run_as(user, [*argv, "--wrap", "sleep 120"])
        assert done.returncode == 0, done.stderr
        job_id = done.stdout.strip()
        wait_until(lambda: any(job.job_id == job_id for job in gateway.list_jobs()))
        return job_id

    def cancel(job_id: str) -> None:
        sandbox.run(["scancel", job_id])
        wait_until(lambda: all(job.job_id != job_id for job in gateway.list_jobs()))

    def open_away() -> SlurmGateway:
        """Return a gateway whose slurm.conf names ports where nothing listens."""
        text = sandbox.slurm_conf.read_text("utf-8")
        for option in ("SlurmctldPort", "AccountingStoragePort"):
            text = _set_option(text, option, "1")
        text = _set_option(text, "MessageTimeout", "2")
        (tmp_path / "slurm.conf").write_text(text, "utf-8")
        return open_gateway(replace(settings, slurm_conf=tmp_path / "slurm.conf"))

    gateway = open_gateway(settings)
    return World(
        gateway,
        prefix,
        submit,
        cancel,
        open_away,
        lambda: open_gateway(replace(settings, cluster_name="another")),
    )


def _set_option(text: str, option: str, value: str) -> str:
    kept = [line for line in text.splitlines() if not line.startswith(f"{option}=")]
    return "\n".join([*kept, f"{option}={value}", ""])


def wait_until(is_so: Callable[[], bool], seconds: float = 20) -> None:
    ends = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < ends, "waited too long for Slurm"
        time.sleep(0.1)
