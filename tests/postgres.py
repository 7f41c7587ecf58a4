"""A PostgreSQL of the test run's own: a throwaway data folder, a Unix socket, no TCP."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

STARTUP_SECONDS = 60
INITDB_OPTIONS = ("--username=sluiceway", "--auth=trust", "--encoding=UTF8", "--no-sync")


class PostgresError(Exception):
    """PostgreSQL cannot be found or started."""


def find_bin_dir() -> Path:
    """Return the folder of the newest installed server; raises PostgresError without one."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found:
        raise PostgresError("PostgreSQL is not installed: apt-get install postgresql")
    return found[-1].parent


def _get_owner() -> str | None:
    """Return the user who must own the server: PostgreSQL refuses to run as root."""
    return "postgres" if os.geteuid() == 0 else None


def _run(argv: list[str], owner: str | None) -> None:
    result = subprocess.run(
        argv,
        user=owner,
        group=owner,
        extra_groups=[] if owner else None,
        cwd="/",
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=STARTUP_SECONDS,
        check=False,
    )
    if result.returncode:
        raise PostgresError(f"{' '.join(argv)}\n{result.stdout}{result.stderr}")


@contextmanager
def run_postgres() -> Iterator[str]:
    """Yield the database URL of a server that lives as long as the context."""
    bin_dir = find_bin_dir()
    owner = _get_owner()
    root = Path(tempfile.mkdtemp(prefix="sluiceway-pg-"))
    try:
        if owner:
            entry = pwd.getpwnam(owner)
            os.chown(root, entry.pw_uid, entry.pw_gid)
        data = root / "data"
        _run(
            [
                str(bin_dir / "initdb"),
                "-D",
                str(data),
                "-U",
                "sluiceway",
                "-A",
                "trust",
                "-E",
                "UTF8",
                "--no-sync",
            ],
            owner,
        )
        options = f"-c listen_addresses= -k {root} -c fsync=off -c max_connections=60"
        control = [str(bin_dir / "pg_ctl"), "-D", str(data), "-w"]
        _run([*control, "-l", str(root / "log"), "-o", options, "start"], owner)
        try:
            yield f"postgresql://sluiceway@{quote(str(root), safe='')}/postgres"
        finally:
            _run([*control, "-m", "immediate", "stop"], owner)
    finally:
        shutil.rmtree(root, ignore_errors=True)
