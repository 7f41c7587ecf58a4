"""What the rules look at: both files, the views of the nodes, the release, what was detected."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from gres_config.detected import DetectedNode
from gres_config.parse.gres_conf import GresConf, parse_gres_conf, read_gres_conf
from gres_config.parse.lines import split_lines
from gres_config.parse.slurm_conf import SlurmConf, parse_slurm_conf, read_slurm_conf
from gres_config.parse.views import Views, build_views
from gres_config.versions import SlurmVersion, get_version

LATEST = "26.05"
_NUMBERS = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The configuration of one cluster for one release.

    `release` is the release as numbers: (24, 11) or (24, 11, 5). `detected` is what nodes say of
    themselves; `device_node` is the node whose device files are looked for on this machine.
    """

    slurm: SlurmConf
    gres: GresConf
    views: Views
    version: SlurmVersion
    release: tuple[int, ...]
    detected: tuple[DetectedNode, ...] = ()
    device_node: str = ""

    def is_before(self, release: str) -> bool:
        """Whether the release is older; "24.11" alone is the oldest 24.11."""
        return self.release < parse_release(release)


def parse_release(text: str) -> tuple[int, ...]:
    """Return (24, 11, 5) for "24.11.5"."""
    return tuple(int(number) for number in _NUMBERS.findall(text))


def make_config(
    slurm: SlurmConf,
    gres: GresConf,
    release: str = LATEST,
    *,
    detected: Iterable[DetectedNode] = (),
    device_node: str = "",
) -> ClusterConfig:
    """Return the parsed files as a configuration; GresConfigError for an unknown release."""
    nodes = tuple(detected)
    alone = {device_node, *(node.node for node in nodes)}
    return ClusterConfig(
        slurm,
        gres,
        build_views(slurm, gres, alone=alone),
        get_version(release),
        parse_release(release),
        nodes,
        device_node,
    )


def read_config(
    slurm_conf: Path,
    gres_conf: Path | None,
    release: str = LATEST,
    *,
    detected: Iterable[DetectedNode] = (),
    device_node: str = "",
) -> ClusterConfig:
    """Read both files; where gres.conf isn't named, the one beside slurm.conf, as Slurm does."""
    slurm = read_slurm_conf(slurm_conf)
    path = gres_conf or slurm_conf.parent / "gres.conf"
    if gres_conf is None and not path.exists():
        gres = parse_gres_conf((), str(path))
    else:
        gres = read_gres_conf(path)
    return make_config(slurm, gres, release, detected=detected, device_node=device_node)


def parse_config(slurm_text: str, gres_text: str, release: str = LATEST) -> ClusterConfig:
    """Parse both texts, which include nothing, as slurm.conf and gres.conf."""
    return make_config(
        parse_slurm_conf(split_lines(slurm_text, "slurm.conf"), "slurm.conf"),
        parse_gres_conf(split_lines(gres_text, "gres.conf"), "gres.conf"),
        release,
    )
