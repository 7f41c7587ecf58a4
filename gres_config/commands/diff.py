"""Say what changes from OLD to NEW, and what it costs each node.

OLD and NEW are inventory files, a slurm.conf with the gres.conf beside it, or a folder that render
wrote. The costs are: nothing, a reconfigure, a restart, a drain. Exit 0 also when there is one.
"""

import argparse
import json
from collections.abc import Iterable
from pathlib import Path

from gres_config.check.from_inventory import make_rendered_config
from gres_config.diff import Change, Difference, diff_meanings
from gres_config.errors import GresConfigError
from gres_config.load import load_inventory
from gres_config.meaning import Meaning, read_meaning
from gres_config.parse.gres_conf import parse_gres_conf, read_gres_conf
from gres_config.parse.lines import read_lines
from gres_config.parse.slurm_conf import parse_slurm_conf, read_slurm_conf
from gres_config.render import SLURM_FRAGMENTS
from gres_config.versions import VERSIONS, get_version


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add both sides, the release, and the form of the answer."""
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--slurm-version", metavar="V", help="default: NEW's, else the newest")
    parser.add_argument("--format", choices=("text", "json"), default="text")


def run(args: argparse.Namespace) -> int:
    """Compare; returns 0."""
    old, _release = _read(args.old)
    new, release = _read(args.new)
    release = args.slurm_version or release or list(VERSIONS)[-1]
    get_version(release)
    found = diff_meanings(old, new, release)
    print(_render_json(found) if args.format == "json" else _render_text(found))
    return 0


def _read(path: Path) -> tuple[Meaning, str]:
    if path.is_dir() and (path / "slurm.conf").exists():
        path = path / "slurm.conf"
    if path.is_dir():
        return _read_folder(path), ""
    if path.suffix in (".yaml", ".yml"):
        inventory = load_inventory(path)
        config = make_rendered_config(inventory)
        return read_meaning(config.slurm, config.gres), inventory.slurm_version
    beside = path.parent / "gres.conf"
    gres = read_gres_conf(beside) if beside.exists() else parse_gres_conf((), str(beside))
    return read_meaning(read_slurm_conf(path), gres), ""


def _read_folder(folder: Path) -> Meaning:
    fragments = [folder / name for name in SLURM_FRAGMENTS if (folder / name).exists()]
    if not fragments:
        raise GresConfigError(
            "there is neither slurm.conf nor what render writes", file_name=str(folder)
        )
    lines = (line for fragment in fragments for line in read_lines(fragment))
    gres = read_gres_conf(folder / "gres.conf")
    return read_meaning(parse_slurm_conf(lines, str(folder)), gres)


def _render_text(found: Difference) -> str:
    lines = [*_list_changes("cluster", found.cluster)]
    for node in found.nodes:
        lines.append(f"{node.nodes}: {node.cost.describe()}")
        lines += _list_changes("", node.changes)
    lines.append(f"{found.unchanged} node(s) unchanged: nothing")
    return "\n".join(lines)


def _list_changes(head: str, changes: Iterable[Change]) -> list[str]:
    lines = [
        f"    {change.what} ({change.cost.name.lower()}{': ' if change.why else ''}{change.why})"
        for change in changes
    ]
    return [f"{head}:", *lines] if head and lines else lines


def _render_json(found: Difference) -> str:
    return json.dumps(
        {
            "cost": found.cost.name.lower(),
            "cluster": [_describe(change) for change in found.cluster],
            "nodes": [
                {
                    "nodes": node.nodes,
                    "cost": node.cost.name.lower(),
                    "changes": [_describe(change) for change in node.changes],
                }
                for node in found.nodes
            ],
            "unchanged": found.unchanged,
        },
        indent=2,
        ensure_ascii=False,
    )


def _describe(change: Change) -> dict[str, str]:
    return {"what": change.what, "cost": change.cost.name.lower(), "why": change.why}
