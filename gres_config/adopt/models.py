"""Finds the GPU model of a type, which Slurm's files don't tell.

For whole GPUs any name will do: an unknown type becomes a model of its own. MIG needs a product of
the MIG table, since its layouts are checked: the first that can hold the layouts is taken, one
that the node's or the cluster's other types name before others, and the guess is said.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gres_config.adopt.notes import Kind, Notes
from gres_config.errors import GresConfigError
from gres_config.mig import check_mig_layout, get_mig_product, load_mig_products
from gres_config.models import list_models

UNTYPED_MODEL = "gpu"


@dataclass(slots=True)
class Models:
    """Knows what --model said ({"a100": "A100-80GB"}; "mig" is for all MIG), and what it guessed.

    `others` are models of no table, for the inventory's other_models.
    """

    given: Mapping[str, str]
    notes: Notes
    hints: tuple[str, ...] = ()
    others: dict[str, None] = field(default_factory=dict)

    def find_whole(self, kind: str) -> str:
        """Return the model of whole GPUs of a type."""
        known = {name.lower(): name for name in list_models()}
        if kind in self.given:
            model = self.given[kind]
        else:
            plain = kind.lower().replace("_", "-")
            fits = [name for key, name in known.items() if key.split("-")[0] == plain]
            model = known.get(plain) or (fits[0] if len(fits) == 1 else "") or kind
        model = model or UNTYPED_MODEL
        if model not in list_models():
            self.others[model] = None
        return model

    def find_mig(self, where: object, layouts: Sequence[tuple[str, ...]]) -> str:
        """Return a product that can hold all the layouts; "" where none can."""
        given = self.given.get("mig") or next(
            (model for model in self.given.values() if model in load_mig_products()), ""
        )
        candidates = [given] if given else sorted(load_mig_products(), key=self._rank)
        fits = [key for key in candidates if _holds_all(key, layouts)]
        if not fits:
            return ""
        if not given and len(fits) > 1:
            others = ", ".join(fits[1:4])
            self.notes.add(
                Kind.GUESSED,
                where,
                f"the GPUs in MIG mode are taken for {fits[0]}; {others} could be meant as well: "
                "say it with --model mig=MODEL",
            )
        return fits[0]

    def _rank(self, key: str) -> tuple[int, str]:
        family = key.split("-")[0].lower()
        return (0 if any(family in hint.lower() for hint in self.hints) else 1, key)


def _holds_all(key: str, layouts: Iterable[tuple[str, ...]]) -> bool:
    try:
        for layout in set(layouts):
            check_mig_layout(get_mig_product(key), layout)
    except GresConfigError:
        return False
    return True
