"""Checks of GPUs: models, modes, MIG layouts, types, detection, flags."""

from collections.abc import Iterator

from gres_config.description import GpuPart, InventoryPart
from gres_config.errors import GresConfigError
from gres_config.inventory import SHARING_FLAGS, Detection, GpuMode, check_layout
from gres_config.mig import load_mig_products
from gres_config.models import get_vendor, list_models
from gres_config.problems import Place, suggest
from gres_config.versions import get_version

Found = Iterator[tuple[Place, str]]
ENV_FLAGS = frozenset(
    {"nvidia_gpu_env", "amd_gpu_env", "intel_gpu_env", "opencl_env", "no_gpu_env"}
)
_VENDOR_OF = {
    Detection.NVML: "nvidia",
    Detection.NVIDIA: "nvidia",
    Detection.RSMI: "amd",
    Detection.ONEAPI: "intel",
}


def list_gpus(part: InventoryPart) -> Iterator[tuple[Place, int, GpuPart]]:
    """Yield every GPU part with its place and its group's number."""
    for number, group in enumerate(part.node_groups):
        for index, gpu in enumerate(group.gpus):
            yield ("node_groups", number, "gpus", index), number, gpu


def check_models(part: InventoryPart) -> Found:
    """An unknown model would make every further statement about the GPU a guess."""
    known = list_models() | frozenset(part.other_models)
    for place, _number, gpu in list_gpus(part):
        if gpu.model not in known:
            hint = suggest(gpu.model, known) or " A model of your own goes into other_models."
            yield (*place, "model"), f"There is no GPU model “{gpu.model}”.{hint}"


def check_modes(part: InventoryPart) -> Found:
    """Each mode has its own keys, and only those."""
    for place, _number, gpu in list_gpus(part):
        if gpu.mode is GpuMode.MIG:
            if not gpu.layout:
                yield place, "Mode mig needs a layout, such as [3g.40gb, 1g.10gb*4]."
            if gpu.type is not None:
                yield (*place, "type"), "MIG instances take their types from layout and types."
        else:
            for key in ("layout", "types", "mig_files"):
                if getattr(gpu, key):
                    yield (*place, key), f"{key} belongs to mode mig, not to {gpu.mode.value}."
            if gpu.type is None:
                yield place, "Give the GRES type that jobs ask for, type: a100 (“” for none)."
        is_shared = gpu.mode in (GpuMode.SHARD, GpuMode.MPS)
        if is_shared and gpu.shares is None:
            yield place, f"Mode {gpu.mode.value} needs shares, the number for each GPU."
        if not is_shared and gpu.shares is not None:
            yield (*place, "shares"), "shares belongs to the modes shard and mps."


def check_layouts(part: InventoryPart) -> Found:
    """A layout that no GPU of the model can hold."""
    for place, _number, gpu in list_gpus(part):
        if gpu.mode is not GpuMode.MIG or not gpu.layout or gpu.model not in list_models():
            continue
        if gpu.model not in load_mig_products():
            yield (*place, "mode"), f"The {gpu.model} cannot be split into MIG instances."
            continue
        try:
            check_layout(gpu.model, gpu.layout)
        except GresConfigError as error:
            yield (*place, "layout"), f"This does not fit: {error.reason}."
        for profile in gpu.types:
            if profile not in gpu.layout:
                yield (*place, "types", profile), "The layout has no such profile."


def check_types(part: InventoryPart) -> Found:
    """Slurm ends where some GRES of one name on a node have a type and others have none."""
    for number, group in enumerate(part.node_groups):
        typed: dict[str, bool] = {}
        named = [
            *(("gpus", index, "gpu", _is_typed(gpu)) for index, gpu in enumerate(group.gpus)),
            *(("gres", index, item.name, bool(item.type)) for index, item in enumerate(group.gres)),
        ]
        for key, index, name, is_typed in named:
            if typed.setdefault(name, is_typed) != is_typed:
                place: Place = ("node_groups", number, key, index)
                yield place, f"On one node either every {name} has a type or none has."


def _is_typed(gpu: GpuPart) -> bool:
    return bool(gpu.type) or gpu.mode is GpuMode.MIG


def check_detection(part: InventoryPart) -> Found:
    """AutoDetect: known to the release, made for the vendor, not with MIG or cloud nodes."""
    release = get_version(part.slurm_version)
    for number, group in enumerate(part.node_groups):
        place: Place = ("node_groups", number, "detection")
        if group.detection is Detection.FILES:
            continue
        word = group.detection.value
        if word not in release.autodetect:
            known = ", ".join(sorted({"files", *release.autodetect}))
            yield place, f"Slurm {release.name} has no AutoDetect={word}; it has {known}."
        if group.state == "CLOUD":
            yield place, "AutoDetect cannot be used with cloud nodes; name the files."
        for index, gpu in enumerate(group.gpus):
            where: Place = ("node_groups", number, "gpus", index, "mode")
            if group.detection is Detection.NVIDIA and gpu.mode is GpuMode.MIG:
                yield where, "AutoDetect=nvidia does not know MIG; use nvml or name the files."
            vendor, wanted = get_vendor(gpu.model), _VENDOR_OF.get(group.detection)
            if vendor and wanted and vendor != wanted:
                yield place, f"AutoDetect={word} does not find a {gpu.model}."


def check_shares_beside_mig(part: InventoryPart) -> Found:
    """Older releases take each file of a MIG instance for a GPU once GresTypes has shares.

    On every node of the cluster, since every slurmd loads the plugins of GresTypes.
    """
    release = get_version(part.slurm_version)
    gpus = list(list_gpus(part))
    has_mig = any(gpu.mode is GpuMode.MIG for _place, _number, gpu in gpus)
    if release.has_shares_beside_mig or not has_mig:
        return
    for place, _number, gpu in gpus:
        if gpu.mode in (GpuMode.SHARD, GpuMode.MPS):
            yield (*place, "mode"), "A cluster with MIG and shared GPUs needs Slurm 23.02.7."


def check_flags(part: InventoryPart) -> Found:
    """Flags that Slurm ends on when they differ on one node, or exclude each other."""
    release = get_version(part.slurm_version)
    for number, group in enumerate(part.node_groups):
        sets: dict[frozenset[str], int] = {}
        sharing: dict[str, str] = {}
        for index, gpu in enumerate(group.gpus):
            place: Place = ("node_groups", number, "gpus", index, "flags")
            flags = {flag.lower() for flag in gpu.flags}
            env = frozenset(flags & ENV_FLAGS)
            if "no_gpu_env" in env and len(env) > 1:
                yield place, "no_gpu_env excludes the other environment flags."
            for flag in sorted(flags & SHARING_FLAGS):
                if gpu.mode not in (GpuMode.SHARD, GpuMode.MPS):
                    yield place, f"{flag} belongs to the modes shard and mps."
                elif not release.has_sharing_flags:
                    yield place, f"Slurm {release.name} has no {flag}; 23.02 has."
                elif sharing.setdefault(gpu.mode.value, flag) != flag:
                    yield place, "one_sharing and all_sharing exclude each other on one node."
            sets.setdefault(env, index)
        if len(sets) > 1:
            place = ("node_groups", number, "gpus", max(sets.values()), "flags")
            yield place, "The environment flags of all GPUs of a node must be the same."
