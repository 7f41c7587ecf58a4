"""Slurm 24.05.

- RestrictedCoresPerGPU keeps cores of a node for jobs with GPUs.
- CgroupPlugin=disabled.
"""

from dataclasses import replace

from gres_config.versions import v23_11

VERSION = replace(
    v23_11.VERSION,
    name="24.05",
    has_restricted_cores=True,
    cgroup_plugins=v23_11.VERSION.cgroup_plugins | {"disabled"},
    cgroup_off="disabled",
)
