"""Forms in chromium: what Enter does, costs while typing, holds, and words of any length."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from portal.allocations.models import Allocation, AllocationHold, AllocationRequest
from tests.browser.conftest import PASSWORD, WIDTHS
from tests.browser.data import Showcase
from tests.browser.looks import list_problems

pytestmark = pytest.mark.browser
LONG = "Donaudampfschifffahrtselektrizitaetenhauptbetriebswerkbauunterbeamtengesellschaft" * 2


def test_enter_sends_the_request_and_takes_no_line_away(
    show: Showcase, open_page: Callable[..., Page]
) -> None:
    before = AllocationRequest.objects.count()
    page = open_page(1280, "ada")
    page.goto("/requests/new/?offering=a100&project=p1001")
    page.get_by_label("What is it for?").fill("Fine-tuning of the ensemble.")
    page.get_by_role("button", name="Add another line").click()
    page.locator("#id_lines-1-offering").select_option("mig-1g")
    page.locator("#id_lines-1-units").fill("2")
    page.locator("#id_lines-1-unit_hours").fill("20")
    page.locator("#id_lines-1-unit_hours").press("Enter")
    expect(page.get_by_text("The request was sent")).to_be_visible()
    assert AllocationRequest.objects.count() == before + 1
    assert AllocationRequest.objects.latest("id").lines.count() == 2


def test_enter_decides_nothing_and_the_cost_follows_the_grant(
    show: Showcase, open_page: Callable[..., Page]
) -> None:
    before = Allocation.objects.count()
    page = open_page(1280, "olga")
    page.goto(f"/reviews/{show.waiting.pk}/")
    total = page.locator("[data-total]")
    whole = total.inner_text()
    hours = page.locator("[name^=unit_hours-]").first
    hours.fill("1")
    expect(total).not_to_have_text(whole)
    hours.fill("")
    expect(total).to_have_text("no data")
    hours.fill("1")
    hours.press("Enter")
    expect(page.locator("#error-summary")).to_contain_text("Choose a decision")
    expect(page.locator("[name^=unit_hours-]").first).to_have_value("1")
    assert Allocation.objects.count() == before


@pytest.mark.parametrize("width", WIDTHS)
def test_an_operator_stops_new_jobs_and_lets_them_start_again(
    show: Showcase, open_page: Callable[..., Page], width: int
) -> None:
    page = open_page(width, "otto")
    page.goto(f"/allocations/{show.allocations['climate'].pk}/")
    page.get_by_text("Stop new jobs").first.click()
    page.get_by_role("button", name="Place the hold").first.click()
    expect(page.locator("#error-summary")).to_be_focused()
    assert list_problems(page, "hold-wrong") == []
    page.get_by_role("link", name="Say why").click()
    page.keyboard.type("Cooling repair")
    page.keyboard.press("Enter")
    expect(page.get_by_text("Slurm refuses new jobs")).to_be_visible()
    assert AllocationHold.objects.latest("id").reason == "Cooling repair"
    page.get_by_role("button", name="Release the hold").first.click()
    expect(page.get_by_text("Slurm takes new jobs")).to_be_visible()


def end_session(page: Page) -> None:
    page.context.clear_cookies(name="sluiceway_session")


def sign_in_again(page: Page, username: str, name: str) -> None:
    expect(page.get_by_text("You are signed out, so nothing was stored")).to_be_visible()
    assert list_problems(page, name) == []
    page.get_by_label("Login").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()


def test_what_was_written_stays_when_the_session_ends(
    show: Showcase, open_page: Callable[..., Page]
) -> None:
    page = open_page(390, "ada")
    address = f"/requests/{show.waiting.pk}/"
    page.goto(address)
    comment = page.get_by_label("Write a comment")
    comment.fill("Two weeks are enough.")
    end_session(page)
    page.get_by_role("button", name="Send the comment").click()
    sign_in_again(page, "ada", "login-again")
    expect(page).to_have_url(re.compile(f"{address}$"))
    expect(comment).to_have_value("Two weeks are enough.")
    page.get_by_role("button", name="Send the comment").click()
    expect(page.locator(".talk li", has_text="Two weeks are enough.")).to_have_count(1)
    expect(comment).to_have_value("")

    page.goto("/requests/new/?offering=a100&project=p1001")
    page.locator("#id_lines-0-units").fill("3")
    page.get_by_label("What is it for?").fill("Fine-tuning of the ensemble.")
    end_session(page)
    page.get_by_role("button", name="Send the request").click()
    sign_in_again(page, "ada", "")
    expect(page.locator("#id_lines-0-units")).to_have_value("3")
    expect(page.get_by_label("What is it for?")).to_have_value("Fine-tuning of the ensemble.")


def test_what_was_written_is_shown_to_nobody_else(
    show: Showcase, open_page: Callable[..., Page]
) -> None:
    page = open_page(1280, "otto")
    page.goto(f"/allocations/{show.allocations['climate'].pk}/")
    page.get_by_text("Stop new jobs").first.click()
    page.get_by_label("Reason").first.fill("Cooling repair")
    end_session(page)
    page.get_by_role("button", name="Place the hold").first.click()
    sign_in_again(page, "ada", "")
    page.goto("/logout/")
    page.get_by_role("button", name="Sign out").first.click()
    page.get_by_label("Login").fill("otto")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.goto(f"/allocations/{show.allocations['climate'].pk}/")
    assert "Cooling repair" not in page.content()
    assert page.get_by_label("Reason").first.input_value() == ""


@pytest.mark.parametrize("width", WIDTHS)
def test_a_word_of_any_length_stays_on_the_page(
    show: Showcase, open_page: Callable[..., Page], width: int
) -> None:
    allocation = show.allocations["climate"]
    project = allocation.project
    project.title = LONG[:150]
    project.description = LONG * 2
    project.save()
    page = open_page(width, "ada")
    for address in (
        "/",
        "/projects/",
        f"/projects/{project.code}/",
        "/allocations/",
        f"/allocations/{allocation.pk}/",
        f"/requests/{allocation.request_id}/",
    ):
        page.goto(address)
        assert list_problems(page) == []
