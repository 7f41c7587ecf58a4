"""The preflight's judgement of settings."""

from portal.ops.preflight import Finding, Level, PoolSettings, check_cluster
from portal.slurm.values import ClusterInfo, Node, Partition

GOOD = {
    "ClusterName": "c1",
    "AccountingStorageTRES": "cpu,mem,energy,node,billing,gres/gpu,gres/gpu:a100",
    "AccountingStorageEnforce": "associations,limits,qos,safe",
    "PriorityDecayHalfLife": "00:00:00",
    "JobSubmitPlugins": "lua",
    "DefMemPerCPU": "2048",
}
NODES = (Node("n1", ("IDLE",), ("gpu", "spot"), (("gpu:a100", 8),), ()),)
PARTITIONS = (
    Partition("gpu", ("UP",), ("n1",), 10, "OFF"),
    Partition("spot", ("UP",), ("n1",), 1, "REQUEUE"),
)
POOLS = (PoolSettings("a100", "a100", "gpu", "spot"),)


def find_wrong(partitions: tuple[Partition, ...] = PARTITIONS, **config: str) -> dict[str, Finding]:
    merged = {**GOOD, **config}
    info = ClusterInfo(merged["ClusterName"], "22.05.8", tuple(merged.items()))
    findings = check_cluster("c1", info, NODES, partitions, POOLS)
    return {finding.setting: finding for finding in findings if finding.level is not Level.OK}


def test_a_good_cluster_passes():
    assert find_wrong() == {}


def test_a_type_that_slurm_does_not_count_is_named():
    finding = find_wrong(AccountingStorageTRES="cpu,mem,gres/gpu")["AccountingStorageTRES"]
    assert "gres/gpu:a100" in finding.breaks
    assert finding.line == "AccountingStorageTRES=gres/gpu,gres/gpu:a100"


def test_missing_enforcement_is_named_and_all_covers_it():
    finding = find_wrong(AccountingStorageEnforce="associations,qos")["AccountingStorageEnforce"]
    assert "limits, safe" in finding.breaks
    assert find_wrong(AccountingStorageEnforce="all") == {}


def test_decay_is_a_warning():
    finding = find_wrong(PriorityDecayHalfLife="7-00:00:00")["PriorityDecayHalfLife"]
    assert finding.level is Level.WARNING


def test_a_missing_plugin_another_name_and_no_default_memory_are_found():
    wrong = find_wrong(JobSubmitPlugins="(null)", ClusterName="other", DefMemPerCPU="UNLIMITED")
    assert set(wrong) == {"JobSubmitPlugins", "ClusterName", "DefMemPerCPU"}


def test_a_missing_partition_and_a_spot_tier_that_preempts_nothing_are_found():
    assert "partition spot of pool a100" in find_wrong(PARTITIONS[:1])
    equal = (PARTITIONS[0], Partition("spot", ("UP",), ("n1",), 10, "REQUEUE"))
    assert "preemption in partition spot of pool a100" in find_wrong(equal)


def test_a_partition_without_the_pools_gres_is_found():
    empty = (Partition("gpu", ("UP",), (), 10, "OFF"), PARTITIONS[1])
    assert "partition gpu of pool a100" in find_wrong(empty)
