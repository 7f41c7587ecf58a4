"""Clusters and their GPU pools, with what was last observed of them."""

from django.db import models

from portal.common.models import TimestampedModel


class Cluster(TimestampedModel):
    """A Slurm cluster and how the portal reaches it."""

    class Backend(models.TextChoices):
        CLI = "cli", "Slurm's commands"
        FAKE = "fake", "In memory, for tests"

    name = models.SlugField(max_length=40, unique=True, help_text="Slurm's ClusterName")
    title = models.CharField(max_length=100)
    backend = models.CharField(max_length=10, choices=Backend.choices, default=Backend.CLI)
    slurm_conf = models.CharField(max_length=250, blank=True)
    slurm_bin_dir = models.CharField(max_length=250, blank=True)
    policy_dir = models.CharField(
        max_length=250,
        blank=True,
        help_text="where the job_submit policy is written; none if empty",
    )
    is_active = models.BooleanField(default=True)
    contact_at = models.DateTimeField(null=True, blank=True)
    contact_error = models.TextField(blank=True)

    def __str__(self) -> str:
        return self.title


class Pool(TimestampedModel):
    """GPUs or MIG instances of one GRES type behind one partition and its preemptible twin.

    Observed counts are null until Slurm was asked; then `observed_at` says when. Unavailable
    units are those on closed nodes that no job holds.
    """

    cluster = models.ForeignKey(Cluster, on_delete=models.PROTECT, related_name="pools")
    code = models.SlugField(max_length=40)
    title = models.CharField(max_length=100)
    gpu_model = models.CharField(max_length=100)
    gres_type = models.CharField(max_length=60)
    is_mig = models.BooleanField(default=False)
    partition = models.CharField(max_length=60)
    spot_partition = models.CharField(max_length=60, blank=True)
    observed_total_units = models.PositiveIntegerField(null=True, blank=True)
    observed_used_units = models.PositiveIntegerField(null=True, blank=True)
    observed_unavailable_units = models.PositiveIntegerField(null=True, blank=True)
    observed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "code"], name="pool_code_once"),
            models.UniqueConstraint(
                fields=["cluster", "partition", "gres_type"], name="pool_gres_once"
            ),
        ]

    def __str__(self) -> str:
        return self.title
