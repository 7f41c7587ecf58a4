"""Debian packages that the sandbox and the tests need: what is missing, and a quiet installation.

Quiet: no service of a newly installed package is started (a temporary policy-rc.d) or stays
enabled. A run that is killed half-way leaves a record by which the next one finishes the work.
"""

import fcntl
import json
import os
import shlex
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from portal.sandbox.errors import SandboxError, read_last_useful_line

Report = Callable[[str], None]

SLURM_PACKAGES = (
    "slurmctld",
    "slurmd",
    "slurmdbd",
    "slurm-client",
    "slurm-wlm-basic-plugins",
    "slurm-wlm-mysql-plugin",
    "mariadb-server",
    "munge",
)

POLICY = Path("/usr/sbin/policy-rc.d")
RECORD = Path("/var/lib/sluiceway-install.json")
MARK = "# Sluiceway: no service is started while its packages are installed."
POLICY_TEXT = f"#!/bin/sh\n{MARK}\nexit 101\n"
_APT = ("apt-get", "-y", "-q", "-o", "DPkg::Lock::Timeout=300")
_INSTALL_OPTIONS = (
    "install",
    "--no-install-recommends",
    "-o",
    "Dpkg::Options::=--force-confold",
)


def list_installed_packages() -> frozenset[str]:
    """Return the names of the packages that are installed and configured."""
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${db:Status-Abbrev}\t${Package}\n"],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    pairs = (line.split("\t") for line in done.stdout.splitlines())
    return frozenset(name for status, name in pairs if status.strip().endswith("i"))


def list_missing_packages(names: Sequence[str]) -> tuple[str, ...]:
    """Return those of the packages that are not installed, in their order."""
    installed = list_installed_packages()
    return tuple(name for name in names if name not in installed)


def ensure_packages(names: Sequence[str], report: Report, log_path: Path) -> tuple[str, ...]:
    """Install what is missing, without starting or enabling any service.

    Returns the names of all packages that are new, dependencies included. SandboxError names the
    command to run where this process has no right to install.
    """
    missing = list_missing_packages(names)
    if os.geteuid() != 0:
        if not missing:
            return ()
        raise SandboxError(
            "install Debian packages",
            f"{', '.join(missing)} are missing and only root may install them",
            next_step=f"sudo {shlex.join(_list_manual_command(missing))}",
        )
    if not missing and not RECORD.exists():
        return ()
    with _be_the_only_one():
        _finish_interrupted(report)
        return _install(list_missing_packages(names), report, log_path)


def _list_manual_command(names: Sequence[str]) -> list[str]:
    return ["apt-get", *_INSTALL_OPTIONS[:2], *names]


def _install(names: Sequence[str], report: Report, log_path: Path) -> tuple[str, ...]:
    if not names:
        return ()
    report(f"Installing Debian packages (their services stay off): {', '.join(names)}")
    before = list_installed_packages()
    command = _list_manual_command(names)
    with _hold_services(before, report):
        _run_apt(["dpkg", "--configure", "-a"], log_path, command)
        _run_apt([*_APT, "update"], log_path, command)
        _run_apt([*_APT, *_INSTALL_OPTIONS, *names], log_path, command)
    return tuple(sorted(list_installed_packages() - before))


@contextmanager
def _be_the_only_one() -> Iterator[None]:
    """Wait for other installations by this module; the lock leaves no file behind."""
    folder = os.open("/var/lib/dpkg", os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _wait_for_dpkg() -> None:
    """Wait for an apt or dpkg that outlived its killed starter (they lock with lockf)."""
    with open("/var/lib/dpkg/lock-frontend", "w") as handle:
        fcntl.lockf(handle, fcntl.LOCK_EX)


@contextmanager
def _hold_services(before: frozenset[str], report: Report) -> Iterator[None]:
    """Keep services off for the block, whatever ends it, and disable those that came with it."""
    original = None
    if POLICY.is_symlink() or POLICY.exists():
        # Moved aside, not copied: mode, owner and a link's target come back as they were.
        original = f"{POLICY}.before-sluiceway"
    RECORD.write_text(json.dumps({"packages": sorted(before), "policy": original}), "utf-8")
    with _turn_signals_into_exit():
        try:
            if original:
                POLICY.rename(original)
            POLICY.write_text(POLICY_TEXT, "ascii")
            POLICY.chmod(0o755)
            yield
        finally:
            _finish_interrupted(report)


def _finish_interrupted(report: Report) -> None:
    """Disable the services of packages that are new since the record, and restore the policy."""
    try:
        record = json.loads(RECORD.read_text("utf-8"))
    except FileNotFoundError:
        return
    except ValueError:
        record = {"packages": sorted(list_installed_packages()), "policy": None}
    _wait_for_dpkg()
    with suppress(FileNotFoundError, UnicodeDecodeError):
        if MARK in POLICY.read_text("utf-8"):
            POLICY.unlink()
    original = record["policy"]
    if original and os.path.lexists(original) and not os.path.lexists(POLICY):
        Path(original).rename(POLICY)
    for name in sorted(list_installed_packages() - frozenset(record["packages"])):
        _disable_services(name, report)
    RECORD.unlink()


def _disable_services(package: str, report: Report) -> None:
    """Undo what a postinst enables even where no systemd runs: unit links and rc links."""
    listing = subprocess.run(
        ["dpkg", "-L", package], capture_output=True, text=True, timeout=60, check=False
    )
    files = [Path(line) for line in listing.stdout.splitlines()]
    units = [
        file.name
        for file in files
        if file.parent.as_posix().endswith("lib/systemd/system")
        and file.suffix in {".service", ".socket", ".timer", ".path"}
        and file.is_file()
    ]
    scripts = [file.name for file in files if file.parent == Path("/etc/init.d")]
    for argv in [
        *(["deb-systemd-helper", "disable", unit] for unit in units),
        *(["update-rc.d", script, "disable"] for script in scripts),
    ]:
        # deb-systemd-helper wants to be called for a package, as its maintainer scripts do.
        env = {**os.environ, "DPKG_MAINTSCRIPT_PACKAGE": package}
        done = subprocess.run(
            argv, env=env, capture_output=True, text=True, timeout=60, check=False
        )
        if done.returncode != 0:
            report(f"warning: {shlex.join(argv)}: {done.stderr.strip()}")


def _run_apt(argv: Sequence[str], log_path: Path, command: Sequence[str]) -> None:
    """Run apt or dpkg in a session of its own, so that Ctrl-C never breaks dpkg half-way."""
    log_path.parent.mkdir(parents=True, exist_ok=True)
    with log_path.open("ab") as log:
        offset = log.tell()
        process = subprocess.Popen(
            list(argv),
            env={**os.environ, "DEBIAN_FRONTEND": "noninteractive", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
        try:
            code = process.wait()
        except BaseException:
            # apt-get ignores SIGINT while dpkg works and stops at once while it downloads.
            process.send_signal(signal.SIGINT)
            process.wait()
            raise
    if code != 0:
        raise SandboxError(
            "install Debian packages",
            f"{shlex.join(argv)}: exit code {code}: {read_last_useful_line(log_path, offset)}",
            log_path,
            f"repair that and run again, or install them by hand: sudo {shlex.join(command)}",
        )


@contextmanager
def _turn_signals_into_exit() -> Iterator[None]:
    """Let TERM and HUP end the program as an exception does, so that `finally` runs."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    previous = {n: signal.signal(n, leave) for n in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)
