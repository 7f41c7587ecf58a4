"""What is done on a node: commands of the site, or device files on a cluster without GPUs.

The file of actions is YAML. Each action is a list of commands, each command a list of words; in a
word {node}, {profile} (the node's name in mig-parted.yaml), {mig_parted} (that file's path) and
{conf} (the folder of the written files) are replaced. No shell is involved. What is left out is
as in DEFAULTS. Where GRES types are new, publish and restart_controller are also run once for the
cluster, before the first node; {node} and {profile} are empty then.
"""

import os
import stat
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gres_config.document import Document, parse_document, read_text
from gres_config.errors import DocumentError
from gres_config.inventory import Inventory, NodeGroup
from gres_config.problems import Problem, suggest
from gres_config.relayout.plan import NodeChange, RelayoutError
from gres_config.relayout.slurm import run_command
from gres_config.render import list_gres_records

Commands = tuple[tuple[str, ...], ...]
ACTION_SECONDS = 600

# stop: slurmd first, then what holds the GPUs ("In use by another client" otherwise).
DEFAULTS: Mapping[str, Commands] = {
    "stop": (
        ("ssh", "{node}", "systemctl", "stop", "slurmd"),
        ("ssh", "{node}", "systemctl", "stop", "nvidia-dcgm", "nvidia-persistenced"),
    ),
    "apply": (
        ("scp", "-q", "{mig_parted}", "{node}:/run/mig-parted.yaml"),
        ("ssh", "{node}", "nvidia-mig-parted", "apply", "-f", "/run/mig-parted.yaml",
         "-c", "{profile}"),
    ),
    "verify": (
        ("ssh", "{node}", "nvidia-mig-parted", "assert", "-f", "/run/mig-parted.yaml",
         "-c", "{profile}"),
    ),
    "publish": (),
    "start": (
        ("ssh", "{node}", "systemctl", "start", "nvidia-persistenced", "nvidia-dcgm"),
        ("ssh", "{node}", "systemctl", "start", "slurmd"),
    ),
    "restart_controller": (("systemctl", "restart", "slurmctld"),),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Actions:
    """The commands of each action. `device_files`: layouts are files that are made and removed."""

    commands: Mapping[str, Commands] = field(default_factory=lambda: dict(DEFAULTS))
    device_files: bool = False

    def run(self, name: str, words: Mapping[str, str]) -> None:
        """Run an action's commands, in their order; RelayoutError for the first that fails."""
        for command in self.commands[name]:
            run_command([_fill(word, words) for word in command], timeout=ACTION_SECONDS)


def _fill(word: str, words: Mapping[str, str]) -> str:
    for name, value in words.items():
        word = word.replace(f"{{{name}}}", value)
    return word


def load_actions(path: Path) -> Actions:
    """Return the file's actions; DocumentError names file and line of each mistake."""
    return parse_actions(parse_document(read_text(path), str(path)))


def parse_actions(document: Document) -> Actions:
    """Return the document's actions, the defaults where it says nothing."""
    problems: list[Problem] = []
    commands = dict(DEFAULTS)
    data: dict[str, Any] = document.data if isinstance(document.data, dict) else {"": None}
    device_files = data.get("device_files") == "true"
    if device_files:
        commands.update(apply=(), verify=())
    for name, value in data.items():
        place = (name,)
        if name == "device_files" and value in ("true", "false"):
            continue
        if name == "device_files":
            sentence = "Use true or false."
        elif name not in DEFAULTS:
            sentence = f"There is no action “{name}”.{suggest(name, DEFAULTS)}"
        elif not _is_commands(value):
            sentence = "Write a list of commands, each a list of words: [[ssh, “{node}”, ...]]."
        else:
            commands[name] = tuple(tuple(command) for command in value)
            continue
        problems.append(Problem(document.find_line(place), place, sentence))
    if problems:
        raise DocumentError(document.file_name, problems)
    return Actions(commands, device_files)


def _is_commands(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(command, list) and command and all(isinstance(word, str) for word in command)
        for command in value
    )


def list_files(inventory: Inventory) -> frozenset[Path]:
    """Return the device files of all nodes."""
    return frozenset(
        Path(file)
        for group in inventory.node_groups
        for record in list_gres_records(group)
        for file in record.files
    )


def make_device_files(change: NodeChange, others: Inventory) -> None:
    """Make the files of the new layout and remove those that no node needs any more.

    `others` is the inventory with this change made. A file is a second /dev/null, or plain where
    no device can be made.
    """
    wanted, kept = _list_own(change.after), list_files(others)
    try:
        for path in sorted(_list_own(change.before) - kept):
            path.unlink(missing_ok=True)
        for path in sorted(wanted):
            path.parent.mkdir(parents=True, exist_ok=True)
            _make_device(path)
    except OSError as error:
        raise RelayoutError(f"{change.node}: {error.filename}: {error.strerror}") from error


def verify_device_files(change: NodeChange, others: Inventory) -> None:
    """Raise RelayoutError unless exactly the files of the new layout are there."""
    missing = [path for path in _list_own(change.after) if not path.exists()]
    extra = [path for path in _list_own(change.before) - list_files(others) if path.exists()]
    if missing or extra:
        shown = ", ".join(map(str, sorted([*missing, *extra])))
        raise RelayoutError(f"{change.node}: the layout is not applied: {shown}")


def _list_own(group: NodeGroup) -> set[Path]:
    return {Path(file) for record in list_gres_records(group) for file in record.files}


def _make_device(path: Path) -> None:
    if path.exists():
        return
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.stat("/dev/null").st_rdev)
    except PermissionError:
        path.touch(0o666)
    with suppress(OSError):
        path.chmod(0o666)
