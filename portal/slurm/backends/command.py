"""Runs Slurm's programs: argv lists, a clean environment, timeouts, errors that carry evidence."""

import os
import re
import select
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from portal.slurm.errors import SlurmCommandError, SlurmCommandUnavailable

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
STREAM_STALL_SECONDS = 900
_CHUNK_BYTES = 1 << 18

# What Slurm's programs say when a daemon, munge or the database is away (22.05; the wording of
# the library's errors has not changed since, see src/common/slurm_errno.c).
_AWAY = re.compile(
    r"Unable to contact slurm controller|Connection refused|Connection reset by peer"
    r"|Connection timed out|Socket timed out|Transport endpoint is not connected|Broken pipe"
    r"|No route to host|Network is unreachable|Unable to connect to database"
    r"|failed to open persistent connection|Problem talking to the database"
    r"|Munge (en|de)code failed|Protocol authentication error|Zero Bytes were transmitted"
    r"|in standby|Database is busy|Unable to establish connection",
    re.IGNORECASE,
)


def is_away_message(output: str) -> bool:
    """Return whether a failed command's output says that a daemon does not answer."""
    return _AWAY.search(output) is not None


def make_command_error(
    argv: Sequence[str], exit_code: int | None, stdout: str, stderr: str
) -> SlurmCommandError:
    """Return the error for a failed command: unavailable or refused, by what it printed."""
    away = exit_code is None or is_away_message(f"{stderr}\n{stdout}")
    kind = SlurmCommandUnavailable if away else SlurmCommandError
    return kind(argv, exit_code, stdout, stderr)


@dataclass(frozen=True, slots=True)
class SlurmCommands:
    """Slurm's programs for one slurm.conf; bin_dir None means the system's path."""

    slurm_conf: Path
    bin_dir: Path | None = None
    timeout_seconds: float = 30

    def make_environment(self) -> dict[str, str]:
        """Return the whole environment of a command: nothing of the caller's is inherited.

        Variables such as SLURM_CONF, SLURM_CLUSTERS, SQUEUE_FORMAT or SLURM_TIME_FORMAT would
        change which Slurm answers and what it prints.
        """
        path = f"{self.bin_dir}:{SYSTEM_PATH}" if self.bin_dir else SYSTEM_PATH
        return {
            "PATH": path,
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "SLURM_CONF": str(self.slurm_conf),
        }

    def make_argv(self, program: str, arguments: Sequence[str]) -> list[str]:
        """Return the argv with the program's path under bin_dir, where there is one."""
        return [str(self.bin_dir / program) if self.bin_dir else program, *arguments]

    def run(self, program: str, *arguments: str) -> str:
        """Return a command's output; raise if its exit code is not 0.

        Raises SlurmCommandUnavailable when a daemon is away or the time is up, and
        SlurmCommandError for every other failure.
        """
        done = self.run_unchecked(program, *arguments)
        if done.returncode != 0:
            raise make_command_error(done.args, done.returncode, done.stdout, done.stderr)
        return done.stdout

    def run_unchecked(self, program: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Return the ended command whatever its exit code; raise if it cannot run or is late."""
        argv = self.make_argv(program, arguments)
        self._check_conf(argv)
        try:
            return subprocess.run(
                argv,
                env=self.make_environment(),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=self.timeout_seconds,
                text=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            late = f"no answer within {self.timeout_seconds} seconds"
            raise SlurmCommandUnavailable(argv, None, _as_text(error.stdout), late) from error
        except OSError as error:
            raise SlurmCommandError(argv, None, "", f"cannot be started: {error}") from error

    @contextmanager
    def stream(self, program: str, *arguments: str) -> Iterator[Iterator[bytes]]:
        """Give the command's raw output lines, each with its newline, as they come.

        The iterator raises when the lines end and the exit code is not 0. Leaving the context
        before that kills the command. No answer for 15 minutes counts as away.
        """
        argv = self.make_argv(program, arguments)
        self._check_conf(argv)
        with tempfile.TemporaryFile() as errors:
            try:
                child = subprocess.Popen(
                    argv,
                    env=self.make_environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=errors,
                    bufsize=0,
                )
            except OSError as error:
                raise SlurmCommandError(argv, None, "", f"cannot be started: {error}") from error
            try:
                yield _read_lines(child, errors, argv)
            finally:
                if child.poll() is None:
                    child.kill()
                child.wait()
                if child.stdout is not None:
                    child.stdout.close()

    def _check_conf(self, argv: Sequence[str]) -> None:
        """Raise at once where Slurm's programs would wait 60 seconds for the file (22.05)."""
        if not self.slurm_conf.is_file():
            raise SlurmCommandUnavailable(argv, None, "", f"there is no {self.slurm_conf}")


def _read_lines(
    child: "subprocess.Popen[bytes]", errors: IO[bytes], argv: Sequence[str]
) -> Iterator[bytes]:
    assert child.stdout is not None
    descriptor = child.stdout.fileno()
    poll = select.poll()
    poll.register(descriptor, select.POLLIN | select.POLLHUP)
    rest = b""
    while True:
        if not poll.poll(STREAM_STALL_SECONDS * 1000):
            raise SlurmCommandUnavailable(argv, None, "", "its output has stalled")
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            break
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
    exit_code = child.wait()
    if exit_code != 0:
        errors.seek(0)
        stderr = errors.read().decode("utf-8", "replace")
        raise make_command_error(argv, exit_code, "", stderr)
    if rest:
        yield rest


def _as_text(output: bytes | str | None) -> str:
    if isinstance(output, bytes):
        return output.decode("utf-8", "replace")
    return output or ""
