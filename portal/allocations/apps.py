"""Registers the allocations app."""

from django.apps import AppConfig


class AllocationsConfig(AppConfig):
    name = "portal.allocations"
    label = "allocations"
    default_auto_field = "django.db.models.BigAutoField"
