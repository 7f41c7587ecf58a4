"""What a rule is and what it finds."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from gres_config.parse.lines import Source

if TYPE_CHECKING:
    from gres_config.check.config import ClusterConfig


class Severity(StrEnum):
    """ERROR makes check exit with 1; WARNING and NOTE don't."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Effect(StrEnum):
    """What Slurm does where the rule finds something."""

    DIES = "a daemon dies"
    DRAINS = "the node drains"
    IGNORED = "devices or settings are ignored"
    MISLEADS = "it runs, but not as it reads"


@dataclass(frozen=True, slots=True)
class Finding:
    """One fault. `mend` is the text that replaces the line at `source`; "" where none is known.

    `nodes` is a hostlist of the nodes that the fault concerns; "" where it concerns all.
    """

    source: Source
    what: str
    mend: str = ""
    nodes: str = ""


Check = Callable[["ClusterConfig"], Iterable[Finding]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. It holds for releases from `since` on and before `until` ("" is: all)."""

    name: str
    severity: Severity
    effect: Effect
    why: str
    check: Check = field(repr=False)
    since: str = ""
    until: str = ""

    def describe_versions(self) -> str:
        """Return "all", "from 24.11", "before 23.11" or "23.02 to before 23.11"."""
        if self.since and self.until:
            return f"{self.since} to before {self.until}"
        if self.since or self.until:
            return f"from {self.since}" if self.since else f"before {self.until}"
        return "all"


class RuleBook:
    """Collects the rules of a module with its decorator."""

    def __init__(self) -> None:
        self.rules: list[Rule] = []

    def add(
        self,
        name: str,
        effect: Effect,
        why: str,
        *,
        severity: Severity | None = None,
        since: str = "",
        until: str = "",
    ) -> Callable[[Check], Check]:
        """Return a decorator that makes a function a rule.

        The severity is ERROR for what kills a daemon or drains a node, else WARNING.
        """
        is_bad = effect in (Effect.DIES, Effect.DRAINS)
        grade = severity or (Severity.ERROR if is_bad else Severity.WARNING)

        def register(check: Check) -> Check:
            self.rules.append(Rule(name, grade, effect, why, check, since, until))
            return check

        return register

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)
