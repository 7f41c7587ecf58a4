"""What a node says of itself against what it is told: --detected."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.matching import match_types
from gres_config.check.mending import make_node_finding, rewrite_node
from gres_config.check.rules_counts import count_configured
from gres_config.detected import DetectedNode, Origin
from gres_config.hostlist import expand_hostlist, fold_hostlist
from gres_config.parse.lines import Source
from gres_config.parse.views import NodeView

RULES = RuleBook()
MOST_GPUS = 1024  # MAX_GRES_BITMAP of src/interfaces/gres.c
_PROFILE = re.compile(r"\d+[cg]\.\d+gb")


def _each(config: ClusterConfig) -> Iterator[tuple[NodeView, DetectedNode]]:
    views = {name: view for view in config.views.nodes for name in view.nodes}
    for node in config.detected:
        if node.node in views:
            yield views[node.node], node


def _list_gpus(node: DetectedNode, *, is_ignored: bool = False) -> list[str]:
    return [
        device.type
        for device in node.devices
        for _ in range(min(device.count, MOST_GPUS))
        if device.name.lower() == "gpu" and device.is_ignored is is_ignored
    ]


def _compare(view: NodeView, node: DetectedNode) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Return configured types that find too few devices, and the devices that none takes."""
    configured, found = count_configured(view, "gpu"), _list_gpus(node)
    if _has_types(view, node):
        missing, unused = match_types(configured, found)
    else:
        missing, unused = _compare_by_profile(configured, found)
    return missing, (*unused, *_list_gpus(node, is_ignored=True))


def _has_types(view: NodeView, node: DetectedNode) -> bool:
    """Whether the detected names decide: by AutoDetect, or in slurmd's own list."""
    return view.is_detecting or node.origin is Origin.SLURMD_GRES


@RULES.add(
    "detected-node-unknown",
    Effect.MISLEADS,
    "slurm.conf has no such node, so that nothing can be compared.",
)
def find_detected_node_unknown(config: ClusterConfig) -> Iterator[Finding]:
    known = {name for view in config.views.nodes for name in view.nodes}
    for node in config.detected:
        if node.node not in known:
            yield Finding(Source(node.file, 1), f"slurm.conf has no node {node.node}")


@RULES.add(
    "detected-fewer",
    Effect.DRAINS,
    "the node turns INVAL: “count reported lower than configured”.",
)
def find_detected_fewer(config: ClusterConfig) -> Iterator[Finding]:
    for view, node in _each(config):
        configured = count_configured(view, "gpu")
        # Before 24.11 `slurmd -C` tells no GPUs.
        if not configured or (node.origin is Origin.SLURMD_CONFIG and not node.devices):
            continue
        missing, unused = _compare(view, node)
        if not missing:
            continue
        labels = [f"{n} gpu:{kind}" if kind else f"{n} gpu" for kind, n in missing.items()]
        has = f"; it has {', '.join(_count(unused))} besides" if unused else ""
        what = f"{node.node} has {', '.join(labels)} fewer than Gres= counts{has}"
        counts = configured - Counter(missing)
        for name in unused:
            counts["" if set(configured) == {""} else _name_type(name)] += 1
        if counts == configured:
            # The count is right, so what slurmd ignores has other Cores or Links than told.
            yield make_node_finding(view, f"{what}: compare Cores and Links in gres.conf")
        else:
            yield make_node_finding(view, what, _rewrite(view, node, _write(view, counts)))


@RULES.add(
    "detected-unused",
    Effect.IGNORED,
    "slurmd logs “The following autodetected GPUs are being ignored”: no job gets them.",
)
def find_detected_unused(config: ClusterConfig) -> Iterator[Finding]:
    for view, node in _each(config):
        missing, unused = _compare(view, node)
        if unused and not missing:
            what = f"{node.node} has {', '.join(_count(unused))} that no entry of Gres= takes"
            yield make_node_finding(view, what, _rewrite(view, node, _add(view, unused)))


def _compare_by_profile(
    configured: Counter[str], found: list[str]
) -> tuple[Counter[str], tuple[str, ...]]:
    """Compare numbers where files are named by hand, and a Type may be any word.

    Instances are known by their profile; whole GPUs only by their number.
    """
    left = Counter({kind: count for kind, count in configured.items() if count > 0})
    unused: list[str] = []
    for name in sorted(found, key=len, reverse=True):
        profile = _PROFILE.search(name)
        fits = [
            kind
            for kind in sorted(left, key=len, reverse=True)
            if left[kind] > 0 and (profile[0] in kind if profile else not _PROFILE.search(kind))
        ]
        if fits:
            left[fits[0]] -= 1
        else:
            unused.append(name)
    return +left, tuple(unused)


@RULES.add(
    "detected-mig-as-whole",
    Effect.MISLEADS,
    "a GPU in MIG mode cannot be used as a whole; its instances are what jobs can have.",
    severity=Severity.ERROR,
)
def find_detected_mig_as_whole(config: ClusterConfig) -> Iterator[Finding]:
    for view, node in _each(config):
        kinds = count_configured(view, "gpu")
        instances = [device.type for device in node.devices if device.profile]
        whole = sum(count for kind, count in kinds.items() if not _PROFILE.search(kind))
        has_none = not any(_PROFILE.search(kind) for kind in kinds)
        if node.gpus_in_mig_mode and instances and has_none and whole:
            what = (
                f"{node.node} has {len(instances)} MIG instances on {node.gpus_in_mig_mode} GPU(s) "
                f"and Gres= counts {whole} whole GPU(s)"
            )
            wanted = Counter(_PROFILE.findall(" ".join(instances)))
            entries = [f"gpu:{kind}:{count}" for kind, count in sorted(wanted.items())]
            rest = [entry.text for entry in view.gres if entry.name != "gpu"]
            mend = _rewrite(view, node, {"Gres": ",".join([*entries, *rest])})
            yield make_node_finding(view, what, mend)


@RULES.add(
    "detected-smaller-node",
    Effect.DRAINS,
    "the node turns INVAL: “Low CPUs”, “Low socket*core*thread count” or “Low RealMemory”.",
)
def find_detected_smaller_node(config: ClusterConfig) -> Iterator[Finding]:
    if "config_overrides" in config.slurm.get("slurmdparameters").lower():
        return
    for view, node in _each(config):
        whats: list[str] = []
        changes: dict[str, str | None] = {}
        if node.cpus and view.topology.cpus > node.cpus:
            whats.append(f"{node.cpus} CPUs, slurm.conf says {view.topology.cpus}")
            changes |= _list_hardware(node)
        memory = view.record.get("realmemory")
        if node.memory_mib and memory.isdigit() and int(memory) > node.memory_mib:
            whats.append(f"{node.memory_mib} MiB, slurm.conf says RealMemory={memory}")
            changes["RealMemory"] = str(node.memory_mib)
        if whats:
            mend = _rewrite(view, node, changes)
            yield make_node_finding(view, f"{node.node} has {'; and '.join(whats)}", mend)


def _list_hardware(node: DetectedNode) -> dict[str, str | None]:
    """Return the words of a NodeName line for the node's CPUs."""
    return {
        "CPUs": str(node.cpus),
        "Boards": None,
        "SocketsPerBoard": None,
        "Procs": None,
        "Sockets": str(node.sockets) if node.sockets else None,
        "CoresPerSocket": str(node.cores_per_socket) if node.cores_per_socket else None,
        "ThreadsPerCore": str(node.threads_per_core) if node.threads_per_core else None,
    }


def _count(names: tuple[str, ...]) -> list[str]:
    return [f"{count} {name or 'gpu'}" for name, count in sorted(Counter(names).items())]


def _name_type(device: str) -> str:
    """Return the Type for a detected device: its profile, else its name."""
    profile = _PROFILE.search(device)
    return profile[0] if profile else device


def _rewrite(view: NodeView, node: DetectedNode, changes: Mapping[str, str | None]) -> str:
    """Return the line with the changes for this node; the record's others keep theirs.

    "" where a line of several nodes cannot be cut in two, since it names their addresses.
    """
    record = view.record
    names = expand_hostlist(record.name)
    if len(names) == 1:
        return rewrite_node(record, changes)
    if any(record.get(key) for key in ("nodeaddr", "nodehostname", "port")):
        return ""
    rest = fold_hostlist(name for name in names if name != node.node)
    own = rewrite_node(record, {**changes, "NodeName": node.node})
    return f"{rewrite_node(record, {'NodeName': rest})}\n{own}"


def _add(view: NodeView, unused: tuple[str, ...]) -> Mapping[str, str | None]:
    extra = Counter(_name_type(name) for name in unused)
    counts = count_configured(view, "gpu")
    if set(counts) == {""}:
        extra = Counter({"": len(unused)})
    return _write(view, counts + Counter({kind.lower(): n for kind, n in extra.items()}))


def _write(view: NodeView, counts: Counter[str]) -> Mapping[str, str | None]:
    entries = [f"gpu:{k}:{n}" if k else f"gpu:{n}" for k, n in counts.items() if n > 0]
    rest = [entry.text for entry in view.gres if entry.name.lower() != "gpu"]
    return {"Gres": ",".join([*entries, *rest]) or None}
