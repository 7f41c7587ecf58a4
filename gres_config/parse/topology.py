"""Sockets and cores of a node as slurm.conf tells them."""

from collections.abc import Iterable
from dataclasses import dataclass

from gres_config.parse.slurm_conf import Record


@dataclass(frozen=True, slots=True)
class Topology:
    """What Slurm makes of the words of a NodeName line."""

    sockets: int
    cores_per_socket: int
    threads_per_core: int

    @property
    def cores(self) -> int:
        """Cores of the node: the numbers that Cores= may have are below it."""
        return self.sockets * self.cores_per_socket

    @property
    def cpus(self) -> int:
        """Hardware threads of the node."""
        return self.cores * self.threads_per_core


def read_topology(record: Record) -> Topology:
    """Return the topology; a lone CPUs=32 is 32 sockets of one core (_parse_nodename)."""
    cores = _number(record.get("corespersocket")) or 1
    threads = _number(record.get("threadspercore")) or 1
    cpus = _number(record.get("cpus", "procs"))
    boards = _number(record.get("boards")) or 1
    sockets = _number(record.get("sockets")) or boards * _number(record.get("socketsperboard"))
    if not sockets:
        sockets = max(1, cpus // (cores * threads))
    return Topology(sockets, cores, threads)


def fold_numbers(numbers: Iterable[int]) -> str:
    """Return "0-7,16" for the numbers."""
    parts: list[list[int]] = []
    for number in sorted(set(numbers)):
        if parts and parts[-1][1] == number - 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def _number(text: str) -> int:
    return int(text) if text.isdigit() else 0
