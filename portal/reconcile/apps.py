"""Registers the reconcile app."""

from django.apps import AppConfig


class ReconcileConfig(AppConfig):
    name = "portal.reconcile"
    label = "reconcile"
    default_auto_field = "django.db.models.BigAutoField"
