"""MIG: what each product can be split into, where instances fit, which layouts serve a demand."""

from gres_config.mig.place import Placement, check_mig_layout, find_violation, place_layout
from gres_config.mig.profiles import (
    MigProduct,
    MigProfile,
    find_mig_product,
    get_mig_product,
    load_mig_products,
    parse_layout,
)

__all__ = [
    "MigProduct",
    "MigProfile",
    "Placement",
    "check_mig_layout",
    "find_mig_product",
    "find_violation",
    "get_mig_product",
    "load_mig_products",
    "parse_layout",
    "place_layout",
]
