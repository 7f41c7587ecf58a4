"""Reads Slurm's TRES lists ("cpu=8,gres/gpu:a100=2,gres/gpu=2,mem=64G") and says what to bill."""

import re
from collections.abc import Mapping

from accounting.errors import TresError

__all__ = ["TresError", "gpu_units", "parse_tres"]

BILLED_FAMILIES = ("gres/gpu", "gres/shard", "gres/mps")
MAX_UNITS = 10**9  # of one GRES in one job; more is damage, and would not fit a 64-bit product

_UINT64 = 2**64
_UNSET = frozenset({str(_UINT64 - 2), str(_UINT64 - 1), "NONE"})  # NO_VAL64, INFINITE64, as printed
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*(/[^=,/\s]+)?")
_COUNT = re.compile(r"[0-9]{1,20}")
_SIZE = re.compile(r"([0-9]{1,20})(?:\.([0-9]{1,6}))?([KMGTP])")
_KIB = {"K": 1, "M": 1024, "G": 1024**2, "T": 1024**3, "P": 1024**4}


def parse_tres(text: str) -> dict[str, int]:
    """Return the counts of a TRES list by name, as sacct prints them; "" gives {}.

    Memory ("mem", "vmem", "bb/...", "fs/...") may carry a suffix K, M, G, T or P and is then in
    MiB: "mem=16G" is 16384, "mem=1.50T" 1572864; a number without a suffix is Slurm's base unit,
    which for mem is MiB. Energy that Slurm marks as unset (2**64-2, 2**64-1, NONE) is left out, for
    unknown is not zero. TresError for anything else that cannot be read exactly: a name twice, a
    suffix on a count ("16?", "2K"), a size that is not whole MiB (sacct then lacked --noconvert).
    """
    counts: dict[str, int] = {}
    if not text:
        return counts
    seen: set[str] = set()
    for part in text.split(","):
        name, equals, value = part.partition("=")
        if not equals or not _NAME.fullmatch(name):
            raise TresError(f"not a TRES: {part!r} in {text!r}")
        if name in seen:
            raise TresError(f"{name} stands twice in {text!r}")
        seen.add(name)
        if name == "energy" and value in _UNSET:
            continue
        counts[name] = _parse_count(name, value)
    return counts


def _parse_count(name: str, value: str) -> int:
    if _COUNT.fullmatch(value):
        count = int(value)
        if count >= _UINT64 - 2:
            raise TresError(f"{name}={value} is no count")
        return count
    size = _SIZE.fullmatch(value)
    if size is None or not (name in ("mem", "vmem") or name.startswith(("bb/", "fs/"))):
        raise TresError(f"{name}={value} is no count")
    whole, decimals, suffix = size.groups(default="")
    scaled = int(whole + decimals) * _KIB[suffix]
    one_mib: int = 1024 * 10 ** len(decimals)
    mib, rest = divmod(scaled, one_mib)
    if rest:
        raise TresError(f"{name}={value} is not whole MiB: sacct needs --noconvert")
    return mib


def gpu_units(tres: Mapping[str, int]) -> dict[str, int]:
    """Return TRES name -> units to bill, sorted by name; nothing is counted twice.

    The untyped count is the total and typed counts are a breakdown of it that may cover only a part
    (Slurm's tres.html; AccountingStorageTRES decides which are kept). So every typed entry is
    billed by its name, and what the total has beyond their sum by the untyped name:
    gres/gpu:a100=1,gres/gpu=3 gives {"gres/gpu": 2, "gres/gpu:a100": 1}. Without a total the typed
    entries are all there is. gres/shard and gres/mps follow the same rule and stand for themselves:
    what a shard is worth is a matter of its price. Zero counts are left out. TresError if the typed
    sum is above the total or a count is absurd.
    """
    units: dict[str, int] = {}
    for family in BILLED_FAMILIES:
        typed = {name: n for name, n in tres.items() if name.startswith(family + ":")}
        total = tres.get(family)
        rest = 0 if total is None else total - sum(typed.values())
        if rest < 0:
            raise TresError(
                f"the types of {family} sum to {sum(typed.values())}, above its {total}"
            )
        units |= typed | {family: rest}
    for name, count in units.items():
        if not 0 <= count <= MAX_UNITS:
            raise TresError(f"{name}={count} is no number of units")
    return {name: units[name] for name in sorted(units) if units[name]}
