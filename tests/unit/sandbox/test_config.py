"""Paths, ports, state and configuration text of the sandbox; starts nothing."""

import os
import pwd
import socket
from pathlib import Path

import pytest

from portal.sandbox import daemons
from portal.sandbox.config import name_slurmd, render_daemons_conf, render_slurm_conf
from portal.sandbox.daemons import list_port_names, make_environment
from portal.sandbox.errors import SandboxError
from portal.sandbox.paths import MAX_SOCKET_PATH, PUBLIC_PARENT, SandboxPaths, locate_paths
from portal.sandbox.spec import SandboxSpec
from portal.sandbox.state import SandboxState, choose_ports, load_state, save_state
from portal.sandbox.users import check_user_name

OPEN_ROOT = Path("/srv/box")


def test_a_root_that_all_can_enter_holds_everything() -> None:
    paths = locate_paths(OPEN_ROOT)
    assert paths.public == paths.root == OPEN_ROOT


@pytest.mark.parametrize("name", ["x" * 120, "with blank", "with#hash", "with,comma"])
def test_a_root_that_slurm_cannot_name_gets_a_public_folder(name: str) -> None:
    paths = locate_paths(OPEN_ROOT / name)
    assert paths.public.parent == PUBLIC_PARENT
    assert paths.public == locate_paths(OPEN_ROOT / name).public
    assert len(str(paths.munge_socket)) <= MAX_SOCKET_PATH


def test_a_root_that_only_its_owner_can_enter_gets_a_public_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    assert locate_paths(tmp_path / "box").public.parent == PUBLIC_PARENT


def test_the_configuration_names_only_its_own_socket_and_ports() -> None:
    spec, paths = SandboxSpec(), SandboxPaths(OPEN_ROOT, OPEN_ROOT, OPEN_ROOT / "log")
    ports = {name: 20_000 + number for number, name in enumerate(list_port_names(spec))}
    text = render_slurm_conf(spec, paths, ports)
    assert "AuthInfo=socket=/srv/box/run/munge/munge.socket\n" in text
    assert "AccountingStoragePass=/srv/box/run/munge/munge.socket\n" in text
    assert "AccountingStorageTRES=gres/gpu,gres/gpu:1g.10gb,gres/gpu:3g.40gb,gres/gpu:a100" in text
    assert "/etc/" not in text.replace(str(paths.etc), "")
    assert f"Port={ports[name_slurmd('mig2')]} " in text
    assert "NoInAddrAny" not in text
    assert "NoInAddrAny" in render_daemons_conf(paths, on_loopback=True)


def test_commands_inherit_nothing_of_the_callers_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLURM_CONF", "/etc/slurm/slurm.conf")
    monkeypatch.setenv("SLURM_CLUSTERS", "other")
    assert make_environment(Path("/srv/slurm.conf"))["SLURM_CONF"] == "/srv/slurm.conf"
    assert set(make_environment(Path("/srv/slurm.conf"))) == {"PATH", "LANG", "SLURM_CONF"}


def test_known_ports_are_kept_and_taken_ones_replaced() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        ports = choose_ports(("a", "b"), {"a": 20_123, "b": taken}, lambda _name: False)
        assert ports["a"] == 20_123
        assert ports["b"] != taken
        kept = choose_ports(("b",), {"b": taken}, lambda name: name == "b")
        assert kept["b"] == taken


def test_the_state_is_read_back_and_kept_from_others(tmp_path: Path) -> None:
    path = tmp_path / "sandbox.json"
    state = SandboxState({"a": 1}, ("sw-ada",), "secret", "/x").with_users(["sw-b", "sw-a", "sw-b"])
    save_state(path, state)
    assert load_state(path) == state
    assert state.users == ("sw-a", "sw-b")
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_first_state_has_a_password_of_its_own(tmp_path: Path) -> None:
    first, second = (load_state(tmp_path / name).database_password for name in ("a", "b"))
    assert len(first) == 32
    assert first != second


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"ports": 1}'])
def test_a_broken_state_is_told_and_not_guessed(tmp_path: Path, text: str) -> None:
    (tmp_path / "sandbox.json").write_text(text)
    with pytest.raises(SandboxError, match="cannot be read"):
        load_state(tmp_path / "sandbox.json")


@pytest.mark.parametrize("name", ["root", "ada", "sw-ada; rm", "SW-ada", "sw-" + "x" * 40, ""])
def test_rejects_a_user_name_that_is_not_the_sandboxs(name: str) -> None:
    with pytest.raises(SandboxError):
        check_user_name(name, "sw-")


def test_says_that_the_disk_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = SandboxPaths(tmp_path, tmp_path, tmp_path / "log")
    paths.run.mkdir(parents=True)
    monkeypatch.setattr(daemons, "DATABASE_UNIX_USER", pwd.getpwuid(os.getuid()).pw_name)
    monkeypatch.setattr(daemons, "NEEDED_SPACE_MIB", 2**40)
    with pytest.raises(SandboxError, match="MiB free") as caught:
        daemons.make_database(paths, "secret")
    assert "make room" in caught.value.next_step
    assert not paths.database.exists()
