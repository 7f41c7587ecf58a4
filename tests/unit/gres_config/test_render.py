"""The configuration lines that an inventory becomes."""

import pytest

from gres_config.errors import GresConfigError
from gres_config.inventory import (
    Detection,
    GenericGres,
    GpuMode,
    GpuSpec,
    Inventory,
    NodeGroup,
    Partition,
    list_gres_types,
)
from gres_config.render import (
    NodeEndpoint,
    list_gres_records,
    render_accounting_tres,
    render_cgroup_conf,
    render_cluster,
    render_fake_gpus,
    render_gres_conf,
    render_mig_parted,
    render_nodes,
    render_partitions,
)

MIXED = NodeGroup(
    "mig[1-2]",
    sockets=2,
    cores_per_socket=32,
    memory_mib=512_000,
    gpus=(
        GpuSpec("A100-80GB", 1, "a100"),
        GpuSpec("A100-80GB", 2, mode=GpuMode.MIG, mig_layout=("3g.40gb", "3g.40gb")),
    ),
)


def test_renders_nodes_with_a_count_for_each_type() -> None:
    assert render_nodes([MIXED]) == (
        "NodeName=mig[1-2] CPUs=64 Sockets=2 CoresPerSocket=32 ThreadsPerCore=1 RealMemory=512000 "
        "Gres=gpu:a100:1,gpu:3g.40gb:4 State=UNKNOWN\n"
    )


def test_renders_an_endpoint_where_one_is_given() -> None:
    text = render_nodes([MIXED], {"mig2": NodeEndpoint("localhost", "127.0.0.1", 7001)})
    assert "NodeName=mig2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=7001 CPUs" in text


def test_a_node_without_gpus_has_no_gres() -> None:
    assert "Gres" not in render_nodes([NodeGroup("cpu1", 1, 8, 1000)])


def test_gres_conf_has_as_many_records_as_the_node_has_units() -> None:
    records = list_gres_records(MIXED)
    assert [record.gres_type for record in records] == ["a100", *["3g.40gb"] * 4]
    assert sum(MIXED.count_units().values()) == len(records)


def test_mig_instances_get_several_files_that_none_other_has() -> None:
    text = render_gres_conf([MIXED])
    lines = text.splitlines()
    assert lines[0] == "NodeName=mig[1-2] Name=gpu Type=a100 File=/dev/nvidia0"
    assert lines[1] == (
        "NodeName=mig[1-2] Name=gpu Type=3g.40gb MultipleFiles="
        "/dev/nvidia1,/dev/nvidia-caps/nvidia-cap147,/dev/nvidia-caps/nvidia-cap148"
    )
    caps = [word for line in lines[1:] for word in line.split(",") if "nvidia-cap" in word]
    assert len(caps) == len(set(caps)) == 8


def test_accounting_counts_gpus_with_and_without_their_type() -> None:
    assert render_accounting_tres([MIXED]) == "gres/gpu,gres/gpu:3g.40gb,gres/gpu:a100"
    assert list_gres_types([MIXED, MIXED]) == ("3g.40gb", "a100")


def test_renders_a_preemptible_partition() -> None:
    spot = Partition("spot", "n[1-2]", priority_tier=1, preempt_mode="REQUEUE")
    assert render_partitions([spot]) == (
        "PartitionName=spot Nodes=n[1-2] Default=NO PriorityTier=1 DefaultTime=60 "
        "MaxTime=UNLIMITED PreemptMode=REQUEUE State=UP\n"
    )


@pytest.mark.parametrize("gres_type", ["80", "80gb", "40GiB", "8k", "a100-40", "1g.10gb+me", "a b"])
def test_rejects_a_type_that_slurm_would_misread(gres_type: str) -> None:
    with pytest.raises(GresConfigError):
        GpuSpec("A100-80GB", 1, gres_type)


def test_rejects_a_layout_that_the_product_cannot_hold() -> None:
    with pytest.raises(GresConfigError, match="no placement"):
        GpuSpec("A100-80GB", 1, mode=GpuMode.MIG, mig_layout=("3g.40gb", "3g.40gb", "1g.10gb"))


def test_rejects_a_count_of_zero() -> None:
    with pytest.raises(GresConfigError):
        GpuSpec("A100-80GB", 0, "a100")


def make_group(*gpus: GpuSpec, **values) -> NodeGroup:
    return NodeGroup("n1", 2, 16, 64_000, gpus=gpus, **values)


def test_the_count_of_shares_is_that_of_all_files_of_the_line() -> None:
    group = make_group(GpuSpec("A100-80GB", 2, "a100", GpuMode.SHARD, shares=8))
    assert render_gres_conf([group]).splitlines() == [
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-1]",
        "NodeName=n1 Name=shard Count=16 File=/dev/nvidia[0-1]",
    ]
    assert "Gres=gpu:a100:2,shard:16 " in render_nodes([group])
    assert render_accounting_tres([group]) == "gres/gpu,gres/gpu:a100,gres/shard"


def test_gpus_with_links_get_a_line_each() -> None:
    links = ("-1,4", "4,-1")
    group = make_group(GpuSpec("A100-80GB", 2, "a100", cores=("0-15",), links=links))
    assert render_gres_conf([group]).splitlines() == [
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-15 Links=-1,4",
        "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia1 Cores=0-15 Links=4,-1",
    ]


def test_detected_gpus_have_no_line_of_their_own() -> None:
    mig = GpuSpec("A100-80GB", 1, mode=GpuMode.MIG, mig_layout=("3g.40gb", "3g.40gb"))
    shared = GpuSpec("A100-80GB", 1, "a100", GpuMode.MPS, shares=100)
    group = make_group(mig, shared, detection=Detection.NVML)
    assert render_gres_conf([group]).splitlines() == [
        "NodeName=n1 AutoDetect=nvml",
        "NodeName=n1 Name=mps Count=100 File=/dev/nvidia1",
    ]


def test_a_detected_media_instance_has_the_type_that_matches_its_name() -> None:
    mig = GpuSpec("A100-80GB", 1, mode=GpuMode.MIG, mig_layout=("1g.10gb+me", "1g.10gb"))
    assert make_group(mig, detection=Detection.NVML).count_units() == {"1g.10gb": 2}
    assert make_group(mig).count_units() == {"1g.10gb.me": 1, "1g.10gb": 1}


def test_a_count_without_files_needs_no_plugin() -> None:
    group = make_group(gres=(GenericGres("npu", 64), GenericGres("fpga", 1, "u250", ("/dev/x0",))))
    assert render_gres_conf([group]).splitlines() == [
        "NodeName=n1 Name=npu Count=64 Flags=CountOnly",
        "NodeName=n1 Name=fpga Type=u250 File=/dev/x0",
    ]
    assert render_accounting_tres([group]) == "gres/fpga,gres/fpga:u250,gres/npu"


def test_named_files_of_instances_are_kept() -> None:
    files = ((("/dev/nvidia0", "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"),),)
    mig = GpuSpec("A100-80GB", 1, mode=GpuMode.MIG, mig_layout=("7g.80gb",), mig_files=files)
    (record,) = list_gres_records(make_group(mig))
    assert [str(file) for file in record.files] == list(files[0][0])


def test_the_cluster_s_lines_hold_defaults_and_further_settings() -> None:
    inventory = Inventory(
        "c1", "24.11", (MIXED,), memory_per_gpu_mib=1000, accounting_tres=("gres/gpuutil",),
        extra=(("JobSubmitPlugins", "lua"), ("PrologFlags", "a b")),
    )  # fmt: skip
    assert render_cluster(inventory).splitlines() == [
        "GresTypes=gpu",
        "AccountingStorageTRES=gres/gpu,gres/gpu:3g.40gb,gres/gpu:a100,gres/gpuutil",
        "DefMemPerGPU=1000",
        "JobSubmitPlugins=lua",
        'PrologFlags="a b"',
    ]


def test_a_value_that_would_end_the_line_is_refused() -> None:
    inventory = Inventory("c1", "24.11", (MIXED,), extra=(("Epilog", "/x\nSlurmUser=root"),))
    with pytest.raises(GresConfigError):
        render_cluster(inventory)


def test_a_partition_says_limits_access_and_weights() -> None:
    partition = Partition(
        "gpu", "ALL", max_time_minutes=60, max_nodes=2, allow_accounts=("a", "b"), qos="q",
        memory_per_gpu_mib=5, billing_weights=(("CPU", "0.25"), ("GRES/gpu:a100", "8")),
    )  # fmt: skip
    assert render_partitions([partition]) == (
        "PartitionName=gpu Nodes=ALL Default=NO PriorityTier=1 DefaultTime=60 MaxTime=60 "
        "MaxNodes=2 DefMemPerGPU=5 AllowAccounts=a,b QOS=q "
        'TRESBillingWeights="CPU=0.25,GRES/gpu:a100=8" '
        "State=UP\n"
    )


def test_mig_parted_gets_each_gpu_in_the_order_of_the_node() -> None:
    assert render_mig_parted([MIXED, NodeGroup("cpu1", 1, 8, 1000)]) == (
        "version: v1\nmig-configs:\n  # mig[1-2]\n  mig1:\n"
        "    - devices: [0]\n      mig-enabled: false\n"
        "    - devices: [1, 2]\n      mig-enabled: true\n      mig-devices:\n"
        '        "3g.40gb": 2\n'
    )
    assert render_mig_parted([make_group(GpuSpec("A100-80GB", 1, "a100"))]) == ""


def test_a_fake_gpu_has_the_name_that_nvml_would_give_it() -> None:
    lines = render_fake_gpus(MIXED).splitlines()
    assert lines[0] == "nvidia_a100-sxm4-80gb|64|0-63|(null)|/dev/nvidia0|(null)|nvidia_gpu_env"
    assert lines[1].startswith("nvidia_a100_3g.40gb|64|0-63|(null)|/dev/nvidia1,/dev/nvidia-caps/")
    assert len(lines) == 5


def test_without_cgroups_nothing_is_constrained() -> None:
    inventory = Inventory("c1", "24.11", (MIXED,), cgroup_plugin="disabled")
    assert render_cgroup_conf(inventory) == "CgroupPlugin=disabled\n"
    constrained = render_cgroup_conf(Inventory("c1", "24.11", (MIXED,)))
    assert "ConstrainDevices=yes" in constrained
