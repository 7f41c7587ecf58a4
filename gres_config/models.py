"""GPU products that an inventory may name: those of the MIG table, and others without MIG.

The names are the vendors' own (product pages; nvidia-smi -L, rocm-smi, xpu-smi). An inventory can
add its own in other_models.
"""

from functools import cache

from gres_config.mig import load_mig_products

_NVIDIA_WITHOUT_MIG = """
A2 A10 A16 A40 GeForce-RTX-2080-Ti GeForce-RTX-3090 GeForce-RTX-4090 GeForce-RTX-5090 K80 L4 L20
L40 L40S P4 P40 P100 Quadro-RTX-6000 Quadro-RTX-8000 RTX-2000-Ada RTX-4000-Ada RTX-5000-Ada
RTX-6000-Ada RTX-A2000 RTX-A4000 RTX-A5000 RTX-A6000 T4 TITAN-RTX TITAN-V V100-16GB V100-32GB
"""
_AMD = """
MI50 MI100 MI210 MI250 MI250X MI300A MI300X MI308X MI325X MI350X MI355X Radeon-PRO-V620
Radeon-PRO-W7900
"""
_INTEL = "Max-1100 Max-1550 Flex-140 Flex-170 Arc-B60"

NVIDIA_WITHOUT_MIG = frozenset(_NVIDIA_WITHOUT_MIG.split())
AMD = frozenset(_AMD.split())
INTEL = frozenset(_INTEL.split())


@cache
def list_models() -> frozenset[str]:
    """Return every known model."""
    return frozenset(load_mig_products()) | NVIDIA_WITHOUT_MIG | AMD | INTEL


def get_vendor(model: str) -> str:
    """Return "nvidia", "amd", "intel", or "" for a model that no table has."""
    if model in AMD:
        return "amd"
    if model in INTEL:
        return "intel"
    return "nvidia" if model in list_models() else ""
