"""Slurm 24.11.

- AutoDetect=nvidia: reads /proc/driver/nvidia and needs no NVML, but knows no MIG.
- `slurmd -C` lists the GPUs.
- A node drains whose Cores= do not lie on socket boundaries.
- Cores= beyond those of the node drain it; before, they were skipped.
- Names and types of GRES keep their capitals: a type spelled in two ways drains the node.
"""

from dataclasses import replace

from gres_config.versions import v24_05

VERSION = replace(
    v24_05.VERSION,
    name="24.11",
    autodetect=v24_05.VERSION.autodetect | {"nvidia"},
)
