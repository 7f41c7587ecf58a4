"""Hostlists: what is expanded as Slurm does, what is refused, and that folding loses nothing."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_files, expand_hostlist, fold_files, fold_hostlist

# Each of these Slurm expands, and so do we, to the same names.
GOOD = [
    "n1", "n[1-3]", "n[01-10]", "n[1,3,5-7]", "a,b", "a[1-2],b[3-4]", "n[1-2]x[3-4]", "a,,b",
    "n[1,1]", "n[1-2,2-3]", "n[08-12]", "n[8-012]", "n[1-03]", "n[001-2]", "n[0-0]", "n[00-02]",
    "n[99-101]", "n[1-2][3-4]", "[1-3]", "N[1-2]", "n[1-2],", "1", "ALL", "n1,n1", "n[00-2]",
    "n[1,2-3]x[01-02,5]", "n[9-010]x[1-2]", "gpu-[1-2]", "rack-1-node[01-03]", "a.b.c[1-2]",
    "n[998-1002]", "x[0001-0003,0007]", "n[5]", "n[1-2]x[3-4]y[5-6]", ",a", "n_[1-2]",
]  # fmt: skip
# Each of these Slurm refuses, and so do we.
BAD = [
    "n[3-1]", "n[]", "n[a-b]", "n[1-2-3]", "n[-3]", "n[1-70000]", "n[[1-2]]",
    "n[1-2];b", "n[1-2]]", "[1,a]", "n[1:3]", "n[0x1-0x3]", "n[1-2]x[a]", "n[1-9/2]",
    "n[1-2,]", "n[,1]", "n[1,,2]", "n[1-2]x[]", "n[3-1]x[1-2]", "n[1-2]]x",
]  # fmt: skip
# 22.05 refuses these, newer releases expand them.
SUFFIXED = ["n[1-2]-ib", "n[1-3]y", "n[1-2]_[01-02]_z"]
# Slurm only seems to understand these: what it makes of them is not what was meant.
MISREAD = [
    "n[1-2", "n1-2]", "n]", "n[1-]", "n[1 - 3]", "n[+1-2]", "n{1-3}", "n(1-2)", " n1", "n1 n2",
    "a b[1-2]", "n[1-2]x[3-", "", ",", "n[1-2]\tm", "n\n", "n=1", "n#1", "ä[1-2]", "n[٣]",
    "n[99999999999999999999]",
]  # fmt: skip


@pytest.mark.parametrize("text", [*BAD, *MISREAD])
def test_refuses_what_slurm_refuses_or_misreads(text: str) -> None:
    with pytest.raises(GresConfigError):
        expand_hostlist(text)


@pytest.mark.parametrize("text", SUFFIXED)
def test_refuses_what_not_every_release_reads_and_says_so(text: str) -> None:
    with pytest.raises(GresConfigError, match=r"which not every Slurm reads \(22.05 refuses it\)"):
        expand_hostlist(text)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("gpu[08-10],login", ("gpu08", "gpu09", "gpu10", "login")),
        ("n[1-2]x[3-4]", ("n1x3", "n1x4", "n2x3", "n2x4")),
        ("n[8-012]", ("n8", "n9", "n10", "n11", "n12")),
    ],
)
def test_expands_in_slurms_order(text: str, names: tuple[str, ...]) -> None:
    assert expand_hostlist(text) == names


def test_refuses_more_hosts_than_any_cluster_has() -> None:
    with pytest.raises(GresConfigError, match="names more than"):
        expand_hostlist("n[1-60000]x[1-60000]")


@pytest.fixture(scope="module")
def ask_slurm(tmp_path_factory: pytest.TempPathFactory):
    if not shutil.which("scontrol"):
        pytest.skip("scontrol is not installed")
    conf: Path = tmp_path_factory.mktemp("slurm") / "slurm.conf"
    conf.write_text("ClusterName=x\nSlurmctldHost=localhost\n")

    def ask(text: str) -> list[str] | None:
        argv = ["scontrol", "show", "hostnames", text]
        env = {"PATH": "/usr/bin:/bin", "SLURM_CONF": str(conf)}
        done = subprocess.run(
            argv, env=env, capture_output=True, text=True, check=False, timeout=30
        )
        # It ends with 0 in any case.
        return (
            None
            if "Invalid hostlist" in done.stdout + done.stderr
            else done.stdout.split("\n")[:-1]
        )

    return ask


@pytest.mark.parametrize("text", GOOD)
def test_expands_as_scontrol_does(ask_slurm, text: str) -> None:
    names, expected = list(expand_hostlist(text)), ask_slurm(text)
    if text.count("[") > 2:  # the order of three ranges is Slurm's own
        names, expected = sorted(names), sorted(expected)
    assert names == expected


@pytest.mark.parametrize("text", BAD)
def test_scontrol_refuses_it_too(ask_slurm, text: str) -> None:
    assert ask_slurm(text) is None


names = st.from_regex(re.compile(r"[a-z][a-z0-9.-]{0,3}[0-9]{0,4}"), fullmatch=True)


@given(st.lists(names, min_size=1, max_size=30))
def test_folding_loses_nothing(given_names: list[str]) -> None:
    assert expand_hostlist(fold_hostlist(given_names)) == tuple(given_names)


@given(
    st.integers(0, 2000), st.integers(0, 300), st.integers(1, 5), st.sampled_from(["n", "a-1-", ""])
)
def test_a_run_of_numbers_folds_into_one_range(
    first: int, more: int, width: int, prefix: str
) -> None:
    run = [f"{prefix}{number:0{width}d}" for number in range(first, first + more + 1)]
    folded = fold_hostlist(run)
    assert expand_hostlist(folded) == tuple(run)
    assert folded.count("[") <= 1
    assert "," not in folded


@pytest.mark.parametrize("name", ["", "a b", "a[1]", "a,b", "-a", "a\n"])
def test_folds_no_name_that_a_hostlist_cannot_hold(name: str) -> None:
    with pytest.raises(GresConfigError):
        fold_hostlist([name])


def test_expands_and_folds_device_files() -> None:
    files = ("/dev/nvidia0", "/dev/nvidia1", "/dev/dri/renderD128")
    assert expand_files("/dev/nvidia[0-1],/dev/dri/renderD128") == files
    assert fold_files(files) == "/dev/nvidia[0-1],/dev/dri/renderD128"


@pytest.mark.parametrize("text", ["nvidia0", "/dev/a b", "", "/dev/nvidia[0-"])
def test_refuses_a_device_file_without_an_absolute_path(text: str) -> None:
    with pytest.raises(GresConfigError):
        expand_files(text)
