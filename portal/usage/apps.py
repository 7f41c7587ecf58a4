"""Registers the usage app."""

from django.apps import AppConfig


class UsageConfig(AppConfig):
    name = "portal.usage"
    label = "usage"
    default_auto_field = "django.db.models.BigAutoField"
