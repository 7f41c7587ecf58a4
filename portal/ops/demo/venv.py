"""Makes .venv and keeps it as pyproject.toml and .constraints.txt say; standard library alone."""

import hashlib
import importlib.util
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from portal.ops.demo.console import DemoError
from portal.ops.demo.layout import BASE_DIR
from portal.sandbox.errors import read_last_useful_line
from portal.sandbox.processes import write_atomically

VENV = BASE_DIR / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
CONSTRAINTS = BASE_DIR / ".constraints.txt"
MINIMUM_PYTHON = (3, 11)
_STAMP = VENV / "sluiceway-stamp.json"
_TIMEOUT_SECONDS = 900


def list_needed_packages() -> tuple[str, ...]:
    """Return the Debian packages without which this Python cannot make a venv."""
    if VENV_PYTHON.exists() or importlib.util.find_spec("ensurepip"):
        return ()
    return ("python3-venv",)


def is_inside() -> bool:
    """Say whether this process runs inside .venv."""
    return Path(sys.prefix).resolve() == VENV.resolve()


def is_usable() -> bool:
    """Say whether .venv is there and holds what the sandbox needs."""
    argv = [str(VENV_PYTHON), "-c", "import pydantic, yaml"]
    try:
        result = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return result.returncode == 0


def ensure_venv(log_path: Path, lock_descriptor: int, *, with_dev: bool = False) -> str:
    """Make or update .venv where something changed; return what was done.

    The children keep the lock's descriptor, so that an orphaned pip keeps a second run waiting.
    """
    if sys.version_info < MINIMUM_PYTHON:
        found = ".".join(str(part) for part in sys.version_info[:3])
        raise DemoError(
            f"Python 3.11 or newer is needed, {sys.executable} is {found}",
            next_step="run make demo HOST_PYTHON=/path/to/python3.11",
        )
    wanted = _hash_inputs()
    done = _read_stamp()
    if VENV_PYTHON.exists() and wanted in (done.get("dev"), None if with_dev else done.get("run")):
        return ".venv is as pyproject.toml and .constraints.txt say; nothing downloaded"
    log_path.parent.mkdir(parents=True, exist_ok=True)
    if not _has_working_pip():
        argv = [sys.executable, "-m", "venv", "--clear", str(VENV)]
        _run(argv, log_path, lock_descriptor)
    target = ".[dev]" if with_dev else "."
    argv = [
        str(VENV_PYTHON), "-m", "pip", "install", "--disable-pip-version-check", "--no-input",
        "-c", str(CONSTRAINTS), "-e", target,
    ]  # fmt: skip
    _run(argv, log_path, lock_descriptor)
    write_atomically(_STAMP, json.dumps({**done, "dev" if with_dev else "run": wanted}))
    return "installed the package and its dependencies, as pinned, into .venv"


def _hash_inputs() -> str:
    digest = hashlib.sha256(os.fsencode(BASE_DIR))
    for path in (BASE_DIR / "pyproject.toml", CONSTRAINTS):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _read_stamp() -> dict[str, str]:
    try:
        stored = json.loads(_STAMP.read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return stored if isinstance(stored, dict) else {}


def _has_working_pip() -> bool:
    if not VENV_PYTHON.exists():
        return False
    argv = [str(VENV_PYTHON), "-m", "pip", "--version"]
    try:
        done = subprocess.run(argv, capture_output=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def make_pip_environment(constraints: Path) -> dict[str, str]:
    """Return what makes pip hold build dependencies to the constraints too.

    pip cuts PIP_CONSTRAINT at blanks: an address of the file has none.
    """
    return {"PIP_CONSTRAINT": constraints.as_uri(), "PIP_ROOT_USER_ACTION": "ignore"}


def _run(argv: Sequence[str], log_path: Path, lock_descriptor: int) -> None:
    env = {**os.environ, **make_pip_environment(CONSTRAINTS)}
    with log_path.open("ab") as log:
        offset = log.tell()
        try:
            done = subprocess.run(
                list(argv), cwd=BASE_DIR, env=env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, timeout=_TIMEOUT_SECONDS, check=False,
                pass_fds=(lock_descriptor,),
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise DemoError(f"{shlex.join(argv)}: {error}", log_path=log_path) from error
    if done.returncode != 0:
        line = read_last_useful_line(log_path, offset)
        raise DemoError(
            f"{shlex.join(argv)}: exit code {done.returncode}: {line}",
            log_path=log_path,
            next_step="see that the package index can be reached (pip's settings, a proxy), "
            f"then run again; `{shlex.join(['rm', '-r', str(VENV)])}` starts from nothing",
        )
