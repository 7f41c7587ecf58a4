"""Command line: python -m gres_config COMMAND ...; each command is a module of commands/."""

import argparse
import gc
import sys
from collections.abc import Sequence

from gres_config.commands import list_commands, load_command
from gres_config.errors import GresConfigError


def make_parser(chosen: str = "") -> argparse.ArgumentParser:
    """Return the parser with every command of commands/, or with the chosen one alone.

    A command need not wait for what the others import.
    """
    parser = argparse.ArgumentParser(
        prog="python -m gres_config", description="From GPU inventory to Slurm configuration."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    known = list_commands()
    for name in [chosen] if chosen in known else known:
        module = load_command(name)
        title = (module.__doc__ or "").splitlines()[0]
        child = commands.add_parser(name, help=title, description=module.__doc__)
        module.add_arguments(child)
        child.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit code, and 2 for input that cannot be used."""
    words = sys.argv[1:] if argv is None else argv
    args = make_parser(words[0] if words else "").parse_args(words)
    try:
        code: int = args.run(args)
    except GresConfigError as error:
        print(error, file=sys.stderr)
        return 2
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    return code


if __name__ == "__main__":
    # A large inventory is millions of small objects that all stay; looking through them for
    # garbage again and again would take most of the time.
    gc.disable()
    sys.exit(main())
