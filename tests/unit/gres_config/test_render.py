"""The configuration lines that an inventory becomes."""

import pytest

from gres_config.errors import GresConfigError
from gres_config.inventory import GpuSpec, NodeGroup, Partition, list_gres_types
from gres_config.render import (
    NodeEndpoint,
    list_gres_records,
    render_accounting_tres,
    render_gres_conf,
    render_nodes,
    render_partitions,
)

MIXED = NodeGroup(
    ("mig1", "mig2"),
    cpus=64,
    memory_mib=512_000,
    gpus=(
        GpuSpec("a100", "A100-80GB", 1),
        GpuSpec("a100", "A100-80GB", 2, ("3g.40gb", "3g.40gb")),
    ),
)


def test_renders_nodes_with_a_count_for_each_type() -> None:
    line = "NodeName=mig1 CPUs=64 RealMemory=512000 Gres=gpu:a100:1,gpu:3g.40gb:4 State=UNKNOWN"
    assert render_nodes([MIXED]).splitlines()[0] == line


def test_renders_an_endpoint_where_one_is_given() -> None:
    text = render_nodes([MIXED], {"mig2": NodeEndpoint("localhost", "127.0.0.1", 7001)})
    assert "NodeName=mig2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=7001 CPUs" in text


def test_a_node_without_gpus_has_no_gres() -> None:
    assert "Gres" not in render_nodes([NodeGroup(("cpu1",), 8, 1000)])


def test_gres_conf_has_as_many_records_as_the_node_has_units() -> None:
    records = list_gres_records(MIXED)
    assert [record.gres_type for record in records] == ["a100", *["3g.40gb"] * 4]
    assert sum(MIXED.count_units().values()) == len(records)


def test_mig_instances_get_several_files_that_none_other_has() -> None:
    text = render_gres_conf([MIXED])
    lines = text.splitlines()
    assert lines[0] == "NodeName=mig1,mig2 Name=gpu Type=a100 File=/dev/nvidia0"
    assert lines[1] == (
        "NodeName=mig1,mig2 Name=gpu Type=3g.40gb MultipleFiles="
        "/dev/nvidia1,/dev/nvidia-caps/nvidia-cap147,/dev/nvidia-caps/nvidia-cap148"
    )
    caps = [word for line in lines[1:] for word in line.split(",") if "nvidia-cap" in word]
    assert len(caps) == len(set(caps)) == 8


def test_accounting_counts_gpus_with_and_without_their_type() -> None:
    assert render_accounting_tres([MIXED]) == "gres/gpu,gres/gpu:3g.40gb,gres/gpu:a100"
    assert list_gres_types([MIXED, MIXED]) == ("3g.40gb", "a100")


def test_renders_a_preemptible_partition() -> None:
    spot = Partition("spot", ("n1", "n2"), priority_tier=1, preempt_mode="REQUEUE")
    assert render_partitions([spot]) == (
        "PartitionName=spot Nodes=n1,n2 Default=NO PriorityTier=1 DefaultTime=60 "
        "MaxTime=UNLIMITED PreemptMode=REQUEUE State=UP\n"
    )


@pytest.mark.parametrize(
    "gres_type", ["80", "80gb", "40GiB", "8k", "a100-40", "1g.10gb+me", "", "a b"]
)
def test_rejects_a_type_that_slurm_would_misread(gres_type: str) -> None:
    with pytest.raises(GresConfigError):
        GpuSpec(gres_type, "A100-80GB", 1)


def test_rejects_a_layout_that_the_product_cannot_hold() -> None:
    with pytest.raises(GresConfigError, match="no placement"):
        GpuSpec("a100", "A100-80GB", 1, ("3g.40gb", "3g.40gb", "1g.10gb"))


def test_rejects_a_count_of_zero() -> None:
    with pytest.raises(GresConfigError):
        GpuSpec("a100", "A100-80GB", 0)
