"""Plans dated prices: a new price ends the one before it, and what has begun is never rewritten."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class DatedPrice:
    """A price in millionths per unit-hour from an instant on; `ends_at` None for open."""

    starts_at: datetime
    micros: int
    ends_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class PriceChange:
    """`before` is None for a new price, and equals `after` where nothing changes."""

    before: DatedPrice | None
    after: DatedPrice


class PastPriceError(Exception):
    """The price would rewrite the past; `wanted` is the price, the message a sentence."""

    def __init__(self, wanted: DatedPrice, sentence: str) -> None:
        super().__init__(sentence)
        self.wanted = wanted
        self.sentence = sentence


def plan_prices(
    stored: Sequence[DatedPrice],
    wanted: Iterable[DatedPrice],
    *,
    now: datetime,
    is_past_priced: bool = False,
) -> list[PriceChange]:
    """Return what to store so that all wanted prices hold, in the order of their beginnings.

    `stored` and `wanted` are of one offering, option and organisation. `is_past_priced` says that
    another price (the list price) was in force for them before. Each price ends where the next
    one begins. Raises PastPriceError rather than change what was in force before `now`.
    """
    by_start = {price.starts_at: price for price in stored}
    begun = [price for price in stored if price.starts_at <= now]
    chosen = dict(by_start)
    for price in wanted:
        known = by_start.get(price.starts_at)
        if known is not None and known.micros == price.micros:
            continue
        if price.starts_at <= now and known is not None:
            raise PastPriceError(
                price, "This price has begun already: leave it, and add the new one with a later "
                "from_date.",
            )  # fmt: skip
        if price.starts_at <= now and (begun or is_past_priced):
            raise PastPriceError(
                price, "Another price was in force then: a new price begins tomorrow at the "
                "earliest.",
            )  # fmt: skip
        chosen[price.starts_at] = price
    starts = sorted(chosen)
    ends: list[datetime | None] = [*starts[1:], None]
    return [
        _plan_one(by_start.get(start), chosen[start], end, now)
        for start, end in zip(starts, ends, strict=True)
    ]


def _plan_one(
    before: DatedPrice | None, chosen: DatedPrice, end: datetime | None, now: datetime
) -> PriceChange:
    """Keep an end that was set by hand or has passed: only a later beginning moves it."""
    if before is not None and before.ends_at is not None:
        is_over = before.ends_at <= now
        end = before.ends_at if is_over or end is None else min(end, before.ends_at)
    return PriceChange(before, DatedPrice(chosen.starts_at, chosen.micros, end))
