"""Where the demo keeps its things, and which Unix users it makes."""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from portal.sandbox.processes import write_atomically

BASE_DIR = Path(__file__).resolve().parents[3]
PEOPLE = ("mira", "jonas", "lea")
DEFAULT_PORT = 8000
DEFAULT_PREFIX = "sw-"


@dataclass(frozen=True, slots=True)
class DemoLayout:
    """Paths of one demo. `var` holds all of it; `user_prefix` begins the Unix users' names."""

    var: Path
    user_prefix: str

    @property
    def logs(self) -> Path:
        return self.var / "log"

    @property
    def log_file(self) -> Path:
        return self.logs / "demo.log"

    @property
    def lock_file(self) -> Path:
        return self.var / "demo.lock"

    @property
    def state_file(self) -> Path:
        return self.var / "demo.json"

    @property
    def env_file(self) -> Path:
        return self.var / "sluiceway.env"

    @property
    def database_file(self) -> Path:
        return self.var / "sluiceway.sqlite3"

    @property
    def logins_file(self) -> Path:
        return self.var / "demo-logins.json"

    @property
    def pids(self) -> Path:
        return self.var / "run"

    @property
    def sandbox_root(self) -> Path:
        return self.var / "sandbox"

    @property
    def users(self) -> tuple[str, ...]:
        """The demo's ordinary Unix users."""
        return tuple(self.user_prefix + name for name in PEOPLE)

    def read_state(self) -> dict[str, Any]:
        """Return what the demo remembers between runs, by name; empty where nothing can be read."""
        try:
            stored = json.loads(self.state_file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        return stored if isinstance(stored, dict) else {}

    def read_logins(self) -> dict[str, str]:
        """Return login -> password of the last run; empty where nothing can be read."""
        try:
            stored = json.loads(self.logins_file.read_text("utf-8"))
        except (OSError, ValueError):
            return {}
        is_table = isinstance(stored, dict)
        return {str(name): str(word) for name, word in stored.items()} if is_table else {}

    def save_state(self, **values: Any) -> None:
        """Remember these values beside the others."""
        state = {**self.read_state(), **values}
        write_atomically(self.state_file, json.dumps(state, indent=1) + "\n", 0o600)

    @property
    def url(self) -> str:
        """The portal's address, from the remembered port."""
        return f"http://127.0.0.1:{self.read_state().get('port', DEFAULT_PORT)}"

    def make_environment(self) -> dict[str, str]:
        """Return the environment of the portal's programs: this demo's database and no other's.

        Variables of Slurm and of another installation of the portal are left out.
        """
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("SLURM", "SLUICEWAY_", "SACCT", "SBATCH", "DJANGO_"))
        }
        return {
            **kept,
            "DJANGO_SETTINGS_MODULE": "portal.config.settings",
            "SLUICEWAY_VAR_DIR": str(self.var),
            "SLUICEWAY_ENV_FILE": str(self.env_file),
            "SLUICEWAY_DATABASE_URL": f"sqlite:///{self.database_file}",
            "SLUICEWAY_PUBLIC_URL": self.url,
            "PYTHONUNBUFFERED": "1",
        }


def locate_demo(environ: Mapping[str, str] = os.environ) -> DemoLayout:
    """Return the layout that SLUICEWAY_VAR_DIR and SLUICEWAY_USER_PREFIX ask for.

    Without a prefix it is that of the last run in the folder.
    """
    var = Path(os.path.abspath(environ.get("SLUICEWAY_VAR_DIR") or BASE_DIR / "var"))
    given = environ.get("SLUICEWAY_USER_PREFIX")
    remembered = DemoLayout(var, DEFAULT_PREFIX).read_state().get("user_prefix")
    return DemoLayout(var, given or str(remembered or DEFAULT_PREFIX))
