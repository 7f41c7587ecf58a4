"""Checks a cluster's slurm.conf for settings without which limits silently do nothing."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from portal.slurm.values import ClusterInfo, Node, Partition

NEEDED_ENFORCE = ("associations", "limits", "qos", "safe")


class Level(StrEnum):
    """How a check ended."""

    OK = "ok"
    WARNING = "warning"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class PoolSettings:
    """What a pool needs of a cluster; `spot_partition` is "" where it has none."""

    code: str
    gres_type: str
    partition: str
    spot_partition: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """One check: what was looked at and found, what silently breaks, and the line to write."""

    level: Level
    setting: str
    found: str
    breaks: str = ""
    line: str = ""


def check_cluster(
    cluster_name: str,
    info: ClusterInfo,
    nodes: Sequence[Node],
    partitions: Sequence[Partition],
    pools: Sequence[PoolSettings],
) -> tuple[Finding, ...]:
    """Return a finding for each check, passed ones too."""
    config = {name.lower(): value for name, value in info.config}
    return (
        _check_name(cluster_name, info),
        _check_tres(config, pools),
        _check_enforce(config),
        _check_decay(config),
        _check_plugin(config),
        _check_default_memory(config),
        *_check_pools(nodes, partitions, pools),
    )


def _check_name(cluster_name: str, info: ClusterInfo) -> Finding:
    found = info.cluster_name
    if found == cluster_name:
        return Finding(Level.OK, "ClusterName", found)
    breaks = "The portal refuses to speak to a Slurm of another name."
    return Finding(Level.ERROR, "ClusterName", found, breaks, f"ClusterName={cluster_name}")


def _split(text: str) -> list[str]:
    words = [word.strip().lower() for word in text.split(",")]
    return [word for word in words if word and word not in ("(null)", "none")]


def _check_tres(config: Mapping[str, str], pools: Iterable[PoolSettings]) -> Finding:
    found = config.get("accountingstoragetres", "")
    needed = ["gres/gpu", *sorted({f"gres/gpu:{pool.gres_type}" for pool in pools})]
    missing = [name for name in needed if name.lower() not in _split(found)]
    if not missing:
        return Finding(Level.OK, "AccountingStorageTRES", found)
    breaks = (
        f"Slurm does not count {', '.join(missing)}: limits on it do nothing, and jobs that use it "
        "show no GPUs in sacct."
    )
    line = f"AccountingStorageTRES={','.join(needed)}"
    return Finding(Level.ERROR, "AccountingStorageTRES", found, breaks, line)


def _check_enforce(config: Mapping[str, str]) -> Finding:
    found = config.get("accountingstorageenforce", "")
    words = _split(found)
    missing = [] if "all" in words else [word for word in NEEDED_ENFORCE if word not in words]
    if not missing:
        return Finding(Level.OK, "AccountingStorageEnforce", found)
    breaks = (
        f"Without {', '.join(missing)}, jobs run without an allocation, or past its limits, and "
        "nothing says so."
    )
    line = f"AccountingStorageEnforce={','.join(NEEDED_ENFORCE)}"
    return Finding(Level.ERROR, "AccountingStorageEnforce", found, breaks, line)


def _check_decay(config: Mapping[str, str]) -> Finding:
    found = config.get("prioritydecayhalflife", "")
    if found and not found.strip("0:-"):
        return Finding(Level.OK, "PriorityDecayHalfLife", found)
    breaks = (
        "Usage under limits of others than the portal's QOS (which carry NoDecay) fades away, so "
        "that GrpTRESMins on accounts let more through than they say."
    )
    line = "PriorityDecayHalfLife=0"
    return Finding(Level.WARNING, "PriorityDecayHalfLife", found or "not set", breaks, line)


def _check_plugin(config: Mapping[str, str]) -> Finding:
    found = config.get("jobsubmitplugins", "")
    if "lua" in _split(found):
        return Finding(Level.OK, "JobSubmitPlugins", found)
    breaks = (
        "Nobody fills in QOS and partition: jobs run under the account's default QOS, and people "
        "get Slurm's own messages instead of a sentence that helps."
    )
    return Finding(Level.ERROR, "JobSubmitPlugins", found or "none", breaks, "JobSubmitPlugins=lua")


def _check_default_memory(config: Mapping[str, str]) -> Finding:
    names = ("DefMemPerCPU", "DefMemPerGPU", "DefMemPerNode")
    found = {name: config.get(name.lower(), "") for name in names}
    given = [f"{name}={value}" for name, value in found.items() if value.isdigit() and int(value)]
    if given:
        return Finding(Level.OK, "DefMemPerCPU", ", ".join(given))
    breaks = "A job that names no memory takes a whole node's, and its other GPUs stay idle."
    return Finding(Level.WARNING, "DefMemPerCPU", "UNLIMITED", breaks, "DefMemPerCPU=2048")


def _check_pools(
    nodes: Sequence[Node], partitions: Sequence[Partition], pools: Sequence[PoolSettings]
) -> Iterator[Finding]:
    by_name = {partition.name: partition for partition in partitions}
    for pool in pools:
        base = by_name.get(pool.partition)
        yield _check_partition(pool, pool.partition, base, nodes)
        if pool.spot_partition:
            spot = by_name.get(pool.spot_partition)
            yield _check_partition(pool, pool.spot_partition, spot, nodes)
            if base is not None and spot is not None:
                yield _check_preemption(pool, base, spot)


def _check_partition(
    pool: PoolSettings, name: str, partition: Partition | None, nodes: Sequence[Node]
) -> Finding:
    setting = f"partition {name} of pool {pool.code}"
    gres = f"gpu:{pool.gres_type}"
    if partition is None:
        breaks = "Every job of the pool is refused: Slurm knows no such partition."
        line = f"PartitionName={name} Nodes=... State=UP"
        return Finding(Level.ERROR, setting, "missing", breaks, line)
    count = sum(dict(node.gres).get(gres, 0) for node in nodes if node.name in partition.nodes)
    if count:
        return Finding(Level.OK, setting, f"{count} x {gres}")
    breaks = f"No node of the partition has {gres}: jobs of the pool are refused or wait for ever."
    return Finding(Level.ERROR, setting, f"0 x {gres}", breaks, f"NodeName=... Gres={gres}:N")


def _check_preemption(pool: PoolSettings, base: Partition, spot: Partition) -> Finding:
    setting = f"preemption in partition {spot.name} of pool {pool.code}"
    found = (
        f"PreemptMode={spot.preempt_mode}, PriorityTier {spot.priority_tier}/{base.priority_tier}"
    )
    is_requeue = "REQUEUE" in spot.preempt_mode.upper()
    if is_requeue and spot.priority_tier < base.priority_tier:
        return Finding(Level.OK, setting, found)
    breaks = "Spot jobs keep their GPUs while on-demand jobs wait: nothing is preempted."
    line = (
        f"PreemptType=preempt/partition_prio, and PartitionName={spot.name} PreemptMode=REQUEUE "
        f"PriorityTier={max(0, base.priority_tier - 1)}"
    )
    return Finding(Level.ERROR, setting, found, breaks, line)
