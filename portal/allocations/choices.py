"""Choices of requests."""

from django.db.models import TextChoices


class RequestState(TextChoices):
    SUBMITTED = "submitted", "Waiting for review"
    CHANGES_REQUESTED = "changes_requested", "Changes asked for"
    APPROVED = "approved", "Approved"
    REJECTED = "rejected", "Rejected"
    WITHDRAWN = "withdrawn", "Withdrawn"
