"""Expands and folds Slurm's hostlists: "gpu[01-03,7]" and ("gpu01", "gpu02", "gpu03", "gpu7").

What is accepted here, every release reads the same way; what `scontrol show hostnames` of any of
them refuses is refused: "n[1-2]-ib" is two nodes for 24.11, and an error for 22.05.
So is what Slurm only seems to understand: an open bracket ("n[1-2" is one node "n]"), an open
range ("n[1-]" is n1), a sign, a blank or a brace (src/common/hostlist.c, tried on 22.05).
"""

import re
from collections.abc import Iterable, Iterator
from itertools import product

from gres_config.errors import GresConfigError

MAX_RANGE = 65536  # MAX_RANGE of src/common/hostlist.h: "Too many hosts in range"
MAX_HOSTS = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_TEXT = re.compile(r"[A-Za-z0-9._-]*")
_FILE = re.compile(r"/[A-Za-z0-9._:/+-]*")
_FILE_TEXT = re.compile(r"[A-Za-z0-9._:/+-]*")
_RANGE = re.compile(r"([0-9]{1,18})(?:-([0-9]{1,18}))?")
_NUMBERED = re.compile(r"(.*?)([0-9]{1,18})")
_PIECE = re.compile(r"([^\[\],]*)\[([^\[\]]*)\]")


def expand_hostlist(text: str) -> tuple[str, ...]:
    """Return the names in Slurm's order, repeated ones as often as they stand there.

    With three and more bracketed parts the names are Slurm's, in the order of a counter, which is
    not Slurm's order. Raises GresConfigError for text that Slurm refuses or misreads.
    """
    return _expand(text, _NAME, _TEXT)


def expand_files(text: str) -> tuple[str, ...]:
    """Return the absolute paths of a File= value: "/dev/nvidia[0-3]" (gres.conf(5)).

    Raises GresConfigError where expand_hostlist would, and for a path that is not absolute.
    """
    return _expand(text, _FILE, _FILE_TEXT)


def _expand(text: str, whole: re.Pattern[str], piece: re.Pattern[str]) -> tuple[str, ...]:
    names: list[str] = []
    for part in _split(text):
        names.extend(_expand_part(part, text, MAX_HOSTS - len(names), whole, piece))
    if not names:
        raise GresConfigError("a hostlist without any name")
    return tuple(names)


def fold_files(paths: Iterable[str]) -> str:
    """Return the shortest File= value whose expansion is exactly these paths in this order."""
    return _fold(paths, _FILE)


def fold_hostlist(names: Iterable[str]) -> str:
    """Return the shortest hostlist whose expansion is exactly these names in this order.

    Raises GresConfigError for a name that no hostlist can hold.
    """
    return _fold(names, _NAME)


def _fold(names: Iterable[str], whole: re.Pattern[str]) -> str:
    words: list[str] = []
    prefix, ranges = "", list[tuple[str, str]]()
    for name in names:
        if not whole.fullmatch(name):
            raise GresConfigError(f"{name!r} cannot stand in a hostlist")
        match = _NUMBERED.fullmatch(name)
        if match is None:
            words += [*_render_ranges(prefix, ranges), name]
            ranges = []
            continue
        if ranges and match[1] != prefix:
            words += _render_ranges(prefix, ranges)
            ranges = []
        prefix = match[1]
        _add_number(ranges, match[2])
    return ",".join([*words, *_render_ranges(prefix, ranges)])


def _add_number(ranges: list[tuple[str, str]], number: str) -> None:
    if ranges:
        first, last = ranges[-1]
        follows = str(int(last) + 1).zfill(len(first)) == number
        if follows and int(number) - int(first) < MAX_RANGE:
            ranges[-1] = (first, number)
            return
    ranges.append((number, number))


def _render_ranges(prefix: str, ranges: list[tuple[str, str]]) -> list[str]:
    if not ranges:
        return []
    if len(ranges) == 1 and ranges[0][0] == ranges[0][1]:
        return [prefix + ranges[0][0]]
    body = ",".join(first if first == last else f"{first}-{last}" for first, last in ranges)
    return [f"{prefix}[{body}]"]


def _split(text: str) -> Iterator[str]:
    """Yield the parts between the commas that stand outside of brackets; empty ones are left out.

    Slurm, too, reads "a,,b" as a and b.
    """
    part, depth = "", 0
    for sign in text:
        depth += {"[": 1, "]": -1}.get(sign, 0)
        if depth not in (0, 1):
            raise GresConfigError(f"the hostlist {text[:80]!r} has a bracket without its partner")
        if sign == "," and not depth:
            if part:
                yield part
            part = ""
        else:
            part += sign
    if depth:
        raise GresConfigError(f"the hostlist {text[:80]!r} has a bracket without its partner")
    if part:
        yield part


def _expand_part(
    part: str, text: str, most: int, whole: re.Pattern[str], piece: re.Pattern[str]
) -> Iterable[str]:
    pieces: list[tuple[str, ...]] = []
    end = total = 0
    for match in _PIECE.finditer(part):
        if not (piece if pieces else whole).fullmatch(match[1] or "0"):
            raise GresConfigError(f"{match[1]!r} in the hostlist {text[:80]!r} is no name")
        numbers = _expand_ranges(match[2], text)
        total = (total or 1) * len(numbers)
        if total > most:
            raise GresConfigError(f"the hostlist {text[:80]!r} names more than {MAX_HOSTS} hosts")
        pieces.append(tuple(match[1] + number for number in numbers))
        end = match.end()
    if not pieces:
        if not whole.fullmatch(part):
            raise GresConfigError(f"{part!r} in the hostlist {text[:80]!r} is no name")
        return (part,)
    if part[end:]:
        raise GresConfigError(
            f"the hostlist {text[:80]!r} has {part[end:]!r} after a bracket, which not every Slurm "
            "reads (22.05 refuses it): write the names out"
        )
    return ("".join(words) for words in product(*pieces))


def _expand_ranges(body: str, text: str) -> list[str]:
    numbers: list[str] = []
    for item in body.split(","):
        match = _RANGE.fullmatch(item)
        if match is None:
            raise GresConfigError(f"the hostlist {text[:80]!r} has no range in {item!r}")
        first, last = int(match[1]), int(match[2] or match[1])
        if last < first:
            raise GresConfigError(f"the hostlist {text[:80]!r} counts backwards in {item!r}")
        if last - first >= MAX_RANGE:
            raise GresConfigError(f"the hostlist {text[:80]!r} has too many hosts in {item!r}")
        width = len(match[1])
        numbers.extend(f"{number:0{width}d}" for number in range(first, last + 1))
    return numbers
