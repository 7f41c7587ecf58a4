"""An independent reading of the placement rule: every legal set of instances, by enumeration.

It shares nothing with gres_config.mig: it reads the data file itself, walks over the memory slices
from left to right and at each one either puts an instance there or leaves it free.
"""

import json
from collections import Counter
from collections.abc import Iterator
from functools import cache
from importlib import resources
from typing import Any

DATA = json.loads((resources.files("gres_config") / "data" / "mig_profiles.json").read_text())
PRODUCTS: dict[str, dict[str, Any]] = {entry["key"]: entry for entry in DATA["products"]}
Instances = frozenset[tuple[str, int]]


@cache
def list_legal_sets(key: str) -> frozenset[Instances]:
    """Return every set of instances (profile, count) that one GPU can hold."""
    return frozenset(frozenset(Counter(names).items()) for names in _walk(PRODUCTS[key], 0, ()))


def is_legal(key: str, layout: tuple[str, ...]) -> bool:
    return frozenset(Counter(layout).items()) in list_legal_sets(key)


def _walk(product: dict[str, Any], position: int, names: tuple[str, ...]) -> Iterator[Any]:
    if not _is_within_counts(product, names):
        return
    if position >= product["memory_slice_units"]:
        yield names
        return
    yield from _walk(product, position + 1, names)
    for profile in product["profiles"]:
        end = position + profile["placement"]["size"]
        if position in profile["placement"]["starts"] and end <= product["memory_slice_units"]:
            yield from _walk(product, end, (*names, profile["name"]))


def _is_within_counts(product: dict[str, Any], names: tuple[str, ...]) -> bool:
    by_name = {profile["name"]: profile for profile in product["profiles"]}
    compute = sum(by_name[name]["compute_slices"] for name in names)
    media = [name for name in names if name.endswith("+me") or name.endswith("+me.all")]
    return (
        compute <= product["compute_slices_total"]
        and len(media) <= 1
        and all(by_name[n]["max_instances"] >= c for n, c in Counter(names).items())
    )
