"""Writes an inventory as Slurm's configuration: each file of this folder one kind of text."""

from gres_config.render.cgroup_conf import render_cgroup_conf
from gres_config.render.fake_gpus import render_fake_gpus
from gres_config.render.files import SLURM_FRAGMENTS, list_device_files, render_files
from gres_config.render.gres_conf import render_gres_conf
from gres_config.render.mig_parted import render_mig_parted
from gres_config.render.records import DEVICE_ROOT, GresRecord, list_gres_records
from gres_config.render.slurm_conf import (
    NodeEndpoint,
    render_accounting_tres,
    render_cluster,
    render_gres_types,
    render_node_gres,
    render_nodes,
    render_partitions,
)
from gres_config.render.write import write_folder

__all__ = [
    "DEVICE_ROOT",
    "SLURM_FRAGMENTS",
    "GresRecord",
    "NodeEndpoint",
    "list_device_files",
    "list_gres_records",
    "render_accounting_tres",
    "render_cgroup_conf",
    "render_cluster",
    "render_fake_gpus",
    "render_files",
    "render_gres_conf",
    "render_gres_types",
    "render_mig_parted",
    "render_node_gres",
    "render_nodes",
    "render_partitions",
    "write_folder",
]
