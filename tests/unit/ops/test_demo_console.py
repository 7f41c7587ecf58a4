"""What the demo prints: steps with their checks, and failures that say what to do."""

import pytest

from portal.ops.demo.console import STEP_VARIABLE, Console, DemoError, StepFailed
from portal.sandbox.errors import SandboxError


@pytest.fixture
def console(tmp_path, monkeypatch):
    monkeypatch.setenv(STEP_VARIABLE, "0")
    monkeypatch.setenv("SLUICEWAY_DEMO_START", "0.0")
    return Console(tmp_path / "log" / "demo.log")


def test_prints_a_line_for_each_step(console, capsys):
    with console.step("First") as step:
        step.check("a is so")
        step.check("b too")
        step.show("below")
    with console.step("Second"):
        pass
    first, below, second = capsys.readouterr().out.splitlines()
    assert first.startswith(" 1 First: a is so; b too [0.")
    assert below == "     below"
    assert second.startswith(" 2 Second: done [")


@pytest.mark.parametrize(
    "error",
    [
        DemoError("no answer", next_step="look there"),
        SandboxError("start", "no answer", next_step="look there"),
    ],
)
def test_a_failure_names_step_reason_log_and_next_thing(console, capsys, error):
    with pytest.raises(StepFailed) as caught, console.step("First"):
        raise error
    printed = capsys.readouterr().out
    assert caught.value.exit_code == 1
    for words in ("step “First”", "no answer", str(console.log_file), "next:   look there"):
        assert words in printed


def test_an_unknown_error_is_told_in_one_line_and_logged_whole(console, capsys):
    with pytest.raises(StepFailed), console.step("First"):
        {}["nothing"]
    printed = capsys.readouterr().out
    assert "reason: KeyError: 'nothing'" in printed
    assert "Traceback" not in printed
    assert "Traceback" in console.log_file.read_text("utf-8")


def test_an_interruption_says_how_to_go_on(console, capsys):
    with pytest.raises(StepFailed) as caught, console.step("First"):
        raise KeyboardInterrupt
    assert caught.value.exit_code == 130
    assert "make demo takes it up again" in capsys.readouterr().out


def test_a_password_is_printed_and_not_logged(console, capsys):
    console.say("mira secret", is_logged=False)
    console.say("the end")
    assert "secret" in capsys.readouterr().out
    assert "secret" not in console.log_file.read_text("utf-8")
