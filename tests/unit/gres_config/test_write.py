"""The output folder: all of it or nothing, and never somebody else's files."""

import os
from pathlib import Path

import pytest

from gres_config.errors import GresConfigError
from gres_config.render import write as writing
from gres_config.render.write import MARK, write_folder


def read(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file() and path.name != MARK
    }


def test_writes_a_folder_that_was_not_there_and_says_when_nothing_changed(tmp_path: Path) -> None:
    out = tmp_path / "a" / "out"
    assert write_folder(out, {"x.conf": "1\n", "sub/y.conf": "2\n"}, ["dev/nvidia0"])
    assert read(out) == {"x.conf": "1\n", "sub/y.conf": "2\n", "dev/nvidia0": ""}
    inode = (out / "x.conf").stat().st_ino
    assert not write_folder(out, {"x.conf": "1\n", "sub/y.conf": "2\n"}, ["dev/nvidia0"])
    assert (out / "x.conf").stat().st_ino == inode


def test_a_second_writing_takes_the_old_files_away(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(out, {"x.conf": "1\n", "old.conf": "1\n"})
    assert write_folder(out, {"x.conf": "2\n"})
    assert read(out) == {"x.conf": "2\n"}
    assert os.listdir(tmp_path) == ["out"]


@pytest.mark.parametrize("has_exchange", [True, False])
def test_works_without_an_exchange_of_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_exchange: bool
) -> None:
    if not has_exchange:
        monkeypatch.setattr(writing.ctypes, "CDLL", lambda *_args, **_values: object())
    out = tmp_path / "out"
    write_folder(out, {"x.conf": "1\n"})
    assert write_folder(out, {"x.conf": "2\n"})
    assert read(out) == {"x.conf": "2\n"}
    assert os.listdir(tmp_path) == ["out"]


def test_a_failure_on_the_way_leaves_the_old_folder_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    write_folder(out, {"x.conf": "1\n", "y.conf": "1\n"})

    def fail(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(GresConfigError, match="No space left"):
        write_folder(out, {"x.conf": "2\n", "y.conf": "2\n"})
    assert read(out) == {"x.conf": "1\n", "y.conf": "1\n"}
    assert os.listdir(tmp_path) == ["out"]


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text("mine\n")
    with pytest.raises(GresConfigError, match=r"not from here \(slurm.conf\)"):
        write_folder(tmp_path, {"gres.conf": "1\n"})
    assert read(tmp_path) == {"slurm.conf": "mine\n"}


@pytest.mark.parametrize("make", ["touch", "symlink_to"])
def test_a_file_or_a_link_is_not_replaced_by_a_folder(tmp_path: Path, make: str) -> None:
    out = tmp_path / "out"
    if make == "touch":
        out.touch()
    else:
        out.symlink_to(tmp_path)
    with pytest.raises(GresConfigError, match="no folder"):
        write_folder(out, {"x.conf": "1\n"})
