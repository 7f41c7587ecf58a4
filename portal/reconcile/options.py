"""The site's numbers for reconcile, read from settings.RECONCILE and checked."""

from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from portal.reconcile.state import RemovalLimit


@dataclass(frozen=True, slots=True)
class ReconcileOptions:
    """QOS priorities by purchase option, and how much one run may remove."""

    priorities: dict[str, int] = field(default_factory=lambda: {"on_demand": 1000, "spot": 100})
    max_removal_percent: int = 30
    max_removal_count: int = 5

    def __post_init__(self) -> None:
        numbers = [*self.priorities.values(), self.max_removal_percent, self.max_removal_count]
        if any(number < 0 for number in numbers) or self.max_removal_percent > 100:
            raise ValueError("settings.RECONCILE: a number is negative or a share is above 100 %")

    @property
    def removal_limit(self) -> RemovalLimit:
        """Return the guard against mass deletion."""
        return RemovalLimit(percent=self.max_removal_percent, count=self.max_removal_count)


def get_options() -> ReconcileOptions:
    """Return the options; raises TypeError or ValueError for a wrong setting."""
    given: dict[str, Any] = getattr(settings, "RECONCILE", {})
    return ReconcileOptions(**given)
