"""Where the instances of a layout go on one GPU, or why they do not fit."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from gres_config.errors import GresConfigError
from gres_config.mig.profiles import MigProduct, MigProfile, render_layout


@dataclass(frozen=True, slots=True)
class Placement:
    """One instance and its memory slices [start, start + size), as nvidia-smi mig -lgi says."""

    profile: MigProfile
    start: int

    @property
    def end(self) -> int:
        """Return the first memory slice after the instance."""
        return self.start + self.profile.size


def check_mig_layout(product: MigProduct, layout: Sequence[str]) -> None:
    """Raise GresConfigError unless one GPU can hold these GPU instances at the same time."""
    violation = find_violation(product, layout)
    if violation:
        raise GresConfigError(violation)


def find_violation(product: MigProduct, layout: Sequence[str]) -> str:
    """Return why one GPU cannot hold the layout, "" when it can.

    The rule is that of the data file (`legality_rule`): instances per profile, compute slices,
    media engines, and start positions that do not overlap. A profile that the product does not
    have raises GresConfigError.
    """
    profiles = [product.get_profile(name) for name in layout]
    return _find_excess(product, profiles) or (
        "" if _search(product, profiles) is not None else _explain_overlap(product, profiles)
    )


def _find_excess(product: MigProduct, profiles: Sequence[MigProfile]) -> str:
    """The part of the rule that needs no placing: counts, compute slices, media engines."""
    for name, count in Counter(profile.name for profile in profiles).items():
        allowed = product.profiles[name].max_instances
        if count > allowed:
            return f"{product.key} holds at most {allowed} of {name}, not {count}"
    compute = sum(profile.compute_slices for profile in profiles)
    if compute > product.compute_slices:
        names = render_layout([profile.name for profile in profiles])
        return (
            f"{product.key} has {product.compute_slices} compute slices; {names} would take "
            f"{compute}"
        )
    if sum(profile.has_media_engines for profile in profiles) > 1:
        return f"only one instance of {product.key} can have the media engines"
    return ""


def _explain_overlap(product: MigProduct, profiles: Sequence[MigProfile]) -> str:
    names = render_layout([profile.name for profile in profiles])
    wanted = sum(profile.size for profile in profiles)
    if wanted > product.memory_slices:
        why = f"it would take {wanted} of {product.memory_slices} memory slices"
    else:
        starts = "; ".join(
            f"{profile.name} can start at {', '.join(map(str, profile.starts))}"
            for profile in dict.fromkeys(profiles)
        )
        why = f"{starts} of {product.memory_slices} memory slices"
    return f"{product.key} has no placement for {names}: {why}"


def place_layout(product: MigProduct, layout: Sequence[str]) -> tuple[Placement, ...]:
    """Return a place for each instance, by start; GresConfigError says why there is none."""
    check_mig_layout(product, layout)
    placed = _search(product, [product.profiles[name] for name in layout]) or ()
    return tuple(sorted(placed, key=lambda placement: placement.start))


def _search(product: MigProduct, profiles: Sequence[MigProfile]) -> tuple[Placement, ...] | None:
    """Find places that do not overlap: the profile with the fewest starts, the largest, first."""
    ordered = sorted(profiles, key=lambda p: (len(p.starts), -p.size, p.name))
    return _place_rest(ordered, 0, product.memory_slices, ())


def _place_rest(
    profiles: Sequence[MigProfile], taken: int, slices: int, placed: tuple[Placement, ...]
) -> tuple[Placement, ...] | None:
    """Place the first profile beside the slices `taken` (a bit mask), then the others."""
    if not profiles:
        return placed
    first = profiles[0]
    # Equal instances are interchangeable: each starts after the one before it.
    is_repeated = bool(placed) and placed[-1].profile is first
    lowest = placed[-1].end if is_repeated else 0
    for start in first.starts:
        wanted = ((1 << first.size) - 1) << start
        if start < lowest or start + first.size > slices or wanted & taken:
            continue
        found = _place_rest(
            profiles[1:], taken | wanted, slices, (*placed, Placement(first, start))
        )
        if found is not None:
            return found
    return None
