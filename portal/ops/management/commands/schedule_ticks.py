"""Creates the schedule of the ticks."""

from typing import Any

from django.core.management.base import BaseCommand

from portal.ops.schedule import MINUTES, schedule_ticks


class Command(BaseCommand):
    help = "Schedules every tick once a minute in the task worker; may be run again."

    def handle(self, *args: Any, **options: Any) -> None:
        outcome = schedule_ticks()
        for verb in ("created", "kept", "removed"):
            for tick in getattr(outcome, verb):
                self.stdout.write(f"{verb} {tick}, every {MINUTES} min")
