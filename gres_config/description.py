"""The inventory file's parts, typed: what may stand in it, and within which bounds.

The file's shape is explained in README.md; load.py makes the values of inventory.py from it.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_files, expand_hostlist
from gres_config.inventory import Detection, GpuMode, check_gres_type
from gres_config.mig import parse_layout
from gres_config.versions import get_version

MAX_COUNT = 1_000_000
_WORD = re.compile(r"[^\s,=#\"]+")
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_CORES = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_LINKS = re.compile(r"-?\d+(,-?\d+)*")
_WEIGHT = re.compile(r"\d+(\.\d+)?[KMGTP]?")


def _fail(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("inventory", "{sentence}", {"sentence": sentence})


def _capitalise(error: GresConfigError) -> PydanticCustomError:
    text = error.reason
    return _fail(text[0].upper() + text[1:] + ("" if text.endswith(".") else "."))


def _match(pattern: re.Pattern[str], sentence: str) -> AfterValidator:
    def check(value: str) -> str:
        if not pattern.fullmatch(value):
            raise _fail(sentence)
        return value

    return AfterValidator(check)


def _check_hostlist(value: str) -> str:
    try:
        expand_hostlist(value)
    except GresConfigError as error:
        raise _capitalise(error) from error
    return value


def _check_type(value: str) -> str:
    try:
        if value:
            check_gres_type(value)
    except GresConfigError as error:
        raise _capitalise(error) from error
    return value


def _check_version(value: str) -> str:
    try:
        get_version(value)
    except GresConfigError as error:
        raise _capitalise(error) from error
    return value


def _read_list(value: object) -> object:
    """Take one word for a list of one, and nothing for an empty list."""
    if value is None:
        return ()
    return (value,) if isinstance(value, str) else value


def _read_words(value: object) -> object:
    """Take "a b, c" for a list."""
    return tuple(value.replace(",", " ").split()) if isinstance(value, str) else _read_list(value)


def _read_mapping(value: object) -> object:
    return {} if value is None else value


def _expand_all(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return tuple(name for value in values for name in expand_files(value))
    except GresConfigError as error:
        raise _capitalise(error) from error


def _expand_layout(values: tuple[str, ...]) -> tuple[str, ...]:
    try:
        return parse_layout(values)
    except GresConfigError as error:
        raise _capitalise(error) from error


def _check_some(values: tuple[object, ...]) -> tuple[object, ...]:
    if not values:
        raise _fail("There is not one node group.")
    return values


Word = Annotated[str, _match(_WORD, "Use one word without blanks, commas, “=”, “#” and quotes.")]
Text = Annotated[str, _match(re.compile(r"[^\r\n#]+"), "Use one line of text without “#”.")]
Key = Annotated[str, _match(_KEY, "Use one of Slurm's keys, such as Weight.")]
Hostlist = Annotated[str, AfterValidator(_check_hostlist)]
GresType = Annotated[str, AfterValidator(_check_type)]
Version = Annotated[str, AfterValidator(_check_version)]
Words = Annotated[tuple[Word, ...], BeforeValidator(_read_words)]
Files = Annotated[tuple[str, ...], BeforeValidator(_read_list), AfterValidator(_expand_all)]
Cores = Annotated[
    tuple[Annotated[str, _match(_CORES, "Use core numbers and ranges, 0-15 or 0-7,16-23.")], ...],
    BeforeValidator(_read_list),
]
Links = Annotated[
    tuple[Annotated[str, _match(_LINKS, "Use numbers with commas, -1,16,0,0.")], ...],
    BeforeValidator(_read_list),
]
Layout = Annotated[tuple[str, ...], BeforeValidator(_read_words), AfterValidator(_expand_layout)]
Settings = Annotated[dict[Key, Text], BeforeValidator(_read_mapping)]
Types = Annotated[dict[str, GresType], BeforeValidator(_read_mapping)]
Weight = Annotated[str, _match(_WEIGHT, "Use a number, such as 0.25 or 1.5G.")]
Weights = Annotated[dict[Word, Weight], BeforeValidator(_read_mapping)]
Count = Annotated[int, Field(ge=1, le=MAX_COUNT)]
Mebibytes = Annotated[int, Field(ge=1, le=2**40)]


class Part(BaseModel):
    """A part of the file: frozen, and a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DevicePart(Part):
    """What GPUs and other devices of a node have in common."""

    count: Annotated[int, Field(ge=1, le=2**63 - 1)]
    files: Files = ()
    cores: Cores = ()
    flags: Words = ()


class GpuPart(DevicePart):
    """Equal GPUs of each node of the group, in one mode."""

    model: Word
    count: Count
    type: GresType | None = None
    mode: GpuMode = GpuMode.WHOLE
    layout: Layout = ()
    types: Types = {}
    shares: Count | None = None
    mig_files: tuple[tuple[Files, ...], ...] = ()
    links: Links = ()


class GresPart(DevicePart):
    """Another countable GRES of each node of the group."""

    name: Word
    type: GresType = ""


class NodeGroupPart(Part):
    """Nodes of equal hardware."""

    nodes: Hostlist
    sockets: Count = 1
    cores_per_socket: Count
    threads_per_core: Annotated[int, Field(ge=1, le=16)] = 1
    memory_mib: Mebibytes
    detection: Detection = Detection.FILES
    gpus: tuple[GpuPart, ...] = ()
    gres: tuple[GresPart, ...] = ()
    features: Words = ()
    state: Annotated[str, _match(re.compile("[A-Z_]+"), "Use a node state, CLOUD.")] = "UNKNOWN"
    restricted_cores_per_gpu: Annotated[int, Field(ge=1, le=65535)] | None = None
    slurm: Settings = {}


class PartitionPart(Part):
    """A partition; what is left out is Slurm's default."""

    name: Word
    nodes: Hostlist
    tier: Annotated[int, Field(ge=0, le=65533)] = 1
    preempt_mode: Annotated[
        str | None, BeforeValidator(lambda value: value.upper() if value else None)
    ] = None
    default: bool = False
    default_time_minutes: Count | None = 60
    max_time_minutes: Count | None = None
    max_nodes: Count | None = None
    allow_accounts: Words = ()
    deny_accounts: Words = ()
    allow_groups: Words = ()
    allow_qos: Words = ()
    deny_qos: Words = ()
    qos: Annotated[str, _match(re.compile(r"[^\s,=#]*"), "Use a QOS's name.")] = ""
    memory_per_cpu_mib: Mebibytes | None = None
    memory_per_gpu_mib: Mebibytes | None = None
    cpus_per_gpu: Count | None = None
    billing_weights: Weights = {}
    state: Annotated[str, _match(re.compile("UP|DOWN|DRAIN|INACTIVE"), "Use UP or DOWN.")] = "UP"
    slurm: Settings = {}


class InventoryPart(Part):
    """The whole file."""

    cluster: Annotated[str, _match(re.compile("[a-z0-9_-]{1,40}"), "Use lower-case letters.")]
    slurm_version: Version
    memory_per_cpu_mib: Mebibytes | None = None
    memory_per_gpu_mib: Mebibytes | None = None
    cgroup_plugin: Word = "autodetect"
    accounting_tres: Words = ()
    other_models: Words = ()
    node_groups: Annotated[tuple[NodeGroupPart, ...], AfterValidator(_check_some)]
    partitions: tuple[PartitionPart, ...] = ()
    slurm: Settings = {}
