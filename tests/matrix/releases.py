"""The Slurm releases of the matrix: the machine's own, and Debian's newer ones in chroots.

A chroot is built once, by debootstrap from the mirror of the machine's own apt sources, under
var/matrix/<release>/root, and is used again. It is whole or not there: it gets its name at the end.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "var" / "matrix"
PACKAGES = "slurmctld,slurmd,slurm-client,slurm-wlm-basic-plugins,munge"
DEFAULT_MIRROR = "http://deb.debian.org/debian"
BUILD_SECONDS = 900
# A run that is killed leaves nothing behind that works on.
DIE_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")


class MatrixError(Exception):
    """The matrix cannot run here; the text says why."""


@dataclass(frozen=True, slots=True)
class Release:
    """One Slurm release. `suite` is Debian's, "" for the machine's own Slurm."""

    version: str
    suite: str = ""
    script: str = ""

    @property
    def folder(self) -> Path:
        return FOLDER / self.version

    @property
    def root(self) -> Path:
        return self.folder / "root" if self.suite else Path("/")

    def __str__(self) -> str:
        return self.version


RELEASES = (
    Release("22.05"),
    Release("24.11", "trixie", "trixie"),
    # debootstrap of Debian 12 knows no forky; sid's script serves it.
    Release("26.05", "forky", "sid"),
)


def ensure_release(release: Release) -> None:
    """Make sure that the release can be started; MatrixError says what stands in the way."""
    if os.geteuid() != 0:
        raise MatrixError("chroots and namespaces need root: run the tests as root")
    release.folder.mkdir(parents=True, exist_ok=True)
    with (release.folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if release.suite and not release.root.exists():
            _build(release)
    found = read_version(release)
    if found != release.version:
        where = f"Debian's {release.suite}" if release.suite else "this machine"
        raise MatrixError(f"{where} has Slurm {found or '(none)'}, not {release.version}")


def read_version(release: Release) -> str:
    """Return the release's number as slurmctld says it ("24.11"), "" where there is none."""
    argv = ["slurmctld", "-V"]
    if release.suite:
        argv = ["chroot", str(release.root), *argv]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False)
    except FileNotFoundError:
        return ""
    match = re.search(r"\b(\d\d\.\d\d)\.", done.stdout)
    return match[1] if match else ""


def _build(release: Release) -> None:
    unfinished = release.folder / "root.new"
    # In a mount namespace of its own: debootstrap's mounts end with it, whatever ends it.
    shutil.rmtree(unfinished, ignore_errors=True)
    argv = [
        *DIE_WITH_PARENT, "unshare", "--mount", "--pid", "--fork", "--kill-child=KILL",
        "--propagation", "private", "--mount-proc",
        "debootstrap", "--variant=minbase", f"--include={PACKAGES}", release.suite,
        str(unfinished), find_mirror(), release.script,
    ]  # fmt: skip
    print(f"building the chroot of Slurm {release} ({release.suite})", file=sys.stderr)
    log_path = release.folder / "debootstrap.log"
    with log_path.open("wb") as log:
        try:
            done = subprocess.run(
                argv, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                timeout=BUILD_SECONDS, check=False,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise MatrixError(f"debootstrap of {release.suite}: {error}") from error
    if done.returncode != 0:
        last = log_path.read_text(errors="replace").splitlines()[-1:]
        raise MatrixError(f"debootstrap of {release.suite} failed: {last}; see {log_path}")
    (unfinished / "etc" / "hosts").touch()
    unfinished.rename(release.root)


def find_mirror(sources: Path = Path("/etc/apt")) -> str:
    """Return the Debian mirror that the machine's apt uses."""
    files = [sources / "sources.list", *sorted((sources / "sources.list.d").glob("*"))]
    pattern = re.compile(r"^\s*(?:URIs:|deb\s+(?:\[[^\]]*\]\s+)?)\s*(\S+/debian/?)(?:\s|$)", re.M)
    for file in files:
        if file.is_file() and (match := pattern.search(file.read_text(errors="replace"))):
            return match[1]
    return DEFAULT_MIRROR
