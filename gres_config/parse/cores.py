"""Reads the core numbers of a Cores= value."""

import re
from functools import lru_cache

MAX_CORES = 65536
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")


@lru_cache(maxsize=4096)
def expand_cores(text: str) -> frozenset[int] | None:
    """Return the numbers of a Cores= value such as "0-7,16"; None where it is no such list."""
    numbers: set[int] = set()
    for part in text.strip("[]").split(","):
        found = _RANGE.fullmatch(part.strip())
        if found is None:
            return None
        first, last = int(found[1]), int(found[2] or found[1])
        if last < first or last - first >= MAX_CORES:
            return None
        numbers.update(range(first, last + 1))
    return frozenset(numbers)
