"""Reading what Slurm 22.05 really printed (tests/assets/slurm), and what other versions print."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from portal.slurm.backends import cli_parse
from portal.slurm.errors import SlurmParseError
from portal.slurm.values import Association, Qos, SlurmUser, make_tres

RECORDED = Path(__file__).resolve().parents[2] / "assets" / "slurm" / "22.05"


def _read(name: str) -> str:
    return (RECORDED / name).read_text("utf-8")


def test_reads_nodes_with_typed_gres_and_their_reason() -> None:
    gpu, drained, mig = cli_parse.parse_nodes(_read("scontrol_nodes.txt"))
    assert (gpu.name, gpu.states, gpu.partitions) == ("gw1", ("MIXED",), ("main", "spot"))
    assert dict(gpu.gres) == {"gpu:a100": 4}
    assert dict(gpu.gres_used) == {"gpu:a100": 2}
    assert gpu.reason == ""
    assert drained.states == ("IDLE", "DRAIN")
    assert drained.reason == "bad GPU=3 Gres=gpu:x:9 [q]"
    assert mig.gres == make_tres({"gpu:1g.10gb": 7, "gpu:a100": 1})
    assert mig.gres_used == make_tres({"gpu:1g.10gb": 0, "gpu:a100": 0})
    assert (mig.states, mig.reason) == (("DOWN",), "no more")


def test_reads_used_gres_from_alloc_tres_where_slurm_prints_nothing_else() -> None:
    line = (
        "NodeName=n1 Gres=gpu:a100:8(S:0-1) State=MIXED "
        "AllocTRES=cpu=3,mem=1.50G,gres/gpu=3,gres/gpu:a100=3"
    )
    (node,) = cli_parse.parse_nodes(line)
    assert node.gres_used == (("gpu:a100", 3),)


def test_joins_a_reason_that_holds_a_newline() -> None:
    text = "NodeName=a State=DOWN Reason=one\ntwo [root@2026-11-30T14:54:56]\nNodeName=b State=IDLE"
    first, second = cli_parse.parse_nodes(text)
    assert first.reason == "one two"
    assert second.reason == ""


def test_takes_the_members_of_a_partition_from_the_nodes() -> None:
    nodes = cli_parse.parse_nodes(_read("scontrol_nodes.txt"))
    main, spot = cli_parse.parse_partitions(_read("scontrol_partitions.txt"), nodes)
    assert main.nodes == spot.nodes == ("gw1", "gw2", "gw3")
    assert (main.name, main.priority_tier, main.preempt_mode) == ("main", 10, "OFF")
    assert (spot.name, spot.priority_tier, spot.preempt_mode) == ("spot", 1, "REQUEUE")
    assert main.states == ("UP",)


def test_reads_the_configuration() -> None:
    info = cli_parse.parse_cluster(_read("scontrol_config.txt"))
    assert (info.cluster_name, info.slurm_version) == ("gwtest", "22.05.8")
    config = dict(info.config)
    assert config["AccountingStorageEnforce"] == "associations,limits,qos,safe"
    assert config["PriorityDecayHalfLife"] == "14-00:00:00"
    assert config["AuthAltTypes"] == ""


def test_refuses_a_configuration_without_a_cluster() -> None:
    with pytest.raises(SlurmParseError):
        cli_parse.parse_cluster("Slurmctld(primary) at head is DOWN")


def test_reads_jobs_with_aware_instants() -> None:
    jobs = cli_parse.parse_jobs(_read("squeue.txt"))
    assert [job.job_id for job in jobs] == ["12", "13", "14_[1-3%2]"]
    assert jobs[0].submit_at == datetime(2026, 11, 30, 14, 54, 53, tzinfo=UTC)
    assert (jobs[0].state, jobs[0].qos, jobs[0].reason) == ("RUNNING", "qb", "")
    assert jobs[2].reason == "BeginTime"


def test_reads_a_reason_with_the_delimiter_and_a_missing_start() -> None:
    (job,) = cli_parse.parse_jobs("7+1|p|u|PENDING|a,b|q|2026-01-01T00:00:00|N/A|odd|reason")
    assert (job.start_at, job.reason, job.partition) == (None, "odd|reason", "a,b")


def test_reads_only_associations_of_users_without_a_partition() -> None:
    rows = cli_parse.parse_association_rows(_read("associations.txt"))
    found = cli_parse.parse_associations(rows)
    assert Association("p1", "nobody", frozenset({"qa", "qb"}), "qb") in found
    assert all(row.user != "sw-pa" for row in found)
    assert {row.account: row.parent for row in rows if not row.user}["org"] == "p1"


def test_reads_account_texts_that_slurm_does_not_escape() -> None:
    texts = cli_parse.parse_account_texts(_read("accounts.txt"))
    assert texts["descr"] == ("org", "two\nlines|bar")
    assert texts["p1002"] == ("sw-physics", "desc with trailing\\")
    assert texts["zz"] == ("zz", "zz")


def test_reads_users_with_and_without_a_default_account() -> None:
    users = cli_parse.parse_users(_read("users.txt"))
    assert SlurmUser("nobody", "p1", "None") in users
    assert SlurmUser("sw-cy", "", "None") in users


def test_reads_every_limit_of_a_qos_and_a_text_over_two_lines() -> None:
    found = {qos.name: qos for qos in cli_parse.parse_qos(_read("qos.txt"))}
    assert found["normal"] == Qos("normal", "normal qos default")
    assert found["text"] == Qos(
        "text",
        "two\nlines|with|bars",
        7,
        frozenset({"DenyOnLimit", "NoDecay"}),
        make_tres({"gres/gpu:a100": 4, "gres/gpu": 4, "mem": 100_000}),
        make_tres({"gres/gpu": 6_000_000}),
        make_tres({"gres/gpu": 2}),
        2 * 1440 + 61,
        100,
        0,
    )


def test_refuses_a_line_that_is_no_qos() -> None:
    with pytest.raises(SlurmParseError):
        cli_parse.parse_qos("sacctmgr: unexpected words")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("gpu:a100:4(S:0-1)", {"gpu:a100": 4}),
        ("gpu:a100:4(IDX:0,2-3),gpu:1g.10gb:7(IDX:N/A)", {"gpu:a100": 4, "gpu:1g.10gb": 7}),
        ("gpu:a100:4(S:0),gpu:a100:4(S:1)", {"gpu:a100": 8}),
        ("gpu:8", {"gpu": 8}),
        ("gpu:a100:no_consume:2", {"gpu:a100": 2}),
        ("shard:a100:1K", {"shard:a100": 1024}),
        ("gpu:(null):2", {"gpu:": 2}),
        ("craynetwork", {"craynetwork": 1}),
    ],
)
def test_reads_gres(text: str, expected: dict[str, int]) -> None:
    assert dict(cli_parse.parse_gres(text)) == expected


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("", None), ("00:00:00", 0), ("01:30:00", 90), ("2-01:01:00", 2941), ("00:00:01", 1)],
)
def test_reads_wall_times_in_minutes(text: str, minutes: int | None) -> None:
    assert cli_parse.parse_minutes(text) == minutes


def test_refuses_a_wall_time_it_does_not_know() -> None:
    with pytest.raises(SlurmParseError):
        cli_parse.parse_minutes("soon")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("cpu=4,mem=62.50G", {"cpu": 4, "mem": 64_000}),
        ("mem=500", {"mem": 500}),
        ("gres/gpu:a100=0", {"gres/gpu:a100": 0}),
    ],
)
def test_reads_tres(text: str, expected: dict[str, int]) -> None:
    assert dict(cli_parse.parse_tres(text)) == expected


@pytest.mark.parametrize("text", ["cpu", "cpu=", "cpu=many", "cpu=-1"])
def test_refuses_a_tres_list_it_cannot_read(text: str) -> None:
    with pytest.raises(SlurmParseError):
        cli_parse.parse_tres(text)


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("IDLE", ("IDLE",)),
        ("DOWN*+DRAIN", ("DOWN", "DRAIN", "NOT_RESPONDING")),
        ("IDLE+CLOUD+POWERED_DOWN", ("IDLE", "CLOUD", "POWERED_DOWN")),
        ("mixed~", ("MIXED", "POWERED_DOWN")),
        ("INVALID_REG", ("INVALID_REG",)),
    ],
)
def test_reads_node_states(text: str, states: tuple[str, ...]) -> None:
    assert cli_parse.parse_states(text) == states
