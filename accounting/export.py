"""Writes a statement as CSV: the same bytes for the same lines, safe to open in a spreadsheet."""

import csv
from typing import TextIO

from accounting.money import Money, render_amount
from accounting.statement import ChargeLine, Statement, render_unit_hours

CSV_COLUMNS: tuple[str, ...] = (
    "period",
    "organisation",
    "cost_centre",
    "project",
    "user",
    "offering",
    "tres",
    "purchase_option",
    "rate_id",
    "jobs",
    "unit_seconds",
    "unit_hours",
    "unit_price",
    "amount",
    "currency",
)

_FORMULA_STARTS = frozenset("=+-@＝＋－＠")


def write_csv(statement: Statement, stream: TextIO) -> None:
    """Write a header and one row per line, in the statement's order, lines ending in "\\n".

    unit_seconds and amount are exact; unit_hours is unit_seconds / 3600 rounded half to even to 6
    digits, for reading. Numbers are plain, with a point and no grouping. A text cell that a
    spreadsheet would run as a formula gets an apostrophe in front. The stream is UTF-8 text opened
    with newline="".
    """
    writer = csv.writer(stream, lineterminator="\r\n")
    writer.writerow(CSV_COLUMNS)
    for line in statement.lines:
        writer.writerow(_list_cells(line))


def guard_text(text: str) -> str:
    """Return the text, with an apostrophe before anything that a spreadsheet takes for a formula.

    That is a leading = + - @ (also full-width, also after blanks), a tab, CR or LF (OWASP, "CSV
    Injection").
    """
    start = text.lstrip()[:1]
    if start in _FORMULA_STARTS or text[:1] in ("\t", "\r", "\n"):
        return "'" + text
    return text


def _list_cells(line: ChargeLine) -> tuple[str, ...]:
    texts = (
        line.period,
        line.organisation,
        line.cost_centre,
        line.project,
        line.user,
        line.offering,
        line.tres,
        line.purchase_option,
        line.rate_id,
    )
    return (
        *(guard_text(text) for text in texts),
        str(line.job_count),
        str(line.unit_seconds),
        render_unit_hours(line.unit_seconds),
        render_amount(Money(line.unit_price, line.currency)),
        render_amount(line.amount),
        line.currency.code,
    )
