"""Writes the MIG layouts as a configuration of nvidia-mig-parted (its format version v1)."""

from collections import Counter
from collections.abc import Iterable

from gres_config.hostlist import fold_hostlist
from gres_config.inventory import GpuMode, GpuSpec, NodeGroup
from gres_config.render.gres_conf import merge_groups
from gres_config.render.records import list_specs


def render_mig_parted(groups: Iterable[NodeGroup]) -> str:
    """Return a configuration named after its first node, for each kind of GPU node; "" without MIG.

    Devices are numbered in the node's order. Apply with: nvidia-mig-parted apply -f FILE -c NAME.
    """
    groups = tuple(groups)
    if not any(spec.mode is GpuMode.MIG for group in groups for spec in group.gpus):
        return ""
    bodies = "".join(_render_groups(alike) for alike in merge_groups(groups) if alike[0].gpus)
    return f"version: v1\nmig-configs:\n{bodies}"


def _render_groups(groups: tuple[NodeGroup, ...]) -> str:
    """Return one configuration: that of groups whose devices are the same."""
    entries = "".join(_render_spec(spec, first) for spec, first in list_specs(groups[0]))
    names = fold_hostlist(name for group in groups for name in group.nodes)
    return f"  # {names}\n  {groups[0].nodes[0]}:\n{entries}"


def _render_spec(spec: GpuSpec, first: int) -> str:
    devices = ", ".join(str(number) for number in range(first, first + spec.count))
    lines = [f"    - devices: [{devices}]"]
    if spec.mode is not GpuMode.MIG:
        lines.append("      mig-enabled: false")
    else:
        lines += ["      mig-enabled: true", "      mig-devices:"]
        lines += [f'        "{name}": {count}' for name, count in Counter(spec.mig_layout).items()]
    return "".join(f"{line}\n" for line in lines)
