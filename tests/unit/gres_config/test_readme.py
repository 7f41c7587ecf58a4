"""What README.md shows of gres_config: its inventory loads, its errors and commands are real."""

import re
import shlex
from pathlib import Path

import pytest

from gres_config.__main__ import main, make_parser
from gres_config.errors import DocumentError
from gres_config.load import parse_inventory

README = (Path(__file__).parents[3] / "README.md").read_text("utf-8")
SECTION = README.partition("## gres_config")[2].partition("\n## ")[0]
INVENTORY = re.findall(r"```yaml\n(.*?)```", SECTION, re.DOTALL)[0]
COMMANDS = re.findall(r"^    python -m gres_config ((?:.*\\\n)*.*)$", SECTION, re.MULTILINE)


def test_the_inventory_is_one_in_which_check_finds_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "hpc.yaml"
    file.write_text(INVENTORY)
    assert main(["check", str(file)]) == 0
    assert capsys.readouterr().out == "nothing found\n"


def test_the_errors_are_those_of_a_layout_and_a_name_that_do_not_fit() -> None:
    text = INVENTORY.replace("[2g.20gb, ", "[2g.20gb*2, ").replace("amd[01-08]", "gpu040")
    with pytest.raises(DocumentError) as caught:
        parse_inventory(text, "hpc.yaml")
    shown = re.findall(r"^hpc\.yaml:.*$", SECTION, re.MULTILINE)
    for line, said in zip(shown, str(caught.value).splitlines(), strict=True):
        assert said.startswith(line.removesuffix("..."))


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_one_that_the_program_takes(command: str) -> None:
    assert make_parser().parse_args(shlex.split(command.replace("\\\n", ""), comments=True))


def test_every_command_of_the_program_is_shown() -> None:
    assert {command.split()[0] for command in COMMANDS} == {
        "adopt", "check", "diff", "mig", "relayout", "render",
    }  # fmt: skip
