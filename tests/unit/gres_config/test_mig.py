"""MIG layouts: the rule of placement against the layouts listed with the data."""

import json
from importlib import resources

import pytest

from gres_config.errors import GresConfigError
from gres_config.mig import check_mig_layout, get_mig_product, load_mig_products

DATA = json.loads((resources.files("gres_config") / "data" / "mig_profiles.json").read_text())
LAYOUTS = [
    (key, tuple(name for name, count in layout.items() for _ in range(count)))
    for key, layouts in DATA["derived_maximal_layouts"].items()
    if key in load_mig_products()
    for layout in layouts
]


@pytest.mark.parametrize(("key", "layout"), LAYOUTS)
def test_accepts_every_maximal_layout_and_no_instance_more(
    key: str, layout: tuple[str, ...]
) -> None:
    product = get_mig_product(key)
    check_mig_layout(product, layout)
    plain = [name for name in product.profiles if "+" not in name and "-" not in name]
    smallest = min(plain, key=lambda name: product.profiles[name].size)
    with pytest.raises(GresConfigError):
        check_mig_layout(product, (*layout, *[smallest] * 7))


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (("3g.40gb", "3g.40gb", "1g.10gb"), "no placement"),
        (("4g.40gb", "4g.40gb"), "at most 1 of 4g.40gb"),
        (("1g.10gb",) * 8, "at most 7 of 1g.10gb"),
        (("7g.80gb", "1g.10gb"), "would take 8"),
        (("1g.5gb",), "no MIG profile '1g.5gb'"),
    ],
)
def test_rejects_what_an_a100_cannot_hold(layout: tuple[str, ...], reason: str) -> None:
    with pytest.raises(GresConfigError, match=reason):
        check_mig_layout(get_mig_product("A100-80GB"), layout)


def test_an_unknown_product_is_named_with_the_known_ones() -> None:
    with pytest.raises(GresConfigError, match="no MIG product 'V100'; known are A100-40GB"):
        get_mig_product("V100")


def test_every_product_names_its_sources() -> None:
    assert all(entry["sources"] for entry in DATA["products"])
