"""What each release does when the GRES of a drained node change: the ground of relayout's steps."""

import time

from gres_config.versions import get_version
from tests.matrix.cases import CAPS, HARDWARE
from tests.matrix.cluster import Cluster, NodeReport
from tests.matrix.configs import make_common_lines
from tests.matrix.conftest import MakeCluster
from tests.matrix.releases import Release


def make_slurm(gres: str) -> str:
    return (
        f"GresTypes=gpu\nNodeName=n1 {HARDWARE} Gres={gres}\n"
        f"NodeName=n2 {HARDWARE} Gres=gpu:1g.10gb:7\nPartitionName=p Nodes=ALL Default=YES\n"
    )


def make_gres(node: str, profile: str, count: int) -> str:
    return "".join(
        f"NodeName={node} Name=gpu Type={profile} "
        f"MultipleFiles=/dev/nvidia0,{CAPS}{3 + 9 * i},{CAPS}{4 + 9 * i}\n"
        for i in range(1, count + 1)
    )


OLD_SLURM, NEW_SLURM = make_slurm("gpu:1g.10gb:7"), make_slurm("gpu:3g.40gb:2")
OLD_GRES = make_gres("n1", "1g.10gb", 7) + make_gres("n2", "1g.10gb", 7)
NEW_GRES = make_gres("n1", "3g.40gb", 2) + make_gres("n2", "1g.10gb", 7)


def prepare(cluster: Cluster) -> None:
    """Bring it up with a job on n2, then drain n1, stop its slurmd and write the new files."""
    report = cluster.start()
    assert all(node.is_idle for node in report.nodes.values()), report.text
    words = ["sbatch", "-w", "n2", "--gres=gpu:1g.10gb:3", "--mem=10", "-o", "/dev/null"]
    assert cluster.run([*words, "--wrap", "sleep 300"])["code"] == 0
    cluster.run(["scontrol", "update", "nodename=n1", "state=drain", "reason=ours"])
    cluster.stop_node("n1")
    (cluster.case / "etc" / "slurm.conf").write_text(make_common_lines() + NEW_SLURM)
    (cluster.case / "etc" / "gres.conf").write_text(NEW_GRES)


def wait_for_state(cluster: Cluster, word: str, seconds: float = 8) -> NodeReport:
    """Return n1 once its state has the word at its end, or what it is after some seconds."""
    deadline = time.monotonic() + seconds
    while True:
        node = cluster.read_report().nodes["n1"]
        if node.state.endswith(word) or time.monotonic() > deadline:
            return node
        time.sleep(0.2)


def assert_back_in_service(cluster: Cluster) -> None:
    cluster.run(["scontrol", "update", "nodename=n1", "state=resume"])
    words = ["srun", "-w", "n1", "--gres=gpu:3g.40gb:2", "--mem=10", "--immediate=10"]
    assert cluster.run([*words, "true"])["code"] == 0
    assert cluster.run(["squeue", "-h", "-t", "RUNNING", "-o", "%T %N"])["out"].split() == [
        "RUNNING",
        "n2",
    ]


def test_reconfigure_takes_up_fewer_gres_or_the_node_stays_invalid(
    release: Release, make_cluster: MakeCluster
) -> None:
    """22.05 keeps the old count until slurmctld starts anew; 24.11 and 26.05 take the new one."""
    takes_it_up = get_version(release.version).reconfigures_gres
    with make_cluster(OLD_SLURM, OLD_GRES, nodes=("n1", "n2")) as cluster:
        prepare(cluster)
        assert cluster.run(["scontrol", "reconfigure"])["code"] == 0
        cluster.start_node("n1")
        # For a moment slurmctld shows the state that it had before slurmd was stopped.
        wanted = "IDLE+DRAIN" if takes_it_up else "IDLE+DRAIN+INVALID_REG"
        node = wait_for_state(cluster, wanted, 20)
        assert (node.state, node.reason) == (wanted, "ours")
        if takes_it_up:
            assert_back_in_service(cluster)


def test_a_restart_of_slurmctld_takes_up_fewer_gres_on_every_release(
    release: Release, make_cluster: MakeCluster
) -> None:
    with make_cluster(OLD_SLURM, OLD_GRES, nodes=("n1", "n2")) as cluster:
        prepare(cluster)
        cluster.order("stop", name="slurmctld", number=15)
        assert cluster.start_controller() is None
        cluster.start_node("n1")
        node = wait_for_state(cluster, "IDLE+DRAIN", 20)
        assert (node.state, node.reason) == ("IDLE+DRAIN", "ours")
        assert_back_in_service(cluster)


def test_a_slurmd_that_starts_before_slurmctld_has_the_files_is_invalid_for_a_while(
    release: Release, make_cluster: MakeCluster
) -> None:
    with make_cluster(OLD_SLURM, OLD_GRES, nodes=("n1", "n2")) as cluster:
        prepare(cluster)
        cluster.start_node("n1")
        node = wait_for_state(cluster, "INVALID_REG")
        assert "INVALID_REG" in node.state
        # From 24.11 on Slurm puts its own reason in the place of ours.
        assert (node.reason == "ours") is (release.version == "22.05")
