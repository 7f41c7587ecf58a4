"""Writes a month's chargeback: a CSV file at once or not at all, and a table for a terminal."""

import os
import tempfile
from datetime import date
from pathlib import Path

from accounting.export import write_csv
from accounting.statement import Statement, render_money, render_unit_hours
from portal.ledger.selectors import build_statement, list_provisional, list_unpriced
from portal.ledger.services import list_differences
from portal.projects.models import Project

TABLE_COLUMNS = (
    "project", "user", "offering", "option", "jobs", "unit-hours", "price", "amount",
)  # fmt: skip
RIGHT_FROM = 4


def write_chargeback_csv(month: date, path: Path, *, project: Project | None = None) -> Statement:
    """Write the month's statement as CSV and return it.

    The file appears whole: a reader sees the old one or the new one. Raises OSError where the
    folder cannot be written.
    """
    statement = build_statement(month, project=project)
    write_statement_csv(statement, path)
    return statement


def write_statement_csv(statement: Statement, path: Path) -> None:
    """Write a statement as CSV in one step; raises OSError."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with open(handle, "w", encoding="utf-8", newline="") as stream:
            write_csv(statement, stream)
            stream.flush()
            os.fsync(stream.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(name, 0o666 & ~umask)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise


def render_table(statement: Statement) -> str:
    """Return the statement's lines and totals as text in columns."""
    rows: list[tuple[str, ...]] = [
        (
            line.project,
            line.user,
            line.offering,
            line.purchase_option,
            str(line.job_count),
            render_unit_hours(line.unit_seconds),
            f"{line.unit_price:f}",
            render_money(line.amount),
        )
        for line in statement.lines
    ]
    blank = ("",) * (len(TABLE_COLUMNS) - 1)
    rows += [
        (f"total {project}", *blank[1:], render_money(total))
        for (project, _), total in statement.sum_by_project().items()
    ]
    rows += [
        ("total", *blank[1:], render_money(total)) for total in statement.sum_by_currency().values()
    ]
    return _align([TABLE_COLUMNS, *rows])


def render_notes(month: date, *, project: Project | None = None) -> list[str]:
    """Return sentences on what the month's statement does not hold (yet)."""
    notes: list[str] = []
    waiting = list_differences(month, project=project)
    if waiting:
        notes.append(f"{len(waiting)} charge lines are final but not posted yet.")
    running = list_provisional(month, project=project)
    if running:
        notes.append(f"{len(running)} charge lines of jobs that still run are not in it yet.")
    for line in list_unpriced(month, project=project):
        hours = render_unit_hours(line.unit_seconds)
        notes.append(
            f"Not charged: {hours} unit-hours of {line.tres} by {line.user or 'nobody'} in "
            f"{line.project_code}. {line.reason}"
        )
    return notes


def _align(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if number >= RIGHT_FROM else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
