"""gres.conf as records: one for each line with a GRES, and the values of AutoDetect.

A line begins with AutoDetect, Name or NodeName; NodeName may be followed by the others
(gres.conf(5), _parse_gres_config in src/interfaces/gres.c).
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from gres_config.errors import GresConfigError
from gres_config.hostlist import expand_files
from gres_config.parse.lines import Line, Source, read_lines
from gres_config.parse.words import Fault, Setting, Words, index_words, render_words, split_words

GRES_KEYS = {
    "autodetect": "AutoDetect",
    "count": "Count",
    "cpus": "CPUs",
    "cores": "Cores",
    "file": "File",
    "files": "Files",
    "flags": "Flags",
    "link": "Link",
    "links": "Links",
    "multiplefiles": "MultipleFiles",
    "name": "Name",
    "type": "Type",
}
_FIRST = frozenset({"autodetect", "name", "nodename"})


@dataclass(frozen=True, slots=True)
class GresBody:
    """What a line says of a GRES, without the nodes that it is for. "" is: not said."""

    name: str
    type: str
    count: str
    file: str
    multiple_files: str
    files: tuple[str, ...]
    cores: str
    uses_cpus_key: bool
    links: str
    flags: tuple[str, ...]
    autodetect: str

    @property
    def has_file(self) -> bool:
        """Whether File or MultipleFiles is said."""
        return bool(self.file or self.multiple_files)


class GresLine(NamedTuple):
    """A line of gres.conf; `hosts` is None where it is for every node that reads the file."""

    hosts: str | None
    body: GresBody
    words: Words
    source: Source


@dataclass(frozen=True, slots=True)
class GresConf:
    """A gres.conf with all that it includes; `autodetect` is the one for all nodes."""

    file: str
    autodetect: Setting | None
    lines: tuple[GresLine, ...]
    faults: tuple[Fault, ...]


def read_gres_conf(path: Path) -> GresConf:
    """Parse the file and what it includes; raises GresConfigError where it cannot be read."""
    return parse_gres_conf(read_lines(path), str(path))


def parse_gres_conf(lines: Iterable[Line], file: str) -> GresConf:
    """Return the lines' records; lines that Slurm cannot read become faults."""
    reader = _Reader()
    for line in lines:
        reader.read(line)
    return GresConf(file, reader.autodetect, tuple(reader.lines), tuple(reader.faults))


class _Reader:
    def __init__(self) -> None:
        self.autodetect: Setting | None = None
        self.lines: list[GresLine] = []
        self.faults: list[Fault] = []
        self._bodies: dict[str, tuple[GresBody, Words, str]] = {}

    def read(self, line: Line) -> None:
        text = line.text
        if text.startswith("NodeName=") and '"' not in text:
            # Short cut: most lines differ from others in their nodes alone.
            first, _, rest = text.partition(" ")
            known = self._bodies.get(rest)
            if known and not known[2]:
                hosts = first[9:]
                words = (("NodeName", hosts), *known[1])
                self.lines.append(GresLine(hosts, known[0], words, line.source))
            else:
                self._add(line, first[9:], (("NodeName", first[9:]),), rest)
            return
        text = text.strip()
        words, rest = split_words(text)
        if not words or words[0][0].lower() not in _FIRST:
            self._refuse_line(line, words, rest)
        elif words[0][0].lower() == "autodetect":
            self._read_autodetect(line, words, rest)
        elif words[0][0].lower() == "nodename":
            self._add(line, words[0][1], words[:1], text[_find_end(text, words) :])
        else:
            self._add(line, None, (), text)

    def _add(self, line: Line, hosts: str | None, head: Words, text: str) -> None:
        known = self._bodies.get(text)
        if known is None:
            known = self._bodies[text] = self._parse_body(text)
        body, words, leftover = known
        if leftover:
            self._fault(
                line, f"Slurm stops reading this line at {leftover[:60]!r}", (*head, *words)
            )
        self.lines.append(GresLine(hosts, body, (*head, *words), line.source))

    def _parse_body(self, text: str) -> tuple[GresBody, Words, str]:
        words, leftover = split_words(text)
        for index, (key, value) in enumerate(words):
            if key.lower() not in GRES_KEYS:
                leftover = f"{key}={value}"
                words = (*words[:index], *(w for w in words[index:] if w[0].lower() in GRES_KEYS))
                break
        try:
            return _make_body(words), words, leftover
        except GresConfigError as error:
            files = {"file", "files", "multiplefiles"}
            words = tuple(word for word in words if word[0].lower() not in files)
            return _make_body(words), words, f"File= ({error.reason})"

    def _read_autodetect(self, line: Line, words: Words, rest: str) -> None:
        if self.autodetect is None or len(words) == 1:
            self.autodetect = Setting(words[0][0], words[0][1], line.source)
        if len(words) > 1 or rest:
            mend = f"{render_words(words[:1])}\n{render_words(words[1:])}".strip()
            self.faults.append(
                Fault(line.source, "AutoDetect= without NodeName= stands alone in its line", mend)
            )

    def _refuse_line(self, line: Line, words: Words, rest: str) -> None:
        if not words:
            self._fault(line, f"this is no key=value: {rest[:60]!r}", ())
            return
        order = {"nodename": 0, "name": 1}
        known = [word for word in words if word[0].lower() in GRES_KEYS or word[0] in order]
        known.sort(key=lambda word: order.get(word[0].lower(), 2))
        reason = f"a line begins with NodeName, Name or AutoDetect, not with {words[0][0]}"
        self._fault(line, reason, tuple(known) if known and known[0][0].lower() in order else ())

    def _fault(self, line: Line, reason: str, words: Words) -> None:
        mend = render_words(words) if words else f"# {line.text.strip()}"
        self.faults.append(Fault(line.source, reason, mend))


def _find_end(text: str, words: Words) -> int:
    """Return where the first word of the text ends."""
    rest, start = words[1:], len(text)
    if not rest:
        return start
    for index in range(len(text)):
        if text[index].isspace() and split_words(text, index)[0] == rest:
            return index
    return start


def _make_body(words: Words) -> GresBody:
    values = index_words(words)
    file = values.get("file") or values.get("files", "")
    multiple = values.get("multiplefiles", "")
    files = expand_files(multiple or file) if multiple or file else ()
    cores = values.get("cores", "")
    return GresBody(
        name=values.get("name", ""),
        type=values.get("type", ""),
        count=values.get("count", ""),
        file=file,
        multiple_files=multiple,
        files=files,
        cores=cores or values.get("cpus", ""),
        uses_cpus_key=not cores and "cpus" in values,
        links=values.get("links") or values.get("link", ""),
        flags=tuple(filter(None, values.get("flags", "").split(","))),
        autodetect=values.get("autodetect", ""),
    )
