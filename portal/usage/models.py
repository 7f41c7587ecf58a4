"""Jobs as Slurm's accounting tells them, and the usage that they become."""

from django.db import models
from django.db.models import F, Q

from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.inventory.models import Cluster
from portal.projects.models import Project

MAX_REASON = 300


class ImportRun(models.Model):
    """One reading of a cluster's accounting over [window_start_at, window_end_at).

    A file has no window. A full read goes back far enough to find rows that arrived late.
    """

    class Source(models.TextChoices):
        SACCT = "sacct", "sacct"
        FILE = "file", "A file"

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="import_runs")
    source = models.CharField(max_length=10, choices=Source.choices, default=Source.SACCT)
    is_full = models.BooleanField(default=False)
    window_start_at = models.DateTimeField(null=True, blank=True)
    window_end_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    is_complete = models.BooleanField(default=False)
    read_count = models.PositiveIntegerField(default=0)
    new_count = models.PositiveIntegerField(default=0)
    changed_count = models.PositiveIntegerField(default=0)
    same_count = models.PositiveIntegerField(default=0)
    quarantined_count = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "-started_at"], name="import_run_latest")]

    def __str__(self) -> str:
        return f"import {self.pk}"


class Job(models.Model):
    """The newest state of one accounting row: a run of a job, an array task or a component.

    The key is (cluster, db_index): DBIndex as text, since it may exceed 2**63. `project` is the
    suspense project when no project owns the Slurm account. `alloc_tres` is "name=count,..." with
    memory in MiB. `row_hash` is that of the row that was taken in last.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="jobs")
    db_index = models.CharField(max_length=80)
    job_id = models.CharField(max_length=80)
    job_id_raw = models.CharField(max_length=40)
    account = models.CharField(max_length=255)
    user = models.CharField(max_length=255, blank=True)
    uid = models.BigIntegerField(null=True, blank=True)
    partition = models.TextField(blank=True)
    qos = models.CharField(max_length=255, blank=True)
    state = models.CharField(max_length=30)
    is_final = models.BooleanField()
    submit_at = models.DateTimeField(null=True, blank=True)
    start_at = models.DateTimeField(null=True, blank=True)
    end_at = models.DateTimeField(null=True, blank=True)
    elapsed_seconds = models.PositiveBigIntegerField()
    suspended_seconds = models.PositiveBigIntegerField(default=0)
    alloc_tres = models.TextField(blank=True)
    node_list = models.TextField(blank=True)
    job_name = models.TextField(blank=True)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="jobs")
    first_seen_at = models.DateTimeField()
    changed_at = models.DateTimeField()
    row_hash = models.CharField(max_length=64)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "db_index"], name="job_once")]
        indexes = [
            models.Index(fields=["project", "-start_at"], name="job_project_start"),
            models.Index(fields=["cluster", "is_final"], name="job_open"),
        ]

    def __str__(self) -> str:
        return self.job_id


class JobRow(models.Model):
    """A raw accounting row as it was first seen; append-only.

    Kept for every state that a job was seen in; that a running job has run for longer is no new
    state. Fields stand between accounting.records.DELIMITER, whichever one sacct was asked for.
    """

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="rows")
    row_hash = models.CharField(max_length=64)
    line = models.BinaryField()
    seen_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "row_hash"], name="job_row_once")]

    def __str__(self) -> str:
        return f"row of {self.job_id}"


class QuarantinedRow(models.Model):
    """A row that could not be read, kept with its reason until someone deals with it.

    `key` is the row's DBIndex where it tells one, else its hash: what is read again of one job, as
    it runs on, is one entry with the newest line. `resolved_by` says who dealt with it; it is
    empty where the job's row could be read after all.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="quarantined_rows")
    key = models.CharField(max_length=80)
    line = models.BinaryField()
    reason = models.CharField(max_length=MAX_REASON)
    first_seen_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    resolved_at = models.DateTimeField(null=True, blank=True)
    resolved_by = models.CharField(max_length=150, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "key"], name="quarantined_once")]
        indexes = [
            models.Index(
                fields=["cluster"], condition=Q(resolved_at__isnull=True), name="quarantined_open"
            )
        ]

    def __str__(self) -> str:
        return self.reason


class UsageRecord(models.Model):
    """What one job held of one TRES within one month, in whole unit-seconds.

    `offering` is null when no pool of the catalogue matches: such usage is shown, never dropped.
    `period` is the month's first day in the site's zone.
    """

    job = models.ForeignKey(Job, on_delete=models.PROTECT, related_name="usage_records")
    period = models.DateField()
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="usage_records")
    user = models.CharField(max_length=255, blank=True)
    tres = models.CharField(max_length=255)
    offering = models.ForeignKey(
        Offering, on_delete=models.PROTECT, null=True, blank=True, related_name="usage_records"
    )
    purchase_option = models.CharField(max_length=12, choices=PurchaseOption.choices)
    qos = models.CharField(max_length=255, blank=True)
    units = models.PositiveIntegerField()
    elapsed_seconds = models.PositiveBigIntegerField()
    unit_seconds = models.PositiveBigIntegerField()
    start_at = models.DateTimeField()
    end_at = models.DateTimeField()
    is_final = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["job", "period", "tres"], name="usage_record_once"),
            models.CheckConstraint(
                condition=Q(unit_seconds=F("units") * F("elapsed_seconds")),
                name="usage_record_product",
            ),
            models.CheckConstraint(
                condition=Q(units__gte=1, elapsed_seconds__gte=1, end_at__gt=F("start_at")),
                name="usage_record_some",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "period"], name="usage_project_period"),
            models.Index(fields=["period", "is_final"], name="usage_period_final"),
            models.Index(fields=["qos", "unit_seconds"], name="usage_qos"),
            models.Index(
                fields=["job"], condition=Q(offering__isnull=True), name="usage_unmatched"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.tres} of {self.job_id}"
