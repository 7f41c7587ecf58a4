"""Choices of projects and people."""

from django.db.models import TextChoices


class ProjectState(TextChoices):
    ACTIVE = "active", "Active"
    ENDED = "ended", "Ended"


class ProjectRole(TextChoices):
    PI = "pi", "Principal investigator"
    MANAGER = "manager", "Manager"
    MEMBER = "member", "Member"


class SiteRole(TextChoices):
    APPROVER = "approver", "Approver"
    OPERATOR = "operator", "Operator"
    FINANCE = "finance", "Finance"
