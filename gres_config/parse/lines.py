"""Reads a configuration file of Slurm into logical lines: includes, continuations, comments.

The rules are those of src/common/parse_config.c: "#" begins a comment unless a backslash stands
before it, an odd number of backslashes at the end joins the next line, Include stands at the very
beginning of a line, is looked up beside the file that names it, and knows %c.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from gres_config.errors import GresConfigError

MAX_BYTES = 32 * 1024 * 1024
MAX_DEPTH = 20
MAX_FILES = 1000
_INCLUDE = re.compile(r"include\s+(\S+)(.*)", re.IGNORECASE | re.DOTALL)
_CLUSTER = re.compile(r"\s*clustername\s*=\s*\"?([^\s\"]+)", re.IGNORECASE)
_TAIL = re.compile(r"(\\+)\s*$")


class Source(NamedTuple):
    """Where a line stands: its file as it was named, and its number from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


class Line(NamedTuple):
    """A logical line without its comment; `source` is where it begins."""

    source: Source
    text: str


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines of the file and of what it includes; empty ones are left out.

    Raises GresConfigError, with file and line, for a file that is missing, too large, no plain
    file or not UTF-8, and for an Include of a file that is being read already.
    """
    return _Reader().read(path, Source(str(path), 1), ())


class _Reader:
    def __init__(self) -> None:
        self._cluster_name = ""
        self._file_count = 0

    def read(self, path: Path, asked_by: Source, chain: tuple[Path, ...]) -> Iterator[Line]:
        self._file_count += 1
        if self._file_count > MAX_FILES:
            _refuse(asked_by, f"more than {MAX_FILES} files are included")
        for line in split_lines(_read_text(path, asked_by), str(path)):
            text = line.text
            if text[:1] in "cC" or text[:1].isspace():
                self._note_cluster(text)
            match = _INCLUDE.fullmatch(text) if text[:1] in "iI" else None
            if match is None:
                yield line
                continue
            yield from self._include(match[1], path, line.source, (*chain, path.resolve()))
            if match[2].strip():
                yield Line(line.source, match[2])

    def _note_cluster(self, text: str) -> None:
        match = _CLUSTER.match(text)
        if match:
            self._cluster_name = match[1].lower()

    def _include(
        self, name: str, path: Path, source: Source, chain: tuple[Path, ...]
    ) -> Iterator[Line]:
        if "%c" in name and not self._cluster_name:
            _refuse(source, f"Include {name} needs a ClusterName in a line before it")
        target = path.parent / name.replace("%c", self._cluster_name)
        if target.resolve() in chain:
            _refuse(source, f"Include {name} goes round in a circle, which fills Slurm's memory")
        if len(chain) > MAX_DEPTH:
            _refuse(source, f"Include {name} is nested more than {MAX_DEPTH} deep")
        return self.read(target, source, chain)


def split_lines(text: str, file: str) -> Iterator[Line]:
    """Yield the logical lines of a text; empty ones are left out."""
    parts: list[str] = []
    first = 0
    for number, raw in enumerate(text.split("\n"), start=1):
        if "\\" not in raw and not parts:
            line = raw.partition("#")[0]
            if line and not line.isspace():
                yield Line(Source(file, number), line)
            continue
        piece = _strip_comment(raw)
        first = first or number
        tail = _TAIL.search(piece)
        if tail and len(tail[1]) % 2:
            parts.append(piece[: tail.end(1) - 1])
            continue
        line = _strip_escapes("".join([*parts, piece]))
        if line.strip():
            yield Line(Source(file, first), line)
        parts, first = [], 0
    rest = _strip_escapes("".join(parts))
    if rest.strip():
        yield Line(Source(file, first), rest)


def _strip_comment(raw: str) -> str:
    backslashes = 0
    for index, sign in enumerate(raw):
        if sign == "#" and backslashes % 2 == 0:
            return raw[:index]
        backslashes = backslashes + 1 if sign == "\\" else 0
    return raw


def _strip_escapes(text: str) -> str:
    return re.sub(r"\\(.?)", r"\1", text, flags=re.DOTALL)


def _read_text(path: Path, asked_by: Source) -> str:
    name = "this file" if str(path) == asked_by.file else str(path)
    try:
        if path.exists() and not path.is_file():
            _refuse(asked_by, f"{name} is no plain file")
        size = path.stat().st_size
        if size > MAX_BYTES:
            _refuse(asked_by, f"{name} has {size} bytes; at most {MAX_BYTES} are read")
        data = path.read_bytes()
    except OSError as error:
        _refuse(asked_by, f"cannot read {name}: {error.strerror}")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise GresConfigError(
            f"this line is not UTF-8: byte {data[error.start]:#04x}",
            file_name=str(path),
            line=line,
        ) from error


def _refuse(source: Source, reason: str) -> None:
    raise GresConfigError(reason, file_name=source.file, line=source.line)
