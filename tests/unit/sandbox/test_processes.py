"""Background services, with small programs of this machine."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from portal.sandbox.errors import SandboxError, read_last_useful_line
from portal.sandbox.processes import (
    Service,
    ServiceState,
    get_process_id,
    read_environment,
    write_atomically,
)

SLEEP = (sys.executable, "-c", "import time; time.sleep(60)")
Make = Callable[..., Service]


@pytest.fixture
def make_service(tmp_path: Path) -> Iterator[Make]:
    made: list[Service] = []

    def make(argv: tuple[str, ...] = SLEEP, is_ready: Callable[[], bool] = lambda: True) -> Service:
        service = Service(
            "thing", argv, {"PATH": os.environ["PATH"]}, tmp_path,
            tmp_path / "log" / "thing.log", tmp_path / "pids" / "thing.json", is_ready,
        )  # fmt: skip
        made.append(service)
        return service

    yield make
    for service in made:
        service.stop(1)


def test_starts_once_and_stops(make_service: Make) -> None:
    service = make_service()
    assert service.start()
    assert not service.start()
    status = service.get_status()
    assert (status.state, status.pid is not None) == (ServiceState.RUNNING, True)
    assert service.stop()
    assert not service.stop()
    assert service.get_status().state is ServiceState.STOPPED


def test_a_process_that_runs_without_answering_is_not_ready(make_service: Make) -> None:
    service = make_service(is_ready=lambda: False)
    service.start()
    assert service.get_status().state is ServiceState.UNREADY
    with pytest.raises(SandboxError, match=r"no answer within 0\.2 s"):
        service.wait_ready(0.2)


def test_an_early_end_is_told_with_the_last_line_of_the_log(make_service: Make) -> None:
    program = "print('fatal: no such port'); print('bye'); raise SystemExit(1)"
    service = make_service((sys.executable, "-c", program), lambda: False)
    service.start()
    with pytest.raises(SandboxError) as caught:
        service.wait_ready(20)
    assert "fatal: no such port" in caught.value.reason
    assert str(service.log_path) in str(caught.value)
    assert "next:" in str(caught.value)


def test_a_program_that_does_not_exist_is_told(make_service: Make) -> None:
    with pytest.raises(SandboxError, match="start of thing failed"):
        make_service(("/nowhere/at-all",)).start()


def test_a_recycled_pid_is_never_signalled(make_service: Make) -> None:
    service = make_service()
    own = get_process_id(os.getpid())
    assert own is not None
    for stale in (
        {"pid": own.pid, "start_ticks": own.start_ticks + 1, "boot_id": own.boot_id},
        {"pid": own.pid, "start_ticks": own.start_ticks, "boot_id": "an-earlier-boot"},
    ):
        service.pid_path.parent.mkdir(exist_ok=True)
        service.pid_path.write_text(json.dumps(stale))
        assert service.get_status().state is ServiceState.STOPPED
        assert not service.stop()


@pytest.mark.parametrize("text", ["", "12", "{}", '{"pid": 1}', "[1, 2]", "\udcff"])
def test_a_broken_pid_file_counts_as_none(make_service: Make, text: str) -> None:
    service = make_service()
    service.pid_path.parent.mkdir(exist_ok=True)
    service.pid_path.write_text(text, errors="surrogateescape")
    assert service.find_process() is None


def test_finds_a_process_whose_pid_file_was_never_written(make_service: Make) -> None:
    service = make_service()
    service.start()
    started = service.find_process()
    assert started is not None
    while not read_environment(started.pid):  # for a moment of its exec a process shows none
        time.sleep(0.01)
    service.pid_path.unlink()
    assert service.find_process() == started
    assert not service.start()


def test_ends_a_process_that_ignores_term(make_service: Make) -> None:
    program = (
        "import signal, time; signal.signal(15, signal.SIG_IGN); "
        "print(1, flush=True); time.sleep(60)"
    )
    service = make_service((sys.executable, "-c", program))
    service.start()
    deadline = time.monotonic() + 10
    while not service.get_log_size() and time.monotonic() < deadline:
        time.sleep(0.02)
    began = time.monotonic()
    assert service.stop(0.3)
    assert time.monotonic() - began < 5
    assert service.find_process() is None


def test_the_last_useful_line_is_the_last_that_tells_of_an_error(tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    assert read_last_useful_line(log) == ""
    log.write_text("error: old\n")
    offset = log.stat().st_size
    log.write_text("error: old\nhello\nERROR: new\nbye\n\n")
    assert read_last_useful_line(log, offset) == "ERROR: new"
    log.write_text("one\ntwo\n")
    assert read_last_useful_line(log) == "two"


def test_writes_atomically_and_says_whether_it_did(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    assert write_atomically(path, "é", 0o600)
    assert not write_atomically(path, "é", 0o600)
    assert write_atomically(path, "é", 0o644)
    assert [item.name for item in tmp_path.iterdir()] == ["secret"]
