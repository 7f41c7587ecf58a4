"""Registers the web app."""

from django.apps import AppConfig


class WebConfig(AppConfig):
    name = "portal.web"
    label = "web"
    default_auto_field = "django.db.models.BigAutoField"
