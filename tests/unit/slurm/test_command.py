"""Running programs: the environment, time-outs, what an error carries, streams."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.slurm.backends.command import SlurmCommands, is_away_message
from portal.slurm.errors import SlurmCommandError, SlurmCommandUnavailable, SlurmUnavailable
from portal.slurm.factory import GatewaySettings, open_gateway

AWAY_MESSAGES = (
    "slurm_load_jobs error: Unable to contact slurm controller (connect failure)",
    "sacctmgr: error: Sending PersistInit msg: Connection refused",
    "sacct: error: Problem talking to the database: Connection refused",
    "sacctmgr: error: Sending PersistInit msg: Unable to connect to database",
    'sacctmgr: error: Munge encode failed: Failed to access "/run/munge": No such file',
    "slurm_load_jobs error: Protocol authentication error",
    "slurm_load_node error: Socket timed out on send/recv operation",
)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "slurm.conf").write_text("ClusterName=x\n")
    return tmp_path


def _write(folder: Path, name: str, script: str) -> SlurmCommands:
    program = folder / name
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return SlurmCommands(folder / "slurm.conf", folder, timeout_seconds=5)


def test_inherits_nothing_of_the_callers_environment(
    programs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SLURM_CONF", "SLURM_CLUSTERS", "SQUEUE_FORMAT", "SLURM_TIME_FORMAT", "TZ"):
        monkeypatch.setenv(name, "elsewhere")
    output = _write(programs, "squeue", "exec env").run("squeue")
    found = dict(line.split("=", 1) for line in output.splitlines())
    found.pop("PWD", None)
    found.pop("_", None)
    assert found.pop("PATH").startswith(f"{programs}:")
    assert found == {
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
        "SLURM_CONF": str(programs / "slurm.conf"),
    }


def test_passes_arguments_untouched_by_a_shell(programs: Path) -> None:
    commands = _write(programs, "sacctmgr", 'printf "%s\\n" "$@"')
    words = ["a b", "$(id)", "`id`", "c;d", "*", 'quote"d']
    assert commands.run("sacctmgr", *words).splitlines() == words


def test_an_error_carries_argv_exit_code_and_both_outputs(programs: Path) -> None:
    commands = _write(programs, "sacctmgr", "echo out; echo err >&2; exit 3")
    with pytest.raises(SlurmCommandError) as caught:
        commands.run("sacctmgr", "-i", "list")
    error = caught.value
    assert not isinstance(error, SlurmUnavailable)
    assert error.argv == (str(programs / "sacctmgr"), "-i", "list")
    assert (error.exit_code, error.stdout, error.stderr) == (3, "out\n", "err\n")
    assert "err out" in str(error)


def test_a_command_that_hangs_is_killed_and_counts_as_away(programs: Path) -> None:
    _write(programs, "squeue", "exec sleep 60")
    begun = time.monotonic()
    with pytest.raises(SlurmCommandUnavailable) as caught:
        SlurmCommands(programs / "slurm.conf", programs, 0.2).run("squeue")
    assert time.monotonic() - begun < 5
    assert caught.value.exit_code is None


def test_a_missing_slurm_conf_counts_as_away_at_once(tmp_path: Path) -> None:
    with pytest.raises(SlurmCommandUnavailable, match=r"there is no .*slurm\.conf"):
        SlurmCommands(tmp_path / "slurm.conf").run("squeue")


def test_a_missing_program_is_an_error_of_its_own(programs: Path) -> None:
    with pytest.raises(SlurmCommandError, match="cannot be started") as caught:
        SlurmCommands(programs / "slurm.conf", programs).run("squeue")
    assert not isinstance(caught.value, SlurmUnavailable)


@pytest.mark.parametrize("message", AWAY_MESSAGES)
def test_knows_the_words_of_a_daemon_that_is_away(message: str, programs: Path) -> None:
    assert is_away_message(message)
    commands = _write(programs, "squeue", f"cat >&2 <<'END'\n{message}\nEND\nexit 1")
    with pytest.raises(SlurmUnavailable):
        commands.run("squeue")


def test_a_refusal_is_not_taken_for_a_daemon_that_is_away() -> None:
    assert not is_away_message("Error with request: Job(s) active, cancel job(s) before remove")


def test_output_that_is_not_utf_8_does_not_break_the_reader(programs: Path) -> None:
    assert _write(programs, "squeue", r"printf 'a\377b\n'").run("squeue") == "a�b\n"


def test_streams_raw_lines_with_their_newlines(programs: Path) -> None:
    commands = _write(programs, "sacct", r"printf 'one\r\n\n\377two\nlast'")
    with commands.stream("sacct") as lines:
        assert list(lines) == [b"one\r\n", b"\n", b"\xfftwo\n", b"last"]


def test_a_stream_that_fails_raises_after_its_whole_lines(programs: Path) -> None:
    commands = _write(programs, "sacct", "echo one; printf half; echo refused >&2; exit 1")
    got = []
    with pytest.raises(SlurmCommandError, match="refused"), commands.stream("sacct") as lines:
        got.extend(lines)
    with commands.stream("sacct") as lines:
        got.append(next(lines))
        with pytest.raises(SlurmCommandError):
            next(lines)
    assert got == [b"one\n", b"one\n"]


def test_leaving_a_stream_early_ends_the_program(programs: Path) -> None:
    commands = _write(programs, "sacct", f"echo $$ > {programs}/pid; while :; do echo line; done")
    with commands.stream("sacct") as lines:
        assert next(lines) == b"line\n"
    pid = int((programs / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_asks_sacct_for_the_window_in_whole_utc_seconds(programs: Path) -> None:
    _write(programs, "sacct", 'printf "%s\\n" "$@"')
    gateway = open_gateway(GatewaySettings("cli", "x", programs / "slurm.conf", programs))
    start_at = datetime(2026, 1, 1, 0, 0, 0, 5, tzinfo=UTC)
    end_at = datetime(2026, 1, 31, 23, 59, 59, 5, tzinfo=UTC)
    with gateway.stream_sacct(start_at, end_at, ["DBIndex", "JobName"], "~|~") as lines:
        arguments = b"".join(lines).decode().splitlines()
    assert arguments[-4:] == [
        "--starttime=2026-01-01T00:00:00",
        "--endtime=2026-02-01T00:00:00",
        "--format=DBIndex,JobName",
        "--delimiter=~|~",
    ]
