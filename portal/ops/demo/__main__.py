"""Command line of the demo: python3 -m portal.ops.demo demo|status|stop|clean|venv.

It begins on the machine's own Python, with the standard library alone, and goes on inside .venv.
"""

import argparse
import os
import shutil
import sys
from collections.abc import Sequence

from portal.ops.demo import venv
from portal.ops.demo.console import Console, DemoError, StepFailed
from portal.ops.demo.layout import BASE_DIR, DemoLayout, locate_demo
from portal.ops.demo.lock import hand_over, hold_lock
from portal.sandbox.errors import SandboxError
from portal.sandbox.packages import SLURM_PACKAGES, ensure_packages, list_missing_packages
from portal.sandbox.paths import locate_paths
from portal.sandbox.state import load_state, locate_state

COMMANDS = ("demo", "status", "stop", "clean", "venv")
_INSIDE = ("status", "stop", "clean")
_KEPT_VARIABLES = ("SLUICEWAY_VAR_DIR", "SLUICEWAY_USER_PREFIX")


def main(argv: Sequence[str]) -> int:
    """Run one command; return its exit code."""
    parser = argparse.ArgumentParser(prog="python3 -m portal.ops.demo", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--dev", action="store_true", help="venv: with what the tests need")
    parser.add_argument("--packages", nargs="*", default=[], help="venv: Debian packages too")
    options = parser.parse_args(argv)
    layout = locate_demo()
    if options.command != "venv" and os.geteuid() != 0:
        return _ask_sudo(options.command)
    command = f"make {options.command}"
    console = Console(layout.log_file, command)
    try:
        if options.command in _INSIDE and not venv.is_inside():
            return _go_inside(options.command, layout, console)
        if options.command in _INSIDE:
            from portal.ops.demo import host

            return host.run(options.command, layout, console)
        with hold_lock(layout.lock_file, command) as lock:
            _run(options, layout, console, lock)
    except StepFailed as failed:
        return failed.exit_code
    except (DemoError, SandboxError) as error:
        print(f"{command}: {_render(error)}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"{command}: {error}\n  next: repair that and run {command} again", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(f"\nInterrupted. Run {command} again.", file=sys.stderr)
        return 130
    return 0


def _run(options: argparse.Namespace, layout: DemoLayout, console: Console, lock: int) -> None:
    if options.command == "venv":
        _make_venv(layout, console, lock, options.dev, options.packages)
    else:
        _start_demo(layout, console, lock)


def _go_inside(command: str, layout: DemoLayout, console: Console) -> int:
    """Go on inside .venv, made anew where somebody took it away from a demo."""
    if not venv.is_usable():
        if not layout.var.exists():
            print("There is no demo here. next: make demo")
            return 1 if command == "status" else 0
        with hold_lock(layout.lock_file, f"make {command}") as lock:
            _make_venv(layout, console, lock, False, ())
    os.chdir(BASE_DIR)
    argv = [str(venv.VENV_PYTHON), "-m", "portal.ops.demo", command]
    os.execv(argv[0], argv)


def _render(error: DemoError | SandboxError) -> str:
    if isinstance(error, SandboxError):
        return str(error)
    lines = [error.reason]
    if error.log_path:
        lines.append(f"  log:  {error.log_path}")
    if error.next_step:
        lines.append(f"  next: {error.next_step}")
    return "\n".join(lines)


def _ask_sudo(command: str) -> int:
    """Become the same command as root, or say how to."""
    variables = [f"{name}={os.environ[name]}" for name in _KEPT_VARIABLES if name in os.environ]
    argv = ["env", *variables, sys.executable, "-m", "portal.ops.demo", command]
    sudo = shutil.which("sudo")
    if sudo is None:
        print(
            f"make {command} needs root: it starts Slurm's daemons, installs packages and makes "
            f"Unix users.\n  next: log in as root and run make {command}, or install sudo",
            file=sys.stderr,
        )
        return 2
    print(f"make {command} needs root; asking sudo.", flush=True)
    os.chdir(BASE_DIR)
    os.execv(sudo, [sudo, *argv])


def _make_venv(
    layout: DemoLayout, console: Console, lock: int, with_dev: bool, packages: Sequence[str]
) -> None:
    names = (*venv.list_needed_packages(), *packages)
    if list_missing_packages(names):
        with console.step("Debian packages") as step:
            new = ensure_packages(names, console.log, layout.logs / "apt.log")
            step.check(f"installed {', '.join(new)}")
    with console.step("Python environment") as step:
        step.check(venv.ensure_venv(layout.logs / "venv.log", lock, with_dev=with_dev))


def _start_demo(layout: DemoLayout, console: Console, lock: int) -> None:
    """Prepare the machine, then go on inside .venv."""
    layout.save_state(user_prefix=layout.user_prefix)
    packages = (*venv.list_needed_packages(), *SLURM_PACKAGES)
    _announce(layout, console, packages)
    with console.step("Debian packages") as step:
        new = ensure_packages(packages, console.log, layout.logs / "apt.log")
        step.check(f"installed {len(new)}, services off" if new else "all there; nothing installed")
    with console.step("Python environment") as step:
        step.check(venv.ensure_venv(layout.logs / "venv.log", lock))
    hand_over(lock)
    os.environ.update(layout.make_environment())
    os.environ["SLUICEWAY_USER_PREFIX"] = layout.user_prefix
    os.chdir(BASE_DIR)
    argv = [str(venv.VENV_PYTHON), "-m", "portal.ops.demo.main_job"]
    os.execv(argv[0], argv)


def _announce(layout: DemoLayout, console: Console, packages: Sequence[str]) -> None:
    """Say what will be done to the machine, before it is done."""
    if shutil.which("apt-get") is None or shutil.which("dpkg-query") is None:
        raise DemoError(
            "this machine has no apt: the demo's Slurm comes from Debian's packages",
            next_step="run it on Debian 12, in a virtual machine or a container",
        )
    root = layout.sandbox_root
    paths = locate_paths(root, layout.logs, load_state(locate_state(root)).public)
    missing = list_missing_packages(packages)
    folders = [str(venv.VENV), str(layout.var)]
    if paths.public != paths.root:
        folders.append(str(paths.public))
    console.say("Sluiceway's main job, end to end, on a Slurm of its own. On this machine it will")
    console.say(
        f"  install by apt    {', '.join(missing)}; none of their services is started or enabled"
        if missing
        else "  install by apt    nothing: all packages are there"
    )
    console.say(f"  make Unix users   {', '.join(layout.users)}")
    console.say(f"  write in          {', '.join(folders)}")
    console.say("  listen on         127.0.0.1 alone")
    console.say("make clean takes the users and the folders away, but for .venv.\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
