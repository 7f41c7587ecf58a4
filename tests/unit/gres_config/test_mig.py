"""MIG layouts: the rule of placement against a brute force, names, and the nearest that fits."""

from collections import Counter
from itertools import combinations_with_replacement, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gres_config.errors import GresConfigError
from gres_config.mig import (
    check_mig_layout,
    find_mig_product,
    find_violation,
    get_mig_product,
    load_mig_products,
    parse_layout,
    place_layout,
)
from gres_config.mig.layouts import find_nearest_layouts, list_layouts, list_maximal_layouts
from gres_config.mig.profiles import render_layout
from tests.unit.gres_config.mig_brute_force import DATA, PRODUCTS, is_legal, list_legal_sets

A100 = get_mig_product("A100-80GB")
LAYOUTS = [
    (key, tuple(name for name, count in layout.items() for _ in range(count)))
    for key, layouts in DATA["derived_maximal_layouts"].items()
    if key in load_mig_products()
    for layout in layouts
]


@st.composite
def layouts(draw: st.DrawFn) -> tuple[str, tuple[str, ...]]:
    """Give a product and up to nine of its profiles, in any order."""
    key = draw(st.sampled_from(sorted(PRODUCTS)))
    names = [profile["name"] for profile in PRODUCTS[key]["profiles"]]
    return key, tuple(draw(st.lists(st.sampled_from(names), max_size=9)))


@given(layouts())
def test_places_a_layout_if_and_only_if_the_brute_force_finds_a_place(
    case: tuple[str, tuple[str, ...]],
) -> None:
    key, layout = case
    product = get_mig_product(key)
    assert (find_violation(product, layout) == "") == is_legal(key, layout)
    if is_legal(key, layout):
        placed = place_layout(product, layout)
        assert Counter(p.profile.name for p in placed) == Counter(layout)
        assert all(p.start in p.profile.starts for p in placed)
        assert all(a.end <= b.start for a, b in pairwise(placed))
        assert not placed or placed[-1].end <= product.memory_slices


@pytest.mark.parametrize("key", sorted(PRODUCTS))
def test_agrees_with_the_brute_force_on_every_layout_of_up_to_four_instances(key: str) -> None:
    product = get_mig_product(key)
    for size in range(5):
        for layout in combinations_with_replacement(product.profiles, size):
            assert (find_violation(product, layout) == "") == is_legal(key, layout), layout


@pytest.mark.parametrize("key", sorted(PRODUCTS))
def test_lists_every_legal_layout_once(key: str) -> None:
    product = get_mig_product(key)
    listed = list_layouts(product, product.profiles)
    assert len(listed) == len(set(listed))
    assert {frozenset(Counter(layout).items()) for layout in listed} == list_legal_sets(key)


def test_a_maximal_layout_has_no_room_and_every_other_lies_within_one() -> None:
    maximal = [Counter(layout) for layout in list_maximal_layouts(A100)]
    assert Counter(["1g.10gb"] * 7) in maximal
    assert all(any(Counter(layout) <= m for m in maximal) for layout in list_layouts(A100))


@pytest.mark.parametrize(("key", "layout"), LAYOUTS)
def test_accepts_every_listed_layout_and_no_seven_instances_more(
    key: str, layout: tuple[str, ...]
) -> None:
    product = get_mig_product(key)
    check_mig_layout(product, layout)
    smallest = min(product.profiles.values(), key=lambda p: (not p.is_plain, p.size))
    with pytest.raises(GresConfigError):
        check_mig_layout(product, (*layout, *[smallest.name] * 7))


@pytest.mark.parametrize(
    ("layout", "reason"),
    [
        (("3g.40gb", "3g.40gb", "1g.10gb"), "no placement .* 9 of 8 memory slices"),
        (("2g.20gb", "2g.20gb", "3g.40gb", "1g.10gb"), "would take 8"),
        (("4g.40gb", "4g.40gb"), "at most 1 of 4g.40gb"),
        (("1g.10gb",) * 8, "at most 7 of 1g.10gb"),
        (("7g.80gb", "1g.10gb"), "would take 8"),
        (("1g.5gb",), "no MIG profile '1g.5gb'.*Did you mean “1g.10gb”"),
    ],
)
def test_says_why_an_a100_cannot_hold_it(layout: tuple[str, ...], reason: str) -> None:
    with pytest.raises(GresConfigError, match=reason):
        check_mig_layout(A100, layout)


def test_only_one_instance_can_have_the_media_engines() -> None:
    product = get_mig_product("RTX-PRO-6000-Blackwell-96GB")
    assert "media engines" in find_violation(product, ["1g.24gb+me", "2g.48gb+me.all"])


@pytest.mark.parametrize(
    ("layout", "nearest"),
    [
        (("3g.40gb", "3g.40gb", "1g.10gb"), ("3g.40gb", "3g.40gb")),
        (("4g.40gb", "4g.40gb"), ("3g.40gb", "4g.40gb")),
        (("1g.10gb",) * 9, ("1g.10gb",) * 7),
        (("7g.80gb", "1g.10gb"), ("7g.80gb",)),
    ],
)
def test_the_nearest_layout_keeps_most_of_what_was_asked_for(
    layout: tuple[str, ...], nearest: tuple[str, ...]
) -> None:
    assert Counter(find_nearest_layouts(A100, layout)[0]) == Counter(nearest)


@given(layouts())
def test_the_nearest_layouts_fit_and_a_layout_that_fits_is_its_own_nearest(
    case: tuple[str, tuple[str, ...]],
) -> None:
    key, layout = case
    found = find_nearest_layouts(get_mig_product(key), layout)
    assert all(is_legal(key, near) for near in found)
    if layout and is_legal(key, layout):
        assert Counter(found[0]) == Counter(layout)


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("a100-80gb", "A100-80GB"),
        ("NVIDIA A100-SXM4-40GB", "A100-40GB"),
        ("A30", "A30-24GB"),
        ("h200", "H200-141GB"),
        ("NVIDIA H100 80GB HBM3", "H100-SXM5-80GB"),
        ("b300", "B300"),
    ],
)
def test_finds_the_product_that_a_person_means(name: str, key: str) -> None:
    assert find_mig_product(name).key == key


def test_an_unclear_product_is_refused_with_what_it_could_be() -> None:
    with pytest.raises(GresConfigError, match="'A100' could be any of A100-40GB, A100-80GB"):
        find_mig_product("A100")
    with pytest.raises(GresConfigError, match="no MIG product 'V100'; known are A100-40GB"):
        find_mig_product("V100")


def test_reads_and_writes_counted_layouts() -> None:
    layout = parse_layout(["3g.40gb", "1g.10gb+me*2", "1g.10gb*2"])
    assert layout == ("3g.40gb", "1g.10gb+me", "1g.10gb+me", "1g.10gb", "1g.10gb")
    assert parse_layout(render_layout(layout).split()) == layout


@pytest.mark.parametrize("word", ["1g.10gb*0", "1g.10gb*65", "1g.10gb*", "*3", "", "a b", "x*-1"])
def test_refuses_a_word_that_is_no_counted_profile(word: str) -> None:
    with pytest.raises(GresConfigError):
        parse_layout([word])


def test_every_product_names_its_sources() -> None:
    assert all(product.sources for product in load_mig_products().values())
