"""Hostlists are read as each release's own `scontrol show hostnames` reads them."""

import subprocess

import pytest

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist, fold_hostlist
from tests.matrix.releases import Release

GOOD = (
    "n1",
    "n1,n2",
    "n[1-3]",
    "n[01-03]",
    "n[001-010,020]",
    "n[1,3,5-7]",
    "n[8-12]",
    "n[08-12]",
    "gpu[1-2],cpu[3-4],x",
    "r[1-2]n[1-3]",
    "n-ib[1-2]",
    "n.x[1-2]",
    "a-b[0-1]",
    "n[0-0]",
    "n[099-101]",
    "n1,n1",
    "0[1-2]",
    "N[1-2],n[1-2]",
)
BAD = ("n[3-1]", "n[1-2", "n[a-b]", "n[]", "n[1-]", "n[-1]", "n[1--2]", "n[1-99999999]")
# 22.05 makes nothing of them, 24.11 and 26.05 expand them: refused here, so that a file means the
# same to every release.
SUFFIXED = ("n[1-2]-ib", "n[1-2].x")


def show_hostnames(release: Release, text: str) -> tuple[int, tuple[str, ...]]:
    argv = ["scontrol", "show", "hostnames", text]
    conf = (release.root if release.suite else release.folder) / "hostnames.conf"
    conf.parent.mkdir(parents=True, exist_ok=True)
    # scontrol wants some slurm.conf, whatever it is asked.
    conf.write_text("ClusterName=matrix\nSlurmctldHost=localhost\nNodeName=n1\n")
    env = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "SLURM_CONF": str(conf)}
    if release.suite:
        argv = ["chroot", str(release.root), *argv]
        env["SLURM_CONF"] = f"/{conf.name}"
    done = subprocess.run(
        argv, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=30
    )
    return done.returncode, tuple(done.stdout.split())


@pytest.mark.parametrize("text", GOOD)
def test_expands_as_slurm_does_and_folds_back(text: str, release: Release) -> None:
    code, names = show_hostnames(release, text)
    assert (code, names) == (0, expand_hostlist(text))
    assert show_hostnames(release, fold_hostlist(names)) == (0, names)


@pytest.mark.parametrize("text", BAD)
def test_refuses_what_slurm_refuses_or_does_not_take_as_it_reads(
    text: str, release: Release
) -> None:
    """Slurm itself reads some of them as one strange name; none becomes a list of nodes."""
    with pytest.raises(GresConfigError):
        expand_hostlist(text)
    code, names = show_hostnames(release, text)
    assert code != 0 or len(names) <= 1


@pytest.mark.parametrize("text", SUFFIXED)
def test_refuses_a_suffix_that_only_newer_releases_take(text: str, release: Release) -> None:
    with pytest.raises(GresConfigError):
        expand_hostlist(text)
    code, names = show_hostnames(release, text)
    assert (code, len(names)) == (0, 0 if release.version == "22.05" else 2)
