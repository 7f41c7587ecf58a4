"""Fills in the portal's forms as a browser would."""

from datetime import date, timedelta
from typing import Any
from uuid import uuid4

from tests.integration.factories import TODAY, World


def today() -> date:
    """Return the day that the tests' clock shows."""
    return TODAY


def make_request_data(world: World, *lines: dict[str, Any], **values: Any) -> dict[str, Any]:
    """Return a valid POST of the request form with one A100 line, changed as told."""
    data: dict[str, Any] = {
        "project": world.project.code,
        "start_date": today().isoformat(),
        "end_date": (today() + timedelta(days=30)).isoformat(),
        "justification": "Training of a climate model.",
        "submit_key": str(uuid4()),
        "lines-INITIAL_FORMS": "0",
    }
    filled = lines or ({},)
    data["lines-TOTAL_FORMS"] = str(len(filled))
    for index, line in enumerate(filled):
        whole = {
            "offering": world.a100.code,
            "purchase_option": "on_demand",
            "units": "4",
            "unit_hours": "100",
            **line,
        }
        data |= {f"lines-{index}-{name}": value for name, value in whole.items()}
    data |= values
    return {name: value for name, value in data.items() if value is not None}
