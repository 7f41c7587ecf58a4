"""Every rule of check on a configuration that breaks it, and its mending line on that."""

from collections.abc import Iterable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gres_config.adopt import adopt_cluster
from gres_config.check import check_config, list_rules
from gres_config.check.config import parse_config, parse_release
from gres_config.check.finding import Effect, Severity
from gres_config.check.from_inventory import make_rendered_config
from gres_config.check.run import Result
from gres_config.errors import GresConfigError
from gres_config.inventory import Inventory
from gres_config.versions import VERSIONS
from tests.unit.gres_config.faults import (
    A100,
    FAULTS,
    NODE,
    UNMENDED,
    Fault,
    write_instances,
    write_slurm,
)
from tests.unit.gres_config.inventories import inventories

_ON_A_MACHINE = {"device-file-missing"}


def check(slurm: str, gres: str, release: str = "24.11") -> tuple[Result, ...]:
    return check_config(parse_config(slurm, gres, release))


def find(results: Iterable[Result], rule: str) -> list[Result]:
    return [result for result in results if result.rule.name == rule]


def name_errors(results: Iterable[Result]) -> set[str]:
    return {result.rule.name for result in results if result.rule.severity is Severity.ERROR}


@pytest.mark.parametrize("fault", [*FAULTS, *UNMENDED], ids=str)
def test_finds_the_fault_at_its_line(fault: Fault) -> None:
    found = find(check(fault.slurm, fault.gres, fault.release), fault.rule)
    assert (fault.file, fault.line) in [
        (r.finding.source.file, r.finding.source.line) for r in found
    ]


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_the_fault_is_gone_once_every_line_is_mended(fault: Fault) -> None:
    texts = {"slurm.conf": fault.slurm, "gres.conf": fault.gres}
    for _round in range(4):
        found = find(check(texts["slurm.conf"], texts["gres.conf"], fault.release), fault.rule)
        if not found:
            return
        source, mend = found[0].finding.source, found[0].finding.mend
        assert mend
        lines = texts[source.file].split("\n")
        lines[source.line - 1] = mend
        texts[source.file] = "\n".join(lines)
    assert not find(check(texts["slurm.conf"], texts["gres.conf"], fault.release), fault.rule)


def test_every_rule_has_a_fault_to_find() -> None:
    known = {fault.rule for fault in (*FAULTS, *UNMENDED)} | _ON_A_MACHINE
    detected = {rule.name for rule in list_rules() if rule.name.startswith("detected-")}
    assert {rule.name for rule in list_rules()} == known | detected


def test_what_kills_or_drains_is_an_error_and_says_why() -> None:
    names = [rule.name for rule in list_rules()]
    assert len(names) == len(set(names))
    for rule in list_rules():
        assert rule.why.endswith(".")
        if rule.effect in (Effect.DIES, Effect.DRAINS):
            assert rule.severity is Severity.ERROR


@pytest.mark.parametrize("release", VERSIONS)
@pytest.mark.parametrize(
    ("gres", "lines"),
    [
        ("gpu:a100:2", A100),
        ("gpu:1g.10gb:3", write_instances(3)),
        ("gpu:a100:2", "NodeName=n1 AutoDetect=off\n" + A100),
        ("gpu:a100:2", "AutoDetect=nvml\n"),
    ],
)
def test_finds_nothing_in_a_configuration_that_runs(release: str, gres: str, lines: str) -> None:
    assert not check(write_slurm(gres), lines, release)


@settings(max_examples=40)
@given(inventories())
def test_finds_no_error_in_what_render_writes(inventory: Inventory) -> None:
    results = check_config(make_rendered_config(inventory))
    assert name_errors(results) == set()


@pytest.mark.parametrize(
    ("release", "has_it"), [("24.05", False), ("24.11", True), ("25.11", True)]
)
def test_cores_that_cut_a_socket_drain_from_2411_on(release: str, has_it: bool) -> None:
    lines = A100.strip() + " Cores=0-7\n"
    assert bool(find(check(write_slurm(), lines, release), "cores-cut-socket")) is has_it


@pytest.mark.parametrize(
    ("release", "has_it"),
    [("23.02", True), ("23.02.6", True), ("23.02.7", False), ("23.11", False)],
)
def test_shards_on_mig_are_wrong_before_a_patch_release(release: str, has_it: bool) -> None:
    slurm = write_slurm("gpu:1g.10gb:1,shard:4", "gpu,shard")
    lines = write_instances(1) + "NodeName=n1 Name=shard Count=4\n"
    assert bool(find(check(slurm, lines, release), "shard-on-mig")) is has_it


def test_a_sign_in_a_type_is_allowed_from_25116_on() -> None:
    slurm, lines = write_slurm("gpu:a-1:2"), A100.replace("a100", "a-1")
    assert find(check(slurm, lines, "25.11.5"), "type-with-sign")
    assert not find(check(slurm, lines, "25.11.6"), "type-with-sign")


def test_kernel_numbers_of_cpus_are_mended_to_logical_cores() -> None:
    node = "CPUs=256 Sockets=2 CoresPerSocket=64 ThreadsPerCore=2 RealMemory=1000"
    lines = A100.strip() + " CPUs=48-63,176-191\n"
    found = find(check(write_slurm(node=node), lines, "24.05"), "cores-beyond-node-ignored")
    assert found[0].finding.mend.endswith("Cores=48-63")


def test_equal_nodes_are_one_finding_with_a_hostlist() -> None:
    slurm = write_slurm() + f"NodeName=m[1-500] {NODE} Gres=gpu:a100:4\n"
    lines = A100 + "NodeName=m[1-500] Name=gpu Type=a100 File=/dev/nvidia[0-1]\n"
    found = find(check(slurm, lines), "fewer-than-configured")
    assert [result.finding.nodes for result in found] == ["m[1-500]"]


def test_reads_releases_with_and_without_their_patch() -> None:
    assert parse_release("24.11") < parse_release("24.11.1") < parse_release("25.05")


SLURM_PIECES = (
    *(
        "NodeName=",
        "n1",
        "n[1-3",
        "]",
        " ",
        "Gres=",
        "gpu:",
        "a100:",
        "1g.10gb",
        "2",
        ",",
        "=",
        '"',
    ),
    *("shard:8", "CPUs=4", "Sockets=0", "State=CLOUD", "\n", "PartitionName=p Nodes=", "ALL"),
    *("GresTypes=gpu,shard\n", "AccountingStorageTRES=gres/gpu\n", "TRESBillingWeights="),
)
GRES_PIECES = (
    *("NodeName=n[1-2] ", "Name=gpu ", "Name=shard ", "Type=a ", "File=/dev/a[0-", "1] ", "\n"),
    *("MultipleFiles=/x,/y ", "Count=", "3 ", "-1 ", "Cores=0-9999 ", "Links=-1,x ", "Flags=a,b "),
    *("AutoDetect=nvml ", "AutoDetect=off\n", "CPUs=", "#", ","),
)


def join(pieces: tuple[str, ...]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=25).map("".join)


@settings(max_examples=300)
@given(join(SLURM_PIECES), join(GRES_PIECES), st.sampled_from(list(VERSIONS)))
def test_broken_files_are_checked_and_adopted_without_a_surprise(
    slurm: str, gres: str, release: str
) -> None:
    config = parse_config(slurm, gres, release)
    check_config(config)
    with suppress(GresConfigError):
        adopt_cluster(config)
