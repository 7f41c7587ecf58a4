"""Leases: at most one worker does a named piece of work at a time."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import uuid4

from django.db.models.functions import Now

from portal.common.models import Lease

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@contextmanager
def hold_lease(name: str, *, seconds: int) -> Iterator[bool]:
    """Yield True while this caller holds the lease, False when another one does.

    A holder that dies loses the lease after `seconds`, and so does one that takes longer: the work
    behind it must bear two runs. The database's clock counts, for those of workers may differ.
    """
    holder = uuid4().hex
    Lease.objects.get_or_create(name=name, defaults={"expires_at": EPOCH})
    is_taken = (
        Lease.objects.filter(name=name, expires_at__lte=Now()).update(
            holder=holder, expires_at=Now() + timedelta(seconds=seconds)
        )
        == 1
    )
    try:
        yield is_taken
    finally:
        if is_taken:
            Lease.objects.filter(name=name, holder=holder).update(holder="", expires_at=EPOCH)
