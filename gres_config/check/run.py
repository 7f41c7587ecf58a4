"""Runs the rules that hold for a release over a configuration."""

from collections.abc import Iterable
from dataclasses import dataclass

from gres_config.check import (
    rules_counts,
    rules_detected,
    rules_detection,
    rules_gres_conf,
    rules_keys,
    rules_nodes,
    rules_shared,
    rules_slurm_conf,
    rules_types,
)
from gres_config.check.config import ClusterConfig, parse_release
from gres_config.check.finding import Finding, Rule, Severity

_BOOKS = (
    rules_slurm_conf.RULES,
    rules_keys.RULES,
    rules_nodes.RULES,
    rules_gres_conf.RULES,
    rules_counts.RULES,
    rules_types.RULES,
    rules_shared.RULES,
    rules_detection.RULES,
    rules_detected.RULES,
)
_GRADES = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}


@dataclass(frozen=True, slots=True)
class Result:
    """A finding with the rule that made it."""

    rule: Rule
    finding: Finding


def list_rules() -> tuple[Rule, ...]:
    """Return every rule, in the order in which they run."""
    return tuple(rule for book in _BOOKS for rule in book)


def check_config(config: ClusterConfig) -> tuple[Result, ...]:
    """Return what the rules find: errors first, then by file and line."""
    found: dict[tuple[str, Finding], Result] = {}
    for rule in list_rules():
        if _holds(rule, config):
            for finding in rule.check(config):
                found.setdefault((rule.name, finding), Result(rule, finding))
    return tuple(sorted(found.values(), key=_sort_key))


def has_errors(results: Iterable[Result]) -> bool:
    """Whether any of the results is an error."""
    return any(result.rule.severity is Severity.ERROR for result in results)


def _holds(rule: Rule, config: ClusterConfig) -> bool:
    if rule.since and config.is_before(rule.since):
        return False
    return not rule.until or config.is_before(rule.until) or _is_whole(rule.until, config)


def _is_whole(until: str, config: ClusterConfig) -> bool:
    """Whether the rule ends within the release, and which patch it is isn't known."""
    end = parse_release(until)
    return len(end) > len(config.release) and end[: len(config.release)] == config.release


def _sort_key(result: Result) -> tuple[int, str, int, str, str]:
    source = result.finding.source
    return (
        _GRADES[result.rule.severity],
        source.file,
        source.line,
        result.rule.name,
        result.finding.what,
    )
