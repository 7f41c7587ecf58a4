"""Writes the lines that mend a fault, and the findings that carry them."""

from collections.abc import Mapping

from gres_config.check.finding import Finding
from gres_config.parse.gres_conf import GresLine
from gres_config.parse.slurm_conf import Record
from gres_config.parse.views import NodeView
from gres_config.parse.words import Words, render_words, replace_words


def make_finding(view: NodeView, line: GresLine, what: str, mend: str = "") -> Finding:
    """Return a finding at a line of gres.conf about the view's nodes."""
    return Finding(line.source, what, mend, view.hostlist)


def make_node_finding(view: NodeView, what: str, mend: str = "") -> Finding:
    """Return a finding at the NodeName line of the view's nodes."""
    return Finding(view.record.source, what, mend, view.hostlist)


def rewrite(line: GresLine, changes: Mapping[str, str | None], after: str = "") -> str:
    """Return the line of gres.conf with words changed, added, or taken out (None).

    A word that is added stands behind the word `after` where that is there, else at the end.
    """
    words = replace_words(line.words, changes)
    if after and words and words[0][0].lower() == after.lower():
        added = words[len(line.words) :]
        words = (words[0], *added, *words[1 : len(line.words)])
    return render_words(words)


def rewrite_node(record: Record, changes: Mapping[str, str | None]) -> str:
    """Return the NodeName (or other) line with words changed, added, or taken out (None)."""
    return render_words(replace_words(record.own, changes))


def comment_out(line: GresLine) -> str:
    """Return the line as a comment: it mends by being gone."""
    return f"# {render_words(line.words)}"


def render_pair(key: str, value: str) -> str:
    """Return one key=value line."""
    words: Words = ((key, value),)
    return render_words(words)
