"""Registers the inventory app."""

from django.apps import AppConfig


class InventoryConfig(AppConfig):
    name = "portal.inventory"
    label = "inventory"
    default_auto_field = "django.db.models.BigAutoField"
