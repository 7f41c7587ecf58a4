"""Choices of the catalogue."""

from django.db.models import TextChoices


class PurchaseOption(TextChoices):
    ON_DEMAND = "on_demand", "On demand"
    SPOT = "spot", "Spot (preemptible)"
