"""Audit events: append-only, without foreign keys, so that they outlive what they tell of."""

from django.db import models


class AuditEvent(models.Model):
    """Who did what to which object, when, with which values."""

    at = models.DateTimeField(db_index=True)
    actor = models.CharField(max_length=150, help_text="the person's username, or the tick's name")
    action = models.CharField(max_length=60)
    object_type = models.CharField(max_length=60)
    object_id = models.CharField(max_length=60)
    project_code = models.CharField(max_length=60, blank=True)
    data = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["object_type", "object_id"], name="audit_object"),
            models.Index(fields=["project_code", "at"], name="audit_project_at"),
        ]

    def __str__(self) -> str:
        return f"{self.actor} {self.action} {self.object_type} {self.object_id}"
