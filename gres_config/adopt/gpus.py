"""Makes the GPU specs of a node from its lines of gres.conf, or from its counts with AutoDetect."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from gres_config.adopt.counted_gpus import adopt_counts, get_detection
from gres_config.adopt.models import Models
from gres_config.adopt.notes import Kind, Notes
from gres_config.adopt.profiles import find_profile
from gres_config.inventory import GpuMode, GpuSpec, name_instance_type
from gres_config.meaning import SHARED, Device, list_line_devices, list_shares
from gres_config.parse.views import NodeView


@dataclass(frozen=True, slots=True)
class Unit:
    """One GPU: a whole one, or one with instances; `shares` of `mode` where it is shared."""

    devices: tuple[Device, ...]
    profiles: tuple[str, ...] = ()
    mode: GpuMode = GpuMode.WHOLE
    shares: int = 0


def adopt_gpus(view: NodeView, models: Models, notes: Notes) -> tuple[GpuSpec, ...]:
    """Return the specs of the view's nodes, in the order of their lines."""
    devices = _take_counted(view, notes)
    if not devices:
        return adopt_counts(view, models, notes)
    units = _share(view, tuple(_group(devices, notes, view)), notes)
    specs: list[GpuSpec] = []
    for _key, alike in groupby(units, _get_key):
        spec = _make_spec(view, tuple(alike), models, notes)
        if spec:
            specs.append(spec)
    return tuple(specs)


def _take_counted(view: NodeView, notes: Notes) -> tuple[Device, ...]:
    """Return the devices that slurm.conf counts: as many of each type, the first ones."""
    left: Counter[str] = Counter()
    for entry in view.gres:
        if entry.name == "gpu":
            left[entry.type.lower()] += entry.count
    is_untyped = set(left) == {""}
    taken: list[Device] = []
    for line in view.list_lines("gpu"):
        for device in list_line_devices(line):
            kind = "" if is_untyped else device.type.lower()
            if device.files and left[kind] > 0:
                left[kind] -= 1
                taken.append(replace(device, type="") if is_untyped else device)
            elif device.files:
                text = f"{device.files[0]} is not counted in Gres=, and no job gets it"
                notes.add(Kind.CHANGED, line.source, text)
    return tuple(taken)


def _group(devices: Sequence[Device], notes: Notes, view: NodeView) -> Iterator[Unit]:
    """Yield GPUs: instances whose first file is the same are one."""
    for is_instance, run in groupby(devices, lambda device: len(device.files) > 1):
        if not is_instance:
            yield from (Unit((device,)) for device in run)
            continue
        for _file, parts in groupby(run, lambda device: device.files[0]):
            instances = tuple(parts)
            profiles = tuple(find_profile(device.type) for device in instances)
            if all(profiles):
                yield Unit(instances, profiles, GpuMode.MIG)
            else:
                kinds = ", ".join(sorted({device.type for device in instances}))
                text = f"no MIG profile can be read from the type {kinds or '(none)'}"
                notes.add(Kind.LOST, view.hostlist, text)


def _share(view: NodeView, units: tuple[Unit, ...], notes: Notes) -> Iterator[Unit]:
    """Yield the units with their shares: shard or mps, by file."""
    devices = tuple(device for unit in units for device in unit.devices)
    shares: dict[str, tuple[str, int]] = {}
    flags: dict[str, frozenset[str]] = {}
    for name in SHARED:
        count = sum(entry.count for entry in view.gres if entry.name == name)
        if not count:
            continue
        for share in _list_counted_shares(view, name, count, devices):
            file = share.files[0] if share.files else ""
            if file in shares:
                text = f"{file} is both {shares[file][0]} and {name}; {name} is left out"
                notes.add(Kind.LOST, view.hostlist, text)
                continue
            shares[file] = (name, share.count)
            flags[file] = share.flags
    for unit in units:
        file = unit.devices[-1].files[-1]
        name, count = shares.pop(file, ("", 0))
        if not name:
            yield unit
        elif unit.profiles:
            notes.add(Kind.LOST, view.hostlist, f"{name} on MIG instances")
            yield unit
        else:
            device = unit.devices[0]
            merged = replace(device, flags=device.flags | flags[file])
            yield Unit((merged,), mode=GpuMode(name), shares=count)
    for file, (name, _count) in shares.items():
        notes.add(Kind.LOST, view.hostlist, f"{name} of {file or 'detected GPUs'}")


def _list_counted_shares(
    view: NodeView, name: str, count: int, gpus: tuple[Device, ...]
) -> tuple[Device, ...]:
    if view.list_lines(name):
        return tuple(list_shares(replace(view, autodetect=""), name, gpus))
    # Without a line slurmd spreads what slurm.conf counts over the GPUs.
    shares: list[Device] = []
    for number, gpu in enumerate(gpus):
        share = count // (len(gpus) - number)
        count -= share
        shares.append(Device(name, "", (gpu.files[-1],), share))
    return tuple(share for share in shares if share.count)


def _get_key(unit: Unit) -> tuple[object, ...]:
    """Return what must be equal for GPUs to be one spec."""
    first = unit.devices[0]
    types = tuple(device.type for device in unit.devices)
    cores = tuple(bool(device.cores) for device in unit.devices)
    links = bool(first.links)
    return (types, unit.profiles, unit.mode, unit.shares, cores, links, sorted(first.flags))


def _make_spec(
    view: NodeView, units: tuple[Unit, ...], models: Models, notes: Notes
) -> GpuSpec | None:
    first = units[0]
    if first.profiles:
        return _make_split(view, units, models, notes)
    kind = first.devices[0].type
    return GpuSpec(
        models.find_whole(kind),
        len(units),
        kind,
        first.mode,
        shares=first.shares,
        files=tuple(unit.devices[0].files[0] for unit in units),
        cores=_fold(unit.devices[0].cores for unit in units),
        links=_keep(unit.devices[0].links for unit in units),
        flags=tuple(sorted(first.devices[0].flags)),
    )


def _make_split(
    view: NodeView, units: tuple[Unit, ...], models: Models, notes: Notes
) -> GpuSpec | None:
    """Return the spec of GPUs with instances; None, and a note, for what none can be."""
    first = units[0]
    model = models.find_mig(view.hostlist, [unit.profiles for unit in units])
    pairs = tuple(zip(first.profiles, (device.type for device in first.devices), strict=True))
    types = dict(pairs)
    is_plain = all(types[profile] == kind for profile, kind in pairs)
    if not model or not is_plain:
        what = "no GPU can hold" if not model else "one profile under two types:"
        notes.add(Kind.LOST, view.hostlist, f"{what} {' '.join(first.profiles)}")
        return None
    return GpuSpec(
        model,
        len(units),
        mode=GpuMode.MIG,
        mig_layout=first.profiles,
        mig_types=tuple(
            (profile, kind)
            for profile, kind in types.items()
            if kind != name_instance_type(profile, get_detection(view))
        ),
        mig_files=tuple(tuple(device.files for device in unit.devices) for unit in units),
        cores=_fold(unit.devices[0].cores for unit in units),
        flags=tuple(sorted(first.devices[0].flags)),
    )


def _fold(values: Iterable[str]) -> tuple[str, ...]:
    found = tuple(values)
    if not any(found):
        return ()
    return found[:1] if len(set(found)) == 1 else found


def _keep(values: Iterable[str]) -> tuple[str, ...]:
    found = tuple(values)
    return found if any(found) else ()
