"""What a node says of itself, with the words of each release, against what is configured."""

from dataclasses import replace

from gres_config.check.config import parse_config
from gres_config.check.run import check_config
from gres_config.detected import parse_detected
from tests.matrix.cases import make_slurm
from tests.matrix.configs import make_common_lines
from tests.matrix.conftest import MakeCluster
from tests.matrix.releases import Release

FEWER = "NodeName=n1 Name=gpu Type=a100 File=/dev/nvidia[0-2]\n"
FOUR = FEWER.replace("0-2", "0-3")


# Without config_overrides slurmctld believes what the node says of its CPUs and memory.
COMMON = make_common_lines().replace("SlurmdParameters=config_overrides\n", "")


def find_rules(release: Release, slurm: str, gres: str, said: str) -> set[str]:
    config = parse_config(COMMON + slurm, gres, release.version)
    config = replace(config, detected=(parse_detected(said, "said.txt", "n1"),))
    return {result.rule.name for result in check_config(config)}


def test_a_node_that_detects_fewer_gpus_drains_and_check_finds_it(
    release: Release, make_cluster: MakeCluster
) -> None:
    slurm = make_slurm("gpu:a100:4")
    with make_cluster(slurm, FEWER) as cluster:
        node = cluster.start().nodes["n1"]
        assert "INVAL" in node.state
        said = cluster.run(["slurmd", "-G", "-N", "n1"], hostname="n1")["err"]
    # The files at hand may be right: it is the node that has lost a GPU.
    assert "detected-fewer" in find_rules(release, slurm, FOUR, f"slurmd: \n{said}")


def test_a_node_that_is_smaller_than_configured_drains_and_check_finds_it(
    release: Release, make_cluster: MakeCluster
) -> None:
    slurm = make_slurm("gpu:a100:4", hardware="CPUs=900 RealMemory=100")
    with make_cluster(slurm, FOUR, common=COMMON) as cluster:
        node = cluster.start().nodes["n1"]
        assert "INVAL" in node.state, node
        said = cluster.run(["slurmd", "-C"], hostname="n1")["out"]
    assert "detected-smaller-node" in find_rules(release, slurm, FOUR, said)
