"""Runs a tick now, or asks the task worker for it."""

import json
from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.utils.module_loading import import_string

from portal.common.errors import PortalError
from portal.common.ticks import request_tick
from portal.ops.ticks import TickError


class Command(BaseCommand):
    help = "Runs one tick now in this process and prints its summary as JSON."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name", choices=sorted(settings.TICKS))
        parser.add_argument(
            "--queue", action="store_true", help="put it into the task worker's queue instead"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["name"]
        if options["queue"]:
            request_tick(name)
            self.stdout.write(f"{name} is in the queue")
            return
        try:
            summary = import_string(settings.TICKS[name])()
        except (PortalError, TickError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(json.dumps(summary, indent=2, sort_keys=True))
