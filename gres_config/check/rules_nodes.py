"""What the NodeName lines of slurm.conf may not say."""

from collections import defaultdict
from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook, Severity
from gres_config.check.mending import make_node_finding, rewrite_node
from gres_config.hostlist import fold_hostlist
from gres_config.parse.counts import GresEntry
from gres_config.parse.slurm_conf import Record

RULES = RuleBook()


@RULES.add(
    "node-twice", Effect.DIES, "the daemons end with “Duplicated NodeHostName in config file”."
)
def find_node_twice(config: ClusterConfig) -> Iterator[Finding]:
    doubles: dict[int, list[str]] = defaultdict(list)
    records: dict[int, Record] = {}
    for record, name in config.views.doubles:
        doubles[id(record)].append(name)
        records[id(record)] = record
    for key, names in doubles.items():
        what = "an earlier NodeName line names the node as well"
        hosts = fold_hostlist(names)
        yield Finding(records[key].source, what, f"# {rewrite_node(records[key], {})}", hosts)


@RULES.add(
    "node-named-all", Effect.DIES, "the daemons end with “'ALL' is a reserved word disallowed”."
)
def find_node_named_all(config: ClusterConfig) -> Iterator[Finding]:
    for record in config.slurm.nodes:
        if record.name.upper() == "ALL":
            mend = f"# {rewrite_node(record, {})}"
            yield Finding(record.source, "NodeName=ALL is no node", mend)


@RULES.add("hostlist-unreadable", Effect.DIES, "the daemons end on it, or take it for other nodes.")
def find_hostlist_unreadable(config: ClusterConfig) -> Iterator[Finding]:
    for source, text, reason in config.views.unreadable:
        yield Finding(source, f"NodeName={text}: {reason}")


@RULES.add(
    "typed-with-untyped",
    Effect.DIES,
    "slurmd ends with “Some GRES in slurm.conf have a type while others do not”.",
)
def find_typed_with_untyped(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for name in dict.fromkeys(entry.name for entry in view.gres):
            entries = [entry for entry in view.gres if entry.name == name and entry.count]
            typed = [entry for entry in entries if entry.type]
            if typed and len(typed) < len(entries):
                what = f"Gres= has {name} with a type and {name} without one"
                kept = [e for e in view.gres if e.name != name or e.type]
                mend = rewrite_node(view.record, {"Gres": _join(kept)})
                yield make_node_finding(view, what, mend)


@RULES.add(
    "gres-without-count",
    Effect.IGNORED,
    "a Type that begins with a digit is read as the count: Slurm logs “Bad GRES configuration” "
    "and drops this entry and all after it, so that the devices are never used.",
    severity=Severity.ERROR,
)
def find_gres_without_count(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for entry in view.gres:
            if entry.is_misread:
                lines = view.list_lines(entry.name.lower())
                found = sum(line.body.type.lower() == entry.type.lower() for line in lines)
                what = f"Gres={entry.text} has no count"
                text = view.record.get("gres")
                right = f"{entry.text}:{max(1, found)}"
                mended = ",".join(right if w == entry.text else w for w in text.split(","))
                yield make_node_finding(view, what, rewrite_node(view.record, {"Gres": mended}))


@RULES.add("gres-count-assumed", Effect.MISLEADS, "Slurm counts it once.", severity=Severity.NOTE)
def find_gres_count_assumed(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        for entry in view.gres:
            if not entry.has_count and not entry.is_misread:
                text = view.record.get("gres")
                mended = ",".join(f"{w}:1" if w == entry.text else w for w in text.split(","))
                mend = rewrite_node(view.record, {"Gres": mended})
                yield make_node_finding(view, f"Gres={entry.text} has no count", mend)


def _join(entries: list[GresEntry]) -> str:
    return ",".join(entry.text for entry in entries)
