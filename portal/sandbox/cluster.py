"""The sandbox itself: brings a Slurm cluster up, says how it is, takes it down and away."""

import fcntl
import os
import secrets
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from portal.sandbox import config, daemons, users
from portal.sandbox.errors import SandboxError
from portal.sandbox.packages import SLURM_PACKAGES, ensure_packages
from portal.sandbox.paths import PUBLIC_PARENT, SandboxPaths, locate_paths, make_public_folder
from portal.sandbox.processes import (
    MARKER,
    ProcessId,
    Service,
    ServiceStatus,
    end_processes,
    get_identity,
    get_process_id,
    list_pids,
    read_environment,
    write_atomically,
)
from portal.sandbox.spec import SandboxSpec
from portal.sandbox.state import SandboxState, choose_ports, load_state, locate_state, save_state

Report = Callable[[str], None]
PLUGIN_FOLDER = Path(__file__).resolve().parents[2] / "slurm_plugins" / "job_submit"


class Sandbox:
    """One cluster under one root folder. Every method may be called again at any time.

    `logs` is the folder of the log files (default: root/log).
    """

    def __init__(
        self, root: Path, spec: SandboxSpec | None = None, logs: Path | None = None
    ) -> None:
        self.spec = spec or SandboxSpec()
        self._state = load_state(locate_state(root))
        self.paths: SandboxPaths = locate_paths(root, logs, self._state.public)

    @property
    def state(self) -> SandboxState:
        """What is remembered between runs."""
        return self._state

    @property
    def slurm_conf(self) -> Path:
        """The configuration file that clients name in SLURM_CONF."""
        return self.paths.slurm_conf

    @property
    def policy_folder(self) -> Path:
        """Where slurmctld finds job_submit.lua, and therefore its policy."""
        return self.paths.etc

    def make_environment(self) -> dict[str, str]:
        """Return a clean environment for Slurm's commands against this cluster."""
        return daemons.make_environment(self.paths.slurm_conf)

    def up(self, report: Report) -> None:
        """Start whatever does not run, and wait until all nodes are ready for jobs.

        SandboxError tells which step failed, why, and what to do.
        """
        self._require_root("up")
        for name in self.spec.users:
            users.check_user_name(name, self.spec.user_prefix)
        self._make_root(report)
        with self._lock():
            ensure_packages(SLURM_PACKAGES, report, self.paths.logs / "apt.log")
            on_loopback = daemons.can_enter_localhost()
            if not on_loopback:
                report(
                    "warning: this machine allows no UTS namespace; "
                    "Slurm's daemons listen on every address"
                )
            self._choose_ports()
            self._make_users(report)
            self._write_files(report, on_loopback=on_loopback)
            self._start(self._make_services(on_loopback), report)

    def down(self, report: Report = lambda _line: None) -> None:
        """End all processes of the sandbox, running jobs included; data and users stay."""
        self._require_root("down")
        if not self.paths.root.exists():
            return
        with self._lock():
            self._stop(report)

    def status(self) -> tuple[ServiceStatus, ...]:
        """Return the state of each service; all are stopped before the first up()."""
        return tuple(service.get_status() for service in self._make_services(on_loopback=True))

    def destroy(self, report: Report = lambda _line: None) -> None:
        """Take everything away: processes, the Unix users that it created, its folders."""
        self._require_root("destroy")
        if self.paths.root.exists():
            with self._lock():
                self._stop(report)
                self._remove_users(report)
        if self.paths.public != self.paths.root and self.paths.public.parent == PUBLIC_PARENT:
            shutil.rmtree(self.paths.public, ignore_errors=True)
        if self.paths.root.exists():
            shutil.rmtree(self.paths.root)
            report(f"Removed {self.paths.root}")
        self._state = SandboxState()

    def run_as(
        self,
        user: str,
        argv: Sequence[str],
        *,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout_seconds: float = 60,
        stdin: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as an ordinary user of the sandbox, without a shell, in the user's home.

        Returns the finished process with its text output; a non-zero exit code does not raise.
        """
        entry = users.find_user(user)
        if entry is None or not users.is_sandbox_user(user, self.spec.user_prefix):
            raise SandboxError(f"run a command as {user}", "no such user of the sandbox")
        identity = get_identity(user)
        personal = {"HOME": entry.pw_dir, "USER": user, "LOGNAME": user, "SHELL": "/bin/bash"}
        return subprocess.run(
            list(argv),
            env={**self.make_environment(), **personal, **(env or {})},
            cwd=cwd or entry.pw_dir,
            input=stdin if stdin is not None else "",
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_seconds,
            check=False,
            umask=0o022,
            start_new_session=True,
            user=identity.uid,
            group=identity.gid,
            extra_groups=identity.groups,
        )

    def run(
        self, argv: Sequence[str], *, timeout_seconds: float = 60
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's commands as the cluster's administrator."""
        return daemons.run_command(argv, self.make_environment(), timeout_seconds)

    def _require_root(self, step: str) -> None:
        if os.geteuid() != 0:
            raise SandboxError(
                f"sandbox {step}",
                "slurmd runs jobs as other Unix users, which only root may do",
                next_step="run the same command as root or with sudo",
            )

    def _make_root(self, report: Report) -> None:
        self.paths.root.mkdir(parents=True, exist_ok=True)
        self.paths.logs.mkdir(parents=True, exist_ok=True)
        make_public_folder(self.paths)
        if self.paths.public != self.paths.root:
            report(f"Ordinary users cannot reach {self.paths.root}: using {self.paths.public} too")
        self._save(replace(self._state, public=str(self.paths.public)))

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Let one command at a time work on this sandbox."""
        with self.paths.lock_file.open("w") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise SandboxError(
                    "lock the sandbox",
                    f"another command works on {self.paths.root}",
                    next_step="wait for its end and run again",
                ) from None
            self._state = load_state(self.paths.state_file)
            yield

    def _save(self, state: SandboxState) -> None:
        self._state = state
        save_state(self.paths.state_file, state)

    def _choose_ports(self) -> None:
        names = daemons.list_port_names(self.spec)
        running = {s.name for s in self._make_services(on_loopback=True) if s.find_process()}
        ports = choose_ports(names, self._state.ports, running.__contains__)
        self._save(replace(self._state, ports=ports))

    def _make_users(self, report: Report) -> None:
        self.paths.home.mkdir(exist_ok=True)
        self.paths.home.chmod(0o755)
        for name in self.spec.users:
            home = self.paths.home / name
            is_new = users.find_user(name) is None
            if is_new:
                report(f"Creating the Unix user {name}")
                # Remembered first: an interrupt between the two leaves nothing forgotten.
                self._save(self._state.with_users([*self._state.users, name]))
            if users.create_user(name, home) and not is_new:
                self._save(self._state.with_users([*self._state.users, name]))

    def _remove_users(self, report: Report) -> None:
        """Remove the users that it created, also under another prefix than today's."""
        for name in self._state.users:
            entry = users.find_user(name)
            if entry is None or Path(entry.pw_dir).parent != self.paths.home:
                continue
            if users.remove_user(name):
                report(f"Removed the Unix user {name}")

    def _write_files(self, report: Report, *, on_loopback: bool) -> None:
        """Write all files; when the configuration changed, end the daemons that run on the old."""
        files = self._render_files(on_loopback=on_loopback)
        changed = [
            path
            for path, (text, _mode) in files.items()
            if not path.exists() or path.read_text("utf-8") != text
        ]
        if changed:
            self._stop(report)
        daemons.make_folders(self.paths, self.spec)
        for path, (text, mode) in files.items():
            write_atomically(path, text, mode)
        self._install_plugin()

    def _install_plugin(self) -> None:
        """Copy the job_submit plugin; a running slurmctld takes a new one up with the next job."""
        script = self.paths.etc / "job_submit.lua"
        before = script.stat().st_mtime if script.exists() else 0
        changed = [
            write_atomically(self.paths.etc / source.name, source.read_text("utf-8"))
            for source in sorted(PLUGIN_FOLDER.glob("*.lua"))
        ]
        if any(changed):
            # Its mtime has to be later than that of the last load.
            ahead = max(int(time.time()) + 2, int(before) + 1)
            os.utime(script, (ahead, ahead))

    def _render_files(self, *, on_loopback: bool) -> dict[Path, tuple[str, int]]:
        paths, ports, password = self.paths, self._state.ports, self._state.database_password
        dbd = config.render_slurmdbd_conf(paths, ports, password, on_loopback=on_loopback)
        daemons_conf = config.render_daemons_conf(paths, on_loopback=on_loopback)
        return {
            paths.slurm_conf: (config.render_slurm_conf(self.spec, paths, ports), 0o644),
            paths.daemons_conf: (daemons_conf, 0o644),
            paths.etc / "gres.conf": (config.render_gres(self.spec, paths), 0o644),
            paths.etc / "cgroup.conf": (config.render_cgroups(self.spec), 0o644),
            paths.etc / "slurmdbd.conf": (dbd, 0o600),
        }

    def _make_services(self, on_loopback: bool) -> tuple[Service, ...]:
        return daemons.make_services(
            self.paths, self.spec, self._state.ports, on_loopback=on_loopback
        )

    def _start(self, services: Sequence[Service], report: Report) -> None:
        before = {service.name: service.find_process() for service in services}
        if not all(before.values()):
            report("Starting munge, MariaDB, slurmdbd, slurmctld and the nodes")
        daemons.start_services(services, self._make_database)
        log_path = self.paths.logs / "slurmctld.log"
        daemons.wait_for_nodes(self.spec, self.make_environment(), log_path)
        report(f"Slurm is up: SLURM_CONF={self.paths.slurm_conf}")

    def _make_database(self) -> None:
        """Make MariaDB's data folder where there is none, named before it is there."""
        if not self.paths.database.exists():
            self._save(replace(self._state, database_id=secrets.token_hex(4)))
        daemons.make_database(self.paths, self._state.database_password)

    def _stop(self, report: Report) -> None:
        """Stop the services in reverse order, then what they left: steps and users' processes."""
        services = self._make_services(on_loopback=True)
        running = {service.name for service in services if service.find_process()}
        if {"munged", "slurmctld"} <= running:
            count = daemons.cancel_running_jobs(self.make_environment())
            if count:
                report(f"Cancelled {count} running jobs")
        for service in reversed(services):
            if service.stop():
                report(f"Stopped {service.name}")
        leftovers = self._list_leftovers()
        if leftovers:
            end_processes(leftovers, timeout_seconds=2)

    def _list_leftovers(self) -> list[ProcessId]:
        """Return processes started by the sandbox's daemons, and those of its own users."""
        own_ids = {
            entry.pw_uid
            for name in self._state.users
            if users.is_sandbox_user(name) and (entry := users.find_user(name))
        }
        pids_folder = f"{self.paths.pids}/"
        found = []
        for pid in list_pids():
            with suppress(OSError):
                is_own = Path(f"/proc/{pid}").stat().st_uid in own_ids
                if is_own or read_environment(pid).get(MARKER, "").startswith(pids_folder):
                    found.append(get_process_id(pid))
        return [process for process in found if process is not None and process.pid != os.getpid()]
