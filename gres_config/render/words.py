"""The small parts of Slurm's configuration: KEY=value, quoted where needed, and headers."""

import re
from collections.abc import Iterable

from gres_config.errors import GresConfigError
from gres_config.inventory import Inventory

_PLAIN = re.compile(r"[^\s\"#]+")
_NEVER = re.compile(r"[\r\n\"#]")


def render_word(key: str, value: object) -> str:
    """Return key=value, in double quotes where the value holds blanks (slurm.conf(5)).

    Raises GresConfigError for a value that no line can hold.
    """
    text = str(value)
    if _PLAIN.fullmatch(text):
        return f"{key}={text}"
    if not text or _NEVER.search(text):
        raise GresConfigError(f"{key} cannot have the value {text!r}")
    return f'{key}="{text}"'


def join_words(words: Iterable[str]) -> str:
    """Return one line of the words."""
    return " ".join(words) + "\n"


def render_header(inventory: Inventory, *sentences: str) -> str:
    """Return the comment that opens a file: who wrote it, for what, and what to know of it."""
    lines = [
        f"Written by gres_config for the cluster {inventory.cluster_name}, "
        f"Slurm {inventory.slurm_version}.",
        "Change the inventory and render again; what is changed here is lost.",
        *sentences,
    ]
    return "".join(f"# {line}\n" for line in lines)
