"""Slurm 25.11.

- AutoDetect=nvml gives full GPUs their UUIDs, so CUDA_VISIBLE_DEVICES in the prolog is "GPU-...".
- From 25.11.6 on "-" and "+" in a Type no longer break sacctmgr's TRES strings; since an earlier
  patch may run, that counts from 26.05 on.
"""

from dataclasses import replace

from gres_config.versions import v25_05

VERSION = replace(v25_05.VERSION, name="25.11")
