"""What a configuration means to Slurm, in one form: two files that mean the same are equal here.

Defaults are filled in, hostlists and files expanded, shares without files spread over the GPUs as
slurmd does it (src/plugins/gres/common/gres_c_s.c), Slurm's words for the same thing made one.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist
from gres_config.parse.cores import expand_cores
from gres_config.parse.counts import parse_count
from gres_config.parse.gres_conf import GresConf, GresLine
from gres_config.parse.slurm_conf import Record, SlurmConf
from gres_config.parse.times import parse_minutes
from gres_config.parse.topology import Topology, fold_numbers
from gres_config.parse.views import NodeView, build_views

SHARED = ("shard", "mps")
# The words of a node that are read below; all others are compared as they are.
TOLD = frozenset(
    [
        "boards",
        "corespersocket",
        "cpus",
        "feature",
        "features",
        "gres",
        "nodeaddr",
        "nodehostname",
        "port",
        "procs",
        "realmemory",
        "sockets",
        "socketsperboard",
        "state",
        "threadspercore",
        "bcastaddr",
    ]
)
ALL_KEYS = frozenset(
    [
        "boards",
        "corespeccount",
        "corespersocket",
        "cpubind",
        "cpus",
        "cpuspeclist",
        "feature",
        "features",
        "gres",
        "gresconf",
        "memspeclimit",
        "parameters",
        "procs",
        "realmemory",
        "reason",
        "restrictedcorespergpu",
        "sockets",
        "socketsperboard",
        "state",
        "suspendtime",
        "threadspercore",
        "tmpdisk",
        "topology",
        "tresweights",
        "weight",
    ]
)
_DEFAULTS = {
    "default": "NO",
    "prioritytier": "1",
    "priorityjobfactor": "1",
    "maxtime": "UNLIMITED",
    "maxnodes": "UNLIMITED",
    "state": "UP",
    "allowaccounts": "ALL",
    "allowgroups": "ALL",
    "allowqos": "ALL",
}
_LISTS = frozenset(
    [
        "allowaccounts",
        "allowgroups",
        "allowqos",
        "denyaccounts",
        "denyqos",
        "tresbillingweights",
    ]
)


@dataclass(frozen=True, slots=True)
class Device:
    """One device or MIG instance of a node as gres.conf tells it; `count` is its units."""

    name: str
    type: str
    files: tuple[str, ...]
    count: int
    cores: str = ""
    links: str = ""
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class NodeMeaning:
    """What one node is told. `words` are the further words of its NodeName line."""

    topology: Topology
    cpus: int
    memory_mib: int
    features: frozenset[str]
    state: str
    gres: Mapping[tuple[str, str], int]
    devices: tuple[Device, ...]
    autodetect: str
    address: tuple[str, ...]
    words: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Meaning:
    """What the files mean for the whole cluster; `settings` has the keys in lower case."""

    nodes: Mapping[str, NodeMeaning]
    partitions: Mapping[str, Mapping[str, object]]
    gres_types: frozenset[str]
    accounting_tres: frozenset[str]
    settings: Mapping[str, str]


def read_meaning(slurm: SlurmConf, gres: GresConf) -> Meaning:
    """Return what the two files mean."""
    nodes: dict[str, NodeMeaning] = {}
    addresses = read_addresses(slurm.nodes)
    for view in build_views(slurm, gres, keys=ALL_KEYS).nodes:
        base = _read_view(view)
        for name in view.nodes:
            address = addresses.get(name)
            nodes[name] = replace(base, address=address) if address else base
    settings = {key: setting.value for key, setting in slurm.settings.items()}
    types = _split(settings.pop("grestypes", ""))
    tres = _split(settings.pop("accountingstoragetres", ""))
    return Meaning(
        nodes,
        {record.name: read_partition(record, slurm, nodes) for record in slurm.partitions},
        frozenset(types),
        frozenset(word.lower() for word in tres),
        settings,
    )


def read_addresses(records: tuple[Record, ...]) -> Mapping[str, tuple[str, ...]]:
    """Return (hostname, address, port) of the nodes that have any."""
    found: dict[str, tuple[str, ...]] = {}
    for record in records:
        values = [record.get(key) for key in ("nodehostname", "nodeaddr", "port", "bcastaddr")]
        if not any(values):
            continue
        try:
            names = expand_hostlist(record.name)
            columns = [spread_words(value, len(names)) for value in values]
        except GresConfigError:
            continue
        for name, address in zip(names, zip(*columns, strict=True), strict=True):
            if address[0] not in ("", name) or address[1] not in ("", name) or any(address[2:]):
                found[name] = address
    return found


def spread_words(text: str, count: int) -> tuple[str, ...]:
    """Return the word for each of `count` nodes: a hostlist of as many, or one for all."""
    if not text:
        return ("",) * count
    words = expand_hostlist(text)
    if len(words) == 1:
        return words * count
    if len(words) != count:
        raise GresConfigError(f"{text!r} is not for {count} nodes")
    return words


def _read_view(view: NodeView) -> NodeMeaning:
    record = view.record
    counts: Counter[tuple[str, str]] = Counter()
    for entry in view.gres:
        counts[entry.name, entry.type] += entry.count
    memory = record.get("realmemory")
    cpus = record.get("cpus", "procs")
    return NodeMeaning(
        topology=view.topology,
        cpus=int(cpus) if cpus.isdigit() else view.topology.cpus,
        memory_mib=int(memory) if memory.isdigit() else 1,
        features=frozenset(_split(record.get("feature", "features"))),
        state=record.get("state").upper() or "UNKNOWN",
        gres={key: count for key, count in sorted(counts.items()) if count},
        devices=tuple(_list_devices(view)),
        autodetect="" if view.autodetect == "off" else view.autodetect,
        address=(),
        words={key: value for key, value in sorted(record.words.items()) if key not in TOLD},
    )


def _list_devices(view: NodeView) -> Iterator[Device]:
    gpus = [device for line in view.list_lines("gpu") for device in list_line_devices(line)]
    yield from gpus
    for name, lines in view.by_name.items():
        if name == "gpu":
            continue
        if name in SHARED:
            yield from list_shares(view, name, tuple(gpus))
            continue
        for line in lines:
            if line.body.has_file or line.body.cores:
                yield from list_line_devices(line)


def list_line_devices(line: GresLine) -> Iterator[Device]:
    """Yield the devices of a line, one for each unit; a line without a file is one device."""
    body = line.body
    flags = frozenset(flag.lower() for flag in body.flags) - {"countonly"}
    groups = [body.files] if body.multiple_files else [(file,) for file in body.files]
    count = parse_count(body.count) if body.count and not body.has_file else 1
    numbers = expand_cores(body.cores) if body.cores else None
    cores = fold_numbers(numbers) if numbers else body.cores
    for files in groups or [()]:
        yield Device(body.name.lower(), body.type, files, count or 0, cores, body.links, flags)


def list_shares(view: NodeView, name: str, gpus: tuple[Device, ...]) -> Iterator[Device]:
    """Yield the shares of each GPU; with detection, where files aren't known, one sum of all."""
    lines = view.list_lines(name)
    flags = frozenset(flag.lower() for line in lines for flag in line.body.flags)
    shared = flags & {"one_sharing", "all_sharing"}
    files: dict[str, int] = {}
    total = 0
    for line in lines:
        count = (parse_count(line.body.count) if line.body.count else 1) or 0
        total += count
        for file in line.body.files:
            files[file] = count // len(line.body.files)
    if view.is_detecting:
        yield Device(name, "", (), total, flags=shared)
        return
    if not files:
        left, remaining = total, len(gpus)
        for gpu in gpus:
            files[gpu.files[-1] if gpu.files else ""] = left // remaining
            left -= left // remaining
            remaining -= 1
    for file, count in files.items():
        if count:
            yield Device(name, "", (file,), count, flags=shared)


def read_partition(
    record: Record, slurm: SlurmConf, nodes: Mapping[str, object]
) -> Mapping[str, object]:
    """Return the partition's words, defaults filled in, in one spelling."""
    words: dict[str, object] = {**_DEFAULTS, **record.words}
    for key, value in list(words.items()):
        text = str(value)
        if key in ("maxtime", "defaulttime"):
            minutes = parse_minutes(text)
            words[key] = text if minutes is None else minutes
        elif key in _LISTS and text.upper() != "ALL":
            words[key] = frozenset(_split(text))
        elif key in ("default", "state", "preemptmode", "maxnodes") or text.upper() == "ALL":
            words[key] = text.upper()
    text = str(words.get("nodes", ""))
    if text.upper() == "ALL":
        words["nodes"] = frozenset(nodes)
    elif text:
        words["nodes"] = frozenset(expand_partition_nodes(text, slurm))
    return words


def expand_partition_nodes(text: str, slurm: SlurmConf) -> tuple[str, ...]:
    """Return the nodes of a partition's Nodes=, those of its NodeSets included."""
    sets = {record.name: record for record in slurm.others if record.kind == "NodeSet"}
    names: list[str] = []
    for word in expand_hostlist(text):
        names += _expand_set(sets[word], slurm) if word in sets else (word,)
    return tuple(dict.fromkeys(names))


def _expand_set(record: Record, slurm: SlurmConf) -> list[str]:
    names = list(expand_hostlist(record.get("nodes"))) if record.get("nodes") else []
    feature = record.get("feature")
    for node in slurm.nodes if feature else ():
        if feature in node.get("feature", "features").split(","):
            names += expand_hostlist(node.name)
    return names


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in text.split(","))))
