"""How often signing in may fail: counted in the audit, so that all web servers count together."""

from datetime import datetime, timedelta
from hashlib import sha256

from portal.audit.selectors import list_events
from portal.audit.services import record_event

MOST_FAILURES = 10
WINDOW = timedelta(minutes=15)
ACTION = "fail_sign_in"
OBJECT_TYPE = "sign_in"


def has_failed_too_often(login: str, address: str, now: datetime) -> bool:
    """Say whether this login failed ten times from this address within a quarter of an hour.

    Counted with the address, so that nobody locks a person out from elsewhere.
    """
    events = list_events(OBJECT_TYPE, _make_key(login, address))
    return events.filter(action=ACTION, at__gt=now - WINDOW).count() >= MOST_FAILURES


def record_failure(login: str, address: str, now: datetime) -> None:
    """Store a sign-in with a wrong login or password."""
    record_event(
        at=now,
        actor=login[:150],
        action=ACTION,
        object_type=OBJECT_TYPE,
        object_id=_make_key(login, address),
        data={"address": address},
    )


def _make_key(login: str, address: str) -> str:
    return sha256(f"{login} {address}".encode()).hexdigest()[:40]
