"""Slurm 26.05.

- AutoDetect=full finds every kind of GPU that has a plugin.
- one_sharing and all_sharing may stand on different lines of a node; from 23.02 to before
  26.05 slurmd ends on that.
- "-" and "+" may stand in a Type.
- --gres=gpu:N and --gpus-per-node exclude each other; cgroup paths have the SLUID (neither is
  configuration).
"""

from dataclasses import replace

from gres_config.versions import v25_11

VERSION = replace(
    v25_11.VERSION,
    name="26.05",
    autodetect=v25_11.VERSION.autodetect | {"full"},
)
