"""Counts with a suffix, and the entries of a node's Gres=, read as Slurm reads them."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

_SUFFIX = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}
NO_CONSUME = "no_consume"
_COUNT = re.compile(r"(\d{1,18})([kmgtp]?)(i?b)?", re.IGNORECASE)


def parse_count(text: str) -> int | None:
    """Return the number of "8", "2K" (2048) or "80GB" (80 * 1000^3); None for any other text.

    The suffixes are those of suffix_mult() in src/common/slurm_protocol_api.c: k and KiB are
    1024, KB is 1000.
    """
    match = _COUNT.fullmatch(text)
    if match is None:
        return None
    power = _SUFFIX[match[2].lower()]
    if match[3] and not power:
        return None
    base = 1000 if match[3] and match[3].lower() == "b" else 1024
    return int(match[1]) * int(base**power)


@dataclass(frozen=True, slots=True)
class GresEntry:
    """One entry of Gres=, as src/interfaces/gres.c (_get_gres_cnt) takes it.

    `count` is 0 and `is_misread` is set for an entry that Slurm drops with "Bad GRES
    configuration", and everything after it. `has_count` is False where Slurm assumes 1.
    """

    text: str
    name: str
    type: str
    count: int
    has_count: bool = True
    is_misread: bool = False


@lru_cache(maxsize=4096)
def parse_gres(text: str) -> tuple[GresEntry, ...]:
    """Return the entries of a Gres= value, e.g. "gpu:a100:4,shard:8"."""
    return tuple(_parse_entries(text))


def _parse_entries(text: str) -> Iterator[GresEntry]:
    for word in filter(None, text.split(",")):
        body = word.partition("(")[0]
        name, *parts = body.split(":")
        parts = [part for part in parts if part.lower() != NO_CONSUME]
        if not parts:
            yield GresEntry(word, name, "", 1, has_count=False)
            continue
        count = parse_count(parts[-1])
        if count is not None:
            yield GresEntry(word, name, ":".join(parts[:-1]), count)
        elif parts[-1][:1].isdigit():
            yield GresEntry(word, name, ":".join(parts), 0, has_count=False, is_misread=True)
        else:
            yield GresEntry(word, name, ":".join(parts), 1, has_count=False)
