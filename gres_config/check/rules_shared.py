"""GPUs that are shared in time: shard and mps (src/plugins/gres/common/gres_c_s.c)."""

from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.mending import (
    comment_out,
    make_finding,
    make_node_finding,
    render_pair,
    rewrite,
    rewrite_node,
)
from gres_config.check.rules_counts import SHARED, count_configured, count_line
from gres_config.check.rules_types import has_mig_types
from gres_config.inventory import SHARING_FLAGS
from gres_config.parse.gres_conf import GresLine

RULES = RuleBook()


def _list_types(config: ClusterConfig) -> tuple[str, ...]:
    return tuple(filter(None, config.slurm.get("grestypes").split(",")))


@RULES.add(
    "shared-without-gpu-type",
    Effect.DIES,
    "both daemons end with “gres/'shared' requires that gres/gpu also be configured”.",
)
def find_shared_without_gpu_type(config: ClusterConfig) -> Iterator[Finding]:
    types = _list_types(config)
    shared = [name for name in types if name in SHARED]
    if shared and "gpu" not in types:
        setting = config.slurm.settings["grestypes"]
        what = f"GresTypes has {shared[0]}, but not gpu"
        yield Finding(setting.source, what, render_pair("GresTypes", ",".join(["gpu", *types])))


@RULES.add(
    "shared-needs-cons-tres",
    Effect.DIES,
    "slurmctld ends with “Use of shared gres requires the use of select/cons_tres”; before 23.11 "
    "that is not the default.",
)
def find_shared_needs_cons_tres(config: ClusterConfig) -> Iterator[Finding]:
    shared = [name for name in _list_types(config) if name in SHARED]
    setting = config.slurm.settings.get("selecttype")
    default = "select/linear" if config.is_before("23.11") else "select/cons_tres"
    select = setting.value if setting else default
    if not shared or select.endswith("cons_tres"):
        return
    mend = "SelectType=select/cons_tres"
    what = f"GresTypes has {shared[0]}, but SelectType is {select}"
    if setting:
        yield Finding(setting.source, what, mend)
        return
    types = config.slurm.settings["grestypes"]
    yield Finding(types.source, what, f"{render_pair(types.key, types.value)}\n{mend}")


@RULES.add(
    "shared-without-gpu",
    Effect.DIES,
    "slurmd ends with “SHARED specified without any SHARING found”.",
)
def find_shared_without_gpu(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        shared = [entry for entry in view.gres if entry.name in SHARED and entry.count]
        if shared and not count_configured(view, "gpu"):
            what = f"Gres={shared[0].text}, but the node has no GRES gpu"
            kept = ",".join(entry.text for entry in view.gres if entry not in shared)
            yield make_node_finding(view, what, rewrite_node(view.record, {"Gres": kept or None}))


@RULES.add(
    "shared-fewer-than-configured",
    Effect.DIES,
    "what gres.conf lacks becomes a second record without File: slurmd ends with “bad "
    "configuration, multiple configurations”.",
)
def find_shared_fewer_than_configured(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for name in SHARED:
            lines = view.list_lines(name)
            count = sum(count_configured(view, name).values())
            found = sum(count_line(line) for line in lines)
            if not lines or not count > found:
                continue
            what = f"Gres= has {name}:{count}, gres.conf has {found}"
            words = [f"{name}:{found}" if entry.name == name else entry.text for entry in view.gres]
            mend = rewrite_node(view.record, {"Gres": ",".join(words)})
            yield make_node_finding(view, what, mend)


@RULES.add(
    "shared-file-without-gpu",
    Effect.DRAINS,
    "slurmd logs “Discarding gres/'shared' configuration without matching gres/'sharing' record”, "
    "and the node turns INVAL.",
)
def find_shared_file_without_gpu(config: ClusterConfig) -> Iterator[Finding]:
    takes_parts = not config.version.has_shares_beside_mig
    for view in config.views.nodes:
        lines = view.list_lines("gpu")
        # A MIG instance is no GPU of its first file, once slurmd can tell both apart.
        own = [line for line in lines if takes_parts or not line.body.multiple_files]
        gpus = {file for line in own for file in line.body.files}
        if view.is_detecting or not any(line.body.has_file for line in lines):
            continue
        for name in SHARED:
            for line in view.list_lines(name):
                missing = [file for file in line.body.files if file not in gpus]
                if missing:
                    what = f"no line with Name=gpu has {missing[0]}"
                    yield make_finding(view, line, what, comment_out(line))


@RULES.add(
    "one-with-all-sharing",
    Effect.MISLEADS,
    "one_sharing holds, and all_sharing is lost.",
    since="23.02",
)
def find_one_with_all_sharing(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for line in view.lines:
            flags = [flag.lower() for flag in line.body.flags]
            if "one_sharing" in flags and "all_sharing" in flags:
                kept = [flag for flag in line.body.flags if flag.lower() != "all_sharing"]
                mend = rewrite(line, {"Flags": ",".join(kept)})
                yield make_finding(view, line, "Flags has one_sharing and all_sharing", mend)


def _find_sharing_on_lines(config: ClusterConfig) -> Iterator[Finding]:
    """Yield each line of a shared GRES whose sharing flag is not that of the lines before."""
    for view in config.views.nodes:
        for name in SHARED:
            first: tuple[GresLine, frozenset[str]] | None = None
            for line in view.list_lines(name):
                flags = frozenset(map(str.lower, line.body.flags)) & SHARING_FLAGS
                if not flags:
                    continue
                first = first or (line, flags)
                if flags != first[1]:
                    kept = [flag for flag in line.body.flags if flag.lower() not in SHARING_FLAGS]
                    right = ",".join([*kept, *sorted(first[1])])
                    where = first[0].source.line
                    what = f"Flags={','.join(line.body.flags)}, but line {where} has another"
                    yield make_finding(view, line, what, rewrite(line, {"Flags": right}))


@RULES.add(
    "sharing-flags-differ",
    Effect.DIES,
    "slurmd ends with “Flags does not match env flags for previous GRES of same node and name”.",
    since="23.02",
    until="26.05",
)
def find_sharing_flags_differ(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_sharing_on_lines(config)


@RULES.add(
    "sharing-flags-mixed",
    Effect.MISLEADS,
    "all_sharing holds for all the GPUs of the node (“already set up to share all”); before 26.05 "
    "slurmd ends on it.",
    since="26.05",
)
def find_sharing_flags_mixed(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_sharing_on_lines(config)


@RULES.add(
    "sharing-flag-unknown",
    Effect.IGNORED,
    "Slurm has one_sharing and all_sharing from 23.02 on; before, the word is skipped in silence.",
    until="23.02",
)
def find_sharing_flag_unknown(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for line in view.lines:
            kept = [flag for flag in line.body.flags if flag.lower() not in SHARING_FLAGS]
            if len(kept) < len(line.body.flags):
                what = (
                    f"Slurm {config.version.name} does not know Flags={','.join(line.body.flags)}"
                )
                mend = rewrite(line, {"Flags": ",".join(kept) or None})
                yield make_finding(view, line, what, mend)


@RULES.add(
    "shard-on-mig",
    Effect.MISLEADS,
    "the shards of a MIG instance count 0: shards on MIG are right from 23.02.7 on.",
    severity=Severity.WARNING,
    until="23.02.7",
)
def find_shard_on_mig(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        shared = [entry for entry in view.gres if entry.name in SHARED]
        if shared and has_mig_types(view):
            what = f"Gres={shared[0].text} on a node with MIG instances"
            kept = ",".join(entry.text for entry in view.gres if entry not in shared)
            yield make_node_finding(view, what, rewrite_node(view.record, {"Gres": kept}))
