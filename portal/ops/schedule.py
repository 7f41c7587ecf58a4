"""The schedule: every tick once a minute, kept by django-q2; services wake ticks in between."""

from dataclasses import dataclass

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django_q.models import Schedule

PREFIX = "tick "
MINUTES = 1


@dataclass(frozen=True, slots=True)
class ScheduleOutcome:
    """What became of the schedule: names of ticks."""

    created: tuple[str, ...]
    kept: tuple[str, ...]
    removed: tuple[str, ...]


@transaction.atomic
def schedule_ticks() -> ScheduleOutcome:
    """Make the schedule hold each tick of settings.TICKS exactly once; it may be run again.

    Schedules of ticks that are gone, and doubles, are removed; schedules of others are not touched.
    """
    rows = Schedule.objects.select_for_update().filter(name__startswith=PREFIX).order_by("id")
    existing: dict[str, Schedule] = {}
    removed: list[str] = []
    for row in rows:
        tick = row.name.removeprefix(PREFIX)
        if tick in settings.TICKS and tick not in existing:
            existing[tick] = row
        else:
            removed.append(tick)
            row.delete()
    created = [tick for tick in settings.TICKS if tick not in existing]
    for tick, path in settings.TICKS.items():
        row = existing.get(tick) or Schedule(name=f"{PREFIX}{tick}", next_run=timezone.now())
        row.func = path
        row.schedule_type = Schedule.MINUTES
        row.minutes = MINUTES
        row.repeats = -1
        row.save()
    return ScheduleOutcome(tuple(created), tuple(existing), tuple(removed))
