"""MIG profiles of NVIDIA's products, read from data/mig_profiles.json, and how people name them."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from gres_config.errors import GresConfigError
from gres_config.problems import suggest

_COUNTED = re.compile(r"(?P<name>[^\s*]+?)(?:\*(?P<count>\d{1,4}))?")
_KIND = re.compile(r"(\d+)g\.")
MOST_INSTANCES = 64


@dataclass(frozen=True, slots=True)
class MigProfile:
    """One GPU instance profile: `starts` and `size` are in the product's memory slices.

    `memory_gib` is what nvidia-smi reports (Decimal text, "" where no source says), `confidence`
    how well the placement is known: measured, vendor_doc, vendor_config, inferred ...
    """

    name: str
    starts: tuple[int, ...]
    size: int
    compute_slices: int
    max_instances: int
    smi_profile_id: int | None = None
    memory_gib: str = ""
    sm_count: int | None = None
    confidence: str = "unknown"

    @property
    def has_media_engines(self) -> bool:
        """Whether the instance takes the media-extension engines (at most one may)."""
        return self.name.endswith(("+me", "+me.all"))

    @property
    def is_plain(self) -> bool:
        """Whether it is a compute profile without a suffix (+me, +gfx, -me)."""
        return "+" not in self.name and "-" not in self.name


@dataclass(frozen=True, slots=True)
class MigProduct:
    """A GPU product that can be partitioned, e.g. A100-80GB. `nvml_names` is what NVML calls it."""

    key: str
    memory_slices: int
    compute_slices: int
    profiles: Mapping[str, MigProfile]
    memory_gb: int = 0
    nvml_names: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def get_profile(self, name: str) -> MigProfile:
        """Return the profile; GresConfigError names the product's own when there is none."""
        if name in self.profiles:
            return self.profiles[name]
        known = ", ".join(self.profiles)
        hint = _suggest_profile(self, name)
        raise GresConfigError(f"{self.key} has no MIG profile {name!r}; it has {known}.{hint}")


def _suggest_profile(product: MigProduct, name: str) -> str:
    """Point to the product's own profile of the same kind: its memory differs by product."""
    kind = _KIND.match(name)
    if kind:
        for profile in product.profiles.values():
            if profile.is_plain and profile.name.startswith(kind.group(0)):
                return f" Did you mean “{profile.name}”?"
    return suggest(name, product.profiles)


@cache
def load_mig_products() -> Mapping[str, MigProduct]:
    """Return the products of data/mig_profiles.json by key; the file names each one's sources."""
    text = (resources.files("gres_config") / "data" / "mig_profiles.json").read_text("utf-8")
    # parse_float=str: a number such as 9.5 GiB stays as it is written.
    entries = json.loads(text, parse_float=str)["products"]
    return {entry["key"]: _parse_product(entry) for entry in entries}


def _parse_product(entry: Mapping[str, Any]) -> MigProduct:
    profiles = [_parse_profile(profile) for profile in entry["profiles"] if profile["placement"]]
    return MigProduct(
        key=entry["key"],
        memory_slices=entry["memory_slice_units"],
        compute_slices=entry["compute_slices_total"],
        profiles={profile.name: profile for profile in profiles},
        memory_gb=entry["marketing_memory_gb"] or 0,
        nvml_names=tuple(entry["nvml_names_seen"]),
        sources=tuple(entry["sources"]),
        notes=tuple(entry.get("notes", ())),
    )


def _parse_profile(entry: Mapping[str, Any]) -> MigProfile:
    memory = entry["memory_gib_reported"]
    return MigProfile(
        name=entry["name"],
        starts=tuple(entry["placement"]["starts"] or ()),
        size=entry["placement"]["size"] or 0,
        compute_slices=entry["compute_slices"] or 0,
        max_instances=entry["max_instances"] or 0,
        smi_profile_id=entry["smi_profile_id"],
        memory_gib="" if memory is None else str(memory),
        sm_count=entry["sm_count"],
        confidence=entry["confidence"]["placement"],
    )


def get_mig_product(key: str) -> MigProduct:
    """Return the product; GresConfigError names the known ones when `key` is none of them."""
    products = load_mig_products()
    if key not in products:
        raise GresConfigError(f"no MIG product {key!r}; known are {', '.join(sorted(products))}")
    return products[key]


def find_mig_product(name: str) -> MigProduct:
    """Return the product that a person means: its key, NVML's name, or a clear beginning of it.

    Case and blanks do not matter. GresConfigError lists what an unclear name could mean.
    """
    products = load_mig_products()
    wanted = _squeeze(name)
    exact = [
        product
        for product in products.values()
        if wanted in map(_squeeze, (product.key, *product.nvml_names))
    ]
    near = [p for p in products.values() if wanted and _squeeze(p.key).startswith(wanted)]
    found = exact or near
    if len(found) == 1:
        return found[0]
    if found:
        keys = ", ".join(product.key for product in found)
        raise GresConfigError(f"{name!r} could be any of {keys}")
    return get_mig_product(name)


def _squeeze(name: str) -> str:
    return re.sub(r"[\s_-]+", "", name).lower().removeprefix("nvidia")


def parse_layout(words: Iterable[str]) -> tuple[str, ...]:
    """Return the profiles of "3g.40gb", "1g.10gb*4", one word for each instance.

    GresConfigError for a word that is no profile with a count, and for more than any GPU holds.
    """
    layout: list[str] = []
    for word in words:
        match = _COUNTED.fullmatch(word.strip())
        if not match:
            raise GresConfigError(f"{word!r} is no MIG profile; write 3g.40gb or 1g.10gb*4")
        count = int(match["count"] or 1)
        if not 0 < count <= MOST_INSTANCES:
            raise GresConfigError(f"{word!r}: a count from 1 to {MOST_INSTANCES} makes sense")
        layout.extend([match["name"]] * count)
    return tuple(layout)


def render_layout(layout: Sequence[str]) -> str:
    """Return "3g.40gb 1g.10gb*4", what parse_layout reads; "(nothing)" for no instance."""
    counted = Counter(layout)
    words = [name if count == 1 else f"{name}*{count}" for name, count in counted.items()]
    return " ".join(words) or "(nothing)"
