"""Write Slurm's configuration from an inventory file.

Into the folder come slurm-gres.conf, slurm-nodes.conf and slurm-partitions.conf for slurm.conf to
include, gres.conf, cgroup.conf and, where there is MIG, mig-parted.yaml. The folder is replaced
as a whole or not at all; the same inventory gives the same bytes.
"""

import argparse
import os
from pathlib import Path, PurePosixPath

from gres_config.inventory import Inventory
from gres_config.load import load_inventory
from gres_config.render.files import SLURM_FRAGMENTS, list_device_files, render_files
from gres_config.render.records import DEVICE_ROOT
from gres_config.render.write import write_folder


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the file, the folder, and what a cluster without GPUs needs."""
    parser.add_argument("file", type=Path, help="inventory file (YAML)")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="folder to write")
    parser.add_argument(
        "--fake-gpus",
        action="store_true",
        help="also write a fake_gpus.conf for each node group, for slurmd without GPUs",
    )
    parser.add_argument(
        "--device-files",
        action="store_true",
        help="plain files below DIR/dev stand for the devices, for a cluster without GPUs",
    )


def run(args: argparse.Namespace) -> int:
    """Render; returns 0, also when the folder had the right files already."""
    inventory = load_inventory(args.file)
    out = Path(os.path.abspath(args.out))
    root = PurePosixPath(out / "dev") if args.device_files else DEVICE_ROOT
    files = render_files(inventory, root, with_fake_gpus=args.fake_gpus)
    devices = list_device_files(inventory, root) if args.device_files else ()
    names = [str(device.relative_to(out)) for device in devices]
    is_changed = write_folder(out, files, names)
    print(f"{out}: {'written' if is_changed else 'already as it should be'}")
    _print_summary(inventory, out)
    return 0


def _print_summary(inventory: Inventory, out: Path) -> None:
    gpus = sum(
        spec.count * len(group.nodes) for group in inventory.node_groups for spec in group.gpus
    )
    print(f"{len(inventory.node_names)} nodes with {gpus} GPUs, Slurm {inventory.slurm_version}")
    print("slurm.conf takes it in with:")
    for name in SLURM_FRAGMENTS:
        print(f"  Include {out / name}")
