"""Background services of one machine without an init system: start, wait, stop, status.

A process is known by its PID together with its start time and the machine's boot, so that a PID
file that outlived a reboot or a kill never leads to a signal for somebody else's process.
"""

import json
import os
import pwd
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

from portal.sandbox.errors import SandboxError, read_last_useful_line

MARKER = "SLUICEWAY_SERVICE"
POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, in a way that is never reused."""

    pid: int
    start_ticks: int
    boot_id: str

    def is_alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        return get_process_id(self.pid) == self


def get_process_id(pid: int) -> ProcessId | None:
    """Return the identity of the process that has `pid` now; None for none and for a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
        boot_id = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return None
    # The command's name may hold blanks and brackets: count from the last bracket on.
    fields = stat.rpartition(")")[2].split()
    if fields[0] in "ZX":
        return None
    return ProcessId(pid, int(fields[19]), boot_id)


def list_pids() -> Iterator[int]:
    """Yield the PIDs of the machine."""
    for name in os.listdir("/proc"):
        if name.isdigit():
            yield int(name)


def read_environment(pid: int) -> Mapping[str, str]:
    """Return the environment a process was started with; empty when it may not be read."""
    try:
        blob = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    pairs = (item.partition(b"=") for item in blob.split(b"\0") if item)
    return {os.fsdecode(key): os.fsdecode(value) for key, _, value in pairs}


class ServiceState(StrEnum):
    """`UNREADY`: the process runs and does not answer (yet)."""

    RUNNING = "running"
    UNREADY = "not ready"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True)
class ServiceStatus:
    """What status prints of one service."""

    name: str
    state: ServiceState
    pid: int | None
    log_path: Path


@dataclass(frozen=True, slots=True)
class Service:
    """A program that runs in the background until it is stopped.

    argv must stay in the foreground (no daemon of its own). `is_ready` is asked until it says
    yes; it must return within a second or two. `user` is a Unix user to run as; None for ours.
    """

    name: str
    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    log_path: Path
    pid_path: Path
    is_ready: Callable[[], bool]
    user: str | None = None

    def find_process(self) -> ProcessId | None:
        """Return the running process of this service, None when there is none."""
        with suppress(OSError, ValueError, TypeError):
            recorded = ProcessId(**json.loads(self.pid_path.read_text("utf-8")))
            if recorded.is_alive():
                return recorded
        return self._find_unrecorded()

    def _find_unrecorded(self) -> ProcessId | None:
        """Find a process whose starter was killed before it could write the PID file."""
        for pid in list_pids():
            if read_environment(pid).get(MARKER) != str(self.pid_path):
                continue
            if _is_session_leader(pid) and _has_same_tail(self.argv, pid):
                return get_process_id(pid)
        return None

    def start(self) -> bool:
        """Start the program unless it runs; returns whether it was started. Does not wait."""
        self.log_path.parent.mkdir(parents=True, exist_ok=True)
        self.pid_path.parent.mkdir(parents=True, exist_ok=True)
        running = self.find_process()
        if running:
            self._record(running)
            return False
        identity = get_identity(self.user) if self.user else None
        with self.log_path.open("ab") as log:
            try:
                process = subprocess.Popen(
                    list(self.argv),
                    env={**self.env, MARKER: str(self.pid_path)},
                    cwd=self.cwd,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    user=identity.uid if identity else None,
                    group=identity.gid if identity else None,
                    extra_groups=identity.groups if identity else None,
                )
            except OSError as error:
                raise SandboxError(f"start of {self.name}", str(error), self.log_path) from error
        found = get_process_id(process.pid)
        _CHILDREN.append(process)
        if found:
            self._record(found)
        return True

    def _record(self, process: ProcessId) -> None:
        write_atomically(self.pid_path, json.dumps(asdict(process)))

    def wait_ready(self, timeout_seconds: float, log_offset: int = 0) -> None:
        """Wait until the service answers; SandboxError when its process ends or time is up."""
        deadline = time.monotonic() + timeout_seconds
        while not self.is_ready():
            process = self.find_process()
            if process is None and not self.is_ready():
                raise self._failure("it ended at once", log_offset)
            if time.monotonic() > deadline:
                raise self._failure(f"no answer within {timeout_seconds:g} s", log_offset)
            time.sleep(POLL_SECONDS)

    def _failure(self, what: str, log_offset: int) -> SandboxError:
        line = read_last_useful_line(self.log_path, log_offset)
        return SandboxError(
            f"start of {self.name}",
            f"{what}; its log ends with: {line}" if line else what,
            self.log_path,
            "read the log, remove the cause and run the same command again",
        )

    def get_log_size(self) -> int:
        """Return the log's size in bytes: the offset where the next start's lines begin."""
        try:
            return self.log_path.stat().st_size
        except OSError:
            return 0

    def stop(self, timeout_seconds: float = 10.0) -> bool:
        """End the process: TERM, then KILL after the timeout. Returns whether one ran."""
        process = self.find_process()
        if process is not None:
            end_processes([process], timeout_seconds)
        self.pid_path.unlink(missing_ok=True)
        return process is not None

    def get_status(self) -> ServiceStatus:
        """Return the state now; asks the service itself when its process runs."""
        process = self.find_process()
        if process is None:
            return ServiceStatus(self.name, ServiceState.STOPPED, None, self.log_path)
        state = ServiceState.RUNNING if self.is_ready() else ServiceState.UNREADY
        return ServiceStatus(self.name, state, process.pid, self.log_path)


def _is_session_leader(pid: int) -> bool:
    """Whether it is what we started, not a worker or a job that inherited the marker."""
    try:
        return os.getsid(pid) == pid
    except OSError:
        return False


def _has_same_tail(argv: Sequence[str], pid: int) -> bool:
    """Compare the arguments from the end: a launcher shortens argv, an interpreter lengthens it."""
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[:-1]
    except OSError:
        return False
    wanted = [os.fsencode(word) for word in argv]
    count = max(1, min(len(command), len(wanted)) - 1)
    return command[-count:] == wanted[-count:]


# Kept so that Python does not warn of a forgotten child: services outlive their starter.
_CHILDREN: list[subprocess.Popen[bytes]] = []


def end_processes(processes: Iterable[ProcessId], timeout_seconds: float) -> None:
    """Send TERM to all, then KILL to those that are left after the timeout; waits for the end."""
    left = list(processes)
    for number, patience in ((signal.SIGTERM, timeout_seconds), (signal.SIGKILL, 5.0)):
        for process in left:
            _send_signal(process, number)
        deadline = time.monotonic() + patience
        while left and time.monotonic() < deadline:
            left = [process for process in left if process.is_alive()]
            if left:
                time.sleep(POLL_SECONDS)
        if not left:
            return
    pids = ", ".join(str(process.pid) for process in left)
    raise SandboxError("stop", f"processes {pids} outlived SIGKILL")


def _send_signal(process: ProcessId, number: signal.Signals) -> None:
    """Signal this very process. The descriptor holds on to it between the check and the signal."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if process.is_alive():
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(handle, number)
    finally:
        os.close(handle)


@dataclass(frozen=True, slots=True)
class Identity:
    """What a process needs to run as a Unix user."""

    uid: int
    gid: int
    groups: tuple[int, ...]


def get_identity(user: str) -> Identity:
    """Return the user's ids as subprocess takes them; KeyError where there is no such user."""
    entry = pwd.getpwnam(user)
    return Identity(entry.pw_uid, entry.pw_gid, tuple(os.getgrouplist(user, entry.pw_gid)))


def write_atomically(path: Path, text: str, mode: int = 0o644) -> bool:
    """Replace the file's text in one step; returns whether anything changed."""
    with suppress(OSError, UnicodeDecodeError):
        if path.read_text("utf-8") == text and path.stat().st_mode & 0o777 == mode:
            return False
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with suppress(FileNotFoundError):
        temporary.unlink()
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "w", encoding="utf-8") as handle:
        handle.write(text)
        os.fchmod(handle.fileno(), mode)
    temporary.replace(path)
    return True
