"""What can be wrong between the parts of an inventory file: a list of small checks.

Each check takes the whole typed file and yields (place, sentence) for each thing it finds; all of
them run, so that one reading names everything.
"""

from collections.abc import Callable, Iterator

from gres_config.description import InventoryPart
from gres_config.load_checks import devices, gpus, nodes, partitions
from gres_config.problems import Place

Found = Iterator[tuple[Place, str]]
Check = Callable[[InventoryPart], Found]

CHECKS: tuple[Check, ...] = (
    gpus.check_models,
    gpus.check_modes,
    gpus.check_layouts,
    gpus.check_types,
    gpus.check_detection,
    gpus.check_shares_beside_mig,
    gpus.check_flags,
    devices.check_file_counts,
    devices.check_files_once,
    devices.check_files_for_all,
    devices.check_cores,
    nodes.check_names_once,
    nodes.check_versions,
    nodes.check_settings,
    partitions.check_partitions_once,
    partitions.check_partition_nodes,
    partitions.check_default_memory,
    partitions.check_billing_weights,
)
