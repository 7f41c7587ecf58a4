"""Reads what Slurm's programs print (22.05 to 26.05) into values. Pure functions."""

import re
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation

from portal.slurm.errors import SlurmParseError
from portal.slurm.values import (
    Association,
    ClusterInfo,
    LiveJob,
    Node,
    Partition,
    Qos,
    SlurmUser,
    TresCounts,
    make_tres,
)

ASSOCIATION_FORMAT = "format=Account,User,Partition,ParentName,DefaultQOS,QOS"
ACCOUNT_FORMAT = "format=Account,Organization,Description"
USER_FORMAT = "format=User,DefaultAccount,AdminLevel"
QOS_FORMAT = (
    "format=Name,Priority,Flags,GrpTRES,GrpTRESMins,MaxTRESPU,MaxWall,MaxSubmitJobsPU,"
    "GrpSubmitJobs,Description"
)
JOB_FORMAT = "%i|%a|%u|%T|%P|%q|%V|%S|%r"

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3, "T": 1024**4, "P": 1024**5}
_STATE_MARKS = {
    "*": "NOT_RESPONDING",
    "~": "POWERED_DOWN",
    "#": "POWERING_UP",
    "!": "POWER_DOWN",
    "%": "POWERING_DOWN",
    "$": "MAINTENANCE",
    "@": "REBOOT_REQUESTED",
    "^": "REBOOT_ISSUED",
    "-": "PLANNED",
}
_COUNT = re.compile(r"(\d+(?:\.\d+)?)([KMGTP]?)")
_CONFIG_LINE = re.compile(r"([A-Za-z][\w.-]*(?:\[\d+\])?)\s+= ?(.*)")
_REASON = re.compile(r"\sReason=(.*?)(?: \[[^\[\]\s]+@\d{4}-\d\d-\d\dT[\d:]+\].*)?$", re.DOTALL)


class AssociationRow:
    """One printed association: of an account (no user) or of a user, perhaps of a partition."""

    __slots__ = ("account", "default_qos", "parent", "partition", "qos", "user")

    def __init__(self, columns: list[str]) -> None:
        self.account, self.user, self.partition, self.parent, self.default_qos, names = columns
        self.qos = frozenset(name for name in names.split(",") if name)


def parse_cluster(text: str) -> ClusterInfo:
    """Read `scontrol show config`; the first of equal keys counts, "(null)" becomes ""."""
    config: dict[str, str] = {}
    for line in text.splitlines():
        found = _CONFIG_LINE.match(line)
        if found:
            value = found.group(2).strip()
            config.setdefault(found.group(1), "" if value == "(null)" else value)
    if "ClusterName" not in config or "SLURM_VERSION" not in config:
        raise SlurmParseError("scontrol show config names no cluster or no version")
    return ClusterInfo(config["ClusterName"], config["SLURM_VERSION"], tuple(config.items()))


def parse_nodes(text: str) -> tuple[Node, ...]:
    """Read `scontrol --all --oneliner --details show nodes`, sorted by name."""
    nodes = [_parse_node(record) for record in _split_records(text, "NodeName=")]
    return tuple(sorted(nodes, key=lambda node: node.name))


def parse_partitions(text: str, nodes: Collection[Node]) -> tuple[Partition, ...]:
    """Read `scontrol --all --oneliner show partitions`; members come from the nodes' lines.

    So no hostlist expression has to be expanded.
    """
    partitions = []
    for record in _split_records(text, "PartitionName="):
        name = _get_field(record, "PartitionName")
        partitions.append(
            Partition(
                name=name,
                states=tuple(_get_field(record, "State").split("+")),
                nodes=tuple(sorted(node.name for node in nodes if name in node.partitions)),
                priority_tier=int(parse_count(_get_field(record, "PriorityTier") or "1")),
                preempt_mode=_get_field(record, "PreemptMode"),
            )
        )
    return tuple(sorted(partitions, key=lambda partition: partition.name))


def parse_association_rows(text: str) -> list[AssociationRow]:
    """Read `sacctmgr -n -P list associations` with ASSOCIATION_FORMAT, in Slurm's order."""
    return [AssociationRow(_split_columns(line, 6)) for line in text.splitlines() if line]


def parse_associations(rows: Collection[AssociationRow]) -> tuple[Association, ...]:
    """Return the user associations without a partition, sorted by account and user."""
    found = [
        Association(row.account, row.user, row.qos, row.default_qos)
        for row in rows
        if row.user and not row.partition
    ]
    return tuple(sorted(found, key=lambda association: (association.account, association.user)))


def parse_account_texts(text: str) -> dict[str, tuple[str, str]]:
    """Read `sacctmgr -n -P list account` with ACCOUNT_FORMAT: (organization, description).

    Slurm does not escape a newline in a text: a line that is no record of its own continues the
    description before it.
    """
    texts: dict[str, tuple[str, str]] = {}
    last = ""
    for line in text.removesuffix("\n").split("\n"):
        columns = line.split("|", 2)
        if len(columns) == 3 and columns[0] and columns[0] not in texts:
            last = columns[0]
            texts[last] = (columns[1], columns[2])
        elif last:
            organization, description = texts[last]
            texts[last] = (organization, f"{description}\n{line}")
    return texts


def parse_users(text: str) -> tuple[SlurmUser, ...]:
    """Read `sacctmgr -n -P list user` with USER_FORMAT, sorted by name."""
    users = [SlurmUser(*_split_columns(line, 3)) for line in text.splitlines() if line]
    return tuple(sorted(users, key=lambda user: user.name))


def parse_qos(text: str) -> tuple[Qos, ...]:
    """Read `sacctmgr -n -P list qos` with QOS_FORMAT, sorted by name."""
    records: list[list[str]] = []
    for line in text.removesuffix("\n").split("\n"):
        columns = line.split("|", 9)
        if len(columns) == 10 and re.fullmatch(r"\d*", columns[1]):
            records.append(columns)
        elif records:
            records[-1][9] += f"\n{line}"
        elif line:
            raise SlurmParseError(f"not a line of sacctmgr list qos: {line!r}")
    return tuple(sorted((_make_qos(columns) for columns in records), key=lambda qos: qos.name))


def parse_jobs(text: str) -> tuple[LiveJob, ...]:
    """Read `squeue` with JOB_FORMAT under TZ=UTC, sorted by job id."""
    jobs = []
    for line in text.splitlines():
        job_id, account, user, state, partition, qos, submit, start, reason = _split_columns(
            line, 9
        )
        jobs.append(
            LiveJob(
                job_id=job_id,
                account=account,
                user=user,
                state=state,
                partition=partition,
                qos=qos,
                reason="" if reason == "None" else reason,
                submit_at=parse_instant(submit),
                start_at=parse_instant(start),
            )
        )
    return tuple(
        sorted(jobs, key=lambda job: (int(job.job_id.split("_")[0].split("+")[0]), job.job_id))
    )


def parse_instant(text: str) -> datetime | None:
    """Read a time that Slurm printed under TZ=UTC; None where it has none."""
    if text in ("", "N/A", "Unknown", "None", "NONE"):
        return None
    try:
        return datetime.fromisoformat(text).replace(tzinfo=UTC)
    except ValueError as error:
        raise SlurmParseError(f"not a time: {text!r}") from error


def parse_minutes(text: str) -> int | None:
    """Read a wall time ([D-]HH:MM:SS) in whole minutes, rounded up; None where it has none."""
    if text in ("", "UNLIMITED", "Partition_Limit", "NONE"):
        return None
    found = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d\d):(\d\d)", text)
    if found is None:
        raise SlurmParseError(f"not a wall time: {text!r}")
    days, hours, minutes, seconds = (int(part or 0) for part in found.groups())
    return (days * 24 + hours) * 60 + minutes + (1 if seconds else 0)


def parse_tres(text: str) -> TresCounts:
    """Read "gres/gpu=4,mem=62.50G" into counts; memory is in MiB as in Slurm's TRES."""
    counts: dict[str, int] = {}
    for part in filter(None, text.split(",")):
        name, separator, count = part.partition("=")
        if not separator:
            raise SlurmParseError(f"not a TRES list: {text!r}")
        in_bytes = name in ("mem", "vmem", "bb") or name.startswith("bb/")
        value = parse_count(count)
        counts[name] = value // _UNITS["M"] if in_bytes and not count.isdigit() else value
    return make_tres(counts)


def parse_gres(text: str) -> TresCounts:
    """Read "gpu:a100:4(IDX:0-3),gpu:1g.10gb:7" into counts per "gpu:a100"; equal names add up.

    Bracketed indexes and sockets, and flags such as ":no_consume", are dropped.
    """
    bare = re.sub(r"\([^)]*\)", "", text)
    counts: dict[str, int] = {}
    for part in filter(None, bare.split(",")):
        words = [word for word in part.strip().split(":") if word != "no_consume"]
        if len(words) > 1 and _COUNT.fullmatch(words[-1].upper()):
            name, count = ":".join(words[:-1]), parse_count(words[-1])
        else:
            name, count = ":".join(words), 1
        counts[name] = counts.get(name, 0) + count
    return make_tres(counts)


def parse_count(text: str) -> int:
    """Read a count with an optional binary suffix, e.g. "62.50G"; whole numbers only come out."""
    found = _COUNT.fullmatch(text.strip().upper())
    try:
        if found is None:
            raise InvalidOperation
        return int(Decimal(found.group(1)) * _UNITS[found.group(2)])
    except InvalidOperation as error:
        raise SlurmParseError(f"not a count: {text!r}") from error


def parse_states(text: str) -> tuple[str, ...]:
    """Read "IDLE*+DRAIN" into ("IDLE", "DRAIN", "NOT_RESPONDING")."""
    words: list[str] = []
    marks: list[str] = []
    for word in filter(None, text.split("+")):
        bare = word.rstrip("".join(_STATE_MARKS))
        words.append(bare.upper())
        marks.extend(_STATE_MARKS[mark] for mark in word[len(bare) :])
    return tuple(dict.fromkeys(words + marks))


def _parse_node(record: str) -> Node:
    reason = _REASON.search(record)
    used = _get_field(record, "GresUsed")
    return Node(
        name=_get_field(record, "NodeName"),
        states=parse_states(_get_field(record, "State")),
        partitions=tuple(sorted(filter(None, _get_field(record, "Partitions").split(",")))),
        gres=parse_gres(_get_field(record, "Gres")),
        gres_used=parse_gres(used) if used else _get_used_gres(_get_field(record, "AllocTRES")),
        reason=reason.group(1).strip() if reason else "",
    )


def _get_used_gres(alloc_tres: str) -> TresCounts:
    """Return GRES counts from a node's AllocTRES, for where GresUsed is not printed."""
    counts: Mapping[str, int] = dict(parse_tres(alloc_tres))
    gres = {name[5:]: count for name, count in counts.items() if name.startswith("gres/")}
    typed = {name.split(":")[0] for name in gres if ":" in name}
    return make_tres({name: count for name, count in gres.items() if name not in typed})


def _make_qos(columns: list[str]) -> Qos:
    name, priority, flags, grp_tres, grp_tres_mins, max_tres, wall, submit, grp_submit, text = (
        columns
    )
    return Qos(
        name=name,
        description=text,
        priority=int(priority or 0),
        flags=frozenset(flag for flag in flags.split(",") if flag),
        grp_tres=parse_tres(grp_tres),
        grp_tres_mins=parse_tres(grp_tres_mins),
        max_tres_per_user=parse_tres(max_tres),
        max_wall_minutes=parse_minutes(wall),
        max_submit_jobs_per_user=int(submit) if submit else None,
        grp_submit_jobs=int(grp_submit) if grp_submit else None,
    )


def _split_records(text: str, start: str) -> list[str]:
    """Return one string per record; a line that does not open one (a newline in a reason) joins."""
    records: list[str] = []
    for line in text.splitlines():
        if line.startswith(start):
            records.append(line)
        elif records and line.strip():
            records[-1] += f" {line}"
    return records


def _get_field(record: str, key: str) -> str:
    """Return the first value of a "Key=value" record, without spaces; "" where there is none."""
    found = re.search(rf"(?:^|\s){key}=(\S*)", record)
    value = found.group(1) if found else ""
    return "" if value in ("(null)", "N/A") else value


def _split_columns(line: str, count: int) -> list[str]:
    columns = line.split("|", count - 1)
    if len(columns) != count:
        raise SlurmParseError(f"expected {count} columns: {line!r}")
    return columns
