"""Say what a GPU can be split into, whether a layout fits, and which layouts serve a demand.

profiles MODEL: the profiles of a product. place MODEL PROFILE[*N] ...: where the instances go on
one GPU, or the nearest layouts that fit (exit code 1). suggest MODEL --demand FILE: the layouts
that serve the demand with the fewest GPUs, and what each leaves idle.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from gres_config.mig import find_mig_product, find_violation, parse_layout, place_layout
from gres_config.mig.demand import load_demand
from gres_config.mig.layouts import find_nearest_layouts
from gres_config.mig.profiles import MigProduct, MigProfile, render_layout
from gres_config.mig.suggest import Suggestion, suggest_layouts

MOST_ALTERNATIVES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the subcommands profiles, place and suggest."""
    actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("model", help="A100-80GB, H200, “NVIDIA A100-SXM4-40GB” ...")
    common.add_argument("--format", choices=("text", "json"), default="text")
    actions.add_parser("profiles", parents=[common], help="the profiles of a product")
    place = actions.add_parser("place", parents=[common], help="does a layout fit, and where")
    place.add_argument("layout", nargs="+", metavar="PROFILE[*N]", help="3g.40gb 1g.10gb*4")
    suggest = actions.add_parser("suggest", parents=[common], help="layouts that serve a demand")
    suggest.add_argument(
        "--demand", type=Path, required=True, metavar="FILE",
        help="YAML: “3g.40gb: 2”, or entries with count and memory_gib, compute_slices",
    )  # fmt: skip
    suggest.add_argument(
        "--alternatives", type=int, default=3, choices=range(1, MOST_ALTERNATIVES + 1),
        metavar="N", help="how many ways to show at most (default 3)",
    )  # fmt: skip


def run(args: argparse.Namespace) -> int:
    """Print the answer; 1 for a layout that does not fit."""
    product = find_mig_product(args.model)
    if args.action == "profiles":
        answer, text, code = _answer_profiles(product)
    elif args.action == "place":
        answer, text, code = _answer_place(product, parse_layout(args.layout))
    else:
        demand = load_demand(product, args.demand)
        suggestions = suggest_layouts(product, demand, args.alternatives)
        answer, text, code = _answer_suggest(product, demand, suggestions)
    print(json.dumps(answer, indent=1) if args.format == "json" else text)
    return code


def _answer_profiles(product: MigProduct) -> tuple[Any, str, int]:
    profiles = [_list_fields(profile) for profile in product.profiles.values()]
    answer = {
        "model": product.key,
        "compute_slices": product.compute_slices,
        "memory_slices": product.memory_slices,
        "profiles": profiles,
        "sources": list(product.sources),
        "notes": list(product.notes),
    }
    head = ("profile", "most", "compute", "memory", "GiB", "SMs", "id", "starts", "known by")
    rows = [
        (
            p["name"], p["max_instances"], p["compute_slices"], p["size"], p["memory_gib"],
            p["sm_count"], p["smi_profile_id"], ",".join(map(str, p["starts"])), p["confidence"],
        )
        for p in profiles
    ]  # fmt: skip
    lines = [
        f"{product.key}: {product.compute_slices} compute slices, "
        f"{product.memory_slices} memory slices",
        *_render_table([head, *rows]),
        "A default: what NVML says on the node goes before it.",
        *(f"source: {source}" for source in product.sources),
        *(f"note: {note}" for note in product.notes),
    ]
    return answer, "\n".join(lines), 0


def _list_fields(profile: MigProfile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "max_instances": profile.max_instances,
        "compute_slices": profile.compute_slices,
        "size": profile.size,
        "starts": list(profile.starts),
        "memory_gib": profile.memory_gib or None,
        "sm_count": profile.sm_count,
        "smi_profile_id": profile.smi_profile_id,
        "confidence": profile.confidence,
    }


def _render_table(rows: list[tuple[Any, ...]]) -> list[str]:
    texts = [["-" if cell is None else str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in texts) for i in range(len(texts[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in texts
    ]


def _answer_place(product: MigProduct, layout: tuple[str, ...]) -> tuple[Any, str, int]:
    violation = find_violation(product, layout)
    if violation:
        nearest = find_nearest_layouts(product, layout)
        answer = {
            "model": product.key,
            "fits": False,
            "reason": violation,
            "nearest": [list(near) for near in nearest],
        }
        lines = [f"does not fit: {violation}", *(f"nearest: {render_layout(n)}" for n in nearest)]
        return answer, "\n".join(lines), 1
    placed = place_layout(product, layout)
    compute = product.compute_slices - sum(p.profile.compute_slices for p in placed)
    memory = product.memory_slices - sum(p.profile.size for p in placed)
    answer = {
        "model": product.key,
        "fits": True,
        "placements": [
            {"profile": p.profile.name, "start": p.start, "size": p.profile.size} for p in placed
        ],
        "idle_compute_slices": compute,
        "idle_memory_slices": memory,
    }
    lines = [
        f"fits on one {product.key}:",
        *(
            f"  {p.profile.name} at {p.start}" + (f"-{p.end - 1}" if p.profile.size > 1 else "")
            for p in placed
        ),
        f"idle: {_say_idle(compute, memory)}",
    ]
    return answer, "\n".join(lines), 0


def _say_idle(compute: int, memory: int) -> str:
    if not compute and not memory:
        return "nothing"
    return f"{compute} compute and {memory} memory slices"


def _answer_suggest(
    product: MigProduct, demand: dict[str, int], suggestions: tuple[Suggestion, ...]
) -> tuple[Any, str, int]:
    answer = {
        "model": product.key,
        "demand": demand,
        "suggestions": [_list_suggestion(suggestion) for suggestion in suggestions],
    }
    wanted = ", ".join(f"{count} x {name}" for name, count in demand.items())
    lines = [f"{product.key} for {wanted}:"]
    for number, suggestion in enumerate(suggestions, start=1):
        lines += _render_suggestion(number, suggestion)
    return answer, "\n".join(lines), 0


def _list_suggestion(suggestion: Suggestion) -> dict[str, Any]:
    return {
        "gpus": suggestion.gpus,
        "is_fewest": suggestion.is_fewest,
        "is_uniform": suggestion.is_uniform,
        "spare": dict(suggestion.spare),
        "layouts": [
            {
                "gpus": used.gpus,
                "layout": list(used.layout),
                "idle_compute_slices": used.idle_compute_slices,
                "idle_memory_slices": used.idle_memory_slices,
                "room": list(used.room),
            }
            for used in suggestion.used
        ],
    }


def _render_suggestion(number: int, suggestion: Suggestion) -> list[str]:
    words = [f"{suggestion.gpus} GPUs" if suggestion.gpus != 1 else "1 GPU"]
    if suggestion.is_fewest:
        words.append("the fewest")
    if suggestion.is_uniform:
        words.append("one layout for all")
    lines = [f"{number}. {', '.join(words)}"]
    for used in suggestion.used:
        idle = _say_idle(used.idle_compute_slices, used.idle_memory_slices)
        room = f"; room for a {used.room[0]}" if used.room else ""
        lines.append(f"   {used.gpus} x  {render_layout(used.layout)}  (each idle: {idle}{room})")
    spare = ", ".join(f"{count} x {name}" for name, count in suggestion.spare.items())
    lines.append(f"   more than asked for: {spare or 'nothing'}")
    return lines
