"""Reads YAML in which every scalar stays text and every place keeps its line.

Text, because a price of 1.20 must never become a float on its way, and a code such as 007 or NO
is a word here. The types come from the models of what the file describes.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from gres_config.errors import DocumentError
from gres_config.problems import Place, Problem, suggest

MAX_BYTES = 20_000_000
# libyaml's reader is ten times as fast as the one in Python; both name the same lines.
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_NULL_TAG = "tag:yaml.org,2002:null"
_MAX_DEPTH = 20


@dataclass(frozen=True, slots=True)
class Document:
    """The file's data (dict, list, str and None alone) and the line of each place in it."""

    file_name: str
    data: Any
    lines: Mapping[Place, int]

    def find_line(self, place: Place) -> int:
        """Return the line of the place, or of the nearest place around it that exists."""
        for length in range(len(place), -1, -1):
            line = self.lines.get(place[:length])
            if line is not None:
                return line
        return 1


@dataclass(slots=True)
class _Reader:
    variables: Mapping[str, str]
    lines: dict[Place, int] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)

    def read(self, node: yaml.Node, place: Place) -> Any:
        line = self.lines.setdefault(place, node.start_mark.line + 1)
        if len(place) > _MAX_DEPTH:
            self._report(line, place, "This is nested too deeply.")
            return None
        if id(node) in self.seen:
            self._report(line, place, "Aliases (*name) are not used here.")
            return None
        self.seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*place, index)) for index, item in enumerate(node.value)]
        return self._read_scalar(node, place)

    def _read_mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None or key == "<<":
                self._report(line, place, "A key must be a plain word.")
                continue
            below = (*place, key)
            if key in found:
                first = self.lines[below]
                self._report(line, below, f"This key stands twice: first in line {first}.")
                continue
            self.lines[below] = line
            found[key] = self.read(value_node, below)
        return found

    def _read_scalar(self, node: yaml.Node, place: Place) -> str | None:
        text = str(node.value)
        is_plain = not getattr(node, "style", None)
        if node.tag == _NULL_TAG or (is_plain and text in _NULLS):
            return None
        if "${" not in text:
            return text
        line = node.start_mark.line + 1
        return _VARIABLE.sub(lambda match: self._get_variable(match[1], line, place), text)

    def _get_variable(self, name: str, line: int, place: Place) -> str:
        if name in self.variables:
            return self.variables[name]
        hint = suggest(name, self.variables) or " Give it with --set NAME=VALUE."
        self._report(line, place, f"The variable “{name}” has no value.{hint}")
        return ""

    def _report(self, line: int, place: Place, sentence: str) -> None:
        self.problems.append(Problem(line, place, sentence))


def read_text(path: Path, max_bytes: int = MAX_BYTES) -> str:
    """Return a file's text; DocumentError where it is too large, absent or not UTF-8.

    A file that is too large is not read at all.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1) if _has_size(path, max_bytes) else None
    except OSError as error:
        sentence = f"The file cannot be read: {error.strerror}."
        raise DocumentError(str(path), [Problem(1, (), sentence)]) from error
    if raw is None or len(raw) > max_bytes:
        sentence = f"The file is larger than {max_bytes // 1_000_000} MB."
        raise DocumentError(str(path), [Problem(1, (), sentence)])
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise DocumentError(str(path), [Problem(line, (), "This is not UTF-8.")]) from error


def _has_size(path: Path, max_bytes: int) -> bool:
    return path.stat().st_size <= max_bytes


def parse_document(
    text: str, file_name: str, variables: Mapping[str, str] | None = None
) -> Document:
    """Return the document; ${NAME} in a value is replaced from `variables`.

    Raises DocumentError for text that is no YAML, aliases, duplicate keys and unknown variables.
    """
    try:
        node = yaml.compose(text, _LOADER)
    except yaml.YAMLError as error:
        raise DocumentError(file_name, [_describe(error)]) from error
    except RecursionError as error:
        sentence = "This is nested too deeply."
        raise DocumentError(file_name, [Problem(1, (), sentence)]) from error
    if node is None:
        raise DocumentError(file_name, [Problem(1, (), "The file is empty.")])
    reader = _Reader(variables or {})
    data = reader.read(node, ())
    if reader.problems:
        raise DocumentError(file_name, reader.problems)
    return Document(file_name, data, reader.lines)


def _describe(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Problem(mark.line + 1 if mark else 1, (), f"This is no YAML: {what}.")
