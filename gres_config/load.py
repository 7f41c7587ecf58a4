"""Reads an inventory file: syntax, then types, then what fits together; all errors at once."""

from pathlib import Path

from pydantic import ValidationError

from gres_config.description import (
    GpuPart,
    GresPart,
    InventoryPart,
    NodeGroupPart,
    PartitionPart,
)
from gres_config.document import Document, parse_document, read_text
from gres_config.errors import DocumentError, GresConfigError
from gres_config.inventory import GenericGres, GpuSpec, Inventory, NodeGroup, Partition
from gres_config.load_checks import CHECKS
from gres_config.load_checks.partitions import check_billing_weights, check_partition_nodes
from gres_config.problems import Problem
from gres_config.sentences import list_problems


def load_inventory(path: Path) -> Inventory:
    """Return the file's inventory; DocumentError holds every problem, each with its line."""
    return load_inventory_document(path)[0]


def load_inventory_document(path: Path) -> tuple[Inventory, Document]:
    """Return the file's inventory and its document, which knows the line of each place."""
    return parse_inventory(read_text(path), str(path))


def parse_inventory(text: str, file_name: str) -> tuple[Inventory, Document]:
    """Return the text's inventory and its document; raises DocumentError."""
    document = parse_document(text, file_name)
    try:
        part = InventoryPart.model_validate(document.data)
    except ValidationError as error:
        problems = list_problems(error, document, InventoryPart)
        raise DocumentError(file_name, [*problems, *_check_rest(document, error)]) from error
    found = [
        Problem(document.find_line(place), place, sentence)
        for check in CHECKS
        for place, sentence in check(part)
    ]
    if found:
        raise DocumentError(file_name, found)
    try:
        return _make_inventory(part), document
    except GresConfigError as error:
        raise DocumentError(file_name, [Problem(1, (), error.reason)]) from error


def _check_rest(document: Document, error: ValidationError) -> list[Problem]:
    """Return what is wrong between the parts that are right by themselves.

    Only where whole node groups and partitions can be left out; then nobody has to correct types
    first to hear of the rest.
    """
    places = [details["loc"] for details in error.errors()]
    if any(len(place) < 2 or place[0] not in ("node_groups", "partitions") for place in places):
        return []
    refused = {place[:2] for place in places}
    kept = {
        name: [index for index in range(len(items)) if (name, index) not in refused]
        for name in ("node_groups", "partitions")
        if isinstance(items := document.data.get(name), list)
    }
    data = {name: [document.data[name][index] for index in kept[name]] for name in kept}
    try:
        part = InventoryPart.model_validate({**document.data, **data})
    except ValidationError:
        return []
    are_nodes_whole = len(kept["node_groups"]) == len(document.data["node_groups"])
    found = []
    for check in CHECKS:
        if check in (check_partition_nodes, check_billing_weights) and not are_nodes_whole:
            continue
        for place, sentence in check(part):
            if place[0] in kept and len(place) > 1:
                place = (place[0], kept[str(place[0])][int(place[1])], *place[2:])
            found.append(Problem(document.find_line(place), place, sentence))
    return found


def _make_inventory(part: InventoryPart) -> Inventory:
    return Inventory(
        cluster_name=part.cluster,
        slurm_version=part.slurm_version,
        node_groups=tuple(map(_make_group, part.node_groups)),
        partitions=tuple(map(_make_partition, part.partitions)),
        memory_per_cpu_mib=part.memory_per_cpu_mib,
        memory_per_gpu_mib=part.memory_per_gpu_mib,
        cgroup_plugin=part.cgroup_plugin,
        accounting_tres=part.accounting_tres,
        other_models=part.other_models,
        extra=tuple(part.slurm.items()),
    )


def _make_group(part: NodeGroupPart) -> NodeGroup:
    return NodeGroup(
        hostlist=part.nodes,
        sockets=part.sockets,
        cores_per_socket=part.cores_per_socket,
        memory_mib=part.memory_mib,
        threads_per_core=part.threads_per_core,
        gpus=tuple(map(_make_gpu, part.gpus)),
        gres=tuple(map(_make_gres, part.gres)),
        features=part.features,
        detection=part.detection,
        state=part.state,
        restricted_cores_per_gpu=part.restricted_cores_per_gpu,
        extra=tuple(part.slurm.items()),
    )


def _make_gpu(part: GpuPart) -> GpuSpec:
    return GpuSpec(
        model=part.model,
        count=part.count,
        gres_type=part.type or "",
        mode=part.mode,
        mig_layout=part.layout,
        mig_types=tuple(part.types.items()),
        shares=part.shares or 0,
        files=part.files,
        mig_files=part.mig_files,
        cores=part.cores,
        links=part.links,
        flags=part.flags,
    )


def _make_gres(part: GresPart) -> GenericGres:
    return GenericGres(part.name, part.count, part.type, part.files, part.cores, part.flags)


def _make_partition(part: PartitionPart) -> Partition:
    return Partition(
        name=part.name,
        hostlist=part.nodes,
        priority_tier=part.tier,
        preempt_mode=part.preempt_mode,
        is_default=part.default,
        default_time_minutes=part.default_time_minutes,
        max_time_minutes=part.max_time_minutes,
        max_nodes=part.max_nodes,
        allow_accounts=part.allow_accounts,
        deny_accounts=part.deny_accounts,
        allow_groups=part.allow_groups,
        allow_qos=part.allow_qos,
        deny_qos=part.deny_qos,
        qos=part.qos,
        memory_per_cpu_mib=part.memory_per_cpu_mib,
        memory_per_gpu_mib=part.memory_per_gpu_mib,
        cpus_per_gpu=part.cpus_per_gpu,
        billing_weights=tuple(part.billing_weights.items()),
        state=part.state,
        extra=tuple(part.slurm.items()),
    )
