"""Writes fake_gpus.conf, with which slurmd on a machine without GPUs believes to have found some.

Its lines are type|CPU count|CPUs|links|file|unique id|flags (src/interfaces/gpu.c). slurmd reads
it beside its slurm.conf, so each group has a file of its own.
"""

import re

from gres_config.inventory import GpuMode, GpuSpec, NodeGroup
from gres_config.mig import load_mig_products
from gres_config.models import get_vendor
from gres_config.render.records import GresRecord, list_gres_records

_FLAG_OF = {"nvidia": "nvidia_gpu_env", "amd": "amd_gpu_env", "intel": "intel_gpu_env"}


def render_fake_gpus(group: NodeGroup) -> str:
    """Return the lines of a node of the group, in the order of its devices."""
    records = [record for record in list_gres_records(group) if record.name == "gpu"]
    names = [name for spec in group.gpus for name in _list_names(spec) * spec.count]
    flags = [
        _FLAG_OF.get(get_vendor(spec.model), "nvidia_gpu_env")
        for spec in group.gpus
        for _name in _list_names(spec) * spec.count
    ]
    return "".join(
        _render_line(group, record, name, flag)
        for record, name, flag in zip(records, names, flags, strict=True)
    )


def _render_line(group: NodeGroup, record: GresRecord, name: str, flag: str) -> str:
    files = ",".join(map(str, record.files))
    cores = group.sockets * group.cores_per_socket
    ranges = record.cores or f"0-{cores - 1}"
    return f"{name}|{cores}|{ranges}|{record.links or '(null)'}|{files}|(null)|{flag}\n"


def _list_names(spec: GpuSpec) -> list[str]:
    """Return what AutoDetect calls the units of one GPU.

    The NVML name in lower case with "_" for blanks; an instance's is the GPU's up to the first
    "-", and its profile (gres.conf(5); src/plugins/gpu/nvml/gpu_nvml.c).
    """
    name = _get_detected_name(spec)
    if spec.mode is not GpuMode.MIG:
        return [name]
    return [f"{name.split('-')[0]}_{profile}" for profile in spec.mig_layout]


def _get_detected_name(spec: GpuSpec) -> str:
    product = load_mig_products().get(spec.model)
    names = [re.sub(r"\s+", "_", name.lower()) for name in (product.nvml_names if product else ())]
    fitting = [name for name in names if spec.gres_type.lower() in name]
    return (fitting or names or [(spec.gres_type or spec.model).lower()])[0]
