"""Slurm 23.02.

- Flags=one_sharing and all_sharing of shards and MPS.
- gres/gpuutil and gres/gpumem can be accounted.
- From 23.02.6 the names of MIG instances come from nvmlDeviceGetName; shards and
  MIG in one cluster are right from 23.02.7 on.
"""

from dataclasses import replace

from gres_config.versions import v22_05

VERSION = replace(
    v22_05.VERSION,
    name="23.02",
    has_gpu_usage_tres=True,
    has_sharing_flags=True,
    shares_beside_mig_from=7,
)
