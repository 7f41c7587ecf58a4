"""Covering a demand with layouts: the exact bound of the relaxation, and a bounded search."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import ceil

from gres_config.mig.layouts import Layout

Amounts = Counter[Layout]


@dataclass(frozen=True, slots=True)
class Relaxation:
    """The covering problem with parts of GPUs allowed.

    `weights` by profile: no layout weighs more than 1, so no demand is served by fewer GPUs than
    it weighs. `amounts`: how much of each layout serves the whole demand.
    """

    weights: Mapping[str, Fraction]
    amounts: Mapping[Layout, Fraction]

    def get_bound(self, demand: Mapping[str, int]) -> int:
        """Return a number of GPUs below which the demand cannot be served."""
        return ceil(sum(self.weights[name] * count for name, count in demand.items()))


def relax(layouts: Sequence[Layout], demand: Mapping[str, int]) -> Relaxation:
    """Solve the relaxation exactly: the simplex method in fractions, with Bland's rule.

    It maximises the demand's weight while no layout weighs more than 1 (the dual of covering);
    the amounts are the multipliers of the layouts. Every profile must be in some layout.
    """
    names, rows = list(demand), []
    for index, layout in enumerate(layouts):
        slack = [int(index == other) for other in range(len(layouts))]
        counts = Counter(layout)
        rows.append([Fraction(v) for v in (*(counts[name] for name in names), *slack, 1)])
    costs = [Fraction(-demand[name]) for name in names] + [Fraction(0)] * (len(layouts) + 1)
    basis = [len(names) + index for index in range(len(layouts))]
    while any(cost < 0 for cost in costs[:-1]):
        entering = next(i for i, cost in enumerate(costs) if cost < 0)
        ratios = [
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(rows)
            if row[entering] > 0
        ]
        leaving = min(ratios)[2]
        _pivot(rows, costs, leaving, entering)
        basis[leaving] = entering
    values = {column: rows[i][-1] for i, column in enumerate(basis)}
    return Relaxation(
        weights={name: values.get(i, Fraction(0)) for i, name in enumerate(names)},
        amounts=dict(zip(layouts, costs[len(names) : -1], strict=True)),
    )


def _pivot(rows: list[list[Fraction]], costs: list[Fraction], row: int, column: int) -> None:
    factor = rows[row][column]
    rows[row] = [value / factor for value in rows[row]]
    for other in (*(r for i, r in enumerate(rows) if i != row), costs):
        share = other[column]
        if share:
            other[:] = [a - share * b for a, b in zip(other, rows[row], strict=True)]


@dataclass(slots=True)
class CoverSearch:
    """Looks for covers of a demand by a number of GPUs; `is_exhausted` once it gave up.

    The relaxation's weights cut off what cannot succeed; `steps_left` bounds the work.
    """

    layouts: Sequence[Layout]
    relaxation: Relaxation
    steps_left: int
    is_exhausted: bool = False
    _counts: Mapping[Layout, Counter[str]] = field(init=False)
    _failed: set[tuple[tuple[int, ...], int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._counts = {layout: Counter(layout) for layout in self.layouts}

    def list_covers(self, demand: Mapping[str, int], gpus: int) -> Iterator[Amounts]:
        """Yield covers of the demand by at most `gpus` layouts; some may come twice."""
        open_names = [name for name, count in demand.items() if count > 0]
        if not open_names:
            yield Counter()
            return
        state = (tuple(demand.values()), gpus)
        if self.relaxation.get_bound(demand) > gpus or state in self._failed:
            return
        self.steps_left -= 1
        if self.steps_left < 0:
            self.is_exhausted = True
            return
        # The profile listed last is the largest, and has the fewest layouts.
        is_found = False
        for layout in self._list_useful(open_names[-1], demand):
            counts = self._counts[layout]
            rest = {name: max(0, count - counts[name]) for name, count in demand.items()}
            for cover in self.list_covers(rest, gpus - 1):
                is_found = True
                yield cover + Counter([layout])
        if not is_found and not self.is_exhausted:
            self._failed.add(state)

    def _list_useful(self, name: str, demand: Mapping[str, int]) -> list[Layout]:
        """Return the layouts with this profile, those that serve most of the demand first."""
        weights = self.relaxation.weights

        def weigh(layout: Layout) -> Fraction:
            counts = self._counts[layout]
            return sum(
                (weights[n] * min(number, demand[n]) for n, number in counts.items()), Fraction(0)
            )

        having = [layout for layout in self.layouts if self._counts[layout][name]]
        return sorted(having, key=weigh, reverse=True)
