"""What the job_submit plugin decides, rule by rule."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from portal.reconcile.policy import Policy, PolicyAccount, PolicyLine, render_policy
from tests.lua.conftest import CODES, ERROR, SUCCESS

Load = Callable[..., Any]
A100 = PolicyLine(
    qos="sw-p1001-a100-1",
    gres_type="a100",
    partition="gpu",
    units=4,
    purchase_option="on_demand",
    offering_title="A100",
    remaining_unit_minutes=6000,
    hold=None,
    url="https://portal/allocations/1/",
)
SPOT = replace(A100, qos="sw-p1001-a100-2", partition="spot", purchase_option="spot", units=8)
SMALL = replace(A100, qos="sw-p1001-1g.10gb-3", gres_type="1g.10gb")
POLICY_CODE = CODES["ESLURM_ACCOUNTING_POLICY"]
DENIED = CODES["ESLURM_ACCESS_DENIED"]


def make_policy(*lines: PolicyLine, title: str = "Folding") -> str:
    account = PolicyAccount("p1001", title, frozenset({"ada"}), lines, "https://portal/p/1001/")
    types = frozenset({"a100", "3g.40gb", "1g.10gb"})
    at = datetime(2026, 1, 2, tzinfo=UTC)
    return render_policy(Policy(at, "https://portal/", types, (account,)))


ALL = make_policy(A100, SPOT, SMALL)


@pytest.mark.parametrize(
    "fields",
    [
        {"tres_per_node": "gres:gpu:a100:2"},
        {"tres_per_node": "gres:gpu:a100"},
        {"gres": "gpu:a100:1"},
        {"tres_per_job": "gres:gpu:a100:4"},
        {"tres_per_job": "gres/gpu:a100=4"},
        {"tres_per_task": "gres:gpu:a100:1", "num_tasks": 4},
        {"tres_per_socket": "gres:gpu:a100:2"},
        {"tres_per_node": "gres:gpu:a100:2", "min_nodes": 2},
        {"tres_per_node": "gres:gpu:a100:1,gres:shard:8"},
        {"account": "P1001", "tres_per_node": "gres:gpu:a100:1"},
        {"account": None, "default_account": "p1001", "tres_per_node": "gres:gpu:a100:1"},
    ],
)
def test_fills_in_qos_and_partition(load_plugin: Load, fields: dict[str, Any]) -> None:
    code, said, job = load_plugin(ALL).submit(**fields)
    assert (code, said) == (SUCCESS, "")
    assert (job["qos"], job["partition"]) == ("sw-p1001-a100-1", "gpu")


@pytest.mark.parametrize(
    "fields",
    [
        {"tres_per_job": "gres:gpu:a100:5"},
        {"tres_per_node": "gres:gpu:a100:3", "min_nodes": 2},
        {"tres_per_task": "gres:gpu:a100:1", "num_tasks": 5},
        {"tres_per_task": "gres:gpu:a100:1", "ntasks_per_node": 3, "min_nodes": 2},
        {"tres_per_node": "gres:gpu:a100:1k"},
        {"tres_per_node": "gres:gpu:a100:1", "tres_per_job": "gres:gpu:a100:9"},
    ],
)
def test_refuses_more_than_the_allocation_holds(load_plugin: Load, fields: dict[str, Any]) -> None:
    code, said, job = load_plugin(ALL).submit(**fields)
    assert code == POLICY_CODE
    assert "Ask for at most 4" in said
    assert A100.url in said
    assert "qos" not in job


@pytest.mark.parametrize(
    "words", ["gres:gpu", "gres:gpu:2", "gpu:2", "gres/gpu=2", "gres:gpu:80gb"]
)
def test_refuses_gpus_without_a_type(load_plugin: Load, words: str) -> None:
    code, said, _ = load_plugin(ALL).submit(tres_per_node=words)
    assert code == DENIED
    assert "--gres=gpu:a100:1" in said
    assert "1g.10gb (4 at once, partition gpu)" in said


def test_refuses_a_type_without_an_allocation(load_plugin: Load) -> None:
    code, said, _ = load_plugin(ALL).submit(tres_per_node="gres:gpu:3g.40gb:1")
    assert code == DENIED
    assert "no allocation of 3g.40gb; it has a100" in said
    assert "lacks" not in said


def test_says_that_the_cluster_lacks_a_type(load_plugin: Load) -> None:
    _, said, _ = load_plugin(ALL).submit(tres_per_node="gres:gpu:h100:1")
    assert "no allocation of h100, which this cluster lacks" in said


def test_refuses_two_types_in_one_job(load_plugin: Load) -> None:
    code, said, _ = load_plugin(ALL).submit(tres_per_node="gres:gpu:a100:1,gres:gpu:1g.10gb:1")
    assert code == DENIED
    assert "1g.10gb and a100" in said


def test_refuses_who_is_no_member(load_plugin: Load) -> None:
    code, said, _ = load_plugin(ALL).submit(user_name="eve", tres_per_node="gres:gpu:a100:1")
    # This Slurm has no code of that name: the general one is used.
    assert code == ERROR
    assert "eve is not a member of project p1001 (Folding)" in said
    assert "https://portal/p/1001/" in said


def test_refuses_where_there_is_no_line_at_all(load_plugin: Load) -> None:
    code, said, _ = load_plugin(make_policy()).submit(tres_per_node="gres:gpu:a100:1")
    assert code == DENIED
    assert "has no GPU allocation" in said


def test_refuses_what_is_on_hold_with_the_reason(load_plugin: Load) -> None:
    held = replace(A100, hold="The budget of May is spent.")
    code, said, _ = load_plugin(make_policy(held)).submit(tres_per_node="gres:gpu:a100:1")
    assert code == POLICY_CODE
    assert "The budget of May is spent." in said
    assert "-p spot" not in said


def test_a_hold_does_not_slip_into_preemptible_work(load_plugin: Load) -> None:
    held = replace(A100, hold="Paused.")
    code, said, _ = load_plugin(make_policy(held, SPOT)).submit(tres_per_node="gres:gpu:a100:1")
    assert code == POLICY_CODE
    assert "or preemptible ones: -p spot" in said


def test_takes_the_next_line_where_the_first_is_on_hold(load_plugin: Load) -> None:
    lines = (replace(A100, hold="Ended."), replace(A100, qos="sw-p1001-a100-9"))
    code, _, job = load_plugin(make_policy(*lines)).submit(tres_per_node="gres:gpu:a100:1")
    assert (code, job["qos"]) == (SUCCESS, "sw-p1001-a100-9")


@pytest.mark.parametrize(
    "choice", [{"partition": "spot"}, {"qos": SPOT.qos}, {"qos": "SW-P1001-A100-2"}]
)
def test_spot_is_chosen_by_partition_or_qos(load_plugin: Load, choice: dict[str, str]) -> None:
    code, _, job = load_plugin(ALL).submit(tres_per_node="gres:gpu:a100:8", **choice)
    assert code == SUCCESS
    assert (job["partition"], job["qos"].lower()) == ("spot", SPOT.qos)


def test_spot_is_used_where_it_is_all_there_is(load_plugin: Load) -> None:
    code, _, job = load_plugin(make_policy(SPOT)).submit(tres_per_node="gres:gpu:a100:8")
    assert (code, job["partition"]) == (SUCCESS, "spot")


def test_of_several_partitions_the_lines_own_is_kept(load_plugin: Load) -> None:
    code, _, job = load_plugin(ALL).submit(tres_per_node="gres:gpu:a100:1", partition="spot,gpu")
    assert (code, job["partition"], job["qos"]) == (SUCCESS, "gpu", A100.qos)


def test_refuses_a_qos_in_the_wrong_partition(load_plugin: Load) -> None:
    code, said, _ = load_plugin(ALL).submit(
        tres_per_node="gres:gpu:a100:1", partition="gpu", qos=SPOT.qos
    )
    assert code == DENIED
    assert f"--qos={A100.qos}" in said


def test_refuses_a_partition_without_an_allocation(load_plugin: Load) -> None:
    code, said, _ = load_plugin(ALL).submit(tres_per_node="gres:gpu:1g.10gb:1", partition="spot")
    assert code == DENIED
    assert "no 1g.10gb in partition spot" in said


def test_refuses_more_unit_hours_than_are_left(load_plugin: Load) -> None:
    plugin = load_plugin(ALL)
    code, said, _ = plugin.submit(tres_per_node="gres:gpu:a100:4", time_limit=1501)
    assert code == POLICY_CODE
    assert "has 100 left" in said
    assert plugin.submit(tres_per_node="gres:gpu:a100:4", time_limit=1500)[0] == SUCCESS
    free = load_plugin(make_policy(replace(A100, remaining_unit_minutes=None)))
    assert free.submit(tres_per_node="gres:gpu:a100:4", time_limit=10**6)[0] == SUCCESS


@pytest.mark.parametrize(
    "fields",
    [
        {"user_name": "eve"},
        {"user_name": "eve", "tres_per_node": "gres:shard:2"},
        {"tres_per_node": "gres:gpu:0"},
        {"account": "elsewhere", "tres_per_node": "gres:gpu:2"},
        {"account": None, "tres_per_node": "gres:gpu:2"},
    ],
)
def test_leaves_other_jobs_alone(load_plugin: Load, fields: dict[str, Any]) -> None:
    code, said, job = load_plugin(ALL).submit(**fields)
    assert (code, said) == (SUCCESS, "")
    assert "qos" not in job


@pytest.mark.parametrize(
    "policy",
    [
        None,
        "",
        "no Lua at all (",
        "return 5",
        "return { format = 99 }",
        "error('gone')",
        "return { format = 1, accounts = { p1001 = function() error('x') end } }",
    ],
)
def test_without_a_policy_jobs_pass_and_the_log_says_why(
    load_plugin: Load, policy: str | None
) -> None:
    plugin = load_plugin(policy)
    assert plugin.submit(tres_per_node="gres:gpu:2")[0] == SUCCESS
    assert plugin.log


WAITING_SPOT = {"partition": "spot", "qos": SPOT.qos, "tres_per_node": "gres:gpu:a100:1"}
WAITING = {"partition": "gpu", "qos": A100.qos, "tres_per_node": "gres:gpu:a100:1"}


def test_a_waiting_job_that_moves_to_another_partition_takes_its_qos_along(
    load_plugin: Load,
) -> None:
    code, _, change = load_plugin(ALL).modify(WAITING_SPOT, partition="gpu")
    assert (code, change["qos"]) == (SUCCESS, A100.qos)
    code, _, change = load_plugin(ALL).modify(WAITING, qos=SPOT.qos)
    assert (code, change["partition"]) == (SUCCESS, "spot")


def test_a_change_keeps_the_line_that_the_job_draws_on(load_plugin: Load) -> None:
    second = replace(A100, qos="sw-p1001-a100-9")
    job = {**WAITING, "qos": second.qos}
    code, _, change = load_plugin(make_policy(A100, second)).modify(
        job, tres_per_node="gres:gpu:a100:2"
    )
    assert (code, change["qos"]) == (SUCCESS, second.qos)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"partition": "gpu", "qos": SPOT.qos}, "is no allocation of a100"),
        ({"tres_per_node": "gres:gpu:a100:9"}, "holds 8"),
        ({"min_nodes": 9}, "holds 8"),
        ({"tres_per_node": "gres:gpu:3g.40gb:1"}, "no allocation of 3g.40gb"),
        ({"tres_per_node": "gres:gpu:1"}, "say which GPU"),
        ({"tres_per_job": "gres:gpu:1g.10gb:1"}, "asks for 1g.10gb and a100"),
        ({"tres_per_node": "gres:gpu:1g.10gb:1"}, "no 1g.10gb in partition spot"),
    ],
)
def test_a_change_leads_to_nothing_that_a_submission_could_not(
    load_plugin: Load, fields: dict[str, Any], words: str
) -> None:
    code, said, change = load_plugin(ALL).modify(WAITING_SPOT, **fields)
    assert code != SUCCESS
    assert words in said
    assert change.get("qos") == fields.get("qos")


def test_a_job_without_gpus_gets_none_by_a_change(load_plugin: Load) -> None:
    job = {"partition": "gpu", "qos": A100.qos}
    code, said, _ = load_plugin(ALL).modify(job, tres_per_node="gres:gpu:3g.40gb:1")
    assert code == DENIED
    assert "no allocation of 3g.40gb" in said


@pytest.mark.parametrize(
    ("job", "user_id", "fields"),
    [
        (WAITING, 0, {"tres_per_node": "gres:gpu:3g.40gb:1"}),
        (WAITING, 1000, {"name": "later"}),
        ({**WAITING, "account": "elsewhere"}, 1000, {"tres_per_node": "gres:gpu:9"}),
        ({"partition": "gpu"}, 1000, {"partition": "spot"}),
    ],
)
def test_other_changes_pass(
    load_plugin: Load, job: dict[str, Any], user_id: int, fields: dict[str, Any]
) -> None:
    code, said, change = load_plugin(ALL).modify(job, user_id, **fields)
    assert (code, said) == (SUCCESS, "")
    assert "qos" not in change


@pytest.mark.parametrize("field", ["tres_per_node", "tres_per_job", "tres_per_task", "gres"])
def test_spells_a_type_as_the_cluster_does(load_plugin: Load, field: str) -> None:
    code, _, job = load_plugin(ALL).submit(**{field: "gres:gpu:A100:2,gres:shard:A100:1"})
    assert (code, job["qos"]) == (SUCCESS, A100.qos)
    assert job[field] == "gres:gpu:a100:2,gres:shard:A100:1"
    upper = make_policy(replace(A100, gres_type="A100"))
    code, _, job = load_plugin(upper).submit(**{field: "gres:gpu:A100"})
    assert (code, job[field]) == (SUCCESS, "gres:gpu:A100")


def test_says_what_exclusive_takes(load_plugin: Load) -> None:
    plugin = load_plugin(ALL)
    for fields in ({}, {"tres_per_node": "gres:gpu:a100:1"}):
        code, said, _ = plugin.submit(shared=0, **fields)
        assert code == SUCCESS
        assert "every GPU of the node" in said
    assert plugin.submit(shared=0, account="elsewhere")[1] == ""


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ('"; os.exit() --', '"; os.exit() --'),
        ("]] .. ]=]", "]] .. ]=]"),
        ("a\nb\r\tc\x1b[31m", "a b c [31m"),
        ("Zürich 東京 💧", "Zürich 東京 💧"),
        ("%s %d 100%", "%s %d 100%"),
        ("\\n\\", "\\n\\"),
    ],
)
def test_any_text_comes_through_on_one_line(load_plugin: Load, text: str, shown: str) -> None:
    held = replace(A100, hold=text)
    plugin = load_plugin(make_policy(held, title=text))
    code, said, _ = plugin.submit(tres_per_node="gres:gpu:a100:1")
    assert code == POLICY_CODE
    assert said.count(shown) == 2
