"""What the real daemons refuse, and that check finds each of it before they are asked."""

import pytest

from gres_config.check.config import parse_config
from gres_config.check.finding import Effect, Severity
from gres_config.check.run import check_config, has_errors, list_rules
from tests.matrix.cases import FOUR, IGNORED, REFUSED, Case, Outcome, make_slurm
from tests.matrix.cluster import Cluster, Report
from tests.matrix.configs import make_common_lines
from tests.matrix.conftest import MakeCluster
from tests.matrix.releases import Release

# These compare the files with what a node says of itself (test_detected.py), not with each other.
_OF_DETECTED = {"detected-fewer", "detected-smaller-node"}
# What a hostlist should have meant, no line can know; the others need GPUs or a slurmdbd to start.
_UNMENDED = {
    "hostlist-unreadable",
    "device-file-missing",
    "bare-record-twice-with-autodetect",
    "tres-without-slurmdbd",
}


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
    rule = case.rule if outcome is not Outcome.ACCEPTS else case.accepted_rules.get(release.version)
    if rule and not case.absent:
        assert rule in find_rules(case, release)
    if outcome is Outcome.ACCEPTS:
        assert case.rule not in find_rules(case, release)


def mend(case: Case, release: Release) -> dict[str, str]:
    """Return both files after every error of check is replaced by its mending line."""
    common = make_common_lines() if case.common is None else case.common
    texts = {"slurm.conf": common + case.slurm, "gres.conf": case.gres}
    for _round in range(6):
        config = parse_config(texts["slurm.conf"], texts["gres.conf"], release.version)
        errors = [r for r in check_config(config) if r.rule.severity is Severity.ERROR]
        if not errors:
            break
        finding = errors[0].finding
        assert finding.mend, finding
        lines = texts[finding.source.file].split("\n")
        lines[finding.source.line - 1] = finding.mend
        texts[finding.source.file] = "\n".join(lines)
    return texts


@pytest.mark.parametrize("case", [c for c in REFUSED if str(c) not in _UNMENDED], ids=str)
def test_the_daemons_take_what_the_mending_lines_of_check_make_of_it(
    case: Case, release: Release, make_cluster: MakeCluster
) -> None:
    if case.get_outcome(release.version) is Outcome.ACCEPTS:
        pytest.skip(f"{release} accepts it as it is")
    texts = mend(case, release)
    with make_cluster(texts["slurm.conf"], texts["gres.conf"], common="") as cluster:
        report = cluster.start()
        assert read_outcome(report) is Outcome.ACCEPTS, (texts, report.text)


@pytest.mark.parametrize("case", IGNORED, ids=str)
def test_the_daemons_take_it_without_a_word_and_check_finds_it(
    case: Case, release: Release, make_cluster: MakeCluster
) -> None:
    with make_cluster(case.slurm, case.gres) as cluster:
        assert read_outcome(cluster.start()) is Outcome.ACCEPTS
    assert case.rule in find_rules(case, release)


@pytest.mark.parametrize("entry", ["gpu:a100:no_consume:4", "gpu:a100:2,gpu:a100:2"])
def test_the_daemons_take_it_and_check_finds_no_error(
    entry: str, release: Release, make_cluster: MakeCluster
) -> None:
    slurm = make_slurm(entry)
    with make_cluster(slurm, FOUR) as cluster:
        assert read_outcome(cluster.start()) is Outcome.ACCEPTS
    config = parse_config(make_common_lines() + slurm, FOUR, release.version)
    assert not has_errors(check_config(config))


def test_every_rule_of_what_dies_or_drains_has_a_case() -> None:
    fatal = {r.name for r in list_rules() if r.effect in (Effect.DIES, Effect.DRAINS)}
    assert fatal - {case.rule for case in REFUSED} - _OF_DETECTED == set()
