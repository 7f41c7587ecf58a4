"""Prints a month's chargeback as a table, or writes it as CSV."""

from argparse import ArgumentParser, ArgumentTypeError
from datetime import date
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from portal.common.errors import PortalError
from portal.ledger.exports import render_notes, render_table, write_statement_csv
from portal.ledger.selectors import build_statement
from portal.projects.models import Project


def parse_month(text: str) -> date:
    """Return the first day of a month given as YYYY-MM."""
    try:
        month = date.fromisoformat(f"{text}-01")
        # As in the pages' addresses: a month's end, in any zone, is then a date as well.
        if len(text) != 7 or not 2000 <= month.year <= 2099:
            raise ValueError
        return month
    except ValueError as error:
        raise ArgumentTypeError(f"a month is YYYY-MM, not {text!r}") from error


class Command(BaseCommand):
    help = "Prints what each project is charged in a month, from the ledger, or writes it as CSV."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--month", required=True, type=parse_month, metavar="YYYY-MM")
        parser.add_argument("--out", type=Path, metavar="F", help="write CSV to this file")
        parser.add_argument("--project", metavar="CODE", help="only this project")

    def handle(self, *args: Any, **options: Any) -> None:
        month: date = options["month"]
        out: Path | None = options["out"]
        project = self._find_project(options["project"])
        try:
            statement = build_statement(month, project=project)
            if out is None:
                self.stdout.write(render_table(statement))
            else:
                write_statement_csv(statement, out)
                self.stdout.write(f"{len(statement.lines)} lines were written to {out}.")
            notes = render_notes(month, project=project)
        except PortalError as error:
            raise CommandError(error.message) from error
        except OSError as error:
            raise CommandError(f"{out} cannot be written: {error}.") from error
        for note in notes:
            self.stderr.write(note)

    def _find_project(self, code: str | None) -> Project | None:
        if code is None:
            return None
        project = Project.objects.filter(code=code).first()
        if project is None:
            raise CommandError(f"No project has the code {code!r}.")
        return project
