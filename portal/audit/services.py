"""Writes audit events; the caller's transaction holds the change and its event together."""

from datetime import datetime
from typing import Any

from portal.audit.models import AuditEvent


def record_event(
    *,
    at: datetime,
    actor: str,
    action: str,
    object_type: str,
    object_id: object,
    project_code: str = "",
    data: dict[str, Any] | None = None,
) -> AuditEvent:
    """Store one event and return it; `data` holds JSON values only."""
    return AuditEvent.objects.create(
        at=at,
        actor=actor,
        action=action,
        object_type=object_type,
        object_id=str(object_id),
        project_code=project_code,
        data=data or {},
    )
