"""The main job's first half: the PI's request and the approver's decision, in the pages."""

from dataclasses import dataclass

from portal.ops.demo.browser import Browser
from portal.ops.demo.console import DemoError


@dataclass(frozen=True, slots=True)
class WantedLine:
    """A line of the demo's request."""

    offering: str
    purchase_option: str
    units: int
    unit_hours: int
    gres_type: str


REQUEST_LINES = (
    WantedLine("a100", "on_demand", 4, 400, "a100"),
    WantedLine("a100-1g-10gb", "on_demand", 4, 200, "1g.10gb"),
    WantedLine("a100", "spot", 2, 100, "a100"),
)
JUSTIFICATION = (
    "Training of a surrogate for the edge plasma code: four GPUs for the training runs, small "
    "instances for a parameter scan, and preemptible GPUs for what can wait."
)


def submit_request(browser: Browser, project: str) -> int:
    """Fill in the request form as the PI; return the request's number."""
    page = browser.get(f"/requests/new/?project={project}")
    fields = {
        "project": project,
        "justification": JUSTIFICATION,
        "lines-TOTAL_FORMS": str(len(REQUEST_LINES)),
    }
    for index, line in enumerate(REQUEST_LINES):
        fields |= {
            f"lines-{index}-offering": line.offering,
            f"lines-{index}-purchase_option": line.purchase_option,
            f"lines-{index}-units": str(line.units),
            f"lines-{index}-unit_hours": str(line.unit_hours),
        }
    answer = browser.submit(page, fields, having="submit_key")
    if "/requests/new" in answer.url:
        raise DemoError("the request form came back instead of the request")
    return answer.number_in_url


def approve_request(browser: Browser, request_id: int) -> None:
    """Approve the request whole at the reviewer's page, after finding it in the queue."""
    queue = browser.get("/reviews/")
    if f"/reviews/{request_id}/" not in queue.text:
        raise DemoError(f"request {request_id} is not in the approver's queue")
    page = browser.get(f"/reviews/{request_id}/")
    browser.submit(page, {"decision": "approve", "comment": "Granted."}, having="version")
