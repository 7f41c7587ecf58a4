"""Fixtures that several layers share."""

pytest_plugins = ["tests.sandbox_fixtures"]
