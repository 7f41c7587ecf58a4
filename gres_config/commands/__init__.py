"""The commands: a module each, with add_arguments(parser) and run(args) -> exit code.

Every module of this folder is a command of its name; the first line of its docstring is its help.
"""

import argparse
import pkgutil
from importlib import import_module
from typing import Protocol, cast


class Command(Protocol):
    """What a module of this folder offers."""

    __doc__: str | None

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own arguments."""

    def run(self, args: argparse.Namespace) -> int:
        """Do it; returns the exit code, raises GresConfigError for input that cannot be used."""


def list_commands() -> tuple[str, ...]:
    """Return the names of all commands, sorted."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def load_command(name: str) -> Command:
    """Return the command's module."""
    return cast(Command, import_module(f"gres_config.commands.{name}"))
