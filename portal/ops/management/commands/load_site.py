"""Loads a site description from a YAML file."""

from argparse import ArgumentParser
from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from portal.ops.site.load import load_site
from portal.ops.site.outcomes import Verb
from portal.ops.site.problems import SiteFileError
from portal.ops.site.read import read_site_file


class Command(BaseCommand):
    help = (
        "Loads organisations, people, projects, clusters, offerings and prices from one YAML file. "
        "It creates and changes and never deletes; a second run changes nothing."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path, help="the site description")
        parser.add_argument("--dry-run", action="store_true", help="say what would change")
        parser.add_argument(
            "--set",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            dest="variables",
            help="the value of ${NAME} in the file; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        pairs = [item.partition("=") for item in options["variables"]]
        wrong = [name for name, sign, _ in pairs if not (name and sign)]
        if wrong:
            raise CommandError(f"--set wants NAME=VALUE, not {wrong[0]!r}.")
        variables = {name: value for name, _, value in pairs}
        try:
            description, document = read_site_file(options["file"], variables)
            outcomes = load_site(
                description, document, now=timezone.now(), is_dry_run=options["dry_run"]
            )
        except SiteFileError as error:
            count = len(error.problems)
            plural = "" if count == 1 else "s"
            raise CommandError(
                f"{error}\n{count} problem{plural}; nothing was stored. Correct the file and run "
                "the same command again."
            ) from error
        for outcome in outcomes:
            if outcome.verb is not Verb.SAME or options["verbosity"] > 1:
                self.stdout.write(str(outcome))
        counts = Counter(outcome.verb for outcome in outcomes)
        summary = ", ".join(f"{counts[verb]} {verb}" for verb in Verb)
        prefix = "Dry run, nothing stored: " if options["dry_run"] else ""
        self.stdout.write(f"{prefix}{summary}.")
