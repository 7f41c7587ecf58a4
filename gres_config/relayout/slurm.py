"""What a change asks of Slurm and tells it, by scontrol and squeue."""

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from gres_config.relayout.plan import RelayoutError

COMMAND_SECONDS = 60
_REASON = re.compile(r"(?:^|\s)Reason=(.*?)(?:\s+\[[^\]]*\])?\s*(?=\s\w+=|$)")
_BAD = frozenset({"INVAL", "INVALID_REG", "FAIL", "FAILING"})


@dataclass(frozen=True, slots=True)
class NodeState:
    """A node as slurmctld sees it: state words, the drain's reason, GRES, allocated CPUs."""

    words: frozenset[str]
    reason: str
    gres: Mapping[str, int]
    allocated_cpus: int

    @property
    def is_drained(self) -> bool:
        """Whether no job can start on it."""
        return "DRAIN" in self.words

    @property
    def is_responding(self) -> bool:
        """Whether its slurmd answers and what it registered is what slurmctld expects."""
        return not self.words & (_BAD | {"NOT_RESPONDING", "NOT_REGISTERED", "UNKNOWN"})

    @property
    def is_in_service(self) -> bool:
        """Whether it takes jobs."""
        is_up = bool(self.words & {"IDLE", "MIXED", "ALLOCATED"})
        return is_up and self.is_responding and not self.words & {"DRAIN", "DOWN"}


class SlurmControl(Protocol):
    """The few things that a change needs; every method raises RelayoutError."""

    def get_node(self, node: str) -> NodeState:
        """Return the node's state."""

    def list_jobs(self, node: str) -> tuple[str, ...]:
        """Return the jobs that hold anything of the node, suspended and completing ones too."""

    def drain(self, node: str, reason: str) -> None:
        """Let no further job start on the node."""

    def resume(self, node: str) -> None:
        """Let jobs start again."""

    def reconfigure(self) -> None:
        """Let the daemons read their files."""

    def is_answering(self) -> bool:
        """Whether slurmctld answers."""

    def list_accounted_tres(self) -> frozenset[str] | None:
        """Return what slurmctld accounts, in lower case; None where it accounts nothing."""


class CommandLineControl:
    """Slurm's own commands; `slurm_conf` names the cluster, None for the environment's."""

    def __init__(self, slurm_conf: Path | None = None) -> None:
        self._env = {**os.environ, "LC_ALL": "C.UTF-8"}
        if slurm_conf:
            self._env["SLURM_CONF"] = str(slurm_conf)

    def _run(self, *argv: str) -> str:
        return run_command(argv, self._env)

    def get_node(self, node: str) -> NodeState:
        """Return the node's state; RelayoutError for a node that Slurm does not know."""
        return parse_node(self._run("scontrol", "show", "node", node, "--oneliner"))

    def list_jobs(self, node: str) -> tuple[str, ...]:
        """Return ids of jobs on the node; pending ones hold nothing."""
        rows = self._run("squeue", "-h", "-a", "-r", "-w", node, "-o", "%i %T").splitlines()
        pairs = [row.split() for row in rows if row.strip()]
        return tuple(pair[0] for pair in pairs if pair[-1] != "PENDING")

    def drain(self, node: str, reason: str) -> None:
        """Drain the node with a reason."""
        self._run("scontrol", "update", f"nodename={node}", "state=drain", f"reason={reason}")

    def resume(self, node: str) -> None:
        """Resume the node: from a drain, and from DOWN where slurmd was away for long."""
        self._run("scontrol", "update", f"nodename={node}", "state=resume")

    def reconfigure(self) -> None:
        """Run scontrol reconfigure."""
        self._run("scontrol", "reconfigure")

    def is_answering(self) -> bool:
        """Ask by scontrol ping."""
        try:
            return "is UP" in self._run("scontrol", "ping")
        except RelayoutError:
            return False

    def list_accounted_tres(self) -> frozenset[str] | None:
        """Return AccountingStorageTRES as slurmctld has it; None without slurmdbd."""
        return parse_accounted_tres(self._run("scontrol", "show", "config"))


def parse_accounted_tres(text: str) -> frozenset[str] | None:
    """Return the TRES of `scontrol show config`; None where there is no slurmdbd."""
    lines = (line.partition("=") for line in text.splitlines())
    words = {key.strip().lower(): value.strip().lower() for key, _, value in lines}
    if "accountingstoragetres" not in words:
        raise RelayoutError("scontrol show config says nothing of AccountingStorageTRES")
    if "slurmdbd" not in words.get("accountingstoragetype", ""):
        return None
    return frozenset(words["accountingstoragetres"].split(","))


def run_command(
    argv: Sequence[str], env: Mapping[str, str] | None = None, timeout: float = COMMAND_SECONDS
) -> str:
    """Run a program without a shell and return its output; RelayoutError carries what it said."""
    shown = " ".join(argv)
    try:
        done = subprocess.run(
            list(argv), env=dict(env) if env else None, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, errors="replace", timeout=timeout, check=False,
        )  # fmt: skip
    except OSError as error:
        raise RelayoutError(f"{shown}: {error.strerror}") from error
    except subprocess.TimeoutExpired as error:
        raise RelayoutError(f"{shown}: no end within {timeout:g} s") from error
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()
        raise RelayoutError(f"{shown}: exit code {done.returncode}: {said}")
    return done.stdout


def parse_node(line: str) -> NodeState:
    """Return the state of a line of `scontrol show node --oneliner`."""
    state = re.search(r"\sState=(\S+)", line)
    if not state:
        raise RelayoutError(f"scontrol says nothing of the node: {line.strip()[:200]!r}")
    words = set(state[1].replace("*", "+NOT_RESPONDING").split("+"))
    if re.search(r"\sSlurmdStartTime=None(\s|$)", line):
        # slurmctld starts with the state that it saved: nothing has registered since.
        words.add("NOT_REGISTERED")
    reason, gres = _REASON.search(line), re.search(r"\sGres=(\S+)", line)
    allocated = re.search(r"\sCPUAlloc=(\d+)", line)
    return NodeState(
        words=frozenset(words),
        reason=reason[1] if reason else "",
        gres=parse_gpu_counts(gres[1] if gres else ""),
        allocated_cpus=int(allocated[1]) if allocated else 0,
    )


def parse_gpu_counts(text: str) -> dict[str, int]:
    """Return {"a100": 4} for "gpu:a100:4(S:0-1),fpga:2": GRES gpu by type, in lower case."""
    found: dict[str, int] = {}
    for item in re.sub(r"\([^)]*\)", "", text).split(","):
        name, *words = item.split(":")
        if name == "gpu" and words and words[-1].isdigit():
            kind = ":".join(words[:-1]).lower()
            found[kind] = found.get(kind, 0) + int(words[-1])
    return found
