"""Registers the ledger app."""

from django.apps import AppConfig


class LedgerConfig(AppConfig):
    name = "portal.ledger"
    label = "ledger"
    default_auto_field = "django.db.models.BigAutoField"
