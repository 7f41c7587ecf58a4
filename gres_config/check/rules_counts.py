"""Where slurm.conf and gres.conf disagree about how many devices of which type a node has.

slurmd takes from gres.conf what slurm.conf counts (_merge_config in src/interfaces/gres.c); what
is left over of either is lost. Where slurmd detects devices, only it knows the numbers.
"""

import re
from collections import Counter
from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.mending import make_finding, make_node_finding, rewrite, rewrite_node
from gres_config.parse.counts import parse_count
from gres_config.parse.gres_conf import GresLine
from gres_config.parse.lines import Source
from gres_config.parse.views import NodeView
from gres_config.parse.words import render_words

RULES = RuleBook()
SHARED = ("shard", "mps")
PROFILE = re.compile(r"\d+[cg]\.\d", re.IGNORECASE)


def count_line(line: GresLine) -> int:
    """Return how many devices a line of gres.conf stands for."""
    body = line.body
    if body.multiple_files and not body.file:
        return 1
    if body.files and body.name.lower() not in SHARED:
        return len(body.files)
    count = parse_count(body.count) if body.count else None
    return count if count is not None else max(1, len(body.files))


def count_configured(view: NodeView, name: str) -> Counter[str]:
    """Return what slurm.conf counts of a GRES, by type in lower case."""
    counts: Counter[str] = Counter()
    for entry in view.gres:
        if entry.name.lower() == name:
            counts[entry.type.lower()] += entry.count
    return counts


def _count_lines(view: NodeView, name: str, *, has_file: bool = True) -> Counter[str]:
    counts: Counter[str] = Counter()
    for line in view.list_lines(name):
        if line.body.has_file or not has_file:
            counts[line.body.type.lower()] += count_line(line)
    return counts


def is_cloud(view: NodeView) -> bool:
    """Whether the nodes are made when they are needed (State=CLOUD)."""
    return "CLOUD" in view.record.get("state").upper()


def _is_open(view: NodeView) -> bool:
    """Whether the GPUs of the nodes are told by both files alone, and no other rule has them."""
    return not view.is_detecting and not any(entry.is_misread for entry in view.gres)


@RULES.add(
    "fewer-than-configured",
    Effect.DRAINS,
    "the node turns INVAL: “count reported lower than configured”.",
)
def find_fewer_than_configured(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        configured, found = count_configured(view, "gpu"), _count_lines(view, "gpu")
        if not _is_open(view):
            continue
        if "" in configured:
            found = Counter({"": sum(found.values())})
        for kind, count in configured.items():
            known = found[kind]
            if is_cloud(view) and not found:
                continue
            if count and not view.list_lines("gpu"):
                yield _ask_for_line(config, view, kind, count)
            elif 0 < known < count:
                label = f"gpu:{kind}" if kind else "gpu"
                what = f"Gres= has {label}:{count}, gres.conf has files for {known}"
                yield make_node_finding(view, what, _mend_count(view, kind, known))


def _ask_for_line(config: ClusterConfig, view: NodeView, kind: str, count: int) -> Finding:
    """Return the finding at the end of gres.conf, where the line for the GPUs is missing."""
    spelled = next(e.type for e in view.gres if e.name.lower() == "gpu" and e.type.lower() == kind)
    label = f"gpu:{spelled}:{count}" if kind else f"gpu:{count}"
    what = f"Gres= has {label}, gres.conf has no line for its devices"
    last = config.gres.lines[-1] if config.gres.lines else None
    source = last.source if last else Source(config.gres.file, 1)
    if PROFILE.search(kind):
        return Finding(source, what, "", view.hostlist)
    files = "/dev/nvidia0" if count == 1 else f"/dev/nvidia[0-{count - 1}]"
    words = [("NodeName", view.hostlist), ("Name", "gpu"), ("Type", spelled), ("File", files)]
    line = render_words(tuple(word for word in words if word[1]))
    return Finding(
        source, what, f"{render_words(last.words)}\n{line}" if last else line, view.hostlist
    )


@RULES.add(
    "type-not-in-gres-conf",
    Effect.DRAINS,
    "no line of gres.conf has the type, so that the node turns INVAL: “count reported lower than "
    "configured”.",
)
def find_type_not_in_gres_conf(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        configured, found = count_configured(view, "gpu"), _count_lines(view, "gpu")
        if not _is_open(view) or not found:
            continue
        spare = [kind for kind in found if kind not in configured]
        for kind, count in configured.items():
            if kind and count and kind not in found:
                what = f"Gres= has gpu:{kind}:{count}, gres.conf has {_name_all(found)}"
                other = next((s for s in spare if s and found[s] >= count), None)
                mend = _rename(view, kind, other) if other else _mend_count(view, kind, 0)
                yield make_node_finding(view, what, mend)


@RULES.add(
    "gpu-without-file",
    Effect.DRAINS,
    "a GPU without a device file is taken away again, so that the node turns INVAL.",
)
def find_gpu_without_file(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        lines = view.list_lines("gpu")
        if view.is_detecting or not count_configured(view, "gpu"):
            continue
        if any(line.body.has_file for line in lines):
            continue
        for line in lines:
            count = count_line(line)
            end = f"[0-{count - 1}]" if count > 1 else "0"
            changes = {"Count": None, "File": f"/dev/nvidia{end}"}
            yield make_finding(view, line, "this GPU has no File", rewrite(line, changes))


@RULES.add(
    "more-than-configured",
    Effect.IGNORED,
    "slurmd logs “more configured than expected in slurm.conf. Ignoring extra GRES”.",
)
def find_more_than_configured(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for name in dict.fromkeys(entry.name.lower() for entry in view.gres):
            if name == "gpu" and not _is_open(view):
                continue
            configured = count_configured(view, name)
            found = _count_lines(view, name, has_file=name == "gpu")
            if "" in configured or name in SHARED:
                found = Counter({"": sum(found.values())})
                configured = Counter({"": sum(configured.values())})
            for kind, known in found.items():
                if 0 < configured[kind] < known:
                    label = f"{name}:{kind}" if kind else name
                    what = f"gres.conf has {known} {label}, Gres= counts {configured[kind]}"
                    yield make_node_finding(view, what, _mend_count(view, kind, known, name))


@RULES.add(
    "type-not-in-slurm-conf",
    Effect.IGNORED,
    "Gres= does not count the type, so that its devices are never used.",
    severity=Severity.ERROR,
)
def find_type_not_in_slurm_conf(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        configured = count_configured(view, "gpu")
        if "" in configured or not _is_open(view):
            continue
        found = _count_lines(view, "gpu")
        for line in view.list_lines("gpu"):
            kind = line.body.type.lower()
            count = found.pop(kind, 0)
            if count and kind not in configured:
                label = f"gpu:{line.body.type}" if kind else "gpu"
                text = view.record.get("gres")
                entry = f"{label}:{count}"
                new = f"{text},{entry}" if text else entry
                what = f"gres.conf (line {line.source.line}) has {count} {label}, Gres= has none"
                yield make_node_finding(view, what, rewrite_node(view.record, {"Gres": new}))


@RULES.add(
    "type-dropped",
    Effect.MISLEADS,
    "Gres= is without a type, so slurmd takes the types out of gres.conf's lines: "
    "--gres=gpu:<type> finds no node.",
)
def find_type_dropped(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        found = _count_lines(view, "gpu")
        if set(count_configured(view, "gpu")) != {""} or not any(found):
            continue
        kept = [entry.text for entry in view.gres if entry.name.lower() != "gpu"]
        typed = [f"gpu:{kind}:{count}" for kind, count in found.items() if kind]
        mend = rewrite_node(view.record, {"Gres": ",".join([*typed, *kept])})
        yield make_node_finding(view, f"gres.conf has {_name_all(found)}, Gres= no type", mend)


def _name_all(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {kind or 'untyped'}" for kind, count in counts.items())


def _mend_count(view: NodeView, kind: str, count: int, name: str = "gpu") -> str:
    words = []
    for entry in view.gres:
        if entry.name.lower() != name or (entry.type.lower() != kind and name not in SHARED):
            words.append(entry.text)
        elif count:
            words.append(":".join(filter(None, (entry.name, entry.type, str(count)))))
            count = 0
    return rewrite_node(view.record, {"Gres": ",".join(words) or None})


def _rename(view: NodeView, kind: str, new: str) -> str:
    spelled = next(li.body.type for li in view.list_lines("gpu") if li.body.type.lower() == new)
    words = [
        f"{entry.name}:{spelled}:{entry.count}"
        if entry.name.lower() == "gpu" and entry.type.lower() == kind
        else entry.text
        for entry in view.gres
    ]
    return rewrite_node(view.record, {"Gres": ",".join(words)})
