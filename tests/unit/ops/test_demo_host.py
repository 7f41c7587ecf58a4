"""The demo's lock, its environment, and the folders that it will not remove."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from portal.ops.demo.console import Console, DemoError
from portal.ops.demo.host import clean
from portal.ops.demo.layout import BASE_DIR, DemoLayout, locate_demo
from portal.ops.demo.lock import hold_lock
from portal.ops.demo.prepare import set_old_books_aside, write_env_file
from portal.sandbox.state import SandboxState


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
    assert layout.users == ("abc-mira", "abc-jonas", "abc-lea")
    assert locate_demo({}).var == BASE_DIR / "var"


def test_without_a_prefix_it_is_that_of_the_last_run(tmp_path):
    environ = {"SLUICEWAY_VAR_DIR": str(tmp_path)}
    assert locate_demo(environ).user_prefix == "sw-"
    DemoLayout(tmp_path, "abc-").save_state(user_prefix="abc-")
    assert locate_demo(environ).user_prefix == "abc-"
    assert locate_demo({**environ, "SLUICEWAY_USER_PREFIX": "x-"}).user_prefix == "x-"


def test_keeps_a_secret_key_once_made_and_follows_the_port(layout):
    assert write_env_file(layout)
    key = next(line for line in layout.env_file.read_text().splitlines() if "SECRET" in line)
    layout.save_state(port=8123)
    assert not write_env_file(layout)
    assert key in layout.env_file.read_text()
    assert "SLUICEWAY_PUBLIC_URL=http://127.0.0.1:8123" in layout.env_file.read_text()
    assert layout.env_file.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "[]", '"', "\udcff", "5"])
def test_what_it_cannot_read_of_the_last_run_is_forgotten(layout, text):
    for path in (layout.state_file, layout.logins_file):
        path.write_text(text, errors="surrogateescape")
    assert layout.read_state() == {}
    assert layout.read_logins() == {}


def test_a_slurm_that_lost_its_accounting_gets_a_portal_without_its_past(layout):
    def make_sandbox(name):
        return SimpleNamespace(state=SandboxState(database_id=name))

    ends = ("", "-wal")
    for end in ends:
        Path(f"{layout.database_file}{end}").write_text("books")
    assert set_old_books_aside(layout, make_sandbox("a1")) == ""
    assert set_old_books_aside(layout, make_sandbox("a1")) == ""
    assert layout.database_file.exists()
    assert "accounting was lost" in set_old_books_aside(layout, make_sandbox("b2"))
    assert not layout.database_file.exists()
    for end in ends:
        assert (layout.var / f"sluiceway-before-b2.sqlite3{end}").read_text() == "books"
    assert set_old_books_aside(layout, make_sandbox("b2")) == ""


def test_a_portal_that_lost_its_database_is_not_put_beside_the_old_slurm(layout):
    sandbox = SimpleNamespace(state=SandboxState(database_id="a1"))
    assert set_old_books_aside(layout, sandbox) == ""
    layout.database_file.write_text("books")
    layout.save_state(has_books=True)
    assert set_old_books_aside(layout, sandbox) == ""
    layout.database_file.unlink()
    with pytest.raises(DemoError) as caught:
        set_old_books_aside(layout, sandbox)
    assert "make clean" in caught.value.next_step


@pytest.mark.parametrize("name", ["manage.py", ".git"])
def test_does_not_remove_a_folder_that_is_more_than_a_demo(layout, name):
    (layout.var / name).touch()
    with pytest.raises(DemoError, match="more than the folder of a demo"):
        clean(layout, Console(layout.log_file))
    assert layout.var.exists()
