"""What models of all apps share: time stamps, and leases that keep a tick single."""

from django.db import models


class TimestampedModel(models.Model):
    """Rows that know when they were made and last saved."""

    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True


class Lease(models.Model):
    """The right to do one named piece of work until it expires; taken by a conditional UPDATE."""

    name = models.CharField(max_length=100, unique=True)
    holder = models.CharField(max_length=100, blank=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return self.name
