"""What render writes, given to real daemons: every node idle, with exactly the configured GRES."""

import json
import random
from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from gres_config.detected import parse_detected
from gres_config.errors import DocumentError
from gres_config.inventory import Inventory
from gres_config.load import parse_inventory
from gres_config.mig import load_mig_products
from gres_config.mig.layouts import list_layouts
from gres_config.render import render_files
from gres_config.versions import get_version
from tests.matrix.cluster import Cluster
from tests.matrix.conftest import MakeCluster
from tests.matrix.releases import Release

HARDWARE = {"sockets": 2, "cores_per_socket": 16, "threads_per_core": 2, "memory_mib": 256000}
A100 = {"model": "A100-80GB", "type": "a100"}
WHOLE = {**A100, "count": 4, "cores": ["0-15", "0-15", "16-31", "16-31"]}
MIG = {"model": "A100-80GB", "count": 2, "mode": "mig", "layout": "3g.40gb 2g.20gb 1g.10gb*2"}
SEVEN = {"model": "H100-SXM5-80GB", "count": 1, "mode": "mig", "layout": "1g.10gb+me 1g.10gb*6"}
SHARD = {**A100, "count": 2, "mode": "shard", "shares": 8}
MPS = {**A100, "count": 2, "mode": "mps", "shares": 100}
FPGA = {"name": "fpga", "count": 2, "type": "u250", "files": ["/dev/xdma0", "/dev/xdma1"]}
NPU = {"name": "npu", "count": 3}

SHAPES = {
    "whole": [{"nodes": "n[1-2]", "gpus": [WHOLE]}],
    "mig": [{"nodes": "n1", "gpus": [MIG]}, {"nodes": "n2", "gpus": [SEVEN]}],
    "mixed": [{"nodes": "n1", "gpus": [{**A100, "count": 2}, MIG]}, {"nodes": "n2"}],
    "shards": [{"nodes": "n[1-2]", "gpus": [SHARD]}],
    "shards of one GPU alone": [
        {"nodes": "n1", "gpus": [{**A100, "count": 1}, {**SHARD, "flags": "one_sharing"}]}],
    "mps": [{"nodes": "n1", "gpus": [MPS]}],
    "shards beside whole": [{"nodes": "n1", "gpus": [{**A100, "count": 2}]}, {
        "nodes": "n2", "gpus": [SHARD]}],
    "other accelerators": [{"nodes": "n1", "gpus": [WHOLE], "gres": [FPGA, NPU]}],
    "amd": [{"nodes": "n1", "gpus": [
        {"model": "MI300X", "count": 2, "type": "mi300x",
         "files": ["/dev/dri/renderD128", "/dev/dri/renderD129"]}]}],
}  # fmt: skip


def make_inventory(release: Release, groups: list[dict[str, object]]) -> Inventory:
    document = {
        "cluster": "matrix",
        "slurm_version": release.version,
        "cgroup_plugin": get_version(release.version).cgroup_off,
        "node_groups": [{**HARDWARE, **group} for group in groups],
        "partitions": [{"name": "p", "nodes": "ALL", "default": True}],
    }
    return parse_inventory(json.dumps(document), "inventory.json")[0]


def start(make_cluster: MakeCluster, inventory: Inventory) -> AbstractContextManager[Cluster]:
    files = dict(render_files(inventory))
    lines = files["slurm-gres.conf"].splitlines(keepends=True)
    # The matrix has no slurmdbd, without which slurmctld refuses typed TRES.
    kept = [line for line in lines if not line.startswith("AccountingStorageTRES=")]
    assert len(lines) == len(kept) + 1
    slurm = "".join(kept) + files["slurm-nodes.conf"] + files["slurm-partitions.conf"]
    more = {"cgroup.conf": files["cgroup.conf"]}
    return make_cluster(slurm, files["gres.conf"], nodes=inventory.node_names, more=more)


def list_expected(inventory: Inventory) -> Iterator[tuple[str, dict[str, int]]]:
    for group in inventory.node_groups:
        counts = {f"{n}:{t}" if t else n: c for (n, t), c in group.count_gres().items()}
        for name in group.nodes:
            yield name, counts


def assert_idle_with_exactly_its_gres(cluster: Cluster, inventory: Inventory) -> None:
    report = cluster.start()
    assert report.controller is None, report.text
    for name, counts in list_expected(inventory):
        node = report.nodes[name]
        assert node.is_idle, (node.state, node.reason, node.log[-1500:])
        # slurmctld shows shares with the type of their GPUs.
        shown = {k.split(":")[0] if k.startswith(("shard", "mps")) else k: v
                 for k, v in node.gres.items()}  # fmt: skip
        assert shown == counts
        assert count_detected(cluster, name) == counts
        for word in ("Ignoring", "invalid", "Invalid", "Bad "):
            assert word not in node.log


def count_detected(cluster: Cluster, name: str) -> dict[str, int]:
    """Return what `slurmd -G` says that the node has."""
    done = cluster.run(["slurmd", "-G", "-N", name], hostname=name)
    found: dict[str, int] = {}
    for device in parse_detected(f"slurmd-{name}: \n{done['err']}", "slurmd -G", name).devices:
        is_share = device.name in ("shard", "mps")
        key = f"{device.name}:{device.type}" if device.type and not is_share else device.name
        found[key] = found.get(key, 0) + device.count
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_every_node_comes_up_idle_with_exactly_the_configured_gres(
    shape: str, release: Release, make_cluster: MakeCluster
) -> None:
    if shape == "shards of one GPU alone" and release.version == "22.05":
        with pytest.raises(DocumentError, match=r"Slurm 22.05 has no one_sharing; 23.02 has"):
            make_inventory(release, SHAPES[shape])
        return
    inventory = make_inventory(release, SHAPES[shape])
    with start(make_cluster, inventory) as cluster:
        assert_idle_with_exactly_its_gres(cluster, inventory)


def test_a_job_gets_the_mig_instances_that_it_asks_for_and_no_more(
    release: Release, make_cluster: MakeCluster
) -> None:
    inventory = make_inventory(release, SHAPES["mixed"])
    with start(make_cluster, inventory) as cluster:
        cluster.start()
        script = "echo $SLURM_JOB_NODELIST $CUDA_VISIBLE_DEVICES"
        words = ["srun", "--immediate=10", "--mem=100"]
        done = cluster.run([*words, "--gres=gpu:1g.10gb:4", "bash", "-c", script])
        assert done["code"] == 0, done
        node, devices = done["out"].split()
        assert (node, len(devices.split(","))) == ("n1", 4)
        refused = cluster.run([*words, "--gres=gpu:1g.10gb:5", "true"])
        assert "Requested node configuration is not available" in refused["err"]


def make_random_groups(generator: random.Random) -> list[dict[str, object]]:
    """Return two node groups with any legal mixture of whole GPUs, MIG layouts and FPGAs."""
    products = sorted(load_mig_products())
    groups: list[dict[str, object]] = []
    for number in (1, 2):
        gpus: list[dict[str, object]] = []
        for _ in range(generator.randint(1, 3)):
            model, count = generator.choice(products), generator.randint(1, 3)
            layouts = [layout for layout in list_layouts(load_mig_products()[model]) if layout]
            if generator.random() < 0.3:
                name = model.lower().split("-")[0]
                gpus.append({"model": model, "count": count, "type": name})
            else:
                layout = " ".join(generator.choice(layouts))
                gpus.append({"model": model, "count": count, "mode": "mig", "layout": layout})
        extra = {"gres": [FPGA]} if generator.random() < 0.5 else {}
        groups.append({"nodes": f"n{number}", "gpus": gpus, **extra})
    return groups


@pytest.mark.parametrize("seed", range(6))
def test_a_random_legal_inventory_starts(
    seed: int, release: Release, make_cluster: MakeCluster
) -> None:
    inventory = make_inventory(release, make_random_groups(random.Random(seed)))
    with start(make_cluster, inventory) as cluster:
        assert_idle_with_exactly_its_gres(cluster, inventory)
