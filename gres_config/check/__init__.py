"""Finds what makes Slurm's daemons die, nodes drain or devices be ignored.

Each rule is a small function in a rules_*.py: it takes the ClusterConfig and yields findings.
"""

from gres_config.check.config import ClusterConfig
from gres_config.check.finding import Effect, Finding, Rule, Severity
from gres_config.check.run import check_config, list_rules

__all__ = [
    "ClusterConfig",
    "Effect",
    "Finding",
    "Rule",
    "Severity",
    "check_config",
    "list_rules",
]
