"""What sacctmgr is told, and how its answers are judged."""

from pathlib import Path

import pytest

from portal.slurm.backends.command import SlurmCommands
from portal.slurm.backends.sacctmgr import Sacctmgr, make_qos_settings, make_tres_change
from portal.slurm.errors import SlurmCommandError
from portal.slurm.values import Account, Association, Qos, make_tres


def _answer(folder: Path, answer: str, exit_code: int) -> Sacctmgr:
    """Return a writer whose sacctmgr prints this answer and keeps its arguments in a file."""
    (folder / "slurm.conf").touch()
    (folder / "answer").write_text(answer)
    program = folder / "sacctmgr"
    program.write_text(
        f'#!/bin/sh\nprintf "%s\\n" "$@" > {folder}/said\ncat {folder}/answer\nexit {exit_code}\n'
    )
    program.chmod(0o755)
    return Sacctmgr(SlurmCommands(folder / "slurm.conf", folder), "c1")


def _said(folder: Path) -> list[str]:
    return (folder / "said").read_text().splitlines()


def test_an_addition_of_what_is_there_is_no_failure(tmp_path: Path) -> None:
    _answer(tmp_path, " Nothing new added.\n", 1).add_account(Account("a"))


def test_an_addition_refused_with_the_same_words_is_a_failure(tmp_path: Path) -> None:
    answer = " This account 'a' doesn't exist.\n Nothing new added.\n"
    with pytest.raises(SlurmCommandError):
        _answer(tmp_path, answer, 1).add_users(["u"], Association("a", ""), is_new=False)


def test_a_removal_of_what_is_gone_is_no_failure(tmp_path: Path) -> None:
    _answer(tmp_path, " Nothing deleted\n", 1).delete_qos(["q"])


def test_a_refusal_with_exit_code_0_is_a_failure(tmp_path: Path) -> None:
    answer = " These associations don't have access to their default qos.\n"
    with pytest.raises(SlurmCommandError, match="default qos"):
        _answer(tmp_path, answer, 0).change_users(["u"], Association("a", "", frozenset({"q"})))


def test_a_change_of_what_is_gone_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(SlurmCommandError, match="Nothing modified"):
        _answer(tmp_path, " Nothing modified\n", 1).move_account("a", "b")


def test_names_are_given_after_a_key_so_that_none_is_read_as_a_word_of_sacctmgr(
    tmp_path: Path,
) -> None:
    writer = _answer(tmp_path, " Modified user associations...\n", 0)
    writer.change_users(["where", "set"], Association("p", "", frozenset({"b", "a"}), "a"))
    assert _said(tmp_path) == [
        *("-i", "modify", "user", "where"),
        *("name=set,where", "account=p", "cluster=c1", "partition="),
        *("set", "qoslevel=a,b", "defaultqos=a"),
    ]


def test_a_new_user_gets_a_default_account_and_a_known_one_keeps_its_own(tmp_path: Path) -> None:
    writer = _answer(tmp_path, " Adding User(s)\n", 0)
    like = Association("p", "", frozenset({"q"}), "q")
    writer.add_users(["u"], like, is_new=True)
    assert "defaultaccount=p" in _said(tmp_path)
    writer.add_users(["u"], like, is_new=False)
    assert "defaultaccount=p" not in _said(tmp_path)


def test_an_empty_text_is_not_passed(tmp_path: Path) -> None:
    writer = _answer(tmp_path, " Adding Account(s)\n", 0)
    writer.add_account(Account("a", "b", "", "org"))
    assert _said(tmp_path)[3:] == ["name=a", "cluster=c1", "parent=b", "organization=org"]


def test_a_tres_no_longer_wanted_is_unset_by_name() -> None:
    observed = make_tres({"gres/gpu": 4, "gres/gpu:a100": 4})
    assert make_tres_change(make_tres({"gres/gpu": 2}), observed) == "gres/gpu=2,gres/gpu:a100=-1"
    assert make_tres_change((), observed) == "gres/gpu=-1,gres/gpu:a100=-1"


def test_only_what_differs_of_a_qos_is_set() -> None:
    observed = Qos("q", "text", 3, frozenset({"NoDecay"}), max_wall_minutes=60, grp_submit_jobs=0)
    assert make_qos_settings(observed, observed) == []
    wanted = Qos("q", "", 3, frozenset(), max_wall_minutes=60)
    assert make_qos_settings(wanted, observed) == ["flags=-1", "grpsubmitjobs=-1"]


def test_a_new_qos_is_given_its_limits_and_no_others() -> None:
    wanted = Qos("q", "text", grp_submit_jobs=0, flags=frozenset({"NoDecay", "DenyOnLimit"}))
    assert make_qos_settings(wanted, Qos("q")) == [
        "description=text",
        "flags=DenyOnLimit,NoDecay",
        "grpsubmitjobs=0",
    ]
