"""A demand: how many MIG instances are wanted at once, by profile or by what they must offer."""

from collections import Counter
from collections.abc import Iterator, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from gres_config.document import Document, parse_document, read_text
from gres_config.errors import DocumentError, GresConfigError
from gres_config.mig.profiles import MigProduct, MigProfile
from gres_config.problems import Place, Problem, suggest

MOST_WANTED = 100_000
_KEYS = ("profile", "memory_gib", "compute_slices", "count")


def load_demand(product: MigProduct, path: Path) -> dict[str, int]:
    """Return the wanted instances by profile; DocumentError names file and line of each mistake."""
    return parse_demand(product, parse_document(read_text(path), str(path)))


def parse_demand(product: MigProduct, document: Document) -> dict[str, int]:
    """Return the wanted instances by profile, in the product's order.

    The document is a mapping of profiles to counts, or a list of entries with `count` and either
    `profile` or the least `memory_gib` and `compute_slices` of an instance; the latter become the
    smallest profile that has them.
    """
    wanted: Counter[str] = Counter()
    problems = []
    for place, entry in _list_entries(document):
        try:
            name, count = _read_entry(product, entry)
            wanted[name] += count
        except GresConfigError as error:
            problems.append(Problem(document.find_line(place), place, error.reason))
    if not problems and not wanted:
        problems.append(Problem(1, (), "The demand is empty."))
    if problems:
        raise DocumentError(document.file_name, problems)
    return {name: wanted[name] for name in product.profiles if wanted[name]}


def _list_entries(document: Document) -> Iterator[tuple[Place, Any]]:
    data = document.data
    if isinstance(data, dict):
        for name, count in data.items():
            yield (name,), {"profile": name, "count": count}
    elif isinstance(data, list):
        yield from (((index,), entry) for index, entry in enumerate(data))
    else:
        yield (), data


def _read_entry(product: MigProduct, entry: Any) -> tuple[str, int]:
    if not isinstance(entry, Mapping):
        raise GresConfigError("Write a profile with its count, “3g.40gb: 2”, or a list of entries.")
    for key in entry:
        if key not in _KEYS:
            raise GresConfigError(f"There is no key {key!r}.{suggest(key, _KEYS)}")
    count = _read_count(entry.get("count"))
    if "profile" not in entry:
        memory = _read_number(entry.get("memory_gib", "0"))
        compute = _read_number(entry.get("compute_slices", "1"))
        return choose_profile(product, memory, compute).name, count
    if "memory_gib" in entry or "compute_slices" in entry:
        raise GresConfigError("A profile excludes memory_gib and compute_slices.")
    return product.get_profile(str(entry["profile"])).name, count


def _read_count(value: Any) -> int:
    is_number = isinstance(value, str) and value.isascii() and value.isdigit()
    if not is_number or not 0 < len(value) <= 6 or not 0 < int(value) <= MOST_WANTED:
        raise GresConfigError(f"A count from 1 to {MOST_WANTED} is wanted here.")
    return int(value)


def _read_number(value: Any) -> Decimal:
    try:
        number = Decimal(value if isinstance(value, str) else "")
    except InvalidOperation:
        raise GresConfigError(f"{value!r} is no number.") from None
    if not number.is_finite() or number < 0:
        raise GresConfigError(f"{value!r} makes no sense as a size.")
    return number


def choose_profile(product: MigProduct, memory_gib: Decimal, compute: Decimal) -> MigProfile:
    """Return the smallest plain profile with at least this memory and compute.

    The memory is what nvidia-smi reports; where no source says it, the profile's share of the
    product's memory, which is a little more than what a job can use.
    """
    fitting = [
        profile
        for profile in product.profiles.values()
        if profile.is_plain
        and profile.compute_slices >= compute
        and _get_memory_gib(product, profile) >= memory_gib
    ]
    if not fitting:
        raise GresConfigError(
            f"No instance of {product.key} has {memory_gib} GiB and {compute} compute slices."
        )
    return min(fitting, key=lambda profile: (profile.size, profile.compute_slices))


def _get_memory_gib(product: MigProduct, profile: MigProfile) -> Decimal:
    if profile.memory_gib:
        return Decimal(profile.memory_gib)
    gib = Decimal(product.memory_gb) * 10**9 / 2**30
    return gib * profile.size / product.memory_slices
