"""Splits a logical line into its key=value words, by the pattern of src/common/parse_config.c."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from gres_config.parse.lines import Source

Words = tuple[tuple[str, str], ...]
_WORD = re.compile(r"\s*([A-Za-z0-9_.]+)\s*[-*+/]?=\s*(?:\"([^\"]*)\"(?=\s|$)|(\S+))", re.ASCII)
_PLAIN = re.compile(r"[^\s\"#\\]+")


@dataclass(frozen=True, slots=True)
class Fault:
    """A line that Slurm cannot read: the daemons end with "Unable to process configuration file".

    `mend` is the line that replaces it.
    """

    source: Source
    reason: str
    mend: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A key of its own line, e.g. SelectType=select/cons_tres."""

    key: str
    value: str
    source: Source


def split_words(text: str, start: int = 0) -> tuple[Words, str]:
    """Return the words from `start` on, and what is left over where no further word begins."""
    words: list[tuple[str, str]] = []
    position = start
    while match := _WORD.match(text, position):
        quoted = match[2]
        words.append((match[1], match[3] if quoted is None else quoted))
        position = match.end()
    return tuple(words), text[position:].strip()


def find_word(words: Words, *keys: str) -> str | None:
    """Return the value of the first of the keys (in lower case) that stands there.

    The last one counts where a key stands twice, as in Slurm.
    """
    for key in keys:
        for name, value in reversed(words):
            if name.lower() == key:
                return value
    return None


def index_words(words: Words) -> Mapping[str, str]:
    """Return the values by key in lower case."""
    return {key.lower(): value for key, value in words}


def render_words(words: Words) -> str:
    """Return the words as a line; split_words reads them back."""
    return " ".join(f"{key}={_quote(value)}" for key, value in words)


def replace_words(words: Words, changes: Mapping[str, str | None]) -> Words:
    """Return the words with some replaced, taken out (None) or added at the end."""
    wanted = {key.lower(): (key, value) for key, value in changes.items()}
    kept: list[tuple[str, str]] = []
    for key, value in words:
        if key.lower() not in wanted:
            kept.append((key, value))
            continue
        new = wanted.pop(key.lower(), None)
        if new and new[1] is not None:
            kept.append((key, new[1]))
    kept += [(key, value) for key, value in wanted.values() if value is not None]
    return tuple(kept)


def _quote(value: str) -> str:
    return value if _PLAIN.fullmatch(value) else f'"{value.replace("#", chr(92) + "#")}"'
