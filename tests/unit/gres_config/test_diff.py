"""What a change costs each node."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gres_config.__main__ import main
from gres_config.check.config import parse_config
from gres_config.diff import Cost, Difference, diff_meanings
from gres_config.meaning import read_meaning
from tests.unit.gres_config.faults import A100, NODE, write_slurm

SITE = Path(__file__).parents[2] / "assets" / "gres_config" / "site"
SLURM = write_slurm()


def diff(
    new_slurm: str = SLURM, new_gres: str = A100, old: str = SLURM, release: str = "24.11"
) -> Difference:
    before, after = parse_config(old, A100, release), parse_config(new_slurm, new_gres, release)
    return diff_meanings(
        read_meaning(before.slurm, before.gres), read_meaning(after.slurm, after.gres), release
    )


def test_the_same_said_in_another_way_is_nothing() -> None:
    words = "NODENAME=n1 sockets=2 CoresPerSocket=16 CPUs=32 realmemory=1000 gres=gpu:a100:2"
    slurm = SLURM.replace(f"NodeName=n1 {NODE} Gres=gpu:a100:2", words)
    gres = "# the same\nName=gpu File=/dev/nvidia0,/dev/nvidia1 \\\n  Type=a100\n"
    assert slurm != SLURM
    found = diff(slurm, gres)
    assert (found.cost, found.nodes, found.cluster, found.unchanged) == (Cost.NOTHING, (), (), 1)


@pytest.mark.parametrize(
    ("old", "new", "cost"),
    [
        ("RealMemory=1000", "RealMemory=1000 Weight=5", Cost.RECONFIGURE),
        ("RealMemory=1000", "RealMemory=1000 Feature=ib", Cost.RECONFIGURE),
        ("RealMemory=1000", "RealMemory=2000", Cost.RESTART),
        ("RealMemory=1000", "RealMemory=900", Cost.DRAIN),
        ("RealMemory=1000", "RealMemory=1000 NodeAddr=10.0.0.1", Cost.RESTART),
        ("RealMemory=1000", "RealMemory=1000 CoreSpecCount=2", Cost.RESTART),
        ("Sockets=2 CoresPerSocket=16", "Sockets=1 CoresPerSocket=32", Cost.DRAIN),
        ("gpu:a100:2", "gpu:a100:1", Cost.DRAIN),
    ],
)
def test_a_change_of_the_node_line_has_its_cost(old: str, new: str, cost: Cost) -> None:
    found = diff(SLURM.replace(old, new))
    assert [(node.nodes, node.cost) for node in found.nodes] == [("n1", cost)]


@pytest.mark.parametrize(
    ("gres", "cost"),
    [
        (A100.replace("[0-1]", "[2-3]"), Cost.DRAIN),
        (A100.strip() + " Cores=0-15\n", Cost.RESTART),
        ("NodeName=n1 AutoDetect=nvml\n", Cost.DRAIN),
    ],
)
def test_a_change_of_gres_conf_has_its_cost(gres: str, cost: Cost) -> None:
    assert [node.cost for node in diff(new_gres=gres).nodes] == [cost]


@pytest.mark.parametrize(
    ("release", "cost"), [("24.05", Cost.RESTART), ("24.11", Cost.RECONFIGURE)]
)
def test_a_node_more_needs_a_restart_before_2411(release: str, cost: Cost) -> None:
    found = diff(SLURM + "NodeName=m[1-3] CPUs=4\n", release=release)
    assert [(node.nodes, node.cost) for node in found.nodes] == [("m[1-3]", cost)]


def test_a_node_less_is_drained_first() -> None:
    found = diff(old=SLURM + "NodeName=m[1-3] CPUs=4\n")
    assert [(node.nodes, node.cost) for node in found.nodes] == [("m[1-3]", Cost.DRAIN)]


@pytest.mark.parametrize(
    ("release", "cost"), [("23.02", Cost.RESTART), ("23.11", Cost.RECONFIGURE)]
)
def test_another_gres_name_needs_a_restart_before_2311(release: str, cost: Cost) -> None:
    found = diff(SLURM.replace("GresTypes=gpu", "GresTypes=gpu,fpga"), release=release)
    assert [change.cost for change in found.cluster] == [cost]


def test_partitions_are_a_reconfigure() -> None:
    found = diff(SLURM + "PartitionName=p Nodes=ALL\n")
    assert [(c.what, c.cost) for c in found.cluster] == [("partition p added", Cost.RECONFIGURE)]


def test_equal_changes_of_many_nodes_are_one() -> None:
    many = f"NodeName=m[1-500] {NODE}\n"
    found = diff(SLURM + many.replace("1000", "2000"), old=SLURM + many)
    assert [node.nodes for node in found.nodes] == ["m[1-500]"]
    assert found.unchanged == 1


def test_a_cluster_has_no_difference_from_itself() -> None:
    config = parse_config(SLURM, A100)
    meaning = read_meaning(config.slurm, config.gres)
    same = replace(meaning, settings=dict(meaning.settings))
    assert diff_meanings(meaning, same, "22.05").cost is Cost.NOTHING


def test_the_command_compares_files_folders_and_inventories(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    inventory, rendered = tmp_path / "i.yaml", tmp_path / "out"
    files = ["--slurm-conf", str(SITE / "slurm.conf"), "--gres-conf", str(SITE / "gres.conf")]
    main(["adopt", *files, "--model", "mig=A100-80GB", "--out", str(inventory)])
    main(["render", str(inventory), "--out", str(rendered)])
    capsys.readouterr()
    for old in (SITE, SITE / "slurm.conf", inventory, rendered):
        assert main(["diff", str(old), str(inventory), "--format", "json"]) == 0
        found = json.loads(capsys.readouterr().out)
        assert (found["nodes"], found["unchanged"]) == ([], 109)


def test_the_command_refuses_a_folder_of_something_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diff", str(tmp_path), str(tmp_path)]) == 2
    assert "neither slurm.conf" in capsys.readouterr().err
