"""Nothing of a case outlives it: neither processes nor mounts, whatever ends the run."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.matrix.cases import FOUR, make_slurm
from tests.matrix.conftest import MakeCluster
from tests.matrix.releases import ROOT, Release

SCRIPT = """
import sys, time
from pathlib import Path
from tests.matrix.cases import FOUR, make_slurm
from tests.matrix.cluster import Cluster
from tests.matrix.configs import write_etc
from tests.matrix.releases import RELEASES

release = next(r for r in RELEASES if r.version == sys.argv[1])
case = Path(sys.argv[2])
write_etc(case / "etc", release, make_slurm("gpu:a100:4"), FOUR)
with Cluster(release, case, ["n1"]) as cluster:
    print(cluster.start().nodes["n1"].state, flush=True)
    time.sleep(600)
"""


def list_processes(case: Path) -> list[int]:
    """Return processes that have files of the case open, or its name in their command."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                links = [os.readlink(link) for link in (folder / "fd").iterdir()]
                words = (folder / "cmdline").read_bytes().decode(errors="replace")
            except OSError:
                continue
            if str(case) in words or any(str(case) in link for link in links):
                found.append(int(folder.name))
    return found


def wait_until_gone(case: Path) -> list[int]:
    deadline = time.monotonic() + 15
    while list_processes(case) and time.monotonic() < deadline:
        time.sleep(0.1)
    return list_processes(case)


def test_after_a_case_nothing_runs_and_nothing_is_mounted(
    release: Release, make_cluster: MakeCluster
) -> None:
    with make_cluster(make_slurm("gpu:a100:4"), FOUR) as cluster:
        assert cluster.start().nodes["n1"].is_idle
        assert list_processes(cluster.case)
    assert list_processes(cluster.case) == []
    assert not cluster.case.exists()
    assert "matrix" not in Path("/proc/self/mounts").read_text()


def test_a_run_that_is_killed_takes_its_daemons_with_it(release: Release) -> None:
    case = release.folder / f"case-{os.getpid()}-killed"
    argv = [sys.executable, "-c", SCRIPT, release.version, str(case)]
    run = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    assert run.stdout.readline().strip() == "IDLE"
    # unshare, the first process, munged, slurmctld, slurmscriptd, slurmd.
    assert len(list_processes(case)) >= 5
    run.send_signal(signal.SIGKILL)
    run.wait()
    run.stdout.close()
    assert wait_until_gone(case) == []
    # The folder is left; the next run removes it (conftest).
    shutil.rmtree(case)
    assert "matrix" not in Path("/proc/self/mounts").read_text()
