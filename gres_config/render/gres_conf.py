"""Writes gres.conf: whole GPUs by File, MIG instances by MultipleFiles, or AutoDetect."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import PurePosixPath

from gres_config.hostlist import fold_files, fold_hostlist
from gres_config.inventory import Detection, NodeGroup
from gres_config.render.records import DEVICE_ROOT, GresRecord, list_gres_records
from gres_config.render.words import join_words, render_word


def render_gres_conf(groups: Iterable[NodeGroup], device_root: PurePosixPath = DEVICE_ROOT) -> str:
    """Return the lines of gres.conf, each with its NodeName, so that all nodes share one file.

    The same count of files as slurm.conf's Gres says, or the node turns invalid. Groups with the
    same devices share their lines.
    """
    return "".join(
        line
        for alike in merge_groups(groups)
        for line in _render_group(
            alike[0], fold_hostlist(name for group in alike for name in group.nodes), device_root
        )
    )


def merge_groups(groups: Iterable[NodeGroup]) -> tuple[tuple[NodeGroup, ...], ...]:
    """Return the groups with GRES, those with the same devices together, in their first order."""
    found: dict[object, list[NodeGroup]] = {}
    for group in groups:
        if group.gpus or group.gres:
            found.setdefault((group.detection, group.gpus, group.gres), []).append(group)
    return tuple(map(tuple, found.values()))


def _render_group(group: NodeGroup, names: str, device_root: PurePosixPath) -> Iterator[str]:
    nodes = f"NodeName={names}"
    is_detected = group.detection is not Detection.FILES and bool(group.gpus)
    if is_detected:
        yield f"{nodes} AutoDetect={group.detection.value}\n"
    records = list_gres_records(group, device_root)
    if is_detected:
        records = _list_beside_detection(group, records)
    for _key, alike in groupby(records, _get_fold_key):
        yield _render_record(nodes, tuple(alike))


def _list_beside_detection(
    group: NodeGroup, records: tuple[GresRecord, ...]
) -> tuple[GresRecord, ...]:
    """Return what stands beside AutoDetect: GPUs whose files are named, and all other GRES."""
    named = [
        bool(spec.files or spec.mig_files)
        for spec in group.gpus
        for _unit in range(spec.count * max(1, len(spec.mig_layout)))
    ]
    gpus = [record for record in records if record.name == "gpu"]
    rest = [record for record in records if record.name != "gpu"]
    return (*(gpu for gpu, is_named in zip(gpus, named, strict=True) if is_named), *rest)


def _get_fold_key(record: GresRecord) -> tuple[object, ...]:
    """Return what must be equal for records to share a line.

    A line of several files must not have Links, and MultipleFiles is one instance a line.
    """
    alone = record.files if record.links or len(record.files) != 1 else ()
    return (record.name, record.gres_type, record.count, record.cores, record.flags, alone)


def _render_record(nodes: str, records: tuple[GresRecord, ...]) -> str:
    first = records[0]
    words = [nodes, f"Name={first.name}"]
    if first.gres_type:
        words.append(f"Type={first.gres_type}")
    if first.count is not None:
        # Slurm divides the Count of shared GPUs by the number of files (gres_c_s.c).
        words.append(f"Count={sum(record.count or 0 for record in records)}")
    if len(first.files) > 1:
        words.append("MultipleFiles=" + ",".join(map(str, first.files)))
    elif first.files:
        words.append("File=" + fold_files(str(record.files[0]) for record in records))
    for key, value in (("Cores", first.cores), ("Links", first.links)):
        if value:
            words.append(render_word(key, value))
    if first.flags:
        words.append("Flags=" + ",".join(first.flags))
    return join_words(words)
