"""The demo's lock, its environment, and the folders that it will not remove."""

import os
import subprocess
import sys

import pytest

from portal.ops.demo.console import Console, DemoError
from portal.ops.demo.host import clean
from portal.ops.demo.layout import BASE_DIR, DemoLayout, locate_demo
from portal.ops.demo.lock import hold_lock
from portal.ops.demo.prepare import write_env_file


@pytest.fixture
def layout(tmp_path):
    (tmp_path / "var").mkdir()
    return DemoLayout(tmp_path / "var", "swt-")


def test_a_second_command_is_told_who_is_at_work(layout):
    with hold_lock(layout.lock_file, "make demo"):
        with pytest.raises(DemoError) as caught, hold_lock(layout.lock_file, "make stop"):
            pass
        assert f"make demo (process {os.getpid()}) is at work" in caught.value.reason
        assert "make stop again" in caught.value.next_step


def test_the_lock_is_free_once_its_holder_was_killed(layout):
    code = (
        "import os, signal; from pathlib import Path; from portal.ops.demo.lock import hold_lock\n"
        f"with hold_lock(Path({str(layout.lock_file)!r}), 'make demo'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=BASE_DIR, timeout=30, check=False)
    with hold_lock(layout.lock_file, "make demo"):
        pass


def test_the_environment_leaves_other_slurms_and_databases_out(layout, monkeypatch):
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("SLUICEWAY_DATABASE_URL", "postgres://production")
    environment = layout.make_environment()
    assert "SLURM_CONF" not in environment
    assert environment["SLUICEWAY_DATABASE_URL"] == f"sqlite:///{layout.database_file}"


def test_the_var_folder_and_prefix_can_be_given():
    layout = locate_demo({"SLUICEWAY_VAR_DIR": "/srv/x", "SLUICEWAY_USER_PREFIX": "abc-"})
    assert str(layout.var) == "/srv/x"
    assert layout.sandbox_spec.users == ("abc-mira", "abc-jonas", "abc-lea")
    assert locate_demo({}).var == BASE_DIR / "var"


def test_keeps_a_secret_key_once_made_and_follows_the_port(layout):
    assert write_env_file(layout)
    key = next(line for line in layout.env_file.read_text().splitlines() if "SECRET" in line)
    layout.save_state(port=8123)
    assert not write_env_file(layout)
    assert key in layout.env_file.read_text()
    assert "SLUICEWAY_PUBLIC_URL=http://127.0.0.1:8123" in layout.env_file.read_text()
    assert layout.env_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("name", ["manage.py", ".git"])
def test_does_not_remove_a_folder_that_is_more_than_a_demo(layout, name):
    (layout.var / name).touch()
    with pytest.raises(DemoError, match="more than the folder of a demo"):
        clean(layout, Console(layout.log_file))
    assert layout.var.exists()
