"""What the real daemons refuse, and that check finds each of it before they are asked."""

import pytest

from gres_config.check.config import parse_config
from gres_config.check.finding import Effect
from gres_config.check.run import check_config, list_rules
from tests.matrix.cases import IGNORED, REFUSED, Case, Outcome
from tests.matrix.cluster import Cluster, Report
from tests.matrix.configs import make_common_lines
from tests.matrix.conftest import MakeCluster
from tests.matrix.releases import Release

# These compare the files with what a node says of itself (test_detected.py), not with each other.
_OF_DETECTED = {"detected-fewer", "detected-smaller-node"}


def read_outcome(report: Report) -> Outcome:
    if report.controller:
        return Outcome.CONTROLLER_DIES
    node = report.nodes["n1"]
    if node.ended:
        return Outcome.NODE_DIES
    if node.is_idle:
        return Outcome.ACCEPTS
    assert "INVAL" in node.state, node
    return Outcome.DRAINS


def find_rules(case: Case, release: Release) -> set[str]:
    common = make_common_lines() if case.common is None else case.common
    config = parse_config(common + case.slurm, case.gres, release.version)
    return {result.rule.name for result in check_config(config)}


def collect_words(cluster: Cluster, report: Report) -> str:
    nodes = "".join(f"{node.reason}\n{node.log}" for node in report.nodes.values())
    return f"{report.text}\n{nodes}{cluster.read_log('slurmctld')}"


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_the_daemons_refuse_it_and_check_finds_it(
    case: Case, release: Release, make_cluster: MakeCluster
) -> None:
    outcome = case.get_outcome(release.version)
    with make_cluster(case.slurm, case.gres, absent=case.absent, common=case.common) as cluster:
        report = cluster.start()
        assert read_outcome(report) is outcome, collect_words(cluster, report)[-2000:]
        if outcome is not Outcome.ACCEPTS:
            assert case.says in collect_words(cluster, report)
    # A device that is absent is seen on the node alone.
    if outcome is not Outcome.ACCEPTS and not case.absent:
        assert case.rule in find_rules(case, release)


@pytest.mark.parametrize("case", IGNORED, ids=str)
def test_the_daemons_take_it_without_a_word_and_check_finds_it(
    case: Case, release: Release, make_cluster: MakeCluster
) -> None:
    with make_cluster(case.slurm, case.gres) as cluster:
        assert read_outcome(cluster.start()) is Outcome.ACCEPTS
    assert case.rule in find_rules(case, release)


def test_every_rule_of_what_dies_or_drains_has_a_case() -> None:
    fatal = {r.name for r in list_rules() if r.effect in (Effect.DIES, Effect.DRAINS)}
    assert fatal - {case.rule for case in REFUSED} - _OF_DETECTED == set()
