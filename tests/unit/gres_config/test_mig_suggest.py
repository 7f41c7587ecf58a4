"""Suggested layouts: they serve the demand, with as few GPUs as a brute force needs."""

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gres_config.__main__ import main
from gres_config.document import parse_document
from gres_config.errors import DocumentError
from gres_config.mig import get_mig_product
from gres_config.mig.demand import parse_demand
from gres_config.mig.suggest import Suggestion, suggest_layouts
from tests.unit.gres_config.mig_brute_force import PRODUCTS, is_legal, list_legal_sets

A100 = get_mig_product("A100-80GB")


def count_served(suggestion: Suggestion) -> Counter[str]:
    total: Counter[str] = Counter()
    for used in suggestion.used:
        total.update({name: n * used.gpus for name, n in Counter(used.layout).items()})
    return total


def find_fewest(key: str, demand: dict[str, int]) -> int:
    """Return the fewest GPUs by trying every legal set on one GPU after the other."""
    sets = [dict(legal) for legal in list_legal_sets(key)]

    @cache
    def search(rest: tuple[tuple[str, int], ...]) -> int:
        if not rest:
            return 0
        first = rest[0][0]
        results = []
        for legal in sets:
            if first in legal:
                left = tuple((n, c - legal.get(n, 0)) for n, c in rest if c > legal.get(n, 0))
                results.append(1 + search(left))
        return min(results)

    return search(tuple(sorted(demand.items())))


@st.composite
def demands(draw: st.DrawFn) -> tuple[str, dict[str, int]]:
    key = draw(st.sampled_from(["A30-24GB", "A100-80GB", "RTX-PRO-5000-Blackwell-48GB"]))
    names = [profile["name"] for profile in PRODUCTS[key]["profiles"]]
    chosen = draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    return key, {name: draw(st.integers(1, 6)) for name in chosen}


@given(demands())
@settings(max_examples=40)
def test_serves_a_demand_with_the_fewest_gpus(case: tuple[str, dict[str, int]]) -> None:
    key, demand = case
    suggestions = suggest_layouts(get_mig_product(key), demand)
    assert suggestions[0].gpus == find_fewest(key, demand)
    assert suggestions[0].is_fewest
    for suggestion in suggestions:
        assert count_served(suggestion) - Counter(demand) == Counter(suggestion.spare)
        assert count_served(suggestion) >= Counter(demand)
        assert all(is_legal(key, used.layout) for used in suggestion.used)


def test_a_demand_of_a_whole_cluster_is_served_at_once_and_proven_the_fewest() -> None:
    demand = {name: 1000 + 113 * i for i, name in enumerate(A100.profiles)}
    best = suggest_layouts(A100, demand)[0]
    assert best.is_fewest
    assert count_served(best) >= Counter(demand)


def test_says_what_a_layout_leaves_idle_and_what_the_one_layout_for_all_would_cost() -> None:
    best, uniform = suggest_layouts(A100, {"3g.40gb": 5, "1g.10gb": 12})
    idle = {used.layout: (used.idle_compute_slices, used.idle_memory_slices) for used in best.used}
    assert idle["3g.40gb", "3g.40gb"] == (1, 0)
    assert (best.gpus, uniform.gpus, uniform.is_uniform, uniform.is_fewest) == (4, 5, True, False)
    assert uniform.spare == {"1g.10gb": 8}


def read_demand(text: str) -> dict[str, int]:
    return parse_demand(A100, parse_document(text, "demand.yaml"))


def test_reads_profiles_and_least_sizes() -> None:
    assert read_demand("3g.40gb: 2\n1g.10gb: 3\n") == {"1g.10gb": 3, "3g.40gb": 2}
    text = "- {memory_gib: 18, count: 3}\n- {compute_slices: 2, count: 1}\n- {count: 4}\n"
    assert read_demand(text) == {"1g.20gb": 3, "2g.20gb": 1, "1g.10gb": 4}


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("3g.40gb: 1\n1g.5gb: 2\n", "demand.yaml:2: 1g.5gb: .*Did you mean “1g.10gb”"),
        ("3g.40gb: 0\n", "demand.yaml:1: 3g.40gb: A count"),
        ("3g.40gb: 1.5\n", "A count"),
        ("- {memory_gib: 18}\n", r"demand.yaml:1: \[0\]: A count"),
        ("- {memory_gib: 200, count: 1}\n", "No instance of A100-80GB has 200 GiB"),
        ("- {memory_gib: x, count: 1}\n", "is no number"),
        ("- {memory_gib: nan, count: 1}\n", "makes no sense"),
        ("- {profile: 3g.40gb, memory_gib: 2, count: 1}\n", "excludes"),
        ("- {profil: 3g.40gb, count: 1}\n", "Did you mean “profile”"),
        ("- 3g.40gb\n", "Write a profile with its count"),
        ("[]\n", "The demand is empty"),
        ("word\n", "Write a profile with its count"),
    ],
)
def test_a_mistake_in_the_demand_is_named_with_its_line(text: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        read_demand(text)


@pytest.fixture
def demand_file(tmp_path: Path) -> str:
    path = tmp_path / "demand.yaml"
    path.write_text("3g.40gb: 5\n1g.10gb: 12\n")
    return str(path)


def test_the_command_speaks_for_people_and_for_programs(
    demand_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mig", "suggest", "A100-80GB", "--demand", demand_file]) == 0
    assert "1. 4 GPUs, the fewest" in capsys.readouterr().out
    words = ["mig", "suggest", "A100-80GB", "--demand", demand_file, "--format", "json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [suggestion["gpus"] for suggestion in answer["suggestions"]] == [4, 5]
    assert main(["mig", "profiles", "A30", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["profiles"][0]["name"] == "1g.6gb"


def test_the_command_says_where_a_layout_goes_or_the_nearest_that_fits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["mig", "place", "A100-80GB", "3g.40gb", "1g.10gb*4"]) == 0
    assert "3g.40gb at 4-7" in capsys.readouterr().out
    assert main(["mig", "place", "A100-80GB", "3g.40gb*2", "1g.10gb"]) == 1
    assert "nearest: 3g.40gb*2" in capsys.readouterr().out
    assert main(["mig", "place", "V100", "3g.40gb"]) == 2
    assert "no MIG product" in capsys.readouterr().err
