"""A measured case: a command, its size, the time allowed, and the best of a few runs."""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Case:
    """`prepare` writes what the command needs into a folder and returns the command's argv.

    `limit_seconds` is what the command may take from its start to its end.
    """

    name: str
    size: str
    limit_seconds: float
    prepare: Callable[[Path], Sequence[str]]
    rounds: int = 3


@dataclass(frozen=True)
class Result:
    """The best run of a case: its seconds, those of them on the processor, its peak memory.

    The best, because another program on the machine can only make a run slower.
    """

    name: str
    size: str
    limit_seconds: float
    seconds: float
    cpu_seconds: float
    peak_mib: int
    worst_seconds: float

    @property
    def is_fast(self) -> bool:
        """Whether the best run was within the limit."""
        return self.seconds <= self.limit_seconds


def measure(case: Case) -> Result:
    """Run the case its number of times; CalledProcessError when the command fails."""
    with tempfile.TemporaryDirectory() as folder:
        argv = case.prepare(Path(folder))
        runs = sorted(_run(argv) for _round in range(case.rounds))
    best = runs[0]
    return Result(case.name, case.size, case.limit_seconds, *best, runs[-1][0])


def _run(argv: Sequence[str]) -> tuple[float, float, int]:
    begun = time.perf_counter()
    process = subprocess.Popen(argv, cwd=ROOT, stdout=subprocess.DEVNULL)
    _pid, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(argv))
    return seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // 1024
