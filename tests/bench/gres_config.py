"""The gres_config cases: 10,000 nodes with 80,000 GPUs, in equal groups and each node its own."""

import sys
from collections.abc import Sequence
from pathlib import Path

from gres_config.load import parse_inventory
from gres_config.render import render_files, render_nodes
from tests.bench.measure import Case

NODES = 10_000
GPUS = "\n".join(
    (
        "      - {model: H100-SXM5-80GB, count: 4, type: h100}",
        "      - {model: H100-SXM5-80GB, count: 2, mode: mig, layout: [3g.40gb*2]}",
        "      - {model: H100-SXM5-80GB, count: 2, mode: mig, layout: [1g.10gb*7]}",
    )
)


def write_inventory(nodes_in_group: int) -> str:
    """Return an inventory of 10,000 nodes with eight GPUs each, as text."""
    groups = []
    for first in range(1, NODES + 1, nodes_in_group):
        last = first + nodes_in_group - 1
        hosts = f"gpu[{first:05d}-{last:05d}]" if last > first else f"gpu{first:05d}"
        groups.append(
            f"  - nodes: {hosts}\n    sockets: 2\n    cores_per_socket: 48\n"
            f"    memory_mib: {1_000_000 + first}\n    gpus:\n{GPUS}\n"
        )
    head = "cluster: big\nslurm_version: 24.11\nnode_groups:\n"
    tail = "partitions:\n  - {name: gpu, nodes: ALL, default: true}\n"
    return head + "".join(groups) + tail


def prepare_command(folder: Path, command: str, nodes_in_group: int) -> Sequence[str]:
    """Return the command line that renders or checks such an inventory."""
    file = folder / "nodes.yaml"
    file.write_text(write_inventory(nodes_in_group), "utf-8")
    argv = [sys.executable, "-m", "gres_config", command, str(file)]
    return [*argv, "--out", str(folder / "out")] if command == "render" else argv


def prepare_check_of_files(folder: Path) -> Sequence[str]:
    """Return the command line that checks a slurm.conf in which each node has its own line."""
    inventory, _document = parse_inventory(write_inventory(100), "nodes.yaml")
    files = render_files(inventory)
    lines = render_nodes(inventory.node_groups, {})
    head = (
        "ClusterName=big\nSlurmctldHost=head\nSelectType=select/cons_tres\n"
        "AccountingStorageType=accounting_storage/slurmdbd\n"
    )
    parts = (head, files["slurm-gres.conf"], lines, files["slurm-partitions.conf"])
    (folder / "slurm.conf").write_text("".join(parts), "utf-8")
    (folder / "gres.conf").write_text(files["gres.conf"], "utf-8")
    argv = [sys.executable, "-m", "gres_config", "check", "--slurm-version", "24.11"]
    slurm_conf, gres_conf = str(folder / "slurm.conf"), str(folder / "gres.conf")
    return [*argv, "--slurm-conf", slurm_conf, "--gres-conf", gres_conf]


def _make_case(command: str, nodes_in_group: int, limit_seconds: float) -> Case:
    return Case(
        f"gres_config {command}",
        f"10,000 nodes, 80,000 GPUs, groups: {NODES // nodes_in_group:,}",
        limit_seconds,
        lambda folder: prepare_command(folder, command, nodes_in_group),
    )


# The third is no inventory that a person writes: each node has a group of its own, 120,000 lines.
CASES = (
    _make_case("render", NODES, 2),
    _make_case("render", 100, 2),
    _make_case("render", 1, 10),
    _make_case("check", NODES, 2),
    _make_case("check", 100, 2),
    Case("gres_config check", "slurm.conf with 10,000 NodeName lines", 2, prepare_check_of_files),
)
