"""The sandbox's ordinary Unix users: made by useradd, told apart by name prefix and comment."""

import os
import pwd
import re
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from portal.sandbox.errors import SandboxError

COMMENT = "Sluiceway sandbox user"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,30}")
_TRIES = 20


def find_user(name: str) -> pwd.struct_passwd | None:
    """Return the user's passwd entry, None where there is none."""
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def is_sandbox_user(name: str, prefix: str = "") -> bool:
    """Whether the user exists and carries the marks of a sandbox: the comment, and the prefix."""
    entry = find_user(name)
    return entry is not None and name.startswith(prefix) and entry.pw_gecos == COMMENT


def check_user_name(name: str, prefix: str) -> None:
    """Raise SandboxError unless the sandbox may create, use and remove a user of this name."""
    if not _NAME.fullmatch(name) or not prefix or not name.startswith(prefix):
        raise SandboxError(
            f"check the user {name!r}", f"sandbox users are named {prefix}<letters and digits>"
        )
    entry = find_user(name)
    if entry is not None and entry.pw_gecos != COMMENT:
        raise SandboxError(
            f"check the user {name}",
            "this machine has a user of that name who is none of the sandbox's",
            next_step="choose another user prefix (the demo's is in SLUICEWAY_USER_PREFIX); that "
            "user stays untouched",
        )


def create_user(name: str, home: Path) -> bool:
    """Make sure of the user and of a home folder; returns whether the user is now ours.

    A sandbox user whose home is gone (its sandbox was deleted by hand) is taken over; one whose
    home lies elsewhere belongs to another sandbox and is used as it is.
    """
    entry = find_user(name)
    if entry is None:
        _run(
            f"create the user {name}",
            [
                "useradd", "--comment", COMMENT, "--home-dir", str(home), "--no-create-home",
                "--shell", "/bin/bash", "--user-group", "--no-log-init", name,
            ],
        )  # fmt: skip
    elif entry.pw_dir != str(home):
        if Path(entry.pw_dir).exists():
            return False
        _run(f"take over the user {name}", ["usermod", "--home", str(home), name])
    _make_home(name, home)
    return True


def _make_home(name: str, home: Path) -> None:
    entry = pwd.getpwnam(name)
    home.mkdir(mode=0o700, exist_ok=True)
    if home.is_symlink() or home.stat().st_uid not in (0, entry.pw_uid):
        raise SandboxError(f"make the home of {name}", f"{home} belongs to somebody else")
    os.chown(home, entry.pw_uid, entry.pw_gid)


def remove_user(name: str) -> bool:
    """Remove a user that carries a sandbox's mark; returns whether one was removed."""
    if not is_sandbox_user(name):
        return False
    _run(f"remove the user {name}", ["userdel", name])
    return True


def _run(step: str, argv: Sequence[str]) -> None:
    """Run one of shadow's tools; waits where another one holds the lock of /etc/passwd."""
    for attempt in range(_TRIES):
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode == 0:
            return
        if "lock" not in done.stderr or attempt == _TRIES - 1:
            break
        time.sleep(0.25)
    raise SandboxError(
        step, f"{' '.join(argv)}: exit code {done.returncode}: {done.stderr.strip()}"
    )
