"""Writes a folder of files at once: whoever looks sees the old folder or the new one, whole."""

import ctypes
import errno
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

from gres_config.errors import GresConfigError

MARK = ".gres_config"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2  # renameat2(2)


def write_folder(folder: Path, files: Mapping[str, str], empty_files: Iterable[str] = ()) -> bool:
    """Make `folder` hold exactly these files (text by name below it); say whether it changed.

    The folder must be absent, empty, or written by this before: GresConfigError where it holds
    anything else, and where the file system refuses. A run that is killed changes nothing.
    """
    wanted = {**files, **dict.fromkeys(empty_files, ""), MARK: _MARK_TEXT}
    folder = Path(os.path.abspath(folder))
    try:
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise GresConfigError("this is no folder", file_name=str(folder))
        found = _list_files(folder)
        _check_own(folder, found)
        if found == set(wanted) and all(
            (folder / name).read_bytes() == text.encode() for name, text in wanted.items()
        ):
            return False
        folder.parent.mkdir(parents=True, exist_ok=True)
        _replace(folder, wanted)
    except OSError as error:
        reason = f"the folder cannot be written: {error.strerror}"
        raise GresConfigError(reason, file_name=str(error.filename or folder)) from error
    return True


_MARK_TEXT = "This folder is written by gres_config; what is put into it is lost.\n"


def _list_files(folder: Path) -> set[str]:
    return {
        str(path.relative_to(folder))
        for path in folder.rglob("*")
        if not path.is_dir() or path.is_symlink()
    }


def _check_own(folder: Path, found: set[str]) -> None:
    if found and MARK not in found:
        raise GresConfigError(
            f"the folder holds files that are not from here ({min(found)}); give a folder of its "
            "own, and Include its files in slurm.conf",
            file_name=str(folder),
        )


def _replace(folder: Path, wanted: Mapping[str, str]) -> None:
    """Write a new folder beside the old one and let them change places."""
    fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        fresh.chmod(0o755)
        for name, text in wanted.items():
            path = fresh / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as file:
                file.write(text.encode())
                if text:
                    file.flush()
                    os.fsync(file.fileno())
        if folder.exists():
            _exchange(fresh, folder)
        else:
            fresh.rename(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


def _exchange(first: Path, second: Path) -> None:
    """Swap two folders in one step, renameat2(2) with RENAME_EXCHANGE.

    Where the C library or the file system can't, the old folder is moved aside first.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    if hasattr(libc, "renameat2"):
        names = (os.fsencode(first), os.fsencode(second))
        if libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE) == 0:
            return
        number = ctypes.get_errno()
        if number not in (errno.EINVAL, errno.ENOSYS):
            raise OSError(number, os.strerror(number), str(second))
    aside = first.with_name(first.name + ".old")
    second.rename(aside)
    first.rename(second)
    shutil.rmtree(aside, ignore_errors=True)
