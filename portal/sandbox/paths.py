"""Where the sandbox keeps its things: a private root, and a part that ordinary users can reach."""

import hashlib
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path

from portal.sandbox.errors import SandboxError

# sizeof(sockaddr_un.sun_path) - 1, unix(7).
MAX_SOCKET_PATH = 107
PUBLIC_PARENT = Path("/var/tmp")  # kept over a reboot
_PLAIN = re.compile(r"[A-Za-z0-9/._+@-]+")


@dataclass(frozen=True, slots=True)
class SandboxPaths:
    """All folders and files. `public` is `root` itself unless others cannot enter it."""

    root: Path
    public: Path
    logs: Path

    @property
    def state_file(self) -> Path:
        return self.root / "sandbox.json"

    @property
    def lock_file(self) -> Path:
        return self.root / "sandbox.lock"

    @property
    def pids(self) -> Path:
        return self.root / "pids"

    @property
    def etc(self) -> Path:
        """Slurm's configuration, and where the job_submit plugin and its policy live."""
        return self.public / "etc"

    @property
    def slurm_conf(self) -> Path:
        """The slurm.conf of people and of the portal (the daemons' one includes it)."""
        return self.etc / "slurm.conf"

    @property
    def daemons_conf(self) -> Path:
        return self.etc / "daemons.conf"

    @property
    def run(self) -> Path:
        return self.public / "run"

    @property
    def munge_socket(self) -> Path:
        return self.run / "munge" / "munge.socket"

    @property
    def munge(self) -> Path:
        return self.public / "munge"

    @property
    def munge_key(self) -> Path:
        return self.munge / "munge.key"

    @property
    def database(self) -> Path:
        return self.public / "mysql"

    @property
    def database_socket(self) -> Path:
        return self.run / "mysqld" / "mysqld.sock"

    @property
    def controller_state(self) -> Path:
        return self.public / "slurmctld"

    @property
    def spool(self) -> Path:
        return self.public / "slurmd"

    @property
    def steps(self) -> Path:
        """Logs of the nodes that include their jobs' steps."""
        return self.public / "steps"

    @property
    def devices(self) -> Path:
        return self.public / "dev"

    @property
    def home(self) -> Path:
        return self.public / "home"


def locate_paths(root: Path, logs: Path | None = None, recorded: str = "") -> SandboxPaths:
    """Return the paths for a sandbox at `root`; touches nothing.

    The public part moves to /var/tmp/sluiceway-<hash of root> when an ordinary user cannot enter
    root, when a socket below root would have too long a name, or when root's name holds
    characters that slurm.conf cannot take. `recorded` is where it was the last time.
    """
    root = Path(os.path.realpath(root))
    public = root
    longest = len(os.fsencode(SandboxPaths(root, root, root).database_socket))
    fits = longest <= MAX_SOCKET_PATH and _PLAIN.fullmatch(str(root))
    before = Path(recorded) if recorded else None
    if before and before.parent == PUBLIC_PARENT and before.is_dir():
        public = before
    elif not fits or not is_open_to_others(root):
        digest = hashlib.sha256(os.fsencode(root)).hexdigest()[:10]
        public = PUBLIC_PARENT / f"sluiceway-{digest}"
    return SandboxPaths(root, public, Path(os.path.realpath(logs)) if logs else root / "log")


def is_open_to_others(path: Path) -> bool:
    """Whether everybody may pass through all folders of the path that exist."""
    return all(
        folder.stat().st_mode & stat.S_IXOTH for folder in (path, *path.parents) if folder.exists()
    )


def make_public_folder(paths: SandboxPaths) -> None:
    """Make the public folder; SandboxError when somebody else's thing has its name."""
    if paths.public == paths.root:
        return
    try:
        paths.public.mkdir(mode=0o755)
    except FileExistsError:
        found = paths.public.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            raise SandboxError(
                "make the public folder",
                f"{paths.public} exists and belongs to somebody else",
                next_step=f"look at what it is, remove {paths.public} and run again",
            ) from None
    paths.public.chmod(0o755)
