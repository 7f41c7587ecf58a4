"""Makes partitions: the words that the inventory has keys for, and the others as they are."""

from collections.abc import Mapping
from typing import Any

from gres_config.adopt.notes import Kind, Notes
from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist, fold_hostlist
from gres_config.inventory import Pairs, Partition
from gres_config.meaning import expand_partition_nodes
from gres_config.parse.slurm_conf import Record, SlurmConf
from gres_config.parse.times import UNLIMITED, parse_minutes

_LISTS = {
    "allowaccounts": "allow_accounts",
    "denyaccounts": "deny_accounts",
    "allowgroups": "allow_groups",
    "allowqos": "allow_qos",
    "denyqos": "deny_qos",
}
_NUMBERS = {
    "maxnodes": "max_nodes",
    "defmempercpu": "memory_per_cpu_mib",
    "defmempergpu": "memory_per_gpu_mib",
    "defcpupergpu": "cpus_per_gpu",
}
_ELSEWHERE = frozenset(
    [
        "nodes",
        "default",
        "prioritytier",
        "preemptmode",
        "defaulttime",
        "maxtime",
        "qos",
        "tresbillingweights",
        "state",
    ]
)


def adopt_partition(record: Record, slurm: SlurmConf, notes: Notes) -> Partition:
    """Return the partition of the record; raises GresConfigError for one without nodes."""
    words = dict(record.words)
    known: dict[str, Any] = {}
    for key, name in _LISTS.items():
        value = words.pop(key, "")
        if value and value.upper() != "ALL":
            known[name] = tuple(filter(None, value.split(",")))
    for key, name in _NUMBERS.items():
        value = words.pop(key, "")
        if value.isdigit():
            known[name] = int(value)
        elif value and value.upper() not in ("UNLIMITED", "INFINITE"):
            notes.add(Kind.LOST, record.source, f"{key}={value}")
    rest = {key: value for key, value in words.items() if key not in _ELSEWHERE}
    spelled = {key.lower(): key for key, _value in record.own}
    tier = words.get("prioritytier", "1")
    mode = words.get("preemptmode")
    return Partition(
        record.name,
        _find_nodes(record, words.get("nodes", ""), slurm, notes),
        priority_tier=int(tier) if tier.isdigit() else 1,
        preempt_mode=mode.upper() if mode else None,
        is_default=words.get("default", "NO").upper() in ("YES", "TRUE"),
        default_time_minutes=_read_time(record, words, "defaulttime", notes),
        max_time_minutes=_read_time(record, words, "maxtime", notes),
        qos=words.get("qos", ""),
        billing_weights=_read_weights(words.get("tresbillingweights", "")),
        state=words.get("state", "UP").upper(),
        extra=tuple((spelled.get(key, key), value) for key, value in sorted(rest.items())),
        **known,
    )


def _find_nodes(record: Record, text: str, slurm: SlurmConf, notes: Notes) -> str:
    if text.upper() == "ALL":
        return "ALL"
    if not text:
        raise GresConfigError(
            f"partition {record.name} has no nodes, which an inventory cannot say",
            file_name=record.source.file,
            line=record.source.line,
        )
    sets = {other.name for other in slurm.others if other.kind == "NodeSet"}
    for word in sets & set(expand_hostlist(text)):
        notes.add(Kind.CHANGED, record.source, f"the NodeSet {word} is written as its nodes")
    names = expand_partition_nodes(text, slurm)
    return fold_hostlist(names) if names else text


def _read_time(record: Record, words: Mapping[str, str], key: str, notes: Notes) -> int | None:
    text = words.get(key, "")
    if not text:
        return None
    minutes = parse_minutes(text)
    if minutes is None or (minutes == UNLIMITED and key == "defaulttime"):
        notes.add(Kind.LOST, record.source, f"{key}={text}")
        return None
    return None if minutes == UNLIMITED else minutes


def _read_weights(text: str) -> Pairs:
    pairs = (word.rpartition("=") for word in text.split(",") if word.strip())
    return tuple((name.strip(), weight.strip()) for name, _sign, weight in pairs)
