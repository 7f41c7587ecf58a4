"""Change MIG layouts on a live cluster: drain, apply, verify, write both files, resume.

OLD is the inventory that the cluster has, NEW the one it shall have; they may differ in nothing
but MIG layouts. slurm.conf Includes what render wrote into --conf, slurm-gres.conf too: GRES types
that no node had are accounted first, by a restart of slurmctld. Without --apply the plan is
printed. With it the nodes are changed one after the other: a node with a running job is never
touched, each step is journalled, and the same command continues after an interrupt. Exit 3: jobs
still run on a drained node, run again later.
"""

import argparse
from pathlib import Path

from gres_config.hostlist import expand_hostlist
from gres_config.load import load_inventory
from gres_config.relayout.actions import Actions, load_actions
from gres_config.relayout.journal import Journal
from gres_config.relayout.plan import Plan, RelayoutError, Step, make_plan
from gres_config.relayout.run import Relayout, StillBusyError
from gres_config.relayout.slurm import CommandLineControl

EXIT_BUSY = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the two inventories and how the change is carried out."""
    parser.add_argument("old", type=Path, help="inventory as the cluster is now")
    parser.add_argument("new", type=Path, help="inventory as it shall be")
    parser.add_argument("--nodes", default="", metavar="HOSTLIST", help="only these nodes")
    parser.add_argument("--apply", action="store_true", help="do it; without it, print the plan")
    parser.add_argument("--conf", type=Path, metavar="DIR", help="folder that render wrote")
    parser.add_argument("--journal", type=Path, metavar="FILE", help="where the steps are kept")
    parser.add_argument("--actions", type=Path, metavar="FILE", help="the site's commands (YAML)")
    parser.add_argument("--slurm-conf", type=Path, metavar="FILE", help="the cluster's slurm.conf")
    parser.add_argument(
        "--wait", type=float, default=0, metavar="SECONDS",
        help="how long to wait for the jobs of a node (default: not at all)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the plan, or carry it out; 3 when jobs are in the way."""
    nodes = expand_hostlist(args.nodes) if args.nodes else ()
    plan = make_plan(load_inventory(args.old), load_inventory(args.new), nodes)
    if not args.apply:
        print(render_plan(plan))
        return 0
    if not args.conf or not args.journal:
        raise RelayoutError("relayout --apply needs --conf and --journal")
    relayout = Relayout(
        plan,
        Journal(args.journal),
        CommandLineControl(args.slurm_conf),
        load_actions(args.actions) if args.actions else Actions(),
        args.conf.resolve(),
        wait_seconds=args.wait,
        report=lambda line: print(line, flush=True),
    )
    try:
        relayout.run()
    except StillBusyError as error:
        print(error)
        return EXIT_BUSY
    print(f"done: {len(plan.chosen)} node(s) have their new layout")
    return 0


def render_plan(plan: Plan) -> str:
    """Return the plan for a person: each node with its steps."""
    lines = [f"plan {plan.plan_id}: {len(plan.chosen)} node(s), one after the other"]
    new = ", ".join(plan.list_new_tres())
    if new:
        lines.append(f"cluster: {new} is new")
        lines.append("  1. write slurm-gres.conf with it in AccountingStorageTRES")
        lines.append("  2. restart slurmctld, and see that it accounts it")
    for change in plan.list_chosen():
        lines.append(f"{change.node}: {change.describe()}")
        lines += [f"  {number}. {step.value}" for number, step in enumerate(Step, start=1)]
    return "\n".join(lines)
