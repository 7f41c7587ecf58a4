"""Command line: python -m portal.sandbox up|down|status|destroy --root DIR."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from portal.sandbox.cluster import Sandbox
from portal.sandbox.errors import SandboxError
from portal.sandbox.processes import ServiceState
from portal.sandbox.spec import SandboxSpec


def parse_arguments(argv: Sequence[str]) -> argparse.Namespace:
    """Return the parsed command line."""
    parser = argparse.ArgumentParser(prog="python -m portal.sandbox", description=__doc__)
    parser.add_argument("command", choices=("up", "down", "status", "destroy"))
    parser.add_argument("--root", type=Path, required=True, help="the sandbox's own folder")
    parser.add_argument("--logs", type=Path, help="folder of the log files (default: ROOT/log)")
    parser.add_argument("--prefix", default="sw-", help="prefix of its Unix users")
    parser.add_argument("--users", default="", help="Unix users to create, with commas between")
    return parser.parse_args(argv)


def main(argv: Sequence[str]) -> int:
    """Run one command; returns the exit code (status: 1 unless all services run)."""
    options = parse_arguments(argv)
    names = tuple(name for name in options.users.split(",") if name)
    try:
        sandbox = Sandbox(
            options.root, SandboxSpec(user_prefix=options.prefix, users=names), options.logs
        )
        if options.command == "up":
            sandbox.up(_say)
        elif options.command == "down":
            sandbox.down(_say)
        elif options.command == "destroy":
            sandbox.destroy(_say)
        else:
            return _print_status(sandbox)
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _say(line: str) -> None:
    print(line, flush=True)


def _print_status(sandbox: Sandbox) -> int:
    statuses = sandbox.status()
    for status in statuses:
        print(f"{status.name:<16} {status.state:<10} {status.pid or '-':<8} {status.log_path}")
    return 0 if all(status.state is ServiceState.RUNNING for status in statuses) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
