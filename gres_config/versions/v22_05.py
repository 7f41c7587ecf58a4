"""Slurm 22.05, the oldest release that is written for.

- AutoDetect: nvml, rsmi, oneapi (src/common/gres.c).
- CgroupPlugin has no "disabled"; where cgroups cannot be used, naming cgroup/v1 lets slurmd start
  as long as no plugin in use needs cgroups.
- With shard or mps in GresTypes slurmd takes each file of a MIG instance for a GPU of its own
  (src/plugins/gres/common/gres_c_s.c, _build_sharing_list).
- GRES names and types are stored in lower case.
"""

from gres_config.versions.base import SlurmVersion

VERSION = SlurmVersion(
    name="22.05",
    autodetect=frozenset({"nvml", "rsmi", "oneapi"}),
    cgroup_plugins=frozenset({"autodetect", "cgroup/v1", "cgroup/v2"}),
    cgroup_off="cgroup/v1",
)
