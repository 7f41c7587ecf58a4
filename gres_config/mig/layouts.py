"""Every layout that one GPU can hold, and the ones nearest to a layout that it cannot."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache

from gres_config.mig.place import find_violation
from gres_config.mig.profiles import MigProduct, get_mig_product

Layout = tuple[str, ...]


def list_layouts(product: MigProduct, names: Iterable[str] | None = None) -> tuple[Layout, ...]:
    """Return all layouts of the product over these profiles (default: the plain ones).

    One for each set of instances, not for each of its placements; the empty one comes first.
    """
    chosen = [profile.name for profile in product.profiles.values() if profile.is_plain]
    wanted = frozenset(chosen if names is None else names)
    return _list_cached(product.key, tuple(name for name in product.profiles if name in wanted))


@cache
def _list_cached(key: str, names: Layout) -> tuple[Layout, ...]:
    return tuple(_grow(get_mig_product(key), names, ()))


def _grow(product: MigProduct, names: Layout, layout: Layout) -> Iterator[Layout]:
    """Yield the layout and all that extend it; what does not fit has no extension that fits."""
    yield layout
    for index, name in enumerate(names):
        if not find_violation(product, (*layout, name)):
            yield from _grow(product, names[index:], (*layout, name))


def list_maximal_layouts(
    product: MigProduct, names: Iterable[str] | None = None
) -> tuple[Layout, ...]:
    """Return the layouts that no further instance of these profiles can join."""
    layouts = [Counter(layout) for layout in list_layouts(product, names)]
    return tuple(
        tuple(layout.elements())
        for layout in layouts
        if not any(layout < other for other in layouts)
    )


def find_nearest_layouts(
    product: MigProduct, layout: Sequence[str], most: int = 3
) -> tuple[Layout, ...]:
    """Return the layouts that come nearest to one that does not fit, the nearest first.

    Nearest: it keeps most of the instances asked for, then it gives about as much memory, then it
    adds least. Profiles with a suffix appear only where they were asked for.
    """
    wanted = Counter(layout)
    memory = sum(product.get_profile(name).size for name in layout)
    names = {profile.name for profile in product.profiles.values() if profile.is_plain}

    def measure(candidate: Layout) -> tuple[int, int, int, Layout]:
        offered = Counter(candidate)
        size = sum(product.profiles[name].size for name in candidate)
        lost, added = (wanted - offered).total(), (offered - wanted).total()
        return lost, abs(memory - size), added, candidate

    candidates = list_layouts(product, names | set(layout))
    return tuple(sorted((c for c in candidates if c), key=measure)[:most])


def list_room(product: MigProduct, layout: Sequence[str]) -> Layout:
    """Return the plain profiles of which one more would fit beside the layout, largest first.

    Instances that exist already may stand in the way: what is said here holds for a GPU that is
    laid out anew.
    """
    plain = [profile for profile in product.profiles.values() if profile.is_plain]
    return tuple(
        profile.name
        for profile in sorted(plain, key=lambda p: (-p.size, -p.compute_slices))
        if not find_violation(product, (*layout, profile.name))
    )
