"""Runs the cases, prints a table and writes var/bench.json; ends with 1 when one is too slow."""

import argparse
import json
import os
import platform
import sys
from dataclasses import asdict
from pathlib import Path

from tests.bench import gres_config
from tests.bench.measure import Result, measure

ROOT = Path(__file__).resolve().parents[2]
CASES = (*gres_config.CASES,)


def print_table(results: list[Result]) -> None:
    """Print one line for each result."""
    print(f"{'case':<22} {'size':<42} limit s  best s   cpu s worst s peak MiB")
    for result in results:
        print(
            f"{result.name:<22} {result.size:<42} {result.limit_seconds:7.2f} "
            f"{result.seconds:7.2f} {result.cpu_seconds:7.2f} {result.worst_seconds:7.2f} "
            f"{result.peak_mib:8d}{'' if result.is_fast else '  TOO SLOW'}"
        )


def write_json(path: Path, results: list[Result]) -> None:
    """Write the results beside what they were measured on."""
    data = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cpus": os.cpu_count(),
        "results": [{**asdict(result), "is_fast": result.is_fast} for result in results],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=1) + "\n", "utf-8")


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "var" / "bench.json")
    parser.add_argument("only", nargs="*", help="words of the names of the cases to run")
    args = parser.parse_args()
    chosen = [
        case for case in CASES if not args.only or any(word in case.name for word in args.only)
    ]
    results = [measure(case) for case in chosen]
    print_table(results)
    write_json(args.out, results)
    return 0 if all(result.is_fast for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
