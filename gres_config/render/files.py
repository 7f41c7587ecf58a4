"""All files of an inventory's configuration, by name, as text; writes nothing."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from gres_config.inventory import Detection, GpuMode, Inventory, NodeGroup
from gres_config.render.cgroup_conf import render_cgroup_conf
from gres_config.render.fake_gpus import render_fake_gpus
from gres_config.render.gres_conf import render_gres_conf
from gres_config.render.mig_parted import render_mig_parted
from gres_config.render.records import DEVICE_ROOT, list_gres_records
from gres_config.render.slurm_conf import render_cluster, render_nodes, render_partitions
from gres_config.render.words import render_header

SLURM_FRAGMENTS = ("slurm-gres.conf", "slurm-nodes.conf", "slurm-partitions.conf")


def render_files(
    inventory: Inventory,
    device_root: PurePosixPath = DEVICE_ROOT,
    *,
    with_fake_gpus: bool = False,
) -> Mapping[str, str]:
    """Return the text of each file by its name below the output folder, in a fixed order.

    slurm.conf takes the three slurm-*.conf in with Include. The same inventory gives the same
    bytes.
    """
    groups = inventory.node_groups
    files = {
        "slurm-gres.conf": render_header(
            inventory,
            "Include this in slurm.conf, which also needs SelectType=select/cons_tres and, for",
            "AccountingStorageTRES, AccountingStorageType=accounting_storage/slurmdbd.",
            "Without the typed entries of AccountingStorageTRES limits on types are not enforced.",
        )
        + render_cluster(inventory),
        "slurm-nodes.conf": render_header(inventory, "Include this in slurm.conf.")
        + render_nodes(groups),
        "slurm-partitions.conf": render_header(
            inventory, "Include this in slurm.conf, after slurm-nodes.conf."
        )
        + render_partitions(inventory.partitions),
        "gres.conf": render_header(inventory, *_list_gres_remarks(groups))
        + render_gres_conf(groups, device_root),
        "cgroup.conf": render_header(inventory, "Put this beside slurm.conf on every node.")
        + render_cgroup_conf(inventory),
    }
    mig_parted = render_mig_parted(groups)
    if mig_parted:
        title = "A node's GPUs get their layout with: nvidia-mig-parted apply -f FILE -c NAME"
        files["mig-parted.yaml"] = render_header(inventory, title) + mig_parted
    if with_fake_gpus:
        for group in groups:
            if group.gpus:
                title = f"For {group.hostlist}: put this beside the node's slurm.conf."
                name = f"fake_gpus/{group.nodes[0]}.conf"
                files[name] = render_header(inventory, title) + render_fake_gpus(group)
    return files


def _list_gres_remarks(groups: Iterable[NodeGroup]) -> Iterator[str]:
    yield "Put this beside slurm.conf on every node; install it with slurm-nodes.conf."
    if any(
        spec.mode is GpuMode.MIG and not spec.mig_files
        for group in groups
        if group.detection is Detection.FILES
        for spec in group.gpus
    ):
        yield "The files of MIG instances are those of instances numbered 1, 2, ... on each GPU:"
        yield "compare with /proc/driver/nvidia-caps/mig-minors, or name them (mig_files)."


def list_device_files(
    inventory: Inventory, device_root: PurePosixPath = DEVICE_ROOT
) -> tuple[PurePosixPath, ...]:
    """Return every device file that gres.conf names, once, sorted."""
    return tuple(
        sorted(
            {
                file
                for group in inventory.node_groups
                for record in list_gres_records(group, device_root)
                for file in record.files
            }
        )
    )
