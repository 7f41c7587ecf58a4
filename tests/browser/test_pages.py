"""Every page, at both widths, in chromium: nothing overflows, axe is content, screenshots stay."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from playwright.sync_api import Page

from tests.browser.conftest import WIDTHS
from tests.browser.data import ZONE, Showcase
from tests.browser.looks import list_problems

pytestmark = pytest.mark.browser


def list_addresses(show: Showcase) -> list[tuple[str, str, str]]:
    month = (show.now - timedelta(days=3)).astimezone(ZONE).strftime("%Y-%m")
    climate = show.allocations["climate"].pk
    return [
        ("home-pi", "ada", "/"),
        ("projects", "otto", "/projects/"),
        ("project", "ada", "/projects/p1001/"),
        ("usage", "ada", f"/projects/p1001/usage/{month}/"),
        ("jobs", "ada", "/projects/p1001/jobs/"),
        ("catalogue", "ada", "/catalogue/"),
        ("requests", "ada", "/requests/"),
        ("request-form", "ada", "/requests/new/?offering=a100&project=p1001"),
        ("request", "ada", f"/requests/{show.waiting.pk}/"),
        ("request-changes", "ada", f"/requests/{show.waiting.pk + 1}/"),
        ("allocations", "ada", "/allocations/"),
        ("allocation", "ada", f"/allocations/{climate}/"),
        ("home-approver", "olga", "/"),
        ("reviews", "olga", "/reviews/"),
        ("review", "olga", f"/reviews/{show.waiting.pk}/"),
        ("home-operator", "otto", "/"),
        ("operations", "otto", "/operations/"),
        ("chargeback", "fay", f"/chargeback/{month}/"),
        ("not-found", "ada", "/projects/p9999/"),
        (
            "remove-member",
            "ada",
            f"/projects/p1001/members/{show.people['ben'].memberships.get().pk}/remove/",
        ),
    ]


@pytest.mark.parametrize("width", WIDTHS)
def test_every_page_is_clean(show: Showcase, open_page: Callable[..., Page], width: int) -> None:
    page = open_page(width)
    page.goto("/login/")
    problems = list_problems(page, "login")
    pages: dict[str, Page] = {}
    for name, username, address in list_addresses(show):
        page = pages.get(username) or open_page(width, username)
        pages[username] = page
        page.goto(address)
        problems += list_problems(page, name)
    assert problems == []


def test_pages_are_clean_in_the_dark(show: Showcase, open_page: Callable[..., Page]) -> None:
    page = open_page(1280, "ada", color_scheme="dark")
    problems = []
    for name, address in (
        ("dark-home", "/"),
        ("dark-form", "/requests/new/?offering=a100"),
        ("dark-usage", "/projects/p1001/usage/"),
        ("dark-allocation", f"/allocations/{show.allocations['lattice'].pk}/"),
    ):
        page.goto(address)
        problems += list_problems(page, name)
    assert problems == []
