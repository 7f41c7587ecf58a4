"""The GRES of a node as records: name, type and device files, in the order of the devices."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePosixPath

from gres_config.inventory import SHARING_FLAGS, GenericGres, GpuMode, GpuSpec, NodeGroup

DEVICE_ROOT = PurePosixPath("/dev")
_MINOR = re.compile(r".*?(\d+)")


@dataclass(frozen=True, slots=True)
class GresRecord:
    """One device or, with several `files`, one MIG instance; `count` is its number of units.

    `count` is None for a device that is one unit. Cores, links and flags are Slurm's text.
    """

    gres_type: str
    files: tuple[PurePosixPath, ...]
    name: str = "gpu"
    count: int | None = None
    cores: str = ""
    links: str = ""
    flags: tuple[str, ...] = ()


def list_gres_records(
    group: NodeGroup, device_root: PurePosixPath = DEVICE_ROOT
) -> tuple[GresRecord, ...]:
    """Return the gres.conf records of a node of the group, whole GPUs and instances first.

    Device files lie under `device_root` instead of /dev where another one is given.
    """
    gpus: list[GresRecord] = []
    shares: list[GresRecord] = []
    for spec, first in list_specs(group):
        for number in range(spec.count):
            gpus.extend(_list_gpu(group, spec, first, number, device_root))
        shares.extend(_list_shares(spec, first, device_root))
    plain = (record for item in group.gres for record in _list_plain(item, device_root))
    return (*gpus, *shares, *plain)


def list_specs(group: NodeGroup) -> Iterator[tuple[GpuSpec, int]]:
    """Yield the GPU specs of a node, each with the number of its first GPU."""
    first = 0
    for spec in group.gpus:
        yield spec, first
        first += spec.count


def get_gpu_file(spec: GpuSpec, first: int, number: int) -> str:
    """Return the device file of the spec's GPU `number`: the one named, or the driver's."""
    return spec.files[number] if spec.files else f"/dev/nvidia{first + number}"


def _list_gpu(
    group: NodeGroup, spec: GpuSpec, first: int, number: int, root: PurePosixPath
) -> Iterator[GresRecord]:
    gpu = get_gpu_file(spec, first, number)
    # On a line of gpu they would take away the environment's default (_parse_gres_config).
    flags = tuple(flag for flag in spec.flags if flag.lower() not in SHARING_FLAGS)
    cores, links = _pick(spec.cores, number), _pick(spec.links, number)
    if spec.mode is not GpuMode.MIG:
        whole = (_move(gpu, root),)
        yield GresRecord(spec.gres_type, whole, cores=cores, links=links, flags=flags)
        return
    for index, gres_type in enumerate(spec.list_instance_types(group.detection)):
        named = spec.mig_files[number][index] if spec.mig_files else _name_instance(gpu, index)
        files = tuple(_move(file, root) for file in named)
        yield GresRecord(gres_type, files, cores=cores, flags=flags)


def _name_instance(gpu: str, index: int) -> tuple[str, ...]:
    """Return the files of a GPU's instance: the GPU, the instance's caps, its compute's caps.

    The driver's numbering in /proc/driver/nvidia-caps/mig-minors: 135 minors for each GPU, nine
    for each GPU instance: its own access file, then those of its compute instances. Instances are
    taken to have the numbers 1, 2, ...; name mig_files where the driver gave others.
    """
    match = _MINOR.fullmatch(gpu)
    minor = 3 + 135 * int(match[1] if match else 0) + 9 * (index + 1)
    caps = "/dev/nvidia-caps/nvidia-cap"
    return (gpu, f"{caps}{minor}", f"{caps}{minor + 1}")


def _list_shares(spec: GpuSpec, first: int, root: PurePosixPath) -> Iterator[GresRecord]:
    if not spec.is_shared:
        return
    flags = tuple(flag for flag in spec.flags if flag.lower() in SHARING_FLAGS)
    for number in range(spec.count):
        yield GresRecord(
            "",
            (_move(get_gpu_file(spec, first, number), root),),
            name=spec.mode.value,
            count=spec.shares,
            cores=_pick(spec.cores, number),
            flags=flags,
        )


def _list_plain(item: GenericGres, root: PurePosixPath) -> Iterator[GresRecord]:
    if not item.files:
        # Without a file there's nothing for a plugin of that name to do (gres.conf(5), CountOnly).
        flags = tuple(dict.fromkeys((*item.flags, "CountOnly")))
        cores = item.cores[0] if item.cores else ""
        yield GresRecord(item.type, (), item.name, item.count, cores, flags=flags)
        return
    for number, file in enumerate(item.files):
        cores = _pick(item.cores, number)
        yield GresRecord(item.type, (_move(file, root),), item.name, cores=cores, flags=item.flags)


def _pick(values: tuple[str, ...], number: int) -> str:
    if not values:
        return ""
    return values[number] if len(values) > 1 else values[0]


def _move(path: str, root: PurePosixPath) -> PurePosixPath:
    file = PurePosixPath(path)
    if root == DEVICE_ROOT:
        return file
    below = file.relative_to(DEVICE_ROOT) if file.is_relative_to(DEVICE_ROOT) else file
    return root / str(below).lstrip("/")
