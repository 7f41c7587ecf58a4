"""What slurm.conf and gres.conf must say as a whole."""

from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.mending import (
    comment_out,
    make_node_finding,
    render_pair,
    rewrite_node,
)
from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_hostlist
from gres_config.inventory import PLAIN_TRES
from gres_config.parse.lines import Source
from gres_config.parse.words import Setting

RULES = RuleBook()
_DATABASE = "AccountingStorageType=accounting_storage/slurmdbd"


def _split(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (word.strip() for word in text.split(","))))


@RULES.add(
    "line-unreadable",
    Effect.DIES,
    "the daemons end with “Unable to process configuration file” or “error opening/reading”.",
)
def find_line_unreadable(config: ClusterConfig) -> Iterator[Finding]:
    for fault in (*config.slurm.faults, *config.gres.faults):
        yield Finding(fault.source, fault.reason, fault.mend)


@RULES.add(
    "gres-name-not-in-grestypes",
    Effect.IGNORED,
    "Slurm logs “Invalid GRES configured on node” or “Ignoring gres.conf record, invalid name” "
    "and runs without it; names are case-sensitive in Gres=.",
    severity=Severity.ERROR,
)
def find_gres_name_not_in_grestypes(config: ClusterConfig) -> Iterator[Finding]:
    setting = config.slurm.settings.get("grestypes")
    known = _split(setting.value) if setting else ()
    lower = {name.lower(): name for name in known}
    seen: set[str] = set()
    for view in config.views.nodes:
        for entry in view.gres:
            right = lower.get(entry.name.lower())
            what = f"Gres={entry.text}, but GresTypes has no {entry.name}"
            if entry.name in known or entry.name in seen:
                continue
            if right:
                text = view.record.get("gres").replace(entry.name, right)
                yield make_node_finding(view, what, rewrite_node(view.record, {"Gres": text}))
            else:
                seen.add(entry.name)
                line = rewrite_node(view.record, {})
                yield _ask_for_type(setting, entry.name, what, view.record.source, line)
    for gres in config.gres.lines:
        name = gres.body.name
        if name and name.lower() not in lower and name not in seen:
            seen.add(name)
            what = f"Name={name}, but GresTypes has no {name}"
            line = comment_out(gres) if setting is None else ""
            yield _ask_for_type(setting, name, what, gres.source, line)


def _ask_for_type(
    setting: Setting | None, name: str, what: str, source: Source, line: str
) -> Finding:
    """Return the finding at GresTypes, or where there is none, at `line` of `source`."""
    if setting:
        mend = render_pair("GresTypes", ",".join([*_split(setting.value), name]))
        return Finding(setting.source, what, mend)
    mend = line if line.startswith("#") else f"{render_pair('GresTypes', name)}\n{line}"
    return Finding(source, what, mend)


@RULES.add(
    "tres-not-accounted",
    Effect.IGNORED,
    "limits and billing weights on a type that AccountingStorageTRES does not name are silently "
    "not enforced (resource_limits).",
)
def find_tres_not_accounted(config: ClusterConfig) -> Iterator[Finding]:
    if "slurmdbd" not in config.slurm.get("accountingstoragetype"):
        return
    setting = config.slurm.settings.get("accountingstoragetres")
    listed = {word.lower() for word in _split(setting.value if setting else "")}
    wanted = {
        f"gres/{entry.name}:{entry.type}" if entry.type else f"gres/{entry.name}"
        for view in config.views.nodes
        for entry in view.gres
        if entry.count
    }
    wanted |= {name.partition(":")[0] for name in wanted}
    missing = sorted(name for name in wanted if name.lower() not in listed)
    if not missing:
        return
    what = f"AccountingStorageTRES does not name {', '.join(missing)}"
    known = _split(setting.value) if setting else ()
    line = render_pair("AccountingStorageTRES", ",".join([*known, *missing]))
    anchor = setting or config.slurm.settings["accountingstoragetype"]
    before = "" if setting else f"{render_pair(anchor.key, anchor.value)}\n"
    yield Finding(anchor.source, what, before + line)


@RULES.add(
    "tres-without-slurmdbd",
    Effect.DIES,
    "slurmctld ends with “slurmdbd is required to run with TRES”.",
)
def find_tres_without_slurmdbd(config: ClusterConfig) -> Iterator[Finding]:
    setting = config.slurm.settings.get("accountingstoragetres")
    if setting is None or "slurmdbd" in config.slurm.get("accountingstoragetype"):
        return
    own = [word for word in _split(setting.value) if "/" in word]
    if own:
        line = render_pair(setting.key, setting.value)
        has_other = "accountingstoragetype" in config.slurm.settings
        mend = f"# {line}" if has_other else f"{line}\n{_DATABASE}"
        what = f"AccountingStorageTRES={own[0]}, but AccountingStorageType is not slurmdbd"
        yield Finding(setting.source, what, mend)


@RULES.add(
    "partition-of-unknown-node",
    Effect.DIES,
    "slurmctld ends with “Invalid node names in partition”.",
)
def find_partition_of_unknown_node(config: ClusterConfig) -> Iterator[Finding]:
    known = {name for view in config.views.nodes for name in view.nodes}
    sets = {record.name for record in config.slurm.others if record.kind == "NodeSet"}
    for record in config.slurm.partitions:
        text = record.get("nodes")
        if text.upper() == "ALL" or not text:
            continue
        try:
            names = expand_hostlist(text)
        except GresConfigError as error:
            yield Finding(record.source, f"Nodes={text}: {error.reason}")
            continue
        missing = [name for name in names if name not in known | sets and name.upper() != "ALL"]
        if missing:
            kept = ",".join(name for name in names if name not in missing)
            what = f"partition {record.name} has {', '.join(missing[:5])}, which is no node"
            yield Finding(record.source, what, rewrite_node(record, {"Nodes": kept or None}))


@RULES.add(
    "weight-of-unknown-tres",
    Effect.DIES,
    "slurmctld ends with “failed to parse tres weights str”.",
)
def find_weight_of_unknown_tres(config: ClusterConfig) -> Iterator[Finding]:
    listed = {word.lower() for word in _split(config.slurm.get("accountingstoragetres"))}
    listed |= PLAIN_TRES
    for record in config.slurm.partitions:
        weights = _split(record.get("tresbillingweights"))
        unknown = [word for word in weights if word.rpartition("=")[0].lower() not in listed]
        if unknown:
            kept = ",".join(word for word in weights if word not in unknown)
            what = f"AccountingStorageTRES has no {unknown[0].rpartition('=')[0]}"
            mend = rewrite_node(record, {"TRESBillingWeights": kept or None})
            yield Finding(record.source, what, mend)


@RULES.add(
    "select-parameters-without-unit",
    Effect.DIES,
    "slurmctld ends with “Invalid SelectTypeParameters: You need at least CR_(CPU|CORE|SOCKET)*”.",
)
def find_select_parameters_without_unit(config: ClusterConfig) -> Iterator[Finding]:
    setting = config.slurm.settings.get("selecttypeparameters")
    default = "select/linear" if config.is_before("23.11") else "select/cons_tres"
    select = config.slurm.get("selecttype") or default
    if setting is None or "cons" not in select:
        return
    words = _split(setting.value)
    units = ("cr_cpu", "cr_core", "cr_socket")
    if "cr_memory" in map(str.lower, words) and not any(w.lower().startswith(units) for w in words):
        rest = [word for word in words if word.lower() != "cr_memory"]
        mend = render_pair(setting.key, ",".join(["CR_Core_Memory", *rest]))
        yield Finding(setting.source, f"{setting.key}={setting.value} with {select}", mend)
