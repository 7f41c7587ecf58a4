"""Requests for GPUs, their review, and the allocations that they become."""

from django.conf import settings
from django.db import models
from django.db.models import F, Q

from portal.allocations.choices import RequestState
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.common.models import TimestampedModel
from portal.projects.models import Project


class AllocationRequest(TimestampedModel):
    """A project's request: lines, a period and a justification.

    `submit_key` comes from the form, so that a double click stores one request. `version` grows
    with each change, so that two reviewers cannot both decide. Dates are days of the site's zone;
    the period is [start_date, end_date).
    """

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="requests")
    requester = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="requests"
    )
    state = models.CharField(
        max_length=20, choices=RequestState.choices, default=RequestState.SUBMITTED
    )
    start_date = models.DateField()
    end_date = models.DateField()
    justification = models.TextField()
    submit_key = models.UUIDField(unique=True)
    version = models.PositiveIntegerField(default=1)
    submitted_at = models.DateTimeField()
    decided_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, null=True, blank=True, related_name="+"
    )
    decided_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(end_date__gt=F("start_date")), name="request_period")
        ]
        indexes = [models.Index(fields=["state", "submitted_at"], name="request_queue")]

    def __str__(self) -> str:
        return f"request {self.pk}"


class RequestLine(models.Model):
    """One offering within a request; granted_ values are null until approved, 0 if left out."""

    request = models.ForeignKey(AllocationRequest, on_delete=models.CASCADE, related_name="lines")
    offering = models.ForeignKey(Offering, on_delete=models.PROTECT, related_name="+")
    purchase_option = models.CharField(max_length=12, choices=PurchaseOption.choices)
    units = models.PositiveIntegerField()
    unit_hours = models.PositiveIntegerField()
    granted_units = models.PositiveIntegerField(null=True, blank=True)
    granted_unit_hours = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["request", "offering", "purchase_option"], name="request_line_once"
            ),
            models.CheckConstraint(
                condition=Q(units__gte=1, unit_hours__gte=1), name="request_line_positive"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.units} x {self.offering_id} ({self.purchase_option})"


class RequestComment(models.Model):
    """A remark in the conversation between requester and reviewers."""

    request = models.ForeignKey(
        AllocationRequest, on_delete=models.CASCADE, related_name="comments"
    )
    author = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    body = models.TextField()
    at = models.DateTimeField()

    def __str__(self) -> str:
        return f"comment {self.pk}"


class Allocation(TimestampedModel):
    """What a project was granted, in force during [start_date, end_date) of the site's zone."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="allocations")
    request = models.OneToOneField(
        AllocationRequest, on_delete=models.PROTECT, related_name="allocation"
    )
    start_date = models.DateField()
    end_date = models.DateField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(end_date__gt=F("start_date")), name="allocation_period"
            )
        ]

    def __str__(self) -> str:
        return f"allocation {self.pk}"


class AllocationLine(models.Model):
    """One offering within an allocation; it becomes one QOS in Slurm."""

    allocation = models.ForeignKey(Allocation, on_delete=models.PROTECT, related_name="lines")
    offering = models.ForeignKey(
        Offering, on_delete=models.PROTECT, related_name="allocation_lines"
    )
    purchase_option = models.CharField(max_length=12, choices=PurchaseOption.choices)
    units = models.PositiveIntegerField()
    unit_hours = models.PositiveIntegerField()
    qos_name = models.CharField(max_length=100, unique=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["allocation", "offering", "purchase_option"], name="allocation_line_once"
            ),
            models.CheckConstraint(
                condition=Q(units__gte=1, unit_hours__gte=1), name="allocation_line_positive"
            ),
        ]

    def __str__(self) -> str:
        return self.qos_name


class AllocationHold(models.Model):
    """A stop on new jobs of one line, until it is released."""

    line = models.ForeignKey(AllocationLine, on_delete=models.PROTECT, related_name="holds")
    reason = models.CharField(max_length=200)
    placed_by = models.CharField(max_length=150)
    placed_at = models.DateTimeField()
    released_by = models.CharField(max_length=150, blank=True)
    released_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["line"], condition=Q(released_at__isnull=True), name="hold_one_open"
            )
        ]

    def __str__(self) -> str:
        return self.reason
