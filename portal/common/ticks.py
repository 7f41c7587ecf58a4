"""Wakes a tick after the current transaction: the row is the truth, the wake only saves time."""

import logging

from django.conf import settings
from django.db import transaction

logger = logging.getLogger(__name__)


def request_tick(name: str) -> None:
    """Ask the task worker to run the named tick (a key of settings.TICKS) soon.

    Runs after commit. A queue that cannot be reached is logged and not raised: the schedule runs
    every tick each minute anyway.
    """
    path = settings.TICKS[name]
    transaction.on_commit(lambda: _enqueue(name, path), robust=True)


def _enqueue(name: str, path: str) -> None:
    from django_q.tasks import async_task

    async_task(path, task_name=f"wake {name}", group=name)
    logger.debug("tick %s was asked for", name)
