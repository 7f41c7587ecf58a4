"""Runs the layers of the test suite one after the other and ends with a table of them."""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from tests.postgres import run_postgres

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-q", "--durations=3"]


@dataclass(frozen=True)
class Layer:
    """One layer: what it is for, its command, and whether it needs PostgreSQL."""

    name: str
    title: str
    commands: tuple[tuple[str, ...], ...]
    needs_postgres: bool = False


def _pytest(*args: str) -> tuple[str, ...]:
    return (*PYTEST, *args)


def _tool(name: str, *args: str) -> tuple[str, ...]:
    return (str(Path(sys.executable).parent / name), *args)


def _list_shell_files() -> tuple[str, ...]:
    return tuple(str(path) for path in sorted(ROOT.glob(".ci/*")))


PYTHON_ROOMS = ("portal", "accounting", "gres_config", "slurm_plugins", "manage.py")

LAYERS = (
    Layer(
        "lint",
        "ruff, mypy, import floors, templates, Lua and shell",
        (
            _tool("ruff", "check", "."),
            _tool("ruff", "format", "--check", "."),
            _tool("mypy", *PYTHON_ROOMS),
            _tool("lint-imports", "--no-cache"),
            _tool("djlint", "templates/html", "--lint", "--quiet"),
            ("luacheck", "--quiet", "slurm_plugins"),
            ("shellcheck", *_list_shell_files()),
        ),
    ),
    Layer(
        "unit",
        "no database, no Slurm",
        (_pytest("-n", "2", "tests/unit", "tests/lua", "tests/architecture"),),
    ),
    Layer("sqlite", "integration on SQLite", (_pytest("-n", "2", "tests/integration"),)),
    Layer(
        "postgres",
        "integration on PostgreSQL",
        (_pytest("-n", "2", "tests/integration"),),
        needs_postgres=True,
    ),
    Layer(
        "functional",
        "the gateway's contract and the main job on a real Slurm",
        (_pytest("tests/contract", "tests/functional"),),
    ),
    Layer(
        "matrix",
        "configurations given to the daemons of Slurm 22.05, 24.11 and 26.05",
        (_pytest("tests/matrix"),),
    ),
    Layer("browser", "the pages in chromium", (_pytest("tests/browser"),)),
)


def run_layer(layer: Layer) -> bool:
    """Run one layer's commands, all of them also after a failure; say whether all passed."""
    print(f"\n=== {layer.name}: {layer.title}", flush=True)
    with run_postgres() if layer.needs_postgres else nullcontext("") as database_url:
        env = dict(os.environ)
        if database_url:
            env["SLUICEWAY_DATABASE_URL"] = database_url
        else:
            env.pop("SLUICEWAY_DATABASE_URL", None)
        results = [_run_command(command, env) for command in layer.commands]
    return all(results)


def _run_command(command: tuple[str, ...], env: dict[str, str]) -> bool:
    shown = " ".join(part.removeprefix(f"{ROOT}/") for part in command)
    print(f"--- {shown}", flush=True)
    try:
        result = subprocess.run(command, cwd=ROOT, env=env, stdin=subprocess.DEVNULL, check=False)
    except FileNotFoundError:
        print(f"{command[0]} is not installed", flush=True)
        return False
    if result.returncode:
        print(f"!!! ended with {result.returncode}: {shown}", flush=True)
    return result.returncode == 0


def run_all(names: list[str], run: Callable[[Layer], bool] = run_layer) -> int:
    """Run the named layers (all when none is named); return the exit code."""
    rows: list[tuple[str, bool, float]] = []
    for layer in LAYERS:
        if not names or layer.name in names:
            begun = time.monotonic()
            rows.append((layer.name, run(layer), time.monotonic() - begun))
    print("\nlayer        result   seconds")
    for name, is_passed, seconds in rows:
        print(f"{name:<12} {'passed' if is_passed else 'FAILED':<8} {seconds:7.1f}")
    return 0 if all(is_passed for _, is_passed, _ in rows) else 1


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("layers", nargs="*", choices=[[], *(layer.name for layer in LAYERS)])
    return run_all(parser.parse_args().layers)


if __name__ == "__main__":
    sys.exit(main())
