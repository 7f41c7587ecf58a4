"""The main job's second half: what an ordinary Unix user does on a login node."""

from collections.abc import Sequence
from dataclasses import dataclass

from portal.ops.demo.console import DemoError
from portal.ops.demo.slurm_checks import run_slurm
from portal.ops.demo.waiting import wait_for
from portal.sandbox.cluster import Sandbox

SCRIPT = """#!/bin/bash
#SBATCH --job-name=demo
echo "$(hostname) runs task ${SLURM_ARRAY_TASK_ID:-0} with $SLURM_JOB_GPUS"
sleep $(( $1 + ${SLURM_ARRAY_TASK_ID:-0} ))
"""
SCRIPT_NAME = "job.sh"


@dataclass(frozen=True, slots=True)
class Attempt:
    """A submission that must be refused; `words` must all stand in the sentence."""

    title: str
    user: str
    options: tuple[str, ...]
    words: tuple[str, ...]


JOBS = (
    ("full GPUs", ("--gres=gpu:a100:4",), "6"),
    ("MIG array", ("--gres=gpu:1g.10gb:1", "--array=1-4"), "2"),
    ("preemptible", ("-p", "spot", "--gres=gpu:a100:2"), "5"),
)
JOB_COUNT = 6  # the array has four tasks
ATTEMPTS = (
    Attempt("no GPU type", "jonas", ("--gres=gpu:1",), ("a100", "1g.10gb")),
    Attempt("over the allocation", "jonas", ("--gres=gpu:a100:5",), ("5", "4")),
    Attempt("not a member", "lea", ("--gres=gpu:a100:1",), ("{project}",)),
)


def submit_jobs(sandbox: Sandbox, prefix: str, project: str) -> list[tuple[str, str, str]]:
    """Submit the demo's jobs as the member; return (title, command, job id) of each."""
    user = f"{prefix}jonas"
    _write_script(sandbox, user)
    submitted = []
    for title, options, seconds in JOBS:
        argv = ["sbatch", "-A", project, *options, SCRIPT_NAME, seconds]
        done = sandbox.run_as(user, argv)
        job_id = done.stdout.strip().rpartition(" ")[2]
        if done.returncode != 0 or not job_id.isdigit():
            raise DemoError(
                f"{user} ran {' '.join(argv)}: exit code {done.returncode}: "
                f"{(done.stderr or done.stdout).strip()}",
                log_path=sandbox.paths.logs / "slurmctld.log",
                next_step="see why Slurm refused it: " + f"{sandbox.policy_folder}",
            )
        submitted.append((title, " ".join(argv), job_id))
    return submitted


def submit_refused(sandbox: Sandbox, prefix: str, project: str) -> list[tuple[str, str, str]]:
    """Try what must be refused; return (title, command, sentence) of each."""
    refused = []
    for attempt in ATTEMPTS:
        user = prefix + attempt.user
        _write_script(sandbox, user)
        argv = ["sbatch", "-A", project, *attempt.options, SCRIPT_NAME, "1"]
        done = sandbox.run_as(user, argv)
        sentence = _find_sentence(done.stderr)
        words = [word.format(project=project) for word in attempt.words]
        if done.returncode == 0:
            raise DemoError(f"{user} ran {' '.join(argv)} and was not refused: {done.stdout}")
        if any(word not in sentence for word in words):
            raise DemoError(
                f"{user} ran {' '.join(argv)}; the refusal does not help: {done.stderr.strip()}",
                log_path=sandbox.paths.logs / "slurmctld.log",
            )
        refused.append((f"{attempt.title} ({user})", " ".join(argv), sentence))
    return refused


def _write_script(sandbox: Sandbox, user: str) -> None:
    done = sandbox.run_as(user, ["tee", SCRIPT_NAME], stdin=SCRIPT)
    if done.returncode != 0:
        raise DemoError(f"{user} cannot write {SCRIPT_NAME}: {done.stderr.strip()}")


def _find_sentence(stderr: str) -> str:
    """Return the lines of sbatch's answer without its prefixes and its own last line."""
    lines = [line.removeprefix("sbatch: ").removeprefix("error: ") for line in stderr.splitlines()]
    kept = [line for line in lines if line and not line.startswith("Batch job submission failed")]
    return " ".join(kept)


def wait_for_jobs(sandbox: Sandbox, job_ids: Sequence[str], seconds: float) -> list[list[str]]:
    """Wait until all have ended well; return (job, partition, state, seconds, TRES) of each."""
    argv = [
        "sacct", "-nXP", "--noconvert", "-j", ",".join(job_ids),
        "-o", "JobID,Partition,State,ElapsedRaw,AllocTRES",
    ]  # fmt: skip
    rows: list[list[str]] = []

    def have_ended() -> bool:
        rows[:] = run_slurm(sandbox, argv)
        failed = [row for row in rows if row[2].split(" ")[0] in _BAD_STATES]
        if failed:
            raise DemoError(f"job {failed[0][0]} ended as {failed[0][2]}")
        return len(rows) == JOB_COUNT and all(row[2] == "COMPLETED" for row in rows)

    wait_for(
        f"jobs {', '.join(job_ids)} end", have_ended, seconds,
        f"look at the queue: SLURM_CONF={sandbox.slurm_conf} squeue",
    )  # fmt: skip
    return sorted(rows)


_BAD_STATES = frozenset(
    {"FAILED", "TIMEOUT", "CANCELLED", "NODE_FAIL", "BOOT_FAIL", "OUT_OF_MEMORY", "DEADLINE"}
)
