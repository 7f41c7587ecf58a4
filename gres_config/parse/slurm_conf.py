"""slurm.conf as records: settings, and the NodeName, PartitionName and other lines with words.

NodeName=DEFAULT and PartitionName=DEFAULT are merged into the lines after them (slurm.conf(5)).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from gres_config.parse.lines import Line, Source, read_lines
from gres_config.parse.words import Fault, Setting, Words, index_words, render_words, split_words

_RECORD_KINDS = {
    "nodename": "NodeName",
    "partitionname": "PartitionName",
    "nodeset": "NodeSet",
    "downnodes": "DownNodes",
    "frontendname": "FrontendName",
}
_REPEATED = frozenset({"slurmctldhost"})
# What the rules look at; nodes that are equal in these are one kind of node to them.
GRES_SHAPE = frozenset(
    [
        "boards",
        "corespersocket",
        "cpus",
        "gres",
        "procs",
        "sockets",
        "socketsperboard",
        "state",
        "threadspercore",
    ]
)


@dataclass(frozen=True, slots=True)
class Record:
    """A line such as NodeName=... with its words.

    `own` are the words as written, the first one included; `words` has their values by key in
    lower case, with those of the DEFAULT lines before it.
    """

    kind: str
    name: str
    own: Words
    words: Mapping[str, str]
    source: Source

    def get(self, *keys: str) -> str:
        """Return the value of the first of the keys (in lower case) that is set, else ""."""
        return next((self.words[key] for key in keys if key in self.words), "")

    def list_shape(self, keys: frozenset[str]) -> tuple[tuple[str, str], ...]:
        """Return the values of these keys (in lower case), sorted."""
        return tuple(sorted(item for item in self.words.items() if item[0] in keys))


@dataclass(frozen=True, slots=True)
class SlurmConf:
    """A slurm.conf with all that it includes. `settings` are by key in lower case."""

    file: str
    settings: Mapping[str, Setting]
    nodes: tuple[Record, ...]
    partitions: tuple[Record, ...]
    others: tuple[Record, ...]
    faults: tuple[Fault, ...]

    def get(self, key: str) -> str:
        """Return the value of a setting (key in lower case), else ""."""
        setting = self.settings.get(key)
        return setting.value if setting else ""


def read_slurm_conf(path: Path) -> SlurmConf:
    """Parse the file and what it includes; raises GresConfigError where it cannot be read."""
    return parse_slurm_conf(read_lines(path), str(path))


def parse_slurm_conf(lines: Iterable[Line], file: str) -> SlurmConf:
    """Return the lines' records; lines that Slurm cannot read become faults."""
    reader = _Reader()
    for line in lines:
        reader.read(line)
    return SlurmConf(
        file,
        reader.settings,
        tuple(reader.records["NodeName"]),
        tuple(reader.records["PartitionName"]),
        tuple(record for kind in _OTHERS for record in reader.records[kind]),
        tuple(reader.faults),
    )


_OTHERS = ("NodeSet", "DownNodes", "FrontendName")


class _Reader:
    def __init__(self) -> None:
        self.settings: dict[str, Setting] = {}
        self.records: dict[str, list[Record]] = {kind: [] for kind in _RECORD_KINDS.values()}
        self.faults: list[Fault] = []
        self._defaults: dict[str, dict[str, str]] = {kind: {} for kind in self.records}

    def read(self, line: Line) -> None:
        words, rest = split_words(line.text)
        if not words:
            self._add_fault(line, f"this is no key=value: {rest[:60]!r}", f"# {rest}")
            return
        kind = _RECORD_KINDS.get(words[0][0].lower())
        if kind is None:
            self._read_setting(line, words, rest)
            return
        if rest:
            mend = render_words(words)
            self._add_fault(line, f"Slurm stops reading this line at {rest[:60]!r}", mend)
        self._read_record(kind, words, line.source)

    def _read_setting(self, line: Line, words: Words, rest: str) -> None:
        key, value = words[0]
        if key.lower() not in _REPEATED or "slurmctldhost" not in self.settings:
            self.settings[key.lower()] = Setting(key, value, line.source)
        if len(words) > 1:
            mend = "\n".join(render_words((word,)) for word in words)
            reason = f"{words[1][0]}= must stand in a line of its own"
            self._add_fault(line, reason, mend)
        elif rest:
            self._add_fault(
                line,
                f"Slurm stops reading this line at {rest[:60]!r}",
                render_words(((key, f"{value} {rest}"),)),
            )

    def _read_record(self, kind: str, words: Words, source: Source) -> None:
        name = words[0][1]
        own = dict(index_words(words[1:]))
        if name.upper() == "DEFAULT":
            self._defaults[kind].update(own)
            return
        defaults = self._defaults[kind]
        merged = {**defaults, **own} if defaults else own
        self.records[kind].append(Record(kind, name, words, merged, source))

    def _add_fault(self, line: Line, reason: str, mend: str) -> None:
        self.faults.append(Fault(line.source, reason, mend))
