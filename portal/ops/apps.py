"""Registers the ops app."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    name = "portal.ops"
    label = "ops"
    default_auto_field = "django.db.models.BigAutoField"
