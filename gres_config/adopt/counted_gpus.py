"""Makes the GPU specs of a node whose devices slurmd detects: slurm.conf's counts are all there is.

Which GPU has which number, and which instances lie on which GPU, is not told; shares name their
GPU's file.
"""

import re
from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import groupby

from gres_config.adopt.models import Models
from gres_config.adopt.notes import Kind, Notes
from gres_config.adopt.profiles import find_profile
from gres_config.errors import GresConfigError
from gres_config.inventory import Detection, GpuMode, GpuSpec, name_instance_type
from gres_config.meaning import SHARED, list_shares
from gres_config.mig import get_mig_product
from gres_config.mig.place import find_violation
from gres_config.parse.views import NodeView

MOST_GPUS = 64
MOST_INSTANCES = 14
_DEFAULT_FILE = re.compile(r"/dev/nvidia(\d+)")


@dataclass(frozen=True, slots=True)
class _Gpu:
    """One GPU: whole, shared, or with a layout."""

    kind: str
    layout: tuple[str, ...] = ()
    mode: GpuMode = GpuMode.WHOLE
    shares: int = 0
    flags: tuple[str, ...] = ()


_Share = tuple[GpuMode, int, tuple[str, ...]]


def adopt_counts(view: NodeView, models: Models, notes: Notes) -> tuple[GpuSpec, ...]:
    """Return specs that make the counts of the view's Gres=."""
    instances: Counter[str] = Counter()
    types: dict[str, str] = {}
    whole: list[_Gpu] = []
    for entry in view.gres:
        if entry.name != "gpu":
            continue
        profile = find_profile(entry.type)
        if profile:
            instances[profile] += entry.count
            types[profile] = entry.type
        else:
            whole += [_Gpu(entry.type)] * entry.count
    model, layouts = _find_layouts(view, instances, models, notes)
    split = [_Gpu("", layout, GpuMode.MIG) for layout in layouts]
    gpus = _place_shares(whole, split, _read_shares(view, notes))
    own = {
        profile: kind
        for profile, kind in types.items()
        if kind != name_instance_type(profile, get_detection(view))
    }
    return tuple(
        _make_spec(gpu, len(tuple(alike)), model, own, models) for gpu, alike in groupby(gpus)
    )


def _make_spec(
    gpu: _Gpu, count: int, model: str, own: Mapping[str, str], models: Models
) -> GpuSpec:
    if gpu.layout:
        mine = tuple(pair for pair in own.items() if pair[0] in gpu.layout)
        return GpuSpec(model, count, mode=gpu.mode, mig_layout=gpu.layout, mig_types=mine)
    whole = models.find_whole(gpu.kind)
    return GpuSpec(whole, count, gpu.kind, gpu.mode, shares=gpu.shares, flags=gpu.flags)


def _read_shares(view: NodeView, notes: Notes) -> Mapping[int, _Share]:
    """Return mode, number and flags of shares by the GPU's number."""
    found: dict[int, _Share] = {}
    gpus = sum(entry.count for entry in view.gres if entry.name == "gpu")
    for name in SHARED:
        count = sum(entry.count for entry in view.gres if entry.name == name)
        shares = tuple(list_shares(replace(view, autodetect=""), name, ()))
        flags = tuple(sorted(frozenset[str]().union(*(share.flags for share in shares))))
        files = [(share.files[0], share.count) for share in shares if share.files[0]]
        if count and not files:
            files = [(f"/dev/nvidia{n}", part) for n, part in enumerate(_spread(count, gpus))]
        for file, part in files if count else ():
            match = _DEFAULT_FILE.fullmatch(file)
            if match and part and int(match[1]) not in found:
                found[int(match[1])] = (GpuMode(name), part, flags)
            elif part:
                notes.add(Kind.LOST, view.hostlist, f"{name} of {file}")
    return found


def _spread(count: int, gpus: int) -> Iterator[int]:
    for left in range(gpus, 0, -1):
        yield count // left
        count -= count // left


def _place_shares(
    whole: list[_Gpu], split: list[_Gpu], shares: Mapping[int, _Share]
) -> Iterator[_Gpu]:
    """Yield the GPUs in the order of their numbers; a shared one stands at its number."""
    shared = deque(whole[max(0, len(whole) - len(shares)) :])
    others = deque([*whole[: max(0, len(whole) - len(shares))], *split])
    number = 0
    while shared or others:
        if number in shares and shared:
            mode, count, flags = shares[number]
            yield replace(shared.popleft(), mode=mode, shares=count, flags=flags)
        else:
            yield (others or shared).popleft()
        number += 1


def _find_layouts(
    view: NodeView, instances: Counter[str], models: Models, notes: Notes
) -> tuple[str, list[tuple[str, ...]]]:
    """Return a MIG product and the layouts that make the instances, as even as they can be."""
    if not instances:
        return "", []
    text = "which instances lie on which GPU is not told where they are detected"
    for gpus in range(1, MOST_GPUS + 1):
        if any(count % gpus for count in instances.values()):
            continue
        layout = tuple(name for name, count in instances.items() for _ in range(count // gpus))
        model = models.find_mig(view.hostlist, [layout]) if len(layout) <= MOST_INSTANCES else ""
        if model:
            notes.add(Kind.GUESSED, view.hostlist, text)
            return model, [layout] * gpus
    model = models.find_mig(view.hostlist, [(profile,) for profile in instances])
    if not model:
        shown = ", ".join(f"{count} {name}" for name, count in instances.items())
        notes.add(Kind.LOST, view.hostlist, f"no GPU can hold {shown}")
        return "", []
    notes.add(Kind.GUESSED, view.hostlist, text)
    return model, _fill_gpus(model, instances)


def _fill_gpus(model: str, instances: Counter[str]) -> list[tuple[str, ...]]:
    """Return layouts that hold all instances: each goes to the first GPU with room for it."""
    product = get_mig_product(model)
    layouts: list[tuple[str, ...]] = []
    order = sorted(instances, key=lambda name: (-product.profiles[name].size, name))
    for profile in (name for name in order for _ in range(instances[name])):
        for index, layout in enumerate(layouts):
            if not find_violation(product, (*layout, profile)):
                layouts[index] = (*layout, profile)
                break
        else:
            layouts.append((profile,))
    return sorted(layouts, key=lambda layout: (-len(layout), layout))


def get_detection(view: NodeView) -> Detection:
    """Return the detection of the view's nodes; GresConfigError for one without counterpart."""
    try:
        return Detection(view.autodetect) if view.is_detecting else Detection.FILES
    except ValueError as error:
        raise GresConfigError(
            f"AutoDetect={view.autodetect} has no counterpart in an inventory",
            file_name=view.record.source.file,
            line=view.record.source.line,
        ) from error
