"""What reconcile owns in Slurm, and what its runs did."""

from django.db import models

from portal.inventory.models import Cluster


class OwnedObject(models.Model):
    """An object in Slurm that the portal made or means to make: the mark of ownership.

    `name` is an account's, a QOS's, or "account:user" for an association. `spec` is what is
    wanted, as readable pairs. `confirmed_at` says when Slurm last showed exactly that; `state`
    turns to in_force then, is waiting while Slurm has not shown it, and leaving while an object
    that is not wanted any more still stands.
    """

    class Kind(models.TextChoices):
        ACCOUNT = "account", "Account"
        ASSOCIATION = "association", "Association"
        QOS = "qos", "QOS"

    class State(models.TextChoices):
        WAITING = "waiting", "Waits for Slurm"
        IN_FORCE = "in_force", "In force"
        LEAVING = "leaving", "Is to be removed"

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="owned_objects")
    kind = models.CharField(max_length=12, choices=Kind.choices)
    name = models.CharField(max_length=160)
    spec = models.JSONField(default=dict)
    state = models.CharField(max_length=10, choices=State.choices, default=State.WAITING)
    wanted_since = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "kind", "name"], name="owned_object_once")
        ]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class ReconcileRun(models.Model):
    """One run on one cluster: its Plan in words, and how it ended.

    Runs that end the same way, one after another, share a row: `started_at` says since when,
    `finished_at` when it was last so. `changes` holds rows with action, kind, name and sentence.
    """

    class Outcome(models.TextChoices):
        RUNNING = "running", "Running"
        IN_FORCE = "in_force", "Nothing to do"
        CHANGED = "changed", "Changed"
        WAITING = "waiting", "Slurm is away"
        FAILED = "failed", "Failed"
        BLOCKED = "blocked", "Needs an operator"

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="reconcile_runs")
    started_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome.choices, default=Outcome.RUNNING)
    changes = models.JSONField(default=list)
    error = models.TextField(blank=True)

    class Meta:
        indexes = [models.Index(fields=["cluster", "-started_at"], name="reconcile_run_latest")]

    def __str__(self) -> str:
        return f"run {self.pk}"
