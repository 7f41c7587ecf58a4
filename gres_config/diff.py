"""What changes from one configuration to another, and what it costs each node.

The costs follow slurm.conf(5), gres.conf(5), scontrol(1) reconfigure and Slurm's FAQ ("How should I
add nodes"): nodes come and go with a restart before 24.11; a changed count or device of a node
whose jobs hold it makes the node INVAL or gives a job another device, so it is drained.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

from gres_config.check.config import parse_release
from gres_config.hostlist import fold_hostlist
from gres_config.meaning import Device, Meaning, NodeMeaning

ADDS_BY_RECONFIGURE = (24, 11)
RECONFIGURE_RESTARTS = (23, 11)


class Cost(IntEnum):
    """What a node, or the whole cluster, goes through; the higher ones include the lower."""

    NOTHING = 0
    RECONFIGURE = 1
    RESTART = 2
    DRAIN = 3

    def describe(self) -> str:
        """Return what is to be done."""
        return _TODO[self]


_TODO = {
    Cost.NOTHING: "nothing",
    Cost.RECONFIGURE: "reconfigure: scontrol reconfigure",
    Cost.RESTART: "restart: of slurmctld and of the nodes' slurmd",
    Cost.DRAIN: "drain: first, until no job runs there, then a restart",
}
# Settings that a reconfigure before 23.11 does not take in (slurm.conf(5)).
_RESTART_SETTINGS = frozenset(
    [
        "authtype",
        "corespecplugin",
        "credtype",
        "grestypes",
        "jobcomptype",
        "mpidefault",
        "plugindir",
        "proctracktype",
        "schedulertype",
        "selecttype",
        "selecttypeparameters",
        "statesavelocation",
        "switchtype",
        "taskplugin",
        "topologyplugin",
    ]
)
# Settings that no reconfigure takes in (scontrol(1)).
_ALWAYS_RESTART = frozenset(
    [
        "authinfo",
        "authtype",
        "credtype",
        "slurmctldhost",
        "slurmctldport",
        "slurmdport",
        "statesavelocation",
    ]
)


@dataclass(frozen=True, slots=True)
class Change:
    """One difference and what it costs; `why` is the reason for the cost."""

    what: str
    cost: Cost
    why: str = ""


@dataclass(frozen=True, slots=True)
class NodeChange:
    """The differences of equal nodes; `cost` is the highest of them."""

    nodes: str
    changes: tuple[Change, ...]

    @property
    def cost(self) -> Cost:
        """What each of the nodes goes through."""
        return max((change.cost for change in self.changes), default=Cost.NOTHING)


@dataclass(frozen=True, slots=True)
class Difference:
    """All differences: of the cluster, and of its nodes. `unchanged` counts the other nodes."""

    cluster: tuple[Change, ...]
    nodes: tuple[NodeChange, ...]
    unchanged: int

    @property
    def cost(self) -> Cost:
        """The highest cost of all."""
        costs = [change.cost for change in self.cluster] + [node.cost for node in self.nodes]
        return max(costs, default=Cost.NOTHING)


def diff_meanings(old: Meaning, new: Meaning, release: str) -> Difference:
    """Return what changes from `old` to `new` on a cluster of this release."""
    version = parse_release(release)
    groups: dict[tuple[Change, ...], list[str]] = defaultdict(list)
    unchanged = 0
    compared: dict[tuple[int, int], tuple[Change, ...]] = {}
    for name in (*new.nodes, *(name for name in old.nodes if name not in new.nodes)):
        before, after = old.nodes.get(name), new.nodes.get(name)
        # Nodes of one kind share their value but for the address, which is compared by itself.
        key = (id(before), id(after))
        if key not in compared:
            compared[key] = tuple(_compare_node(before, after, version))
        if compared[key]:
            groups[compared[key]].append(name)
        else:
            unchanged += 1
    nodes = tuple(NodeChange(fold_hostlist(names), changes) for changes, names in groups.items())
    cluster = tuple(_compare_cluster(old, new, version))
    return Difference(cluster, nodes, unchanged)


def _compare_node(
    old: NodeMeaning | None, new: NodeMeaning | None, version: tuple[int, ...]
) -> Iterator[Change]:
    if old is None or new is None:
        by_reconfigure = version >= ADDS_BY_RECONFIGURE
        cost = Cost.RECONFIGURE if by_reconfigure else Cost.RESTART
        if new is None:
            yield Change("node taken out", Cost.DRAIN, "its jobs would be killed")
        else:
            reason = "" if by_reconfigure else "before 24.11 nodes are added by a restart"
            yield Change("node added", cost, reason)
        return
    if old == new:
        return
    yield from _compare_hardware(old, new)
    yield from _compare_gres(old, new)
    yield from _compare_words(old, new)


def _compare_hardware(old: NodeMeaning, new: NodeMeaning) -> Iterator[Change]:
    if (old.topology, old.cpus) != (new.topology, new.cpus):
        what = f"{_name_cores(old)} become {_name_cores(new)}"
        yield Change(what, Cost.DRAIN, "the cores of running jobs would be other ones")
    if old.memory_mib != new.memory_mib:
        what = f"RealMemory {old.memory_mib} becomes {new.memory_mib} MiB"
        if new.memory_mib < old.memory_mib:
            yield Change(what, Cost.DRAIN, "running jobs may hold more than is left")
        else:
            yield Change(what, Cost.RESTART, "node hardware is read at start (slurm.conf(5))")
    if old.address != new.address:
        yield Change("address or port changes", Cost.RESTART, "slurmd binds it at start")


def _name_cores(node: NodeMeaning) -> str:
    topology = node.topology
    cores = f"{topology.sockets}x{topology.cores_per_socket}x{topology.threads_per_core}"
    return f"{node.cpus} CPUs ({cores})"


def _compare_gres(old: NodeMeaning, new: NodeMeaning) -> Iterator[Change]:
    if old.gres != new.gres:
        what = f"Gres {_name_gres(old.gres)} becomes {_name_gres(new.gres)}"
        yield Change(what, Cost.DRAIN, "a count that changes under a job makes the node INVAL")
    if old.autodetect != new.autodetect:
        what = f"AutoDetect {old.autodetect or 'off'} becomes {new.autodetect or 'off'}"
        yield Change(what, Cost.DRAIN, "devices may get other numbers")
    if old.devices == new.devices:
        return
    if _list_identities(old.devices) != _list_identities(new.devices):
        what = f"device files change ({_count_files(old)} before, {_count_files(new)} after)"
        yield Change(what, Cost.DRAIN, "a running job would hold another device than Slurm thinks")
    else:
        yield Change("cores, links or flags of devices change", Cost.RESTART, "gres.conf(5), Cores")


def _list_identities(devices: Iterable[Device]) -> tuple[Device, ...]:
    return tuple(replace(device, cores="", links="", flags=frozenset()) for device in devices)


def _count_files(node: NodeMeaning) -> int:
    return len({file for device in node.devices for file in device.files})


def _name_gres(gres: Mapping[tuple[str, str], int]) -> str:
    words = [
        f"{name}:{kind}:{count}" if kind else f"{name}:{count}"
        for (name, kind), count in gres.items()
    ]
    return ",".join(words) or "(none)"


def _compare_words(old: NodeMeaning, new: NodeMeaning) -> Iterator[Change]:
    if old.features != new.features:
        what = f"features {_name_all(old.features)} become {_name_all(new.features)}"
        yield Change(what, Cost.RECONFIGURE)
    if old.state != new.state:
        cost = Cost.RESTART if "CLOUD" in old.state + new.state else Cost.RECONFIGURE
        yield Change(f"State {old.state} becomes {new.state}", cost)
    for key in sorted(old.words.keys() | new.words.keys()):
        before, after = old.words.get(key, "(none)"), new.words.get(key, "(none)")
        if before != after:
            is_core = key in ("corespeccount", "cpuspeclist", "memspeclimit")
            cost = Cost.RESTART if is_core else Cost.RECONFIGURE
            yield Change(f"{key} {before} becomes {after}", cost)


def _name_all(words: Iterable[str]) -> str:
    return ",".join(sorted(words)) or "(none)"


def _compare_cluster(old: Meaning, new: Meaning, version: tuple[int, ...]) -> Iterator[Change]:
    reads_again = version >= RECONFIGURE_RESTARTS
    if old.gres_types != new.gres_types:
        before, after = _name_all(old.gres_types), _name_all(new.gres_types)
        cost = Cost.RECONFIGURE if reads_again else Cost.RESTART
        why = "" if reads_again else "GresTypes is read at start (slurm.conf(5))"
        yield Change(f"GresTypes {before} becomes {after}", cost, why)
    added = new.accounting_tres - old.accounting_tres
    removed = old.accounting_tres - new.accounting_tres
    if added or removed:
        words = [f"+{word}" for word in sorted(added)] + [f"-{word}" for word in sorted(removed)]
        cost = Cost.RECONFIGURE if reads_again else Cost.RESTART
        yield Change(f"AccountingStorageTRES {' '.join(words)}", cost, "of slurmctld alone")
    for key in _list_settings(old, new):
        before, after = old.settings.get(key, "(none)"), new.settings.get(key, "(none)")
        if before == after:
            continue
        is_fixed = key in _ALWAYS_RESTART or (key in _RESTART_SETTINGS and not reads_again)
        cost = Cost.RESTART if is_fixed else Cost.RECONFIGURE
        yield Change(f"{key} {before} becomes {after}", cost)
    yield from _compare_partitions(old, new)


def _list_settings(old: Meaning, new: Meaning) -> list[str]:
    """Return the settings that both sides can tell: an inventory leaves most to slurm.conf."""
    keys = set(old.settings.keys() | new.settings.keys())
    for side in (old, new):
        if "slurmctldhost" not in side.settings:
            keys &= {*side.settings, "defmempercpu", "defmempergpu"}
    return sorted(keys)


def _compare_partitions(old: Meaning, new: Meaning) -> Iterator[Change]:
    for name in sorted(old.partitions.keys() | new.partitions.keys()):
        before, after = old.partitions.get(name), new.partitions.get(name)
        if before is None:
            yield Change(f"partition {name} added", Cost.RECONFIGURE)
        elif after is None:
            why = "its jobs are killed: first set it DOWN and wait (Slurm's FAQ)"
            yield Change(f"partition {name} taken out", Cost.RECONFIGURE, why)
        elif before != after:
            keys = before.keys() | after.keys()
            parts = sorted(key for key in keys if before.get(key) != after.get(key))
            yield Change(f"partition {name}: {', '.join(parts)}", Cost.RECONFIGURE)
