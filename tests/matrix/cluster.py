"""A cluster of one release, started from a folder of configuration, and what became of it."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.matrix import inside
from tests.matrix.releases import DIE_WITH_PARENT, MatrixError, Release

CONTROLLER = "controller"
SETTLE_SECONDS = 60.0
POLL_SECONDS = 0.1
_FILE = re.compile(r"\b(?:Multiple)?Files?=(\S+)", re.IGNORECASE)
_BAD_STATES = ("DRAIN", "INVAL", "INVALID_REG", "DOWN", "FAIL")


@dataclass(frozen=True, slots=True)
class Ended:
    """A daemon that ended by itself: its exit code and what it said (fatal and error lines)."""

    code: int
    lines: tuple[str, ...]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)


@dataclass(frozen=True, slots=True)
class NodeReport:
    """What slurmctld says of a node; `ended` when its slurmd is gone, `log` what slurmd said."""

    name: str
    state: str
    reason: str
    gres: dict[str, int]
    ended: Ended | None
    log: str = ""

    @property
    def is_idle(self) -> bool:
        return self.state == "IDLE" and self.ended is None


@dataclass(frozen=True, slots=True)
class Report:
    """What became of a configuration: slurmctld's end, or every node's state."""

    controller: Ended | None
    nodes: dict[str, NodeReport] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """Return everything that was said against it."""
        parts = [self.controller.text] if self.controller else []
        for node in self.nodes.values():
            parts += [node.reason, node.ended.text if node.ended else ""]
        return "\n".join(part for part in parts if part)


class Cluster:
    """One running case. A context manager; at its end nothing is left but the case's folder.

    `etc` holds slurm.conf, gres.conf and so on; the controller is the host "controller", each
    node a host of its own name. Every device file that gres.conf names exists, but for `absent`.
    """

    def __init__(
        self, release: Release, case: Path, nodes: Sequence[str], absent: Iterable[str] = ()
    ) -> None:
        self.release, self.case, self.nodes = release, case, tuple(nodes)
        self._absent = frozenset(absent)
        self._process: subprocess.Popen[str] | None = None

    def __enter__(self) -> "Cluster":
        for name in ("log", "state", "spool", "munge", *(f"spool/{node}" for node in self.nodes)):
            (self.case / name).mkdir(parents=True, exist_ok=True)
        hosts = [f"127.0.0.1 localhost\n127.0.0.1 {CONTROLLER}\n"]
        hosts += [f"127.1.{i // 250}.{i % 250 + 1} {node}\n" for i, node in enumerate(self.nodes)]
        (self.case / "hosts").write_text("".join(hosts))
        key = self.case / "munge" / "key"
        key.write_bytes(b"of a case of the test matrix: no secret" * 4)
        key.chmod(0o400)
        argv = [
            *DIE_WITH_PARENT, "unshare", "--mount", "--uts", "--ipc", "--net", "--pid", "--fork",
            "--kill-child=KILL", "--propagation", "private",
            sys.executable, "-I", inside.__file__, str(self.release.root), str(self.case),
        ]  # fmt: skip
        # A session of its own: Ctrl-C ends it by the end of its input, not in the middle.
        self._process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        try:
            self._read_answer()
            self._start_munge()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """End all processes of the case and take the case's folder away."""
        process = self._process
        if process is None:
            return
        self._process = None
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
        shutil.rmtree(self.case, ignore_errors=True)

    def order(self, do: str, **values: Any) -> dict[str, Any]:
        """Have something done inside (see inside.Host); MatrixError when it cannot be."""
        assert self._process is not None
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"do": do, **values}) + "\n")
        self._process.stdin.flush()
        answer = self._read_answer()
        if "error" in answer:
            raise MatrixError(f"{do} {values}: {answer['error']}")
        return answer

    def _read_answer(self) -> dict[str, Any]:
        assert self._process is not None
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise MatrixError(
                "the namespaces of the case ended: this machine may not allow them to root "
                "(unshare --mount --uts --net --pid)"
            )
        return dict(json.loads(line))

    def run(
        self, argv: Sequence[str], hostname: str = CONTROLLER, timeout: float = 30
    ) -> dict[str, Any]:
        """Run a command of the release; returns its code, out and err."""
        return self.order("run", argv=list(argv), hostname=hostname, timeout=timeout)

    def _start_munge(self) -> None:
        argv = ["munged", "--foreground", "--force"]
        for option in ("key-file", "seed-file", "log-file", "pid-file"):
            argv.append(f"--{option}={inside.CASE}/munge/{option.split('-')[0]}")
        argv.append(f"--socket={inside.CASE}/munge/socket")
        self.order("start", name="munged", argv=argv, hostname=CONTROLLER)
        deadline = time.monotonic() + 10
        while not (self.case / "munge" / "socket").exists():
            if self._find_end("munged") or time.monotonic() > deadline:
                raise MatrixError(f"munged does not start: {self.read_log('munged')}")
            time.sleep(POLL_SECONDS)

    def start(self) -> Report:
        """Start slurmctld and every slurmd, and report once all have settled."""
        self.make_devices()
        ended = self.start_controller()
        if ended:
            return Report(ended)
        for node in self.nodes:
            self.start_node(node)
        return self.wait_settled()

    def make_devices(self) -> None:
        """Make the device files that gres.conf names."""
        for path in list_device_files(self.case / "etc"):
            if path not in self._absent:
                self.order("make_device", path=path)

    def start_controller(self) -> Ended | None:
        """Start slurmctld and wait until it answers; returns how it ended where it did."""
        self.order("start", name="slurmctld", argv=["slurmctld", "-D"], hostname=CONTROLLER)
        deadline = time.monotonic() + SETTLE_SECONDS
        while time.monotonic() < deadline:
            ended = self._find_end("slurmctld")
            if ended:
                return ended
            if "is UP" in self.run(["scontrol", "ping"])["out"]:
                return None
            time.sleep(POLL_SECONDS)
        raise MatrixError(f"slurmctld does not answer: {self.read_log('slurmctld')[-2000:]}")

    def start_node(self, node: str) -> None:
        """Start a node's slurmd, on a host of the node's name."""
        argv = ["slurmd", "-D", "-N", node]
        self.order("start", name=f"slurmd-{node}", argv=argv, hostname=node)

    def stop_node(self, node: str) -> None:
        """Stop a node's slurmd."""
        self.order("stop", name=f"slurmd-{node}", number=int(signal.SIGTERM))

    def wait_settled(self, timeout_seconds: float = SETTLE_SECONDS) -> Report:
        """Wait until each node is idle, or refused, or its slurmd gone; report what there is."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            report = self.read_report()
            seen = [node for node in report.nodes.values() if node.name in self.nodes]
            if report.controller or (seen and all(map(_is_settled, seen))):
                return report
            if time.monotonic() > deadline:
                return report
            time.sleep(POLL_SECONDS)

    def read_report(self) -> Report:
        """Return the state of everything now."""
        ended = self._find_end("slurmctld")
        if ended:
            return Report(ended)
        seen = self.run(["scontrol", "show", "node", "--oneliner"])["out"].splitlines()
        reports = [self._read_node(line) for line in seen if line.startswith("NodeName=")]
        return Report(None, {report.name: report for report in reports})

    def _read_node(self, line: str) -> NodeReport:
        name = line.split()[0].partition("=")[2]
        reason = re.search(r" Reason=(.*?)(?: \[[^\]]*\])?\s*(?= Comment=|$)", line)
        state = re.search(r" State=(\S+)", line)
        gres = re.search(r" Gres=(\S+)", line)
        return NodeReport(
            name=name,
            state=state[1] if state else "",
            reason=reason[1] if reason else "",
            gres=parse_gres(gres[1] if gres else ""),
            ended=self._find_end(f"slurmd-{name}") if name in self.nodes else None,
            log=self.read_log(f"slurmd-{name}"),
        )

    def _find_end(self, name: str) -> Ended | None:
        code = self.order("poll", name=name)["code"]
        if code is None:
            return None
        said = [line for line in self.read_log(name).splitlines() if re.search("fatal|error", line)]
        return Ended(code, tuple(said[-20:]))

    def read_log(self, name: str) -> str:
        """Return what a daemon wrote so far."""
        path = self.case / "log" / f"{name}.log"
        return path.read_text(errors="replace") if path.exists() else ""


def _is_settled(node: NodeReport) -> bool:
    return node.ended is not None or node.state == "IDLE" or any(
        word in node.state.split("+") for word in _BAD_STATES
    )  # fmt: skip


def parse_gres(text: str) -> dict[str, int]:
    """Return {"gpu:a100": 4} for scontrol's Gres=gpu:a100:4(S:0-1); shares may be without type."""
    found: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        name, _, count = item.rpartition(":")
        if name and count.isdigit():
            found[name] = found.get(name, 0) + int(count)
    return found


def list_device_files(etc: Path) -> list[str]:
    """Return the files that the gres.conf of a folder names, brackets expanded."""
    path = etc / "gres.conf"
    text = path.read_text() if path.exists() else ""
    lines = [line.partition("#")[0] for line in text.splitlines()]
    found: dict[str, None] = {}
    for line in lines:
        for match in _FILE.finditer(line):
            for word in re.split(r",(?![^\[]*\])", match[1]):
                found.update(dict.fromkeys(_expand(word)))
    return [name for name in found if name.startswith("/dev/")]


def _expand(word: str) -> list[str]:
    match = re.fullmatch(r"([^\[]*)\[([^\]]*)\](.*)", word)
    if not match:
        return [word]
    names = []
    for part in match[2].split(","):
        first, _, last = part.partition("-")
        for number in range(int(first), int(last or first) + 1):
            names.append(f"{match[1]}{number:0{len(first)}d}{match[3]}")
    return names
