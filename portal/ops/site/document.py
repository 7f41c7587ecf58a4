"""Reads YAML in which every scalar stays text and every place keeps its line.

Text, because a price of 1.20 must never become a float on its way, and a code such as 007 or NO
is a word here. The types come from the description's models.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import yaml

from portal.ops.site.problems import Place, Problem, SiteFileError, suggest

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

    def read(self, node: yaml.Node, place: Place) -> Any:
        self.lines.setdefault(place, node.start_mark.line + 1)
        if len(place) > _MAX_DEPTH:
            self._report(node, place, "This is nested too deeply.")
            return None
        if isinstance(node, yaml.MappingNode):
            return self._read_mapping(node, place)
        if isinstance(node, yaml.SequenceNode):
            return [self.read(item, (*place, index)) for index, item in enumerate(node.value)]
        return self._read_scalar(node, place)

    def _read_mapping(self, node: yaml.MappingNode, place: Place) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = key_node.value if isinstance(key_node, yaml.ScalarNode) else None
            if key is None or key == "<<":
                self._report(key_node, place, "A key must be a plain word.")
                continue
            below = (*place, key)
            if key in found:
                first = self.lines[below]
                self._report(key_node, below, f"This key stands twice: first in line {first}.")
                continue
            self.lines[below] = key_node.start_mark.line + 1
            found[key] = self.read(value_node, below)
        return found

    def _read_scalar(self, node: yaml.Node, place: Place) -> str | None:
        text = str(node.value)
        is_plain = getattr(node, "style", None) is None
        if node.tag == _NULL_TAG or (is_plain and text in _NULLS):
            return None
        return _VARIABLE.sub(lambda match: self._get_variable(match[1], node, place), text)

    def _get_variable(self, name: str, node: yaml.Node, place: Place) -> str:
        if name in self.variables:
            return self.variables[name]
        hint = suggest(name, self.variables) or " Give it with --set NAME=VALUE."
        self._report(node, place, f"The variable “{name}” has no value.{hint}")
        return ""

    def _report(self, node: yaml.Node, place: Place, sentence: str) -> None:
        self.problems.append(Problem(node.start_mark.line + 1, place, sentence))


def parse_document(text: str, file_name: str, variables: Mapping[str, str]) -> Document:
    """Return the document; ${NAME} in a value is replaced from `variables`.

    Raises SiteFileError for text that is no YAML, aliases, duplicate keys and unknown variables.
    """
    try:
        if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, yaml.SafeLoader)):
            raise SiteFileError(
                file_name, [Problem(1, (), "Aliases (*name) are not used in a site file.")]
            )
        node = yaml.compose(text, yaml.SafeLoader)
    except yaml.YAMLError as error:
        raise SiteFileError(file_name, [_describe(error)]) from error
    if node is None:
        raise SiteFileError(file_name, [Problem(1, (), "The file is empty.")])
    reader = _Reader(variables)
    data = reader.read(node, ())
    if reader.problems:
        raise SiteFileError(file_name, reader.problems)
    return Document(file_name, data, reader.lines)


def _describe(error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    return Problem(mark.line + 1 if mark else 1, (), f"This is no YAML: {what}.")
