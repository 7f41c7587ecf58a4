"""What nodes say of themselves against what they are told."""

import json
from pathlib import Path

import pytest

from gres_config.check import check_config
from gres_config.check.config import make_config
from gres_config.check.matching import match_types
from gres_config.detected import DetectedNode, Origin, name_nvml_type, parse_detected, read_detected
from gres_config.errors import GresConfigError
from gres_config.parse.gres_conf import parse_gres_conf
from gres_config.parse.lines import split_lines
from gres_config.parse.slurm_conf import parse_slurm_conf
from tests.unit.gres_config.faults import A100, NODE, write_instances, write_slurm

ASSETS = Path(__file__).parents[2] / "assets" / "gres_config"
A100_NAME = "NVIDIA A100-SXM4-80GB"
SLURMD_G = (ASSETS / "slurmd_g.txt").read_text()
SLURMD_C = (ASSETS / "slurmd_c.txt").read_text()


def dump(*gpus: list[str] | None, name: str = A100_NAME) -> DetectedNode:
    """Return a node with these GPUs: None is one without MIG, a list its instances."""
    data = {
        "node": "n1",
        "gpus": [
            {
                "minor": number,
                "name": name,
                "mig": None if gpu is None else [{"profile": profile} for profile in gpu],
            }
            for number, gpu in enumerate(gpus)
        ],
    }
    return parse_detected(json.dumps(data), "dump.json")


def find(slurm: str, gres: str, node: DetectedNode) -> dict[str, str]:
    """Return the mending lines of what the detected-* rules find, by rule."""
    config = make_config(
        parse_slurm_conf(split_lines(slurm, "slurm.conf"), "slurm.conf"),
        parse_gres_conf(split_lines(gres, "gres.conf"), "gres.conf"),
        "24.11",
        detected=[node],
    )
    return {
        result.rule.name: result.finding.mend
        for result in check_config(config)
        if result.rule.name.startswith("detected-")
    }


def test_reads_slurmd_g_with_what_it_ignores() -> None:
    node = parse_detected(SLURMD_G, "f")
    assert (node.node, node.origin) == ("n1", Origin.SLURMD_GRES)
    assert [(d.name, d.type, d.count) for d in node.devices] == [
        ("gpu", "nvidia_a100_1g.5gb+me", 1),
        ("gpu", "a100", 1),
        ("shard", "", 4),
    ]


def test_reads_slurmd_c_with_its_gpus() -> None:
    node = parse_detected(SLURMD_C, "f")
    assert (node.node, node.cpus, node.sockets, node.cores_per_socket) == ("n1", 64, 2, 16)
    assert (node.threads_per_core, node.memory_mib) == (2, 512000)
    assert [(d.type, d.count) for d in node.devices] == [("nvidia_a100-sxm4-80gb", 4)]


def test_what_slurmd_ignores_does_not_count_as_found() -> None:
    said = SLURMD_G.split("slurmd-n1: Gres")[0]
    found = find(write_slurm("gpu:1"), "AutoDetect=nvml\n", parse_detected(said, "f"))
    assert "detected-fewer" in found


def test_names_devices_as_slurm_does() -> None:
    assert name_nvml_type("NVIDIA A100-SXM4-40GB", "3g.20gb") == "nvidia_a100_3g.20gb"
    assert name_nvml_type("NVIDIA H100 80GB HBM3", "1g.10gb") == "nvidia_h100_80gb_hbm3_1g.10gb"
    assert name_nvml_type("NVIDIA A100-SXM4-40GB") == "nvidia_a100-sxm4-40gb"


def test_matches_types_longest_first_and_no_more_than_their_count() -> None:
    devices = ["nvidia_a100_1g.10gb", "nvidia_a100_1g.10gb+me", "nvidia_a100-sxm4-80gb"]
    assert match_types({"1g.10gb": 1, "1g.10gb+me": 1, "a100": 1}, devices) == ({}, ())
    missing, unused = match_types({"1g.10gb": 1}, devices[:2])
    assert not missing
    assert unused == ("nvidia_a100_1g.10gb",)
    assert match_types({"h100_1g.10gb": 1}, ["nvidia_h100_80gb_hbm3_1g.10gb"])[0] == {
        "h100_1g.10gb": 1
    }


def test_finds_three_instances_where_four_are_configured() -> None:
    found = find(write_slurm("gpu:1g.10gb:4"), write_instances(4), dump(["1g.10gb"] * 3))
    assert found["detected-fewer"].endswith("Gres=gpu:1g.10gb:3")


def test_the_mending_lines_change_the_node_that_was_asked_and_no_other() -> None:
    slurm = write_slurm("gpu:a100:1,gpu:1g.10gb:4").replace("NodeName=n1", "NodeName=n[1-3]")
    found = find(slurm, "AutoDetect=nvml\n", dump(["1g.10gb"] * 3))
    others, own = found["detected-fewer"].splitlines()
    assert others.startswith("NodeName=n[2-3] ")
    assert others.endswith("Gres=gpu:a100:1,gpu:1g.10gb:4")
    assert own.startswith("NodeName=n1 ")
    assert own.endswith("Gres=gpu:1g.10gb:3")
    small = parse_detected("NodeName=n1 CPUs=16 SocketsPerBoard=2 RealMemory=900", "f")
    (mend,) = find(slurm, "AutoDetect=nvml\n", small).values()
    assert "NodeName=n1 CPUs=16 Sockets=2 RealMemory=900 " in mend
    addressed = slurm.replace("NodeName=n[1-3]", "NodeName=n[1-3] NodeAddr=10.0.0.[1-3]")
    assert find(addressed, "AutoDetect=nvml\n", dump(["1g.10gb"] * 3))["detected-fewer"] == ""


def test_finds_a_profile_of_another_size() -> None:
    found = find(
        write_slurm("gpu:3g.40gb:2"),
        "AutoDetect=nvml\n",
        dump(["3g.39gb"] * 2, name="NVIDIA GH200"),
    )
    assert found["detected-fewer"].endswith("Gres=gpu:3g.39gb:2")


def test_finds_28_instances_that_no_entry_takes() -> None:
    node = dump(None, *[["1g.10gb"] * 7] * 4)
    found = find(write_slurm("gpu:a100:1"), "AutoDetect=nvml\n", node)
    assert found["detected-unused"].endswith("Gres=gpu:a100:1,gpu:1g.10gb:28")


def test_finds_instances_that_are_configured_as_whole_gpus() -> None:
    found = find(write_slurm(), A100, dump(["3g.40gb"] * 2, ["3g.40gb"] * 2))
    assert found["detected-mig-as-whole"].endswith("Gres=gpu:3g.40gb:4")


def test_finds_a_node_that_is_smaller_than_configured() -> None:
    node = parse_detected("NodeName=n1 CPUs=4 Sockets=1 CoresPerSocket=4 RealMemory=500\n", "f")
    assert "detected-smaller-node" in find(write_slurm(), A100, node)
    overridden = "SlurmdParameters=config_overrides\n" + write_slurm()
    assert "detected-smaller-node" not in find(overridden, A100, node)


def test_finds_nothing_on_a_node_that_is_as_told() -> None:
    assert not find(write_slurm(), A100, dump(None, None))
    assert not find(write_slurm("gpu:1g.10gb:7"), write_instances(7), dump(["1g.10gb"] * 7))
    whole_and_split = write_slurm("gpu:a100:1,gpu:1g.10gb:7")
    assert not find(whole_and_split, "AutoDetect=nvml\n", dump(None, ["1g.10gb"] * 7))


def test_a_hand_given_type_need_not_be_the_name_of_the_product() -> None:
    gold = A100.replace("a100", "gold")
    assert not find(write_slurm("gpu:gold:2"), gold, dump(None, None))


def test_an_unknown_node_is_said() -> None:
    node = parse_detected(SLURMD_C, "f", "n7")
    assert "detected-node-unknown" in find(write_slurm(node=NODE), A100, node)


@pytest.mark.parametrize(
    "text",
    [
        "{",
        '{"gpus": 3}',
        '{"gpus": [{"name": ""}]}',
        '{"gpus": [{"name": "x", "mig": [{"profile": "A B"}]}]}',
        "hello",
        "",
        '{"gpus": ' * 2000,
    ],
)
def test_what_is_none_of_the_three_is_refused(text: str) -> None:
    with pytest.raises(GresConfigError, match=r"f:"):
        parse_detected(text, "f")


def test_a_file_that_does_not_tell_its_node_asks_for_it(tmp_path: Path) -> None:
    path = tmp_path / "said"
    path.write_text("slurmd: Gres Name=gpu Type=a Count=1\n")
    with pytest.raises(GresConfigError, match="NODE="):
        read_detected(str(path))
    assert read_detected(f"n1={path}").node == "n1"
