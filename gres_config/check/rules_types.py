"""Types of GRES that Slurm takes for something else."""

import re
from collections.abc import Iterator

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, RuleBook
from gres_config.check.mending import make_finding, make_node_finding, rewrite, rewrite_node
from gres_config.check.rules_counts import PROFILE, count_configured
from gres_config.parse.views import NodeView

RULES = RuleBook()
_NUMBER = re.compile(r"\d+([kmgtp](i?b)?)?", re.IGNORECASE)


def _find_types(config: ClusterConfig, pattern: re.Pattern[str], what: str) -> Iterator[Finding]:
    """Yield a finding for each type in either file that the pattern finds."""
    for view in config.views.nodes:
        found = [entry for entry in view.gres if pattern.search(entry.type)]
        if found:
            mended = ",".join(
                f"{entry.name}:{_rename(entry.type, view)}:{entry.count}"
                if entry in found
                else entry.text
                for entry in view.gres
            )
            mend = rewrite_node(view.record, {"Gres": mended})
            yield make_node_finding(view, what.format(found[0].type), mend)
        for line in view.lines:
            if pattern.search(line.body.type):
                mend = rewrite(line, {"Type": _rename(line.body.type, view)})
                yield make_finding(view, line, what.format(line.body.type), mend)


def _rename(kind: str, view: NodeView) -> str:
    """Return a type that Slurm reads as one: "80gb" becomes "gpu_80gb", "+" becomes ".".

    With AutoDetect a type must stay a part of the detected name, so there it is cut at the sign.
    """
    if view.is_detecting and re.search("[-+]", kind):
        return re.split("[-+]", kind)[0]
    plain = kind.replace("+", ".").replace("-", "_")
    return f"gpu_{plain}" if _NUMBER.fullmatch(plain) else plain


@RULES.add(
    "type-reads-as-number",
    Effect.MISLEADS,
    "--gres=gpu:80gb asks for 80 000 000 000 GPUs, --gres=gpu:8 for eight of any type; no one can "
    "ask for the type without a count.",
)
def find_type_reads_as_number(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_types(
        config, re.compile(rf"^(?:{_NUMBER.pattern})$", re.IGNORECASE), "the type {} is a number"
    )


@RULES.add(
    "type-with-sign",
    Effect.MISLEADS,
    "sacctmgr reads “-” and “+” as taking away and adding, so that limits on the type cannot be "
    "set.",
    until="25.11.6",
)
def find_type_with_sign(config: ClusterConfig) -> Iterator[Finding]:
    yield from _find_types(config, re.compile(r"[-+]"), "the type {} has a “-” or “+”")


@RULES.add(
    "type-spelled-otherwise",
    Effect.DRAINS,
    "the node turns INVAL: capitals count from 24.11 on, so that the type of gres.conf is another.",
    since="24.11",
)
def find_type_spelled_otherwise(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        if view.is_detecting:
            continue
        types = {(entry.name.lower(), entry.type) for entry in view.gres if entry.type}
        spelled = {(name, kind.lower()): kind for name, kind in types}
        for line in view.lines:
            name, kind = line.body.name.lower(), line.body.type
            right = spelled.get((name, kind.lower()))
            if right and (name, kind) not in types:
                what = f"Type={kind}, but Gres= has {name}:{right}"
                yield make_finding(view, line, what, rewrite(line, {"Type": right}))


@RULES.add(
    "type-matches-more",
    Effect.MISLEADS,
    "AutoDetect takes a device for the first Type that is a part of its name, longest Type first, "
    "so that this one takes other devices as well.",
)
def find_type_matches_more(config: ClusterConfig) -> Iterator[Finding]:
    for view in config.views.nodes:
        if not view.is_detecting:
            continue
        kinds = [kind for kind in count_configured(view, "gpu") if kind]
        instances = [kind for kind in kinds if PROFILE.search(kind)]
        for kind in kinds:
            longer = [other for other in kinds if kind != other and kind in other]
            if longer:
                what = f"the type {kind} is a part of {longer[0]}"
                yield make_node_finding(view, what)
            elif instances and kind not in instances and not _names_its_form(kind):
                what = f"the type {kind} may also be a part of the names of this node's instances"
                yield make_node_finding(view, what)


def _names_its_form(kind: str) -> bool:
    """Whether the type goes past the first "-", where the name of a MIG parent is cut."""
    return "-" in kind


def has_mig_types(view: NodeView) -> bool:
    """Whether any type of the view's GPUs is the name of a MIG profile."""
    kinds = [*count_configured(view, "gpu"), *(line.body.type for line in view.list_lines("gpu"))]
    return any(PROFILE.search(kind) for kind in kinds)
