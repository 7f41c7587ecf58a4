"""Checks of device files and cores."""

from collections.abc import Iterator

from gres_config.description import DevicePart, GresPart, InventoryPart
from gres_config.inventory import SHARING_FLAGS, Detection, GpuMode
from gres_config.load_checks.gpus import list_gpus
from gres_config.models import get_vendor
from gres_config.problems import Place

Found = Iterator[tuple[Place, str]]


def list_gres(part: InventoryPart) -> Iterator[tuple[Place, int, GresPart]]:
    """Yield every plain GRES with its place and its group's number."""
    for number, group in enumerate(part.node_groups):
        for index, item in enumerate(group.gres):
            yield ("node_groups", number, "gres", index), number, item


def list_devices(part: InventoryPart) -> Iterator[tuple[Place, int, DevicePart]]:
    """Yield every GPU and plain GRES with its place and its group's number."""
    yield from list_gpus(part)
    yield from list_gres(part)


def check_file_counts(part: InventoryPart) -> Found:
    """A count that differs from the number of files ends slurmd."""
    for place, _number, item in list_devices(part):
        if item.files and len(item.files) != item.count:
            yield (
                (*place, "files"),
                f"These are {len(item.files)} files for a count of {item.count}.",
            )
    for place, number, gpu in list_gpus(part):
        is_detected = part.node_groups[number].detection is not Detection.FILES
        needs_files = get_vendor(gpu.model) in ("amd", "intel")
        if needs_files and not gpu.files and not is_detected:
            yield place, f"Name the files of the {gpu.model}, or have them detected."
        if not gpu.mig_files:
            continue
        if len(gpu.mig_files) != gpu.count:
            sentence = f"These are files for {len(gpu.mig_files)} GPUs of {gpu.count}."
            yield (*place, "mig_files"), sentence
        for index, instances in enumerate(gpu.mig_files):
            where: Place = (*place, "mig_files", index)
            if len(instances) != len(gpu.layout):
                yield where, f"The layout has {len(gpu.layout)} instances, not {len(instances)}."
            if any(len(files) < 2 for files in instances):
                yield where, "A MIG instance has at least two files: its GPU and its caps."


def check_files_once(part: InventoryPart) -> Found:
    """One device cannot be two GRES."""
    seen: set[tuple[int, str]] = set()
    for place, number, item in list_devices(part):
        for file in item.files:
            if (number, file) in seen:
                yield (*place, "files"), f"{file} stands twice in this node group."
            seen.add((number, file))


def check_files_for_all(part: InventoryPart) -> Found:
    """Where a GRES has files on one node, it must have files on all nodes (gres.conf(5), File)."""
    first: dict[str, bool] = {}
    for place, _number, item in list_gres(part):
        has_files = bool(item.files)
        if first.setdefault(item.name, has_files) != has_files:
            yield place, f"Either every {item.name} of the cluster has files or none has."


def check_cores(part: InventoryPart) -> Found:
    """Cores= are logical numbers of the node's cores, not of its hardware threads."""
    for place, number, item in list_devices(part):
        group = part.node_groups[number]
        total = group.sockets * group.cores_per_socket
        for text in item.cores:
            ends = [int(end) for word in text.split(",") for end in word.split("-")]
            if max(ends) >= total:
                yield (*place, "cores"), f"The node has the cores 0-{total - 1}, not {max(ends)}."
        if len(item.cores) not in (0, 1, item.count):
            yield (*place, "cores"), f"Give one entry, or one for each of the {item.count}."
    for place, number, gpu in list_gpus(part):
        is_detected = part.node_groups[number].detection is not Detection.FILES
        # Flags of sharing stand in the lines of the shares, which are there with detection too.
        flags = [flag for flag in gpu.flags if flag.lower() not in SHARING_FLAGS]
        for key, values in (("cores", gpu.cores), ("links", gpu.links), ("flags", flags)):
            if is_detected and values and not (gpu.files or gpu.mig_files):
                yield (*place, key), f"With detection, {key} need the GPU's files beside them."
        if gpu.links and (len(gpu.links) != gpu.count or gpu.mode is GpuMode.MIG):
            yield (*place, "links"), "Links need one entry for each whole or shared GPU."
