"""Names, texts, limits and trees: what is checked before anything runs."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.slurm import rules
from portal.slurm.errors import SlurmError, SlurmGuardError, SlurmValueError
from portal.slurm.values import (
    TEXT_MAX_BYTES,
    Account,
    Association,
    Qos,
    clean_text,
    make_tres,
)


@pytest.mark.parametrize("name", ["p1001", "sw-p1001-1g.10gb-7", "_x", "0a", "a" * 64])
def test_allows_plain_names(name: str) -> None:
    assert rules.check_name(name, "qos") == name


@pytest.mark.parametrize(
    "name", ["", "-a", "--help", "A", "a b", "a,b", "a=b", "a'", 'a"', "a|b", "a\n", "ä", ".a"]
)
def test_refuses_names_that_could_be_read_otherwise(name: str) -> None:
    for kind in ("account", "user", "qos"):
        with pytest.raises(SlurmValueError):
            rules.check_name(name, kind)


def test_allows_an_at_sign_in_a_user_alone() -> None:
    assert rules.check_name("ada@site.org", "user")
    with pytest.raises(SlurmValueError):
        rules.check_name("ada@site.org", "account")


def test_the_root_account_is_never_written() -> None:
    with pytest.raises(SlurmGuardError):
        rules.check_account(Account("root", "root"))


@pytest.mark.parametrize(
    "qos",
    [
        Qos("q", grp_tres=make_tres({"gres/gpu:a-b": 1})),
        Qos("q", grp_tres=make_tres({"gres/gpu=1,cpu": 1})),
        Qos("q", grp_tres_mins=make_tres({"cpu": -1})),
        Qos("q", max_wall_minutes=-1),
        Qos("q", max_wall_minutes=1.5),  # type: ignore[arg-type]
        Qos("q", priority=-1),
        Qos("q", flags=frozenset({"No Decay"})),
        Qos("q", grp_submit_jobs=2**63),
    ],
)
def test_refuses_limits_that_slurm_cannot_hold(qos: Qos) -> None:
    with pytest.raises(SlurmValueError):
        rules.check_qos(qos)


def test_refuses_a_default_qos_outside_the_list() -> None:
    with pytest.raises(SlurmValueError):
        rules.check_association(Association("a", "u", frozenset({"q"}), "r"))


def test_values_hold_names_and_texts_as_slurm_keeps_them() -> None:
    assert Account(" P1 ", "ROOT", "It's A", "B|C") == Account("p1", "root", "it`s a", "b/c")
    assert Association("P", "U", frozenset({"Q"}), "Q") == Association("p", "u", {"q"}, "q")  # type: ignore[arg-type]
    assert Qos("Q", "A\n b") == Qos("q", "a b")


def test_texts_keep_what_a_database_in_latin_1_can_hold() -> None:
    assert clean_text("Größe Łódź Ω 東京") == "größe ?ódz ? ??"


@given(st.text())
def test_a_clean_text_is_stable_and_short(text: str) -> None:
    cleaned = clean_text(text)
    assert clean_text(cleaned) == cleaned
    assert len(cleaned.encode()) <= TEXT_MAX_BYTES
    assert not set(cleaned) & set("\n\r\t|'\"\x00")


def test_orders_parents_before_children() -> None:
    accounts = [Account("c", "b"), Account("b", "a"), Account("a"), Account("x")]
    names = [account.name for account in rules.order_accounts(accounts, {"x": "root"})]
    assert names == ["a", "b", "c", "x"]


def test_refuses_a_circle_also_through_accounts_that_are_there() -> None:
    with pytest.raises(SlurmGuardError):
        rules.order_accounts([Account("a", "c")], {"a": "root", "b": "a", "c": "b"})


def test_allows_two_accounts_to_change_places() -> None:
    accounts = [Account("a", "b"), Account("b")]
    ordered = rules.order_accounts(accounts, {"a": "root", "b": "a"})
    assert [account.name for account in ordered] == ["b", "a"]


def test_removal_needs_everything_below_to_be_named() -> None:
    parents = {"a": "root", "b": "a"}
    rules.check_account_removal(["a", "b"], parents, {})
    for names, members in ((["a"], {}), (["b"], {"b": ["u"]}), (["root"], {})):
        with pytest.raises(SlurmGuardError):
            rules.check_account_removal(names, parents, members)


def test_every_error_has_one_root() -> None:
    assert issubclass(SlurmValueError, SlurmError)
    assert issubclass(SlurmGuardError, SlurmError)
