"""What a single node's lines of gres.conf may not say.

The texts in quotes are the daemons' own (src/interfaces/gres.c; src/common/gres.c up to 22.05).
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.mending import comment_out, make_finding, rewrite
from gres_config.check.rules_counts import SHARED
from gres_config.hostlist import fold_files
from gres_config.parse.counts import parse_count
from gres_config.parse.gres_conf import GresLine
from gres_config.parse.views import NodeView

RULES = RuleBook()

_NEGATIVE = re.compile(r"-\d+[kmgtp]?", re.IGNORECASE)
_ENV_FLAGS = ("nvidia_gpu_env", "amd_gpu_env", "intel_gpu_env", "opencl_env")


def _each_line(config: ClusterConfig) -> Iterator[tuple[NodeView, GresLine]]:
    for view in config.views.nodes:
        for line in view.lines:
            yield view, line


def _each_name(config: ClusterConfig) -> Iterator[tuple[NodeView, tuple[GresLine, ...]]]:
    for view in config.views.nodes:
        for name in view.list_names():
            lines = view.list_lines(name)
            if len(lines) > 1:
                yield view, lines


@RULES.add(
    "file-and-multiple-files",
    Effect.DIES,
    "slurmd ends with “File and MultipleFiles options are mutually exclusive”.",
)
def find_file_and_multiple_files(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_line(config):
        if line.body.file and line.body.multiple_files:
            mend = rewrite(line, {"File": None, "Files": None})
            if len(line.body.files) < 2:
                mend = rewrite(line, {"MultipleFiles": None})
            yield make_finding(view, line, "the line has both File and MultipleFiles", mend)


@RULES.add(
    "multiple-files-of-one",
    Effect.DIES,
    "slurmd ends with “MultipleFiles does not contain multiple files. Use File instead”.",
)
def find_multiple_files_of_one(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_line(config):
        body = line.body
        if body.multiple_files and not body.file and len(body.files) < 2:
            mend = rewrite(line, {"MultipleFiles": None, "File": body.multiple_files})
            yield make_finding(view, line, "MultipleFiles names a single file", mend)


@RULES.add(
    "count-differs-from-files",
    Effect.DIES,
    "slurmd ends with “count does not match File value”; a MultipleFiles line counts 1.",
)
def find_count_differs_from_files(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_line(config):
        body = line.body
        count = parse_count(body.count) if body.count else None
        files = 1 if body.multiple_files else len(body.files)
        if count is None or not body.has_file or body.name.lower() in SHARED or count == files:
            continue
        what = f"Count={body.count}, but the line has {files} device(s)"
        yield make_finding(view, line, what, rewrite(line, {"Count": None}))


@RULES.add(
    "count-unreadable",
    Effect.DIES,
    "slurmd ends with “invalid count”.",
)
def find_count_unreadable(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_line(config):
        text = line.body.count
        if text and parse_count(text) is None and not _NEGATIVE.fullmatch(text):
            what = f"Count={text} is no count"
            count = None if line.body.has_file else "1"
            yield make_finding(view, line, what, rewrite(line, {"Count": count}))


@RULES.add(
    "count-negative",
    Effect.MISLEADS,
    "slurmd takes it for a count near 2^64.",
)
def find_count_negative(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_line(config):
        if _NEGATIVE.fullmatch(line.body.count) and not line.body.has_file:
            what = f"Count={line.body.count} is negative"
            yield make_finding(view, line, what, rewrite(line, {"Count": "1"}))


@RULES.add(
    "file-on-some-records",
    Effect.DIES,
    "slurmd ends with “some records have File specification while others do not”.",
)
def find_file_on_some_records(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _find_odd(config, lambda line: line.body.has_file):
        what = f"this line of GRES {line.body.name} names no file, while others of the node do"
        yield make_finding(view, line, what, comment_out(line))


@RULES.add(
    "type-on-some-records",
    Effect.DIES,
    "slurmd ends with “some records have Type= specification while others do not”.",
)
def find_type_on_some_records(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _find_odd(config, lambda line: bool(line.body.type)):
        what = f"this line of GRES {line.body.name} has no Type, while others of the node have"
        lines = view.list_lines(line.body.name.lower())
        kind = next(other.body.type for other in lines if other.body.type)
        yield make_finding(view, line, what, rewrite(line, {"Type": kind}))


def _find_odd(
    config: ClusterConfig, has: Callable[[GresLine], bool]
) -> Iterator[tuple[NodeView, GresLine]]:
    for view, lines in _each_name(config):
        without = [line for line in lines if not has(line)]
        if len(without) < len(lines):
            yield from ((view, line) for line in without)


@RULES.add(
    "bare-record-twice",
    Effect.DIES,
    "slurmd ends with “gres.conf duplicate records”, with AutoDetect as well as without.",
)
def find_bare_record_twice(config: ClusterConfig) -> Iterator[Finding]:
    for view, lines in _each_name(config):
        bare = [line for line in lines if not line.body.has_file and not line.body.type]
        if len(bare) == len(lines):
            for line in bare[1:]:
                what = f"a second line of GRES {line.body.name} with neither File nor Type"
                yield make_finding(view, line, what, comment_out(line))


@RULES.add(
    "env-flags-differ",
    Effect.DIES,
    "slurmd ends with “Flags does not match env flags for previous GRES of same node and name”.",
)
def find_env_flags_differ(config: ClusterConfig) -> Iterator[Finding]:
    for view, lines in _each_name(config):
        before: frozenset[str] | None = None
        for line in lines:
            flags = _list_env_flags(line)
            if flags and before is not None and flags != before:
                what = f"Flags={','.join(line.body.flags)} differs from the line before"
                yield make_finding(view, line, what, rewrite(line, {"Flags": _keep(line)}))
            elif flags:
                before = flags
            elif before is None and line.body.name.lower() == "gpu":
                before = frozenset(_ENV_FLAGS)


@RULES.add(
    "no-env-with-env",
    Effect.DIES,
    "slurmd ends: no_gpu_env is “mutually exclusive to all other GRES env flags”.",
)
def find_no_env_with_env(config: ClusterConfig) -> Iterator[Finding]:
    for view, line in _each_line(config):
        flags = _list_env_flags(line)
        if "no_gpu_env" in flags and len(flags) > 1:
            kept = [flag for flag in line.body.flags if flag.lower() != "no_gpu_env"]
            what = "Flags has no_gpu_env beside another env flag"
            yield make_finding(view, line, what, rewrite(line, {"Flags": ",".join(kept)}))


def _list_env_flags(line: GresLine) -> frozenset[str]:
    flags = {flag.lower() for flag in line.body.flags}
    return frozenset(flags & {*_ENV_FLAGS, "no_gpu_env"})


def _keep(line: GresLine) -> str | None:
    """Return the Flags without those of the environment, which the line then inherits."""
    known = {*_ENV_FLAGS, "no_gpu_env"}
    return ",".join(flag for flag in line.body.flags if flag.lower() not in known) or None


@RULES.add(
    "record-without-name",
    Effect.IGNORED,
    "slurmd logs “Invalid GRES data, no type name” and drops the line with its devices.",
    severity=Severity.ERROR,
)
def find_record_without_name(config: ClusterConfig) -> Iterator[Finding]:
    for line in config.gres.lines:
        body = line.body
        if not body.name and (body.has_file or body.type or body.count or not body.autodetect):
            mend = rewrite(line, {"Name": "gpu"}, after="NodeName")
            yield Finding(line.source, "the line has no Name=", mend, line.hosts or "")


@RULES.add(
    "record-for-unknown-node",
    Effect.IGNORED,
    "no slurmd has such a name, so that no one reads the line.",
)
def find_record_for_unknown_node(config: ClusterConfig) -> Iterator[Finding]:
    for line, names in config.views.strangers:
        shown = ", ".join(names[:5]) + (" ..." if len(names) > 5 else "")
        what = f"slurm.conf has no node {shown}"
        mend = comment_out(line)
        yield Finding(line.source, what, mend, "" if len(names) > 5 else ",".join(names))


@RULES.add(
    "device-in-two-records",
    Effect.MISLEADS,
    "Slurm gives the same device to two jobs, as two different GRES.",
)
def find_device_in_two_records(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        owners: dict[str, list[GresLine]] = defaultdict(list)
        for line in view.lines:
            if line.body.name.lower() in SHARED:
                continue
            for file in dict.fromkeys(line.body.files):
                owners[file].append(line)
        for file, lines in owners.items():
            # The instances of one GPU share its own file, and only that.
            whole = [line for line in lines if line.body.file]
            is_shared_caps = "cap" in Path(file).name and len(lines) > 1
            if len(lines) > 1 and (whole or is_shared_caps):
                first, last = lines[0], lines[-1]
                what = f"{file} stands in line {first.source.line} as well"
                yield make_finding(view, last, what, _without_file(last, file))


def _without_file(line: GresLine, file: str) -> str:
    kept = [name for name in line.body.files if name != file]
    if line.body.multiple_files or not kept:
        return comment_out(line)
    return rewrite(line, {"File": fold_files(kept), "Files": None, "Count": None})


@RULES.add(
    "device-file-missing",
    Effect.DIES,
    "slurmd waits 20 seconds for the file and ends with “can't stat gres.conf file”; "
    "a driver that is loaded later comes too late.",
)
def find_device_file_missing(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        if config.device_node not in view.nodes:
            continue
        for line in view.lines:
            missing = [file for file in line.body.files if not Path(file).exists()]
            if missing:
                what = f"this machine has no {', '.join(missing[:3])}"
                yield make_finding(view, line, what, comment_out(line))
