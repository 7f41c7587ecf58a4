"""A node of the sandbox goes from seven 1g.10gb to two 3g.40gb while jobs run on the others."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml

from gres_config.commands.relayout import EXIT_BUSY
from gres_config.load import load_inventory
from gres_config.relayout.plan import Step
from gres_config.render import render_files, write_folder
from portal.sandbox.cluster import Sandbox
from portal.sandbox.config import name_slurmd
from portal.sandbox.spec import SandboxSpec

ROOT = Path(__file__).resolve().parents[2]
Wait = Callable[[Callable[[], bool], float], None]
pytestmark = pytest.mark.sandbox


def make_group(node: str, layout: str, devices: str, port: int | None) -> dict[str, object]:
    """Return a node with one GPU whose files are its own: the sandbox's nodes share one machine."""
    folder = f"{devices}/{node}"
    gpu: dict[str, object] = {"model": "A100-80GB", "count": 1, "type": "a100"}
    if layout:
        profile, _, count = layout.partition("*")
        numbers = [12 + 9 * i + (100 if profile[0] == "3" else 0) for i in range(int(count))]
        caps = [[f"{folder}/nvidia0", f"{folder}/cap{n}", f"{folder}/cap{n + 1}"] for n in numbers]
        gpu = {"model": "A100-80GB", "count": 1, "mode": "mig", "layout": layout}
        gpu["mig_files"] = [caps]
    gpu["files"] = [f"{folder}/nvidia0"]
    group: dict[str, object] = {
        "nodes": node, "cores_per_socket": 8, "memory_mib": 16000, "gpus": [gpu],
    }  # fmt: skip
    if port:
        words = {"NodeHostname": "localhost", "NodeAddr": "127.0.0.1", "Port": str(port)}
        group["slurm"] = words
    return group


def write_inventory(
    path: Path, layouts: dict[str, str], devices: str = "/dev", ports: dict[str, int] | None = None
) -> Path:
    groups = [
        make_group(node, layout, devices, (ports or {}).get(name_slurmd(node)))
        for node, layout in layouts.items()
    ]
    document = {
        "cluster": "relayout", "slurm_version": "22.05", "cgroup_plugin": "cgroup/v1",
        "memory_per_cpu_mib": 100, "node_groups": groups,
        "partitions": [{"name": "gpu", "nodes": "ALL", "default": True}],
    }  # fmt: skip
    path.write_text(json.dumps(document))
    return path


class Site:
    """A sandbox whose nodes' lines come from a folder that relayout writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.conf = folder / "conf"
        self.journal = folder / "journal.jsonl"
        layouts = {"g1": "", "m1": "1g.10gb*7", "m2": "1g.10gb*7"}
        first = write_inventory(folder / "sandbox.json", layouts)
        spec = SandboxSpec(cluster_name="relayout", inventory=load_inventory(first))
        self.sandbox = Sandbox(folder / "box", spec)
        self.first = first
        self.layouts = layouts

    def up(self) -> None:
        self.sandbox.up(print)
        devices, ports = str(self.sandbox.paths.devices), dict(self.sandbox.state.ports)
        new = {**self.layouts, "m1": "3g.40gb*2"}
        self.old = write_inventory(self.folder / "old.json", self.layouts, devices, ports)
        self.new = write_inventory(self.folder / "new.json", new, devices, ports)
        write_folder(self.conf, render_files(load_inventory(self.old)))
        self._include_folder()
        self._write_actions()
        self.restart("slurmctld")

    def _include_folder(self) -> None:
        """Let slurm.conf and gres.conf take their lines from the folder."""
        path = self.sandbox.slurm_conf
        own = ("NodeName=", "GresTypes=", "AccountingStorageTRES=", "DefMemPerCPU=")
        lines = [x for x in path.read_text().splitlines() if not x.startswith(own)]
        place = next(i for i, line in enumerate(lines) if line.startswith("PartitionName="))
        for name in ("slurm-nodes.conf", "slurm-gres.conf"):
            lines.insert(place, f"Include {self.conf}/{name}")
        path.write_text("\n".join(lines) + "\n")
        (path.parent / "gres.conf").write_text(f"Include {self.conf}/gres.conf\n")

    def _write_actions(self) -> None:
        def name(verb: str, service: str) -> list[str]:
            script = str(Path(__file__).with_name("sandbox_node.py"))
            return [
                sys.executable,
                script,
                str(self.folder / "box"),
                str(self.first),
                verb,
                service,
            ]

        actions = {
            "device_files": True,
            "stop": [name("stop", "slurmd-{node}")],
            "start": [name("start", "slurmd-{node}")],
            "restart_controller": [name("restart", "slurmctld")],
        }
        (self.folder / "actions.yaml").write_text(yaml.safe_dump(actions))

    def restart(self, service: str) -> None:
        script = str(Path(__file__).with_name("sandbox_node.py"))
        words = [str(self.folder / "box"), str(self.first), "restart", service]
        subprocess.run(
            [sys.executable, script, *words], cwd=ROOT, env=self.make_environment(), check=True
        )

    def make_environment(self) -> dict[str, str]:
        env = {**self.sandbox.make_environment(), "PYTHONPATH": str(ROOT)}
        return {**os.environ, **env}

    def start_relayout(self, *words: str) -> subprocess.Popen[str]:
        argv = [
            sys.executable, "-m", "gres_config", "relayout", str(self.old), str(self.new),
            "--apply", "--conf", str(self.conf), "--journal", str(self.journal),
            "--actions", str(self.folder / "actions.yaml"), *words,
        ]  # fmt: skip
        return subprocess.Popen(
            argv, cwd=ROOT, env=self.make_environment(), stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def run_relayout(self, *words: str) -> tuple[int, str]:
        process = self.start_relayout(*words)
        said, _ = process.communicate(timeout=180)
        return process.returncode, said

    def kill_in_step(self, step: Step) -> bool:
        """Run until the step has begun, and kill -9 there; False when the run ended before."""
        offset = self.journal.stat().st_size if self.journal.exists() else 0
        process = self.start_relayout("--wait", "60")
        while process.poll() is None:
            text = self.journal.read_bytes()[offset:].decode() if self.journal.exists() else ""
            if f'"event": "begin", "node": "m1", "step": "{step.value}"' in text:
                os.killpg(process.pid, signal.SIGKILL)
                break
            time.sleep(0.001)
        said, _ = process.communicate(timeout=60)
        assert process.returncode in (0, -signal.SIGKILL), said
        return process.returncode != 0

    def submit(self, node: str, gres: str, seconds: int) -> str:
        words = ["--parsable", "-w", node, f"--gres=gpu:{gres}", "-o", "/dev/null", "--mem=10"]
        done = self.sandbox.run(["sbatch", *words, "--wrap", f"exec sleep {seconds}"])
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def get_job(self, job: str) -> dict[str, str]:
        line = self.sandbox.run(["scontrol", "show", "job", job, "--oneliner"]).stdout
        words = (word.partition("=") for word in line.split())
        return {key: value for key, _, value in words}

    def list_tres(self) -> str:
        text = self.sandbox.run(["scontrol", "show", "config"]).stdout
        line = next(x for x in text.splitlines() if x.startswith("AccountingStorageTRES"))
        return line.partition("=")[2].strip()

    def get_node(self, node: str) -> dict[str, str]:
        line = self.sandbox.run(["scontrol", "show", "node", node, "--oneliner"]).stdout
        words = (word.partition("=") for word in line.split())
        return {key: value for key, _, value in words}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    if os.geteuid() != 0:
        pytest.fail("the Slurm sandbox runs jobs as several Unix users: run the tests as root")
    site = Site(tmp_path_factory.mktemp("relayout"))
    try:
        site.up()
        yield site
    finally:
        site.sandbox.destroy()


@pytest.fixture(scope="module")
def others(site: Site, wait_until: Wait) -> dict[str, str]:
    """Jobs on the other nodes, with the instant at which each started."""
    jobs = [site.submit("g1", "a100:1", 900), site.submit("m2", "1g.10gb:3", 900)]
    wait_until(lambda: all(site.get_job(j)["JobState"] == "RUNNING" for j in jobs), 60)
    return {job: site.get_job(job)["StartTime"] for job in jobs}


def assert_untouched(site: Site, others: dict[str, str]) -> None:
    for job, started in others.items():
        seen = site.get_job(job)
        assert (seen["JobState"], seen["StartTime"]) == ("RUNNING", started)
        assert seen.get("Restarts") == "0"


def test_a_new_gres_type_is_accounted_before_a_node_is_touched(
    site: Site, others: dict[str, str], wait_until: Wait
) -> None:
    job = site.submit("m1", "1g.10gb:1", 900)
    wait_until(lambda: site.get_job(job)["JobState"] == "RUNNING", 60)
    assert "3g.40gb" not in site.list_tres()
    code, said = site.run_relayout()
    assert code == EXIT_BUSY, said
    assert "cluster: account gres/gpu:3g.40gb and restart slurmctld" in said
    assert {"gres/gpu:1g.10gb", "gres/gpu:3g.40gb"} <= set(site.list_tres().split(","))
    assert site.get_job(job)["JobState"] == "RUNNING"
    assert_untouched(site, others)
    site.sandbox.run(["scancel", job])
    wait_until(lambda: site.get_job(job)["JobState"] == "CANCELLED", 60)
    assert site.sandbox.run(["scontrol", "update", "nodename=m1", "state=resume"]).returncode == 0


def test_a_node_with_a_running_job_is_only_drained(
    site: Site, others: dict[str, str], wait_until: Wait
) -> None:
    job = site.submit("m1", "1g.10gb:2", 900)
    wait_until(lambda: site.get_job(job)["JobState"] == "RUNNING", 60)
    before = site.sandbox.status()
    code, said = site.run_relayout()
    assert code == EXIT_BUSY, said
    assert f"m1 still has jobs ({job})" in said
    assert site.get_job(job)["JobState"] == "RUNNING"
    assert site.sandbox.status() == before
    assert "DRAIN" in site.get_node("m1")["State"]
    assert site.get_node("m1")["Gres"].startswith("gpu:1g.10gb:7")
    site.sandbox.run(["scancel", job])
    assert_untouched(site, others)


def test_killed_in_each_step_and_run_again_the_node_gets_its_layout_and_the_others_go_on(
    site: Site, others: dict[str, str], wait_until: Wait
) -> None:
    waiting = site.submit("m2", "1g.10gb:1", 1)
    killed = [step for step in Step if site.kill_in_step(step)]
    # The steps before the last certainly can be hit; the last is over in a moment.
    assert killed[:-1] == list(Step)[: len(killed) - 1]
    assert len(killed) >= len(Step) - 1
    assert_untouched(site, others)
    code, said = site.run_relayout("--wait", "60")
    assert code == 0, said
    assert_untouched(site, others)
    node = site.get_node("m1")
    assert (node["State"], node["Gres"].split("(")[0]) == ("IDLE", "gpu:3g.40gb:2")
    assert site.get_node("m2")["Gres"].startswith("gpu:1g.10gb:7")
    wait_until(lambda: site.get_job(waiting)["JobState"] == "COMPLETED", 60)


def test_jobs_run_on_the_new_instances_and_the_files_are_those_of_the_new_inventory(
    site: Site, others: dict[str, str], wait_until: Wait
) -> None:
    job = site.submit("m1", "3g.40gb:2", 1)
    wait_until(lambda: site.get_job(job)["JobState"] == "COMPLETED", 60)
    words = ["sacct", "-n", "-P", "-X", "-j", job, "-o", "AllocTRES"]
    wait_until(lambda: "gres/gpu:3g.40gb=2" in site.sandbox.run(words).stdout, 60)
    for name, text in render_files(load_inventory(site.new)).items():
        assert (site.conf / name).read_text() == text
    devices = site.sandbox.paths.devices / "m1"
    assert {path.name for path in devices.iterdir()} == {
        "nvidia0", "cap112", "cap113", "cap121", "cap122",
    }  # fmt: skip
    assert_untouched(site, others)
    code, said = site.run_relayout()
    assert (code, said.count("\n")) == (0, 1)
