"""Fixtures of browser tests: the university, signed-in pages, and what a page may not do."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.utils import timezone
from playwright.sync_api import Browser, Page

from portal.slurm.factory import forget_fakes
from tests.browser.data import PASSWORD, Showcase, build_showcase

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "true")
SCREENSHOTS = Path(__file__).resolve().parents[2] / "var" / "screenshots"
CHROMIUM = os.environ.get("SLUICEWAY_TEST_CHROMIUM", "/usr/bin/chromium")
WIDTHS = {1280: 900, 390: 844}


@pytest.fixture(scope="session")
def browser_type_launch_args(browser_type_launch_args: dict) -> dict:
    args = ["--no-sandbox"] if os.geteuid() == 0 else []
    return {**browser_type_launch_args, "executable_path": CHROMIUM, "args": args}


@pytest.fixture
def show(transactional_db: None) -> Iterator[Showcase]:
    forget_fakes()
    yield build_showcase(timezone.now().replace(microsecond=0))
    forget_fakes()


class Watch:
    """Collects what a page must never do: errors, refusals of the CSP, other hosts."""

    def __init__(self, page: Page, host: str) -> None:
        self.problems: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.problems.append(f"error: {error}"))
        page.on("request", lambda request: self._on_request(request.url, host))

    def _on_console(self, message: object) -> None:
        kind, text = message.type, message.text  # type: ignore[attr-defined]
        if kind == "error" and "status of 4" not in text:
            self.problems.append(f"console: {text}")

    def _on_request(self, url: str, host: str) -> None:
        if not url.startswith((host, "data:")):
            self.problems.append(f"other host: {url}")


@pytest.fixture
def open_page(browser: Browser, live_server: object) -> Iterator[Callable[..., Page]]:
    """Return a function that opens a page of a width, signed in as a person or nobody."""
    host = live_server.url  # type: ignore[attr-defined]
    contexts, watches = [], []

    def open_one(width: int = 1280, username: str = "", **options: object) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": WIDTHS[width]}, base_url=host, **options
        )
        context.set_default_timeout(10_000)
        contexts.append(context)
        page = context.new_page()
        watches.append(Watch(page, host))
        if username:
            sign_in(page, username)
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert [problem for watch in watches for problem in watch.problems] == []


def sign_in(page: Page, username: str) -> None:
    page.goto("/login/")
    page.get_by_label("Login").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.get_by_role("heading", name="Hello").wait_for()
