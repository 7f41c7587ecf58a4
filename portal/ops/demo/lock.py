"""At most one demo at a time works on a var folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from portal.ops.demo.console import DemoError

FD_VARIABLE = "SLUICEWAY_DEMO_LOCK"


@contextmanager
def hold_lock(path: Path, command: str) -> Iterator[int]:
    """Hold the lock for the block and yield its descriptor; DemoError says who has it.

    The kernel lets go of it when the last process that has the descriptor ends, however it ends.
    """
    inherited = os.environ.pop(FD_VARIABLE, None)
    descriptor = int(inherited) if inherited else _take(path, command)
    os.set_inheritable(descriptor, False)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def hand_over(descriptor: int) -> None:
    """Let the program that this one becomes by exec keep the lock."""
    os.set_inheritable(descriptor, True)
    os.environ[FD_VARIABLE] = str(descriptor)


def _take(path: Path, command: str) -> int:
    while True:
        descriptor = _open(path, command)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(descriptor, 100).decode("utf-8", "replace").strip()
            os.close(descriptor)
            raise DemoError(
                f"{holder or 'another command'} is at work on {path.parent}",
                next_step=f"wait until it ends, or stop it with Ctrl-C, then run {command} again",
            ) from None
        if _is_current(path, descriptor):
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, f"{command} (process {os.getpid()})\n".encode(), 0)
            return descriptor
        os.close(descriptor)  # make clean removed the file between open and flock


def _open(path: Path, command: str) -> int:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except PermissionError as error:
        raise DemoError(
            f"{path.parent} belongs to another user, as an earlier run by root leaves it",
            next_step=f"sudo {command}, or take it away with sudo make clean",
        ) from error


def _is_current(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(descriptor))
    except FileNotFoundError:
        return False
