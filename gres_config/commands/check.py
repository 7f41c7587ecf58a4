"""Find what makes daemons die, nodes drain or devices be ignored.

Of an inventory file, or of a slurm.conf and gres.conf that a person wrote; --detected holds them
against what nodes say of themselves. Exit 1 when there is an error.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from gres_config.check import list_rules
from gres_config.check.config import LATEST, ClusterConfig, read_config
from gres_config.check.from_inventory import check_inventory
from gres_config.check.run import Result, check_config, has_errors
from gres_config.detected import read_detected
from gres_config.errors import GresConfigError


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, the release, what nodes say, and the form of the answer."""
    parser.add_argument("file", type=Path, nargs="?", help="inventory file (YAML)")
    parser.add_argument("--slurm-conf", type=Path, metavar="F", help="slurm.conf to check")
    parser.add_argument("--gres-conf", type=Path, metavar="F", help="default: beside slurm.conf")
    parser.add_argument(
        "--slurm-version",
        metavar="V",
        help=f"release of Slurm, 24.11 or 24.11.5 (default: the inventory's, else {LATEST})",
    )
    parser.add_argument(
        "--detected",
        action="append",
        default=[],
        metavar="[NODE=]F",
        help="output of `slurmd -G`, `slurmd -C` or an NVML dump of a node; may be repeated",
    )
    parser.add_argument(
        "--on-node", default="", metavar="NODE", help="this machine is NODE: look for its files"
    )
    parser.add_argument("--format", choices=("text", "json"), default="text")
    parser.add_argument("--list-rules", action="store_true", help="print the rules and end")


def run(args: argparse.Namespace) -> int:
    """Check; returns 1 when there is an error, else 0."""
    if args.list_rules:
        for rule in list_rules():
            print(f"{rule.name} ({rule.severity}, {rule.describe_versions()}): {rule.effect}")
            print(f"    {rule.why}")
        return 0
    results = _check(args)
    print(_render_json(results) if args.format == "json" else _render_text(results))
    return 1 if has_errors(results) else 0


def _check(args: argparse.Namespace) -> tuple[Result, ...]:
    detected = [read_detected(argument) for argument in args.detected]
    if args.file:
        if args.slurm_conf or args.gres_conf:
            raise GresConfigError("give an inventory file or --slurm-conf, not both")
        return check_inventory(args.file, args.slurm_version, detected, args.on_node)
    if not args.slurm_conf:
        raise GresConfigError("give an inventory file, or --slurm-conf and --gres-conf")
    config: ClusterConfig = read_config(
        args.slurm_conf,
        args.gres_conf,
        args.slurm_version or LATEST,
        detected=detected,
        device_node=args.on_node,
    )
    return check_config(config)


def _render_text(results: Sequence[Result]) -> str:
    if not results:
        return "nothing found"
    parts: list[str] = []
    for result in results:
        rule, finding = result.rule, result.finding
        nodes = f" [{finding.nodes}]" if finding.nodes else ""
        parts.append(f"{finding.source}: {rule.severity}: {finding.what}{nodes} ({rule.name})")
        parts.append(f"    why: {rule.effect}: {rule.why}")
        if finding.mend:
            parts += [f"    mend: {line}" for line in finding.mend.splitlines()]
    counts = [
        f"{sum(result.rule.severity == grade for result in results)} {grade}(s)"
        for grade in ("error", "warning", "note")
    ]
    return "\n".join([*parts, ", ".join(counts)])


def _render_json(results: Sequence[Result]) -> str:
    findings = [
        {
            "rule": result.rule.name,
            "severity": result.rule.severity.value,
            "effect": result.rule.effect.value,
            "file": result.finding.source.file,
            "line": result.finding.source.line,
            "nodes": result.finding.nodes,
            "what": result.finding.what,
            "why": result.rule.why,
            "mend": result.finding.mend,
            "versions": result.rule.describe_versions(),
        }
        for result in results
    ]
    return json.dumps({"findings": findings}, indent=2, ensure_ascii=False)
