"""A real slurmd without GPUs finds the GRES of the inventory: fake GPUs, and files as GPUs."""

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from gres_config.load import parse_inventory
from gres_config.render import SLURM_FRAGMENTS, list_device_files, render_files, write_folder

INVENTORY = """\
cluster: c1
slurm_version: 22.05
cgroup_plugin: cgroup/v1
node_groups:
  - nodes: n[1-2]
    sockets: 2
    cores_per_socket: 16
    memory_mib: 64000
    detection: DETECTION
    gpus:
      - {model: A100-80GB, count: 4, type: a100}
      - {model: A100-80GB, count: 2, mode: mig, layout: [3g.40gb*2]}
      - {model: A100-80GB, count: 1, mode: mig, layout: [1g.10gb*7]}
    gres:
      - {name: npu, count: 12}
"""
SHARED = """\
cluster: c1
slurm_version: 22.05
cgroup_plugin: cgroup/v1
node_groups:
  - nodes: s1
    cores_per_socket: 8
    memory_mib: 64000
    gpus:
      - {model: A100-80GB, count: 1, type: a100}
      - {model: A100-80GB, count: 2, type: a100, mode: shard, shares: 8}
      - {model: A100-80GB, count: 1, type: a100, mode: mps, shares: 100}
"""
_LINE = re.compile(r"Gres Name=(\S+) (?:Type=(\S+) )?Count=(\d+)")
pytestmark = pytest.mark.skipif(not shutil.which("slurmd"), reason="slurmd is not installed")


def ask_slurmd(folder: Path, node: str) -> Counter[tuple[str, str]]:
    """Return what `slurmd -G` says of a node's GRES, by name and type."""
    argv = ["slurmd", "-G", "-N", node, "-f", str(folder / "slurm.conf")]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    found: Counter[tuple[str, str]] = Counter()
    for name, gres_type, count in _LINE.findall(done.stderr + done.stdout):
        found[name, "" if gres_type == "(null)" else gres_type] += int(count)
    assert done.returncode == 0, done.stderr
    return found


def write_configuration(folder: Path, text: str, *, node: str = "") -> dict[str, dict]:
    """Write what `render` writes beside a slurm.conf; with `node`, its fake GPUs as well."""
    inventory, _document = parse_inventory(text, "nodes.yaml")
    out = folder / "generated"
    root = out / "dev"
    files = render_files(inventory, root, with_fake_gpus=bool(node))
    names = [str(path.relative_to(out)) for path in list_device_files(inventory, root)]
    write_folder(out, files, names)
    includes = "".join(f"Include {out / name}\n" for name in SLURM_FRAGMENTS)
    (folder / "slurm.conf").write_text(
        "ClusterName=c1\nSlurmctldHost=localhost\nSelectType=select/cons_tres\n"
        f"SlurmdSpoolDir={folder}/spool\n{includes}"
    )
    for name in ("gres.conf", "cgroup.conf"):
        shutil.copy(out / name, folder / name)
    if node:
        shutil.copy(out / "fake_gpus" / f"{node}.conf", folder / "fake_gpus.conf")
    return {
        name: dict(group.count_gres()) for group in inventory.node_groups for name in group.nodes
    }


@pytest.mark.parametrize("node", ["n1", "n2"])
def test_slurmd_finds_the_files_that_gres_conf_names(tmp_path: Path, node: str) -> None:
    expected = write_configuration(tmp_path, INVENTORY.replace("DETECTION", "files"))
    assert ask_slurmd(tmp_path, node) == expected[node]


def test_slurmd_finds_the_shares_and_gives_them_the_type_of_their_gpu(tmp_path: Path) -> None:
    write_configuration(tmp_path, SHARED)
    found = ask_slurmd(tmp_path, "s1")
    assert found == {("gpu", "a100"): 4, ("shard", "a100"): 16, ("mps", "a100"): 100}


def test_slurmd_detects_the_fake_gpus_by_the_types_of_the_inventory(tmp_path: Path) -> None:
    text = INVENTORY.replace("DETECTION", "nvml")
    expected = write_configuration(tmp_path, text, node="n1")
    assert ask_slurmd(tmp_path, "n1") == expected["n1"]
