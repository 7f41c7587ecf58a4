"""An existing cluster as an inventory: the same to Slurm, or said."""

from pathlib import Path

import pytest
from hypothesis import given, settings

from gres_config.__main__ import main
from gres_config.adopt import Adoption, adopt_cluster
from gres_config.adopt.notes import Kind
from gres_config.check import Severity, check_config
from gres_config.check.config import parse_config, read_config
from gres_config.check.from_inventory import make_rendered_config
from gres_config.dump import dump_inventory
from gres_config.errors import GresConfigError
from gres_config.inventory import Detection, GpuMode, Inventory
from gres_config.load import load_inventory, parse_inventory
from gres_config.meaning import read_meaning
from tests.unit.gres_config.faults import A100, NODE, write_instances, write_slurm
from tests.unit.gres_config.inventories import inventories

SITE = Path(__file__).parents[2] / "assets" / "gres_config" / "site"
MODELS = {"mig": "A100-80GB", "a100": "A100-80GB"}


def adopt(slurm: str, gres: str, release: str = "24.11") -> Adoption:
    return adopt_cluster(parse_config(slurm, gres, release), MODELS)


def list_lost(adoption: Adoption) -> list[str]:
    return [note.text for note in adoption.notes if note.kind is Kind.LOST]


@settings(max_examples=60)
@given(inventories())
def test_what_is_adopted_renders_to_the_same_meaning(inventory: Inventory) -> None:
    config = make_rendered_config(inventory)
    adoption = adopt_cluster(config, MODELS)
    assert not list_lost(adoption)
    again = make_rendered_config(adoption.inventory)
    before, after = read_meaning(config.slurm, config.gres), read_meaning(again.slurm, again.gres)
    assert before == after
    text = dump_inventory(adoption.inventory)
    assert parse_inventory(text, "f")[0] == adoption.inventory


@pytest.fixture(scope="module")
def site() -> Adoption:
    config = read_config(SITE / "slurm.conf", SITE / "gres.conf", "24.11")
    return adopt_cluster(config, MODELS)


def test_a_sites_own_files_become_an_inventory_without_a_difference(site: Adoption) -> None:
    assert not site.differences
    assert not list_lost(site)
    groups = {group.hostlist: group for group in site.inventory.node_groups}
    assert list(groups) == ["gpu[1-4]", "mig[1-2]", "sh1", "auto[1-2]", "cpu[001-100]"]
    assert [spec.mode for spec in groups["mig[1-2]"].gpus] == [
        GpuMode.WHOLE,
        GpuMode.MIG,
        GpuMode.MIG,
    ]
    assert groups["sh1"].gpus[0].shares == 8
    assert groups["auto[1-2]"].detection is Detection.NVML
    assert ("NodeAddr", "10.0.1.[1-4]") in groups["gpu[1-4]"].extra


def test_files_that_render_would_name_are_left_out(site: Adoption) -> None:
    for group in site.inventory.node_groups:
        assert not any(spec.files or spec.mig_files for spec in group.gpus)


def test_says_what_stays_in_slurm_conf(site: Adoption) -> None:
    stays = [note.text for note in site.notes if note.kind is Kind.STAYS]
    assert "AccountingStorageType, ClusterName, SelectType, SlurmctldHost" in stays


def test_says_that_a_mig_product_is_guessed() -> None:
    config = parse_config(write_slurm("gpu:1g.10gb:7"), write_instances(7), "24.11")
    adoption = adopt_cluster(config)
    assert any("say it with --model" in note.text for note in adoption.notes)


def test_keeps_device_files_that_are_not_the_drivers_own() -> None:
    adoption = adopt(write_slurm("gpu:1g.10gb:3"), write_instances(3))
    assert adoption.inventory.node_groups[0].gpus[0].mig_files[0][0][1].endswith("nvidia-cap12")
    assert not adoption.differences


@pytest.mark.parametrize(
    ("slurm", "gres", "what"),
    [
        (write_slurm("gpu:small:2"), write_instances(2, "small"), "no MIG profile"),
        (write_slurm("gpu:9g.99gb:2"), write_instances(2, "9g.99gb"), "no GPU can hold"),
        (write_slurm(node=NODE.replace("CPUs=32", "CPUs=16")), A100, "CPUs=16"),
        (
            write_slurm("gpu:a100:2,shard:8,mps:200", "gpu,shard,mps"),
            A100 + "NodeName=n1 Name=shard Count=8\nNodeName=n1 Name=mps Count=200\n",
            "both shard and mps",
        ),
        (
            write_slurm("gpu:a100:2,fpga:3", "gpu,fpga"),
            A100 + "NodeName=n1 Name=fpga File=/dev/fpga[0-1]\n",
            "fpga:3 with 2 device files",
        ),
    ],
)
def test_says_what_an_inventory_cannot_express(slurm: str, gres: str, what: str) -> None:
    adoption = adopt(slurm, gres)
    assert any(what in text for text in list_lost(adoption))
    assert adoption.differences


def test_devices_that_are_not_counted_are_said_and_left_out() -> None:
    adoption = adopt(write_slurm("gpu:a100:1"), A100)
    assert adoption.inventory.node_groups[0].gpus[0].count == 1
    assert any("/dev/nvidia1 is not counted" in note.text for note in adoption.notes)


def test_plain_gres_and_weights_are_taken_over() -> None:
    slurm = write_slurm(
        "gpu:a100:2,fpga:u250:2",
        "gpu,fpga",
        extra='PartitionName=p Nodes=ALL TRESBillingWeights="CPU=1,GRES/gpu:a100=2.5" MaxTime=1-0',
    )
    gres = A100 + "NodeName=n1 Name=fpga Type=u250 File=/dev/xfpga[0-1] Cores=0-15\n"
    adoption = adopt(slurm, gres)
    assert not adoption.differences
    item = adoption.inventory.node_groups[0].gres[0]
    assert (item.name, item.type, item.files, item.cores) == (
        "fpga",
        "u250",
        ("/dev/xfpga0", "/dev/xfpga1"),
        ("0-15",),
    )
    assert adoption.inventory.partitions[0].max_time_minutes == 1440


def test_a_detection_without_counterpart_is_refused_with_its_line() -> None:
    with pytest.raises(GresConfigError, match=r"slurm.conf:7: AutoDetect=cuda"):
        adopt(write_slurm(), "AutoDetect=cuda\n")


def test_a_type_that_no_inventory_takes_is_refused_with_its_line() -> None:
    with pytest.raises(GresConfigError, match=r"slurm.conf:7: GRES type 'a-1' may hold only"):
        adopt(write_slurm("gpu:a-1:2"), A100.replace("a100", "a-1"))


def test_no_consume_is_said_and_nothing_else_is_lost() -> None:
    config = parse_config(write_slurm("gpu:a100:no_consume:2"), A100, "24.11")
    assert not [r for r in check_config(config) if r.rule.severity is Severity.ERROR]
    adoption = adopt_cluster(config, MODELS)
    assert list_lost(adoption) == ["gpu:a100:no_consume:2: no_consume is left out"]
    assert adoption.inventory.node_groups[0].count_units() == {"a100": 2}


def test_the_command_writes_a_file_that_loads_and_checks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "inventory.yaml"
    files = ["--slurm-conf", str(SITE / "slurm.conf"), "--gres-conf", str(SITE / "gres.conf")]
    words = ["--slurm-version", "24.11", "--model", "mig=A100-80GB", "--out", str(out)]
    assert main(["adopt", *files, *words]) == 0
    assert "stays in slurm.conf" in capsys.readouterr().err
    assert len(load_inventory(out).node_names) == 109
    assert main(["check", str(out)]) == 0


def test_the_command_ends_with_1_when_something_is_lost(tmp_path: Path) -> None:
    (tmp_path / "slurm.conf").write_text(write_slurm("gpu:small:2"))
    (tmp_path / "gres.conf").write_text(write_instances(2, "small"))
    words = ["--slurm-conf", str(tmp_path / "slurm.conf"), "--gres-conf"]
    assert main(["adopt", *words, str(tmp_path / "gres.conf")]) == 1
