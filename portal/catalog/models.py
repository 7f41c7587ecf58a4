"""Offerings that can be requested, and their dated prices."""

from django.db import models
from django.db.models import F, Q

from portal.catalog.choices import PurchaseOption
from portal.common.models import TimestampedModel
from portal.inventory.models import Pool
from portal.projects.models import Organisation


class Offering(TimestampedModel):
    """What a project can ask for: units of one pool, with the form's defaults and bounds."""

    code = models.SlugField(max_length=40, unique=True)
    title = models.CharField(max_length=100)
    description = models.TextField(blank=True)
    pool = models.ForeignKey(Pool, on_delete=models.PROTECT, related_name="offerings")
    unit_name = models.CharField(max_length=40, default="GPU")
    default_units = models.PositiveIntegerField(default=1)
    max_units = models.PositiveIntegerField()
    default_unit_hours = models.PositiveIntegerField(default=100)
    max_unit_hours = models.PositiveIntegerField()
    default_days = models.PositiveIntegerField(default=90)
    max_days = models.PositiveIntegerField(default=365)
    max_wall_hours = models.PositiveIntegerField(default=48)
    cpus_per_unit = models.PositiveIntegerField(default=1)
    memory_gib_per_unit = models.PositiveIntegerField(default=1)
    is_active = models.BooleanField(default=True)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(default_units__gte=1, default_units__lte=F("max_units")),
                name="offering_units_in_bounds",
            ),
            models.CheckConstraint(
                condition=Q(default_unit_hours__gte=1, default_unit_hours__lte=F("max_unit_hours")),
                name="offering_hours_in_bounds",
            ),
        ]

    def __str__(self) -> str:
        return self.title


class Rate(TimestampedModel):
    """A price per unit-hour in micro-units of the currency, valid in [starts_at, ends_at)."""

    offering = models.ForeignKey(Offering, on_delete=models.PROTECT, related_name="rates")
    purchase_option = models.CharField(max_length=12, choices=PurchaseOption.choices)
    organisation = models.ForeignKey(
        Organisation,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="rates",
        help_text="whose own price this is; the list price when empty",
    )
    unit_price_micros = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    starts_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["offering", "purchase_option", "organisation", "starts_at"],
                name="rate_once",
                nulls_distinct=False,
            ),
            models.CheckConstraint(condition=Q(unit_price_micros__gte=0), name="rate_not_negative"),
            models.CheckConstraint(
                condition=Q(ends_at__isnull=True) | Q(ends_at__gt=F("starts_at")),
                name="rate_interval",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.offering_id} {self.purchase_option} from {self.starts_at:%Y-%m-%d}"
