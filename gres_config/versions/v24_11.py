"""Slurm 24.11.

- AutoDetect=nvidia: reads /proc/driver/nvidia and needs no NVML, but knows no MIG.
- `slurmd -C` lists the GPUs.
- A node drains whose Cores= do not lie on socket boundaries.
- Names and types of GRES keep their capitals.
"""

from dataclasses import replace

from gres_config.versions import v24_05

VERSION = replace(
    v24_05.VERSION,
    name="24.11",
    autodetect=v24_05.VERSION.autodetect | {"nvidia"},
)
