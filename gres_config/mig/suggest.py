"""The layouts that serve a demand with the fewest GPUs, and what each leaves idle."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import floor

from gres_config.mig.cover import Amounts, CoverSearch, Relaxation, relax
from gres_config.mig.layouts import Layout, list_maximal_layouts, list_room
from gres_config.mig.profiles import MigProduct

MOST_STEPS = 4_000
MORE_STEPS = 200
MOST_DEPTH = 100
_MORE_WAYS = 4


@dataclass(frozen=True, slots=True)
class UsedLayout:
    """One layout on `gpus` GPUs, with what one such GPU leaves idle: slices of no instance.

    `room`: profiles outside of the demand of which one more would fit.
    """

    layout: Layout
    gpus: int
    idle_compute_slices: int
    idle_memory_slices: int
    room: Layout


@dataclass(frozen=True, slots=True)
class Suggestion:
    """Layouts that together serve the demand.

    `is_fewest`: proven that no fewer GPUs do. `spare`: instances beyond the demand, by profile.
    """

    used: tuple[UsedLayout, ...]
    is_fewest: bool
    spare: Mapping[str, int]

    @property
    def gpus(self) -> int:
        """Return the GPUs of all layouts."""
        return sum(used.gpus for used in self.used)

    @property
    def is_uniform(self) -> bool:
        """Whether every GPU has the same layout, which is simpler to run."""
        return len(self.used) == 1


def suggest_layouts(
    product: MigProduct, demand: Mapping[str, int], most: int = 3
) -> tuple[Suggestion, ...]:
    """Return up to `most` ways to serve the demand with the fewest GPUs, then the uniform one.

    The demand holds counts above 0 of the product's profiles. Ways with fewer different layouts
    come first. The search is bounded: for a large demand the number of GPUs can be more than the
    fewest, which is_fewest then does not claim.
    """
    demand = {name: demand[name] for name in product.profiles if demand.get(name)}
    layouts = list_maximal_layouts(product, demand)
    relaxation = relax(layouts, demand)
    ways, is_proven = _find_fewest(layouts, relaxation, demand, most * _MORE_WAYS)
    fewest = min(way.total() for way in ways)
    made = [_describe(product, way, demand, is_proven) for way in ways if way.total() == fewest]
    made.sort(key=lambda s: (len(s.used), sum(s.spare.values()), [u.layout for u in s.used]))
    chosen = made[:most]
    uniform = _find_uniform(layouts, demand)
    if uniform and not any(suggestion.is_uniform for suggestion in chosen):
        is_fewest = is_proven and uniform.total() == fewest
        chosen.append(_describe(product, uniform, demand, is_fewest))
    return tuple(chosen)


def _find_fewest(
    layouts: Sequence[Layout], relaxation: Relaxation, demand: Mapping[str, int], most: int
) -> tuple[list[Amounts], bool]:
    """Return ways with as few GPUs as were found, and whether fewer are proven impossible.

    More GPUs are tried until some serve. A large demand is served for the most part as the
    relaxation says, in whole GPUs; only the rest is searched for.
    """
    is_proven = True
    gpus = relaxation.get_bound(demand)
    while True:
        ways: dict[frozenset[tuple[Layout, int]], Amounts] = {}
        is_whole = False
        for base in _list_bases(relaxation, gpus):
            search = CoverSearch(layouts, relaxation, MORE_STEPS if ways else MOST_STEPS)
            rest = _subtract(demand, base)
            for cover in islice(search.list_covers(rest, gpus - base.total()), most):
                way = base + cover
                ways.setdefault(frozenset(way.items()), way)
            is_whole = not base and not search.is_exhausted
            if len(ways) >= most:
                break
        if ways:
            return list(ways.values()), is_proven
        is_proven = is_proven and is_whole
        gpus += 1


def _list_bases(relaxation: Relaxation, gpus: int) -> Iterator[Amounts]:
    """Yield first parts of the answer: the relaxation's, some less, and for few GPUs none."""
    full = Counter({layout: floor(amount) for layout, amount in relaxation.amounts.items()})
    seen = []
    for less in (0, 1, 3):
        base = +Counter({layout: amount - less for layout, amount in full.items()})
        if base and base not in seen:
            seen.append(base)
            yield base
    if gpus <= MOST_DEPTH:
        yield Counter()


def _subtract(demand: Mapping[str, int], base: Amounts) -> dict[str, int]:
    served = _count_instances(base)
    return {name: max(0, count - served[name]) for name, count in demand.items()}


def _count_instances(way: Amounts) -> Counter[str]:
    total: Counter[str] = Counter()
    for layout, gpus in way.items():
        total.update({name: number * gpus for name, number in Counter(layout).items()})
    return total


def _find_uniform(layouts: Iterable[Layout], demand: Mapping[str, int]) -> Amounts | None:
    """Return the one layout that serves all on the fewest GPUs; None when no layout can."""
    best: Amounts | None = None
    for layout in layouts:
        counts = Counter(layout)
        if all(counts[name] for name in demand):
            gpus = max(-(-count // counts[name]) for name, count in demand.items())
            if best is None or gpus < best.total():
                best = Counter({layout: gpus})
    return best


def _describe(
    product: MigProduct, way: Amounts, demand: Mapping[str, int], is_fewest: bool
) -> Suggestion:
    spare = _count_instances(way) - Counter(demand)
    used = [_measure(product, layout, gpus) for layout, gpus in way.items()]
    used.sort(key=lambda item: (-item.gpus, item.layout))
    return Suggestion(tuple(used), is_fewest, dict(spare))


def _measure(product: MigProduct, layout: Layout, gpus: int) -> UsedLayout:
    profiles = [product.profiles[name] for name in layout]
    return UsedLayout(
        layout=layout,
        gpus=gpus,
        idle_compute_slices=product.compute_slices - sum(p.compute_slices for p in profiles),
        idle_memory_slices=product.memory_slices - sum(p.size for p in profiles),
        room=list_room(product, layout),
    )
