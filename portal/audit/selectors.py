"""Reads audit events."""

from django.db.models import QuerySet

from portal.audit.models import AuditEvent


def list_events(object_type: str, object_id: object) -> QuerySet[AuditEvent]:
    """Return the events of one object, oldest first."""
    return AuditEvent.objects.filter(object_type=object_type, object_id=str(object_id)).order_by(
        "at", "id"
    )


def list_project_events(project_code: str) -> QuerySet[AuditEvent]:
    """Return the events of one project, newest first."""
    return AuditEvent.objects.filter(project_code=project_code).order_by("-at", "-id")
