"""Looks into Slurm with its own commands: are the approved things really there."""

import subprocess
from collections.abc import Sequence

from portal.ops.demo.console import DemoError
from portal.ops.demo.requesting import REQUEST_LINES
from portal.sandbox.cluster import Sandbox

POLICY_FILE = "sluiceway_policy.lua"


def run_slurm(sandbox: Sandbox, argv: Sequence[str], *, utc: bool = False) -> list[list[str]]:
    """Run one of Slurm's commands against the sandbox; return its lines cut at "|"."""
    env = {**sandbox.make_environment(), **({"TZ": "UTC"} if utc else {})}
    done = subprocess.run(
        list(argv), env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=60, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        raise DemoError(
            f"{' '.join(argv)}: exit code {done.returncode}: "
            f"{(done.stderr or done.stdout).strip()}",
            log_path=sandbox.paths.logs / "slurmctld.log",
        )
    return [line.split("|") for line in done.stdout.splitlines()]


def list_missing(sandbox: Sandbox, project: str, users: Sequence[str]) -> list[str]:
    """Return what of the project's account, associations, QOS and policy is not there yet."""
    missing = []
    show = ("sacctmgr", "-nP", "show")
    accounts = run_slurm(sandbox, [*show, "account", project, "format=account"])
    if [project] not in accounts:
        missing.append(f"account {project}")
    qos = _list_project_qos(sandbox, project)
    wanted = sorted(f"gres/gpu:{line.gres_type}={line.units}" for line in REQUEST_LINES)
    found = sorted(tres for limits in qos.values() for tres in limits if ":" in tres)
    if found != wanted:
        missing.append(f"QOS with the limits {', '.join(wanted)} (found {', '.join(found)})")
    rows = run_slurm(sandbox, [*show, "assoc", f"account={project}", "format=user,qos"])
    by_user = {row[0]: set(row[1].split(",")) for row in rows if row[0]}
    for user in users:
        if not set(qos) <= by_user.get(user, set()):
            missing.append(f"association of {user} with all QOS")
    policy = sandbox.policy_folder / POLICY_FILE
    if not policy.exists() or f'"{project}"' not in policy.read_text("utf-8"):
        missing.append("the project in the submit policy")
    return missing


def _list_project_qos(sandbox: Sandbox, project: str) -> dict[str, list[str]]:
    """Return the project's QOS with their GrpTRES, those with the right flags alone."""
    rows = run_slurm(sandbox, ["sacctmgr", "-nP", "show", "qos", "format=name,grptres,flags"])
    prefix = f"sw-{project}-"
    return {
        name: tres.split(",")
        for name, tres, flags in rows
        if name.startswith(prefix) and {"DenyOnLimit", "NoDecay"} <= set(flags.split(","))
    }
