"""How the demo's .venv is made."""

import os
import subprocess
import sys

import pytest

from portal.ops.demo.layout import BASE_DIR
from portal.ops.demo.venv import make_pip_environment


def test_pip_finds_the_constraints_in_a_folder_with_blanks(tmp_path):
    folder = tmp_path / "a clone with blanks % ü"
    folder.mkdir()
    constraints = folder / ".constraints.txt"
    constraints.write_text("pip>0\n")
    environment = {**os.environ, **make_pip_environment(constraints)}
    argv = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-index", "pip"]
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("module", ["portal.ops.demo.__main__", "portal.sandbox.packages"])
def test_the_demo_begins_with_the_standard_library_alone(module: str) -> None:
    code = f"import sys; sys.path.insert(0, {str(BASE_DIR)!r}); import {module}"
    argv = [sys.executable, "-I", "-S", "-c", code]
    result = subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)
    assert result.stderr == ""
