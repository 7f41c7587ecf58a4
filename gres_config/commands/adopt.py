"""Make an inventory file of an existing cluster's slurm.conf and gres.conf.

What the inventory cannot express is said, as are guesses. Slurm is told the same by what the
inventory renders to: this is checked, and each difference is named. Exit 1 when there is one.
"""

import argparse
import sys
from pathlib import Path

from gres_config.adopt import Adoption, adopt_cluster
from gres_config.adopt.notes import Kind
from gres_config.check import Severity
from gres_config.check.config import LATEST, read_config
from gres_config.check.run import check_config
from gres_config.dump import dump_inventory
from gres_config.errors import GresConfigError
from gres_config.load import parse_inventory


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the files, the release, the models, and where the inventory goes."""
    parser.add_argument("--slurm-conf", type=Path, required=True, metavar="F")
    parser.add_argument("--gres-conf", type=Path, metavar="F", help="default: beside slurm.conf")
    parser.add_argument("--slurm-version", default=LATEST, metavar="V", help=f"default {LATEST}")
    parser.add_argument(
        "--model",
        action="append",
        default=[],
        metavar="TYPE=MODEL",
        help="a type's GPU model, a100=A100-80GB; mig=MODEL is for all MIG instances",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="inventory file to write")


def run(args: argparse.Namespace) -> int:
    """Adopt; returns 1 when something cannot be expressed, else 0."""
    config = read_config(args.slurm_conf, args.gres_conf, args.slurm_version)
    for result in check_config(config):
        if result.rule.severity is Severity.ERROR:
            source, finding = result.finding.source, result.finding
            _say(f"{source}: error: {finding.what} ({result.rule.name}): check says how to mend it")
    adoption = adopt_cluster(config, dict(_read_model(word) for word in args.model))
    text = dump_inventory(adoption.inventory, tuple(_list_comments(adoption)))
    _say_notes(adoption)
    parse_inventory(text, str(args.out or "the inventory"))
    if args.out:
        _write(args.out, text)
    else:
        sys.stdout.write(text)
    has_lost = any(note.kind is Kind.LOST for note in adoption.notes)
    return 1 if has_lost or adoption.differences else 0


def _read_model(word: str) -> tuple[str, str]:
    kind, sign, model = word.partition("=")
    if not sign or not model:
        raise GresConfigError(f"--model {word}: say TYPE=MODEL")
    return kind, model


def _list_comments(adoption: Adoption) -> list[str]:
    lines = ["Made by gres_config adopt from an existing slurm.conf and gres.conf."]
    lines += [note.render() for note in adoption.notes]
    return lines


def _say_notes(adoption: Adoption) -> None:
    for note in adoption.notes:
        _say(note.render())
    for difference in adoption.differences[:50]:
        _say(f"differs: {difference}")
    if len(adoption.differences) > 50:
        _say(f"differs: and {len(adoption.differences) - 50} more")


def _write(path: Path, text: str) -> None:
    new = path.with_name(f".{path.name}.new")
    try:
        new.write_text(text, "utf-8")
        new.replace(path)
    except OSError as error:
        raise GresConfigError(f"cannot write it: {error.strerror}", file_name=str(path)) from error


def _say(text: str) -> None:
    print(text, file=sys.stderr)
