"""What a sandbox remembers between runs, in one JSON file: ports, password, users and so on."""

import json
import os
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from portal.sandbox.errors import SandboxError
from portal.sandbox.processes import write_atomically

# Below the range that the kernel hands out to outgoing connections (ip_local_port_range).
PORTS = range(20_000, 32_000)


@dataclass(frozen=True, slots=True)
class SandboxState:
    """`ports` by service name; `users` are the Unix users that this sandbox created.

    `database_id` names the accounting database: in one that is made anew, DBIndex begins at 1.
    """

    ports: Mapping[str, int] = field(default_factory=dict)
    users: tuple[str, ...] = ()
    database_password: str = ""
    public: str = ""
    database_id: str = ""

    def with_users(self, users: Iterable[str]) -> "SandboxState":
        """Return a copy that remembers these users, sorted and once each."""
        return replace(self, users=tuple(sorted(set(users))))


def locate_state(root: Path) -> Path:
    """Return the file in which a sandbox's state is stored."""
    return Path(os.path.realpath(root)) / "sandbox.json"


def load_state(path: Path) -> SandboxState:
    """Return the stored state, a new one with a fresh password where there is none."""
    try:
        stored = json.loads(path.read_text("utf-8"))
        return SandboxState(
            ports={str(name): int(port) for name, port in stored["ports"].items()},
            users=tuple(str(name) for name in stored["users"]),
            database_password=str(stored["database_password"]),
            public=str(stored["public"]),
            database_id=str(stored.get("database_id", "")),
        )
    except FileNotFoundError:
        return SandboxState(database_password=secrets.token_hex(16))
    except PermissionError as error:
        raise SandboxError(
            "read the sandbox's state",
            f"{path} belongs to somebody else",
            next_step="run the same command as root or with sudo",
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SandboxError(
            "read the sandbox's state",
            f"{path} cannot be read ({error!r})",
            next_step=f"remove {path.parent} and start again",
        ) from error


def save_state(path: Path, state: SandboxState) -> None:
    """Write the state atomically, readable to its owner alone (it holds a password)."""
    write_atomically(path, json.dumps(asdict(state), indent=1, sort_keys=True) + "\n", 0o600)


def is_port_free(port: int) -> bool:
    """Whether nobody listens on the port of 127.0.0.1."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
            probe.listen(1)
        except OSError:
            return False
    return True


def choose_ports(
    names: Iterable[str], known: Mapping[str, int], is_running: Callable[[str], bool]
) -> dict[str, int]:
    """Return a port for each name: the known one where it is free or the service runs on it."""
    chosen: dict[str, int] = {}
    generator = secrets.SystemRandom()
    for name in names:
        port = known.get(name)
        if port is None or not (is_running(name) or is_port_free(port)):
            taken = {*known.values(), *chosen.values()}
            candidates = (generator.choice(PORTS) for _ in range(1000))
            port = next((p for p in candidates if p not in taken and is_port_free(p)), None)
        if port is None:
            raise SandboxError("choose ports", f"no free port of 127.0.0.1 in {PORTS}")
        chosen[name] = port
    return chosen
