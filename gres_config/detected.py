"""What a node says of itself: the output of `slurmd -G` or `slurmd -C`, or an NVML dump.

The NVML dump is JSON; Slurm's names of devices are made from it as src/plugins/gpu/nvml does:

    {"node": "gpu1",
     "gpus": [{"minor": 0, "name": "NVIDIA A100-SXM4-80GB", "uuid": "GPU-...",
               "mig": [{"profile": "1g.10gb", "uuid": "MIG-..."}]}]}

`mig` is null or left out where MIG is off, and [] where it is on without any instance.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from gres_config.errors import GresConfigError
from gres_config.parse.counts import parse_gres
from gres_config.parse.lines import MAX_BYTES
from gres_config.parse.words import find_word, split_words

_GRES = re.compile(r"(?:^|\s)Gres (Name=.*)")
_DAEMON = re.compile(r"slurmd-([A-Za-z0-9._-]+):")
_IGNORED = re.compile(
    r"GRES\[(?P<name>\w+)\] Type:(?P<type>\S+) Count:(?P<count>\d{1,6}) .*File:(?P<file>\S+)"
)
_FOUND = re.compile(r"Found (\S+) with Autodetect=(\S+)")


class Origin(StrEnum):
    """Which program said it."""

    SLURMD_GRES = "slurmd -G"
    SLURMD_CONFIG = "slurmd -C"
    NVML = "NVML"


@dataclass(frozen=True, slots=True)
class DetectedDevice:
    """`count` devices of a GRES; `profile` is that of a MIG instance, "" for anything else.

    `is_ignored` is set for what slurmd says it found and does not take.
    """

    name: str
    type: str
    count: int = 1
    files: str = ""
    profile: str = ""
    is_ignored: bool = False


@dataclass(frozen=True, slots=True)
class DetectedNode:
    """What one node has. A number is 0 where the program doesn't tell it.

    `gpus_in_mig_mode` counts the GPUs whose MIG mode is on.
    """

    node: str
    file: str
    origin: Origin
    devices: tuple[DetectedDevice, ...] = ()
    cpus: int = 0
    sockets: int = 0
    cores_per_socket: int = 0
    threads_per_core: int = 0
    memory_mib: int = 0
    gpus_in_mig_mode: int = 0


class _Instance(BaseModel):
    profile: str = Field(pattern=r"^[0-9a-z.+-]+$")


class _Gpu(BaseModel):
    name: str = Field(min_length=1)
    minor: int = Field(default=0, ge=0)
    mig: list[_Instance] | None = None


class _Dump(BaseModel):
    node: str = ""
    gpus: list[_Gpu]


def name_nvml_type(gpu_name: str, profile: str = "") -> str:
    """Return the type that AutoDetect=nvml gives a GPU or a MIG instance.

    Lower case, blanks to "_"; for an instance the GPU's name is cut at its first "-"
    (src/plugins/gpu/nvml/gpu_nvml.c).
    """
    name = gpu_name.lower().replace(" ", "_")
    return f"{name.partition('-')[0]}_{profile}" if profile else name


def read_detected(argument: str) -> DetectedNode:
    """Read FILE or NODE=FILE; which program wrote it is told by its content.

    Raises GresConfigError for a file that is none of the three or does not tell its node.
    """
    node, sign, name = argument.partition("=")
    path = Path(name if sign and not Path(argument).exists() else argument)
    node = node if str(path) == name else ""
    found = parse_detected(_read(path), str(path), node)
    if not found.node:
        raise GresConfigError(
            f"this does not say of which node it is: use --detected NODE={path}",
            file_name=str(path),
        )
    return found


def _read(path: Path) -> str:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise GresConfigError("this file is too large", file_name=str(path), line=1)
        return path.read_bytes().decode("utf-8")
    except OSError as error:
        raise GresConfigError(f"cannot read it: {error.strerror}", file_name=str(path)) from error
    except UnicodeDecodeError as error:
        raise GresConfigError("this file is not UTF-8", file_name=str(path)) from error


def parse_detected(text: str, file: str, node: str = "") -> DetectedNode:
    """Return what the text says; `node` names the node where the text doesn't, or overrides it."""
    if text.lstrip().startswith("{"):
        return _parse_nvml(text, file, node)
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if line.startswith("NodeName="):
            return _parse_config(line, lines[number + 1 :], file, node)
    devices = tuple(_parse_devices(lines))
    if not devices and "slurmd" not in text:
        raise GresConfigError(
            "this is neither the output of `slurmd -G` or `slurmd -C` nor an NVML dump",
            file_name=file,
        )
    named = _DAEMON.search(text)
    return DetectedNode(node or (named[1] if named else ""), file, Origin.SLURMD_GRES, devices)


def _parse_devices(lines: list[str]) -> Iterator[DetectedDevice]:
    """Yield what slurmd takes, and the detected GPUs that it says it ignores."""
    is_ignored = False
    for line in lines:
        match = _GRES.search(line)
        ignored = _IGNORED.search(line) if is_ignored else None
        if match:
            words, _ = split_words(match[1])
            kind = find_word(words, "type") or ""
            count = find_word(words, "count") or "1"
            yield DetectedDevice(
                find_word(words, "name") or "",
                "" if kind == "(null)" else kind,
                int(count) if count.isdigit() else 0,
                find_word(words, "file") or "",
            )
        elif ignored:
            kind = "" if ignored["type"] == "(null)" else ignored["type"]
            count = ignored["count"]
            yield DetectedDevice(
                ignored["name"], kind, int(count), ignored["file"], is_ignored=True
            )
        is_ignored = "autodetected GPUs are being ignored" in line or bool(ignored)


def _parse_config(line: str, rest: list[str], file: str, node: str) -> DetectedNode:
    words, _ = split_words(line)
    numbers = {
        key: int(value)
        for key in ("cpus", "corespersocket", "threadspercore", "realmemory", "boards")
        if (value := find_word(words, key) or "").isdigit()
    }
    sockets = find_word(words, "sockets") or ""
    per_board = find_word(words, "socketsperboard") or ""
    number = int(sockets or per_board or 0) * (1 if sockets else numbers.get("boards", 1))
    found = _FOUND.search("\n".join(rest))
    gres = found[1] if found else find_word(words, "gres") or ""
    return DetectedNode(
        node or find_word(words, "nodename") or "",
        file,
        Origin.SLURMD_CONFIG,
        tuple(DetectedDevice(entry.name, entry.type, entry.count) for entry in parse_gres(gres)),
        cpus=numbers.get("cpus", 0),
        sockets=number,
        cores_per_socket=numbers.get("corespersocket", 0),
        threads_per_core=numbers.get("threadspercore", 0),
        memory_mib=numbers.get("realmemory", 0),
    )


def _parse_nvml(text: str, file: str, node: str) -> DetectedNode:
    try:
        dump = _Dump.model_validate(json.loads(text))
    except json.JSONDecodeError as error:
        raise GresConfigError(
            f"this is no JSON: {error.msg}", file_name=file, line=error.lineno
        ) from error
    except (ValidationError, RecursionError) as error:
        raise GresConfigError(f"this is no NVML dump: {_explain(error)}", file_name=file) from error
    devices: list[DetectedDevice] = []
    for gpu in dump.gpus:
        if gpu.mig is None:
            devices.append(
                DetectedDevice("gpu", name_nvml_type(gpu.name), files=f"/dev/nvidia{gpu.minor}")
            )
        for instance in gpu.mig or ():
            kind = name_nvml_type(gpu.name, instance.profile)
            devices.append(DetectedDevice("gpu", kind, profile=instance.profile))
    in_mig_mode = sum(gpu.mig is not None for gpu in dump.gpus)
    return DetectedNode(
        node or dump.node, file, Origin.NVML, tuple(devices), gpus_in_mig_mode=in_mig_mode
    )


def _explain(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    return "it is nested too deeply"
