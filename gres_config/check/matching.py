"""How slurmd gives detected GPUs the configured types (src/plugins/gres/gpu/gres_gpu.c)."""

from collections import Counter
from collections.abc import Iterable, Mapping


def match_types(
    configured: Mapping[str, int], detected: Iterable[str]
) -> tuple[Mapping[str, int], tuple[str, ...]]:
    """Return configured types that find too few devices, by how many, and the devices left over.

    Both sides are taken longest name first; a device takes the first type that is a part of its
    name, whatever the case, and whose count is not used up. An untyped count ("") takes the rest.
    """
    left = Counter({kind: count for kind, count in configured.items() if count > 0})
    order = sorted(left, key=lambda kind: (-len(kind), kind))
    unused: list[str] = []
    for device in sorted(detected, key=lambda name: (-len(name), name)):
        kind = next((k for k in order if left[k] > 0 and k.lower() in device.lower()), None)
        if kind is None:
            unused.append(device)
        else:
            left[kind] -= 1
    return +left, tuple(unused)
