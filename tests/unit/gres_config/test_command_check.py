"""The command check: its exit code, its forms, and files that cannot be read."""

import json
import time
from pathlib import Path

import pytest

from gres_config.__main__ import main
from gres_config.check import check_config, list_rules
from gres_config.check.config import parse_config
from tests.unit.gres_config.faults import A100, write_slurm

KEYS = {"rule", "severity", "effect", "file", "line", "nodes", "what", "why", "mend", "versions"}


def write(folder: Path, slurm: str, gres: str) -> list[str]:
    """Write both files; returns the words that name them."""
    (folder / "slurm.conf").write_text(slurm)
    (folder / "gres.conf").write_text(gres)
    return ["--slurm-conf", str(folder / "slurm.conf"), "--gres-conf", str(folder / "gres.conf")]


def test_ends_with_0_when_nothing_is_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", *write(tmp_path, write_slurm(), A100)]) == 0
    assert capsys.readouterr().out == "nothing found\n"


def test_a_warning_alone_is_no_failure(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", *write(tmp_path, write_slurm("gpu:a100:1"), A100)]) == 0
    assert "0 error(s), 1 warning(s)" in capsys.readouterr().out


def test_an_error_says_where_why_and_what_to_write(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = write(tmp_path, write_slurm(), A100.strip() + " Count=3\n")
    assert main(["check", *words]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"{tmp_path / 'gres.conf'}:1: error: Count=3")
    assert lines[1].startswith("    why: a daemon dies")
    assert lines[2] == f"    mend: {A100.strip()}"


def test_json_has_every_field(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = write(tmp_path, write_slurm(), A100.strip() + " Count=3\n")
    assert main(["check", *words, "--format", "json"]) == 1
    (finding,) = json.loads(capsys.readouterr().out)["findings"]
    assert set(finding) == KEYS
    assert (finding["line"], finding["severity"]) == (1, "error")


def test_takes_the_gres_conf_beside_slurm_conf_as_slurm_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = write(tmp_path, write_slurm(), A100.strip() + " Count=3\n")
    assert main(["check", *words[:2]]) == 1
    assert f"{tmp_path / 'gres.conf'}:1: error: Count=3" in capsys.readouterr().out


def test_looks_for_device_files_on_the_node_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nvidia0").touch()
    words = write(tmp_path, write_slurm(), A100.replace("/dev/", f"{tmp_path}/"))
    assert main(["check", *words]) == 0
    assert main(["check", *words, "--on-node", "n1"]) == 1
    assert f"this machine has no {tmp_path}/nvidia1" in capsys.readouterr().out


def test_an_inventorys_findings_point_into_the_inventory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "i.yaml"
    path.write_text(
        "cluster: c\nslurm_version: '24.11'\nnode_groups:\n"
        "- {nodes: cpu1, cores_per_socket: 4, memory_mib: 1000}\n"
        "- nodes: n1\n  sockets: 2\n  cores_per_socket: 16\n  memory_mib: 1000\n"
        "  gpus: [{model: A100-80GB, type: a100, count: 2, cores: 0-7}]\n"
    )
    assert main(["check", str(path)]) == 1
    assert capsys.readouterr().out.startswith(f"{path}:5: error: Cores=0-7")


@pytest.mark.parametrize(
    "words",
    [
        ["check"],
        ["check", "nowhere.yaml"],
        ["check", "--slurm-conf", "nowhere.conf"],
        ["check", "x.yaml", "--slurm-conf", "y.conf"],
    ],
)
def test_what_cannot_be_checked_ends_with_2(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err


def test_an_unknown_release_ends_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = write(tmp_path, write_slurm(), A100)
    assert main(["check", *words, "--slurm-version", "19.05"]) == 2
    assert "known are 22.05" in capsys.readouterr().err


def test_lists_its_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--list-rules"]) == 0
    out = capsys.readouterr().out
    assert all(f"{rule.name} (" in out for rule in list_rules())


def test_ten_thousand_nodes_with_lines_of_their_own_take_two_seconds_at_most() -> None:
    node = "CPUs=128 Sockets=2 CoresPerSocket=32 ThreadsPerCore=2 RealMemory=1000000"
    tres = "AccountingStorageTRES=gres/gpu,gres/gpu:a100"
    slurm = write_slurm("", tres=tres) + "".join(
        f"NodeName=m{n} NodeAddr=10.0.{n // 250}.{n % 250} {node} Weight={n} Gres=gpu:a100:8\n"
        for n in range(10_000)
    )
    gres = "".join(
        f"NodeName=m{n} Name=gpu Type=a100 File=/dev/nvidia{gpu} Cores={gpu // 4 * 32}-"
        f"{gpu // 4 * 32 + 31}\n"
        for n in range(10_000)
        for gpu in range(8)
    )
    start = time.process_time()
    assert not check_config(parse_config(slurm, gres, "24.11"))
    assert time.process_time() - start < 2
