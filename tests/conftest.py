"""Fixtures that several layers share, and one Hypothesis profile for all tests."""

from hypothesis import HealthCheck, settings

pytest_plugins = ["tests.sandbox_fixtures"]

# A loaded machine is slow, and that is no fault of what is tested.
settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tests")
