"""MIG profiles of NVIDIA's products and the check that a layout can be created on one GPU."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from gres_config.errors import GresConfigError


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One GPU instance profile: `starts` and `size` are in the product's memory slices."""

    name: str
    starts: tuple[int, ...]
    size: int
    compute_slices: int
    max_instances: int

    @property
    def has_media_engines(self) -> bool:
        """Whether the instance takes the media-extension engines (at most one may)."""
        return self.name.endswith(("+me", "+me.all"))


@dataclass(frozen=True, slots=True)
class MigProduct:
    """A GPU product that can be partitioned, e.g. A100-80GB."""

    key: str
    memory_slices: int
    compute_slices: int
    profiles: Mapping[str, MigProfile]


@cache
def load_mig_products() -> Mapping[str, MigProduct]:
    """Return the products of data/mig_profiles.json by key; the file names each one's sources."""
    text = (resources.files("gres_config") / "data" / "mig_profiles.json").read_text("utf-8")
    return {entry["key"]: _parse_product(entry) for entry in json.loads(text)["products"]}


def _parse_product(entry: Mapping[str, Any]) -> MigProduct:
    profiles = [
        MigProfile(
            name=profile["name"],
            starts=tuple(profile["placement"]["starts"] or ()),
            size=profile["placement"]["size"] or 0,
            compute_slices=profile["compute_slices"] or 0,
            max_instances=profile["max_instances"] or 0,
        )
        for profile in entry["profiles"]
        if profile["placement"]
    ]
    return MigProduct(
        key=entry["key"],
        memory_slices=entry["memory_slice_units"],
        compute_slices=entry["compute_slices_total"],
        profiles={profile.name: profile for profile in profiles},
    )


def get_mig_product(key: str) -> MigProduct:
    """Return the product; GresConfigError names the known ones when `key` is none of them."""
    products = load_mig_products()
    if key not in products:
        raise GresConfigError(f"no MIG product {key!r}; known are {', '.join(sorted(products))}")
    return products[key]


def check_mig_layout(product: MigProduct, layout: Sequence[str]) -> None:
    """Raise GresConfigError unless one GPU can hold these GPU instances at the same time.

    The rule is that of the data file (`legality_rule`): instances per profile, compute slices,
    media engines, and start positions that do not overlap.
    """
    profiles = [_get_profile(product, name) for name in layout]
    for name, count in Counter(layout).items():
        allowed = product.profiles[name].max_instances
        if count > allowed:
            raise GresConfigError(f"{product.key} holds at most {allowed} of {name}, not {count}")
    compute = sum(profile.compute_slices for profile in profiles)
    if compute > product.compute_slices:
        raise GresConfigError(
            f"{product.key} has {product.compute_slices} compute slices; "
            f"{', '.join(layout)} would take {compute}"
        )
    if sum(profile.has_media_engines for profile in profiles) > 1:
        raise GresConfigError(f"only one instance of {product.key} can have the media engines")
    ordered = sorted(profiles, key=lambda profile: (len(profile.starts), -profile.size))
    if not _can_place(ordered, 0, product.memory_slices):
        raise GresConfigError(f"{product.key} has no placement for {', '.join(layout)}")


def _get_profile(product: MigProduct, name: str) -> MigProfile:
    if name not in product.profiles:
        known = ", ".join(sorted(product.profiles))
        raise GresConfigError(f"{product.key} has no MIG profile {name!r}; it has {known}")
    return product.profiles[name]


def _can_place(profiles: Sequence[MigProfile], taken: int, slices: int) -> bool:
    """Whether all profiles find a start beside the slices taken already (a bit mask)."""
    if not profiles:
        return True
    first, rest = profiles[0], profiles[1:]
    for start in first.starts:
        wanted = ((1 << first.size) - 1) << start
        is_open = start + first.size <= slices and not wanted & taken
        if is_open and _can_place(rest, taken | wanted, slices):
            return True
    return False
