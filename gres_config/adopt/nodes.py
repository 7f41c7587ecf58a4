"""Makes node groups: nodes that are told the same, with what the inventory has keys for."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from gres_config.adopt.counted_gpus import get_detection
from gres_config.adopt.gpus import adopt_gpus
from gres_config.adopt.models import Models
from gres_config.adopt.notes import Kind, Notes
from gres_config.errors import GresConfigError
from gres_config.hostlist import fold_hostlist
from gres_config.inventory import GPU_NAMES, Detection, GenericGres, GpuSpec, NodeGroup
from gres_config.meaning import TOLD, list_line_devices
from gres_config.parse.counts import NO_CONSUME
from gres_config.parse.views import NodeView
from gres_config.render.records import list_gres_records

_ADDRESS_KEYS = ("NodeHostname", "NodeAddr", "Port", "BcastAddr")
_SPELLED = {
    "corespeccount": "CoreSpecCount",
    "cpubind": "CpuBind",
    "cpuspeclist": "CPUSpecList",
    "gresconf": "GresConf",
    "memspeclimit": "MemSpecLimit",
    "parameters": "Parameters",
    "reason": "Reason",
    "suspendtime": "SuspendTime",
    "tmpdisk": "TmpDisk",
    "topology": "Topology",
    "tresweights": "TRESWeights",
    "weight": "Weight",
}


def adopt_group(
    view: NodeView, addresses: Mapping[str, tuple[str, ...]], models: Models, notes: Notes
) -> NodeGroup:
    """Return the group of the nodes; GresConfigError, with its line, for what none can be."""
    try:
        return _make_group(view, addresses, models, notes)
    except GresConfigError as error:
        if error.file_name:
            raise
        source = view.record.source
        raise GresConfigError(error.reason, file_name=source.file, line=source.line) from error


def _make_group(
    view: NodeView, addresses: Mapping[str, tuple[str, ...]], models: Models, notes: Notes
) -> NodeGroup:
    record, topology = view.record, view.topology
    memory = record.get("realmemory")
    cores = record.words.get("restrictedcorespergpu", "")
    cpus = record.get("cpus", "procs")
    if cpus.isdigit() and int(cpus) != topology.cpus:
        text = f"CPUs={cpus}, where sockets, cores and threads make {topology.cpus}"
        notes.add(Kind.LOST, record.source, text)
    for entry in view.gres:
        if NO_CONSUME in entry.text.lower().split(":"):
            notes.add(Kind.LOST, record.source, f"{entry.text}: {NO_CONSUME} is left out")
    group = NodeGroup(
        hostlist=fold_hostlist(view.nodes),
        sockets=topology.sockets,
        cores_per_socket=topology.cores_per_socket,
        memory_mib=int(memory) if memory.isdigit() else 1,
        threads_per_core=topology.threads_per_core,
        gpus=adopt_gpus(view, models, notes),
        gres=tuple(_adopt_gres(view, notes)),
        features=tuple(filter(None, record.get("feature", "features").split(","))),
        detection=_find_detection(view),
        state=record.get("state").upper() or "UNKNOWN",
        restricted_cores_per_gpu=int(cores) if cores.isdigit() else None,
        extra=(*_list_extra(view), *_list_addresses(view.nodes, addresses)),
    )
    return _drop_default_files(group)


def _find_detection(view: NodeView) -> Detection:
    if not view.is_detecting or not any(entry.name == "gpu" for entry in view.gres):
        return Detection.FILES
    return get_detection(view)


def _adopt_gres(view: NodeView, notes: Notes) -> Iterator[GenericGres]:
    for entry in view.gres:
        if entry.name in GPU_NAMES or not entry.count:
            continue
        devices = [
            device
            for line in view.list_lines(entry.name.lower())
            for device in list_line_devices(line)
            if device.type.lower() == entry.type.lower() or not entry.type
        ]
        files = tuple(file for device in devices for file in device.files)
        if files and len(files) != entry.count:
            text = f"{entry.text} with {len(files)} device files"
            notes.add(Kind.LOST, view.record.source, text)
            files = ()
        cores = tuple(device.cores for device in devices if device.cores)
        is_even = len(set(cores)) <= 1
        yield GenericGres(
            entry.name,
            entry.count,
            entry.type,
            files,
            (cores[:1] if is_even else cores) if files or is_even else (),
            tuple(sorted({flag for device in devices for flag in device.flags})),
        )


def _list_extra(view: NodeView) -> Iterator[tuple[str, str]]:
    for key, value in sorted(view.record.words.items()):
        if key not in TOLD and key != "restrictedcorespergpu":
            yield _SPELLED.get(key, key), value


def _list_addresses(
    nodes: Iterable[str], addresses: Mapping[str, tuple[str, ...]]
) -> Iterator[tuple[str, str]]:
    names = tuple(nodes)
    rows = [addresses.get(name, ("",) * len(_ADDRESS_KEYS)) for name in names]
    for index, key in enumerate(_ADDRESS_KEYS):
        column = [row[index] for row in rows]
        if not any(column):
            continue
        filled = [value or name for value, name in zip(column, names, strict=True)]
        is_one = len(set(filled)) == 1
        yield key, filled[0] if is_one else _fold_words(filled)


def _fold_words(words: list[str]) -> str:
    if all(word.isdigit() for word in words):
        return f"[{','.join(words)}]"
    return fold_hostlist(words)


def _drop_default_files(group: NodeGroup) -> NodeGroup:
    """Leave out file names that render would write by itself."""
    if group.detection is not Detection.FILES:
        return group
    wanted = list_gres_records(group)
    for index, spec in enumerate(group.gpus):
        slim = replace(spec, files=(), mig_files=())
        trial = replace(group, gpus=_put(group.gpus, index, slim))
        if list_gres_records(trial) == wanted:
            group = trial
    return group


def _put(gpus: tuple[GpuSpec, ...], index: int, spec: GpuSpec) -> tuple[GpuSpec, ...]:
    return (*gpus[:index], spec, *gpus[index + 1 :])
