"""Checks an inventory file by what it renders to; findings point into the inventory file."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from gres_config.check.config import ClusterConfig, make_config
from gres_config.check.run import Result, check_config
from gres_config.detected import DetectedNode
from gres_config.document import Document
from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist
from gres_config.inventory import Inventory
from gres_config.load import load_inventory_document
from gres_config.parse.gres_conf import parse_gres_conf
from gres_config.parse.lines import Line, Source, split_lines
from gres_config.parse.slurm_conf import parse_slurm_conf
from gres_config.render import SLURM_FRAGMENTS, render_files

# What render leaves to the site's own slurm.conf and its header asks for.
_ASSUMED = (
    "SelectType=select/cons_tres",
    "AccountingStorageType=accounting_storage/slurmdbd",
)


def check_inventory(
    path: Path,
    release: str | None = None,
    detected: Iterable[DetectedNode] = (),
    device_node: str = "",
) -> tuple[Result, ...]:
    """Return what the rules find in the configuration that the inventory file renders to.

    Raises DocumentError for an inventory that is wrong by itself.
    """
    inventory, document = load_inventory_document(path)
    config = make_rendered_config(inventory, release, detected, device_node)
    return tuple(_point(result, inventory, document) for result in check_config(config))


def make_rendered_config(
    inventory: Inventory,
    release: str | None = None,
    detected: Iterable[DetectedNode] = (),
    device_node: str = "",
) -> ClusterConfig:
    """Return the configuration that the inventory renders to, parsed."""
    files = render_files(inventory)
    assumed = Source("slurm.conf", 1)
    lines = [Line(assumed, text) for text in _ASSUMED]
    for name in SLURM_FRAGMENTS:
        lines.extend(split_lines(files[name], name))
    return make_config(
        parse_slurm_conf(lines, "slurm.conf"),
        parse_gres_conf(split_lines(files["gres.conf"], "gres.conf"), "gres.conf"),
        release or inventory.slurm_version,
        detected=detected,
        device_node=device_node,
    )


def _point(result: Result, inventory: Inventory, document: Document) -> Result:
    """Let the finding point at the node group that it is about; the mending line stays Slurm's."""
    finding = result.finding
    place: tuple[str | int, ...] = ()
    if finding.nodes:
        try:
            first = expand_hostlist(finding.nodes)[0]
        except GresConfigError:
            first = finding.nodes
        for number, group in enumerate(inventory.node_groups):
            if first in group.nodes:
                place = ("node_groups", number)
    source = Source(document.file_name, document.find_line(place))
    what = f"{finding.what} (rendered as {finding.source})"
    return Result(result.rule, replace(finding, source=source, what=what))
