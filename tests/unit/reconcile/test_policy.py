"""The rendering of the plugin's policy and the way it reaches slurmctld."""

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest
from lupa import lua51

from portal.reconcile.policy import (
    POLICY_FILE,
    SCRIPT_FILE,
    Policy,
    PolicyAccount,
    PolicyLine,
    quote_lua,
    render_policy,
    write_policy,
)


def make_policy(hour: int = 0, title: str = "x", accounts: int = 1) -> Policy:
    line = PolicyLine("q", "a100", "gpu", 4, "on_demand", "A100", None, None, "u")
    members = frozenset({"ada", "ben"})
    return Policy(
        datetime(2026, 1, 1, hour, tzinfo=UTC),
        "https://portal/",
        frozenset({"a100", "1g.10gb"}),
        tuple(PolicyAccount(f"p{n}", title, members, (line,), "u") for n in range(accounts)),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / SCRIPT_FILE).write_text("-- script")
    os.utime(tmp_path / SCRIPT_FILE, (1000, 1000))
    return tmp_path


@pytest.mark.parametrize(
    "text", ['a"b', "a\\", "a\nb\r\n\t", "]]--[[", "Zürich 東京", "\0001", "%d"]
)
def test_lua_reads_back_what_was_quoted(text: str) -> None:
    literal = quote_lua(text)
    assert literal.isascii()
    assert literal.isprintable()
    assert lua51.LuaRuntime().eval(literal) == text


def test_renders_a_table_that_lua_reads() -> None:
    table = lua51.LuaRuntime().execute(render_policy(make_policy()))
    account = table.accounts["p0"]()
    assert table.gres_types["1g.10gb"]
    assert (account.name, account.members["ben"], account.lines[1].units) == ("p0", True, 4)
    assert account.lines[1].hold is None


def test_equal_policies_give_equal_text_in_a_stable_order() -> None:
    policy = make_policy(accounts=3)
    turned = Policy(
        policy.generated_at,
        policy.portal_url,
        policy.gres_types,
        tuple(reversed(policy.accounts)),
    )
    assert render_policy(policy) == render_policy(turned)


def test_ten_thousand_accounts_are_loaded_by_lua() -> None:
    table = lua51.LuaRuntime().execute(render_policy(make_policy(accounts=10_000)))
    assert table.accounts["p9999"]().lines[1].qos == "q"


def test_the_time_of_writing_alone_is_no_change(folder: Path) -> None:
    assert write_policy(make_policy(hour=1), folder)
    before = (folder / SCRIPT_FILE).stat().st_mtime
    assert not write_policy(make_policy(hour=2), folder)
    assert (folder / SCRIPT_FILE).stat().st_mtime == before
    assert write_policy(make_policy(title="y"), folder)


def test_each_write_makes_the_script_later_by_whole_seconds(folder: Path) -> None:
    times = []
    for number in range(4):
        write_policy(make_policy(title=str(number)), folder)
        times.append(int((folder / SCRIPT_FILE).stat().st_mtime))
    assert sorted(set(times)) == times


def test_an_interrupted_write_is_completed_by_the_next(folder: Path) -> None:
    write_policy(make_policy(), folder)
    os.utime(folder / SCRIPT_FILE, (1000, 1000))
    assert not write_policy(make_policy(), folder)
    policy_time = (folder / POLICY_FILE).stat().st_mtime
    assert (folder / SCRIPT_FILE).stat().st_mtime >= policy_time


def test_leaves_no_other_file_behind(folder: Path) -> None:
    write_policy(make_policy(), folder)
    assert {path.name for path in folder.iterdir()} == {POLICY_FILE, SCRIPT_FILE}
