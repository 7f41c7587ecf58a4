"""python -m gres_config render: exit codes, what it writes, and that bad input writes nothing."""

from pathlib import Path

import pytest

from gres_config.__main__ import main
from portal.sandbox.spec import INVENTORY_FILE

RENDERED = {
    ".gres_config",
    "cgroup.conf",
    "gres.conf",
    "mig-parted.yaml",
    "slurm-gres.conf",
    "slurm-nodes.conf",
    "slurm-partitions.conf",
}


def read(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_writes_the_same_bytes_each_time(tmp_path: Path, capsys) -> None:
    for name in ("a", "b"):
        assert main(["render", str(INVENTORY_FILE), "--out", str(tmp_path / name)]) == 0
    assert set(read(tmp_path / "a")) == RENDERED
    assert read(tmp_path / "a") == read(tmp_path / "b")
    assert f"Include {tmp_path}/b/slurm-nodes.conf" in capsys.readouterr().out


def test_says_when_the_folder_is_as_it_should_be(tmp_path: Path, capsys) -> None:
    argv = ["render", str(INVENTORY_FILE), "--out", str(tmp_path / "out")]
    assert main(argv) == main(argv) == 0
    assert "out: already as it should be" in capsys.readouterr().out


def test_a_cluster_without_gpus_gets_files_in_their_place(tmp_path: Path) -> None:
    out = tmp_path / "out"
    argv = ["render", str(INVENTORY_FILE), "--out", str(out), "--fake-gpus", "--device-files"]
    assert main(argv) == 0
    text = (out / "gres.conf").read_text()
    assert f"File={out}/dev/nvidia[0-7]" in text
    assert (out / "dev/nvidia7").is_file()
    assert (out / "dev/nvidia-caps/nvidia-cap552").is_file()
    assert (out / "fake_gpus/mig1.conf").read_text().count("nvidia_a100_1g.10gb|") == 14


def test_a_bad_inventory_ends_with_2_and_leaves_the_old_output(tmp_path: Path, capsys) -> None:
    out, good, bad = tmp_path / "out", INVENTORY_FILE.read_text(), tmp_path / "bad.yaml"
    assert main(["render", str(INVENTORY_FILE), "--out", str(out)]) == 0
    before = read(out)
    bad.write_text(good.replace("1g.10gb*7", "1g.10gb*8"))
    assert main(["render", str(bad), "--out", str(out)]) == 2
    assert "bad.yaml:24: node_groups[1].gpus[2].layout: " in capsys.readouterr().err
    assert read(out) == before
    assert main(["render", str(bad), "--out", str(tmp_path / "new")]) == 2
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("argv", [[], ["render"], ["rendr", "x"], ["render", "x"]])
def test_a_wrong_command_line_is_explained(argv: list[str], capsys) -> None:
    with pytest.raises(SystemExit) as caught:
        main(argv)
    assert caught.value.code == 2
    assert "usage: python -m gres_config" in capsys.readouterr().err
