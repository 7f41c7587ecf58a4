"""Writes cgroup.conf: jobs see their own devices, cores and memory alone."""

from gres_config.inventory import Inventory


def render_cgroup_conf(inventory: Inventory) -> str:
    """Return cgroup.conf; ConstrainDevices is what keeps a job off the GPUs of others.

    With CgroupPlugin=disabled nothing is constrained, since there's nothing to do it with.
    """
    lines = [f"CgroupPlugin={inventory.cgroup_plugin}"]
    if inventory.cgroup_plugin != "disabled":
        lines += ["ConstrainCores=yes", "ConstrainDevices=yes", "ConstrainRAMSpace=yes"]
    return "".join(f"{line}\n" for line in lines)
