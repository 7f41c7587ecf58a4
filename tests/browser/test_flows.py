"""People do the main job in chromium: with a mouse, with the keyboard alone, without a script."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from portal.allocations.models import Allocation, AllocationRequest
from portal.reconcile.services import reconcile_cluster
from portal.slurm.factory import get_fake
from tests.browser.conftest import PASSWORD, WIDTHS
from tests.browser.data import Showcase
from tests.browser.looks import list_problems

pytestmark = pytest.mark.browser


def open_menu(page: Page) -> None:
    """Open the small screens' menu where there is one."""
    menu = page.get_by_text("Menu", exact=True)
    if menu.is_visible():
        menu.click()


def fill_line(page: Page, index: int, offering: str, units: str, hours: str) -> None:
    page.locator(f"#id_lines-{index}-offering").select_option(offering)
    page.locator(f"#id_lines-{index}-units").fill(units)
    page.locator(f"#id_lines-{index}-unit_hours").fill(hours)


@pytest.mark.parametrize("width", WIDTHS)
def test_from_the_catalogue_to_an_allocation(
    show: Showcase, open_page: Callable[..., Page], width: int
) -> None:
    pi = open_page(width, "ada")
    open_menu(pi)
    pi.get_by_role("link", name="Catalogue").first.click()
    pi.get_by_role("link", name="Request A100 80 GB").click()
    fill_line(pi, 0, "a100", "4", "200")
    expect(pi.locator("[data-total]")).to_have_text("390.00 EUR")
    pi.get_by_role("button", name="Add another line").click()
    fill_line(pi, 1, "mig-1g", "4", "100")
    expect(pi.locator("[data-total]")).to_have_text("425.00 EUR")
    pi.get_by_label("What is it for?").fill("Fine-tuning of the ensemble.")
    pi.get_by_role("button", name="Send the request").click()
    expect(pi.get_by_text("The request was sent")).to_be_visible()
    row = AllocationRequest.objects.latest("id")
    assert row.lines.count() == 2

    reviewer = open_page(width, "olga")
    open_menu(reviewer)
    reviewer.get_by_role("link", name="Reviews").first.click()
    reviewer.get_by_role("link", name=f"Review #{row.pk}").click()
    reviewer.get_by_label("Units to grant of A100 80 GB, on demand").fill("2")
    reviewer.get_by_role("button", name="Approve").click()
    expect(reviewer.get_by_text("Approved. Slurm")).to_be_visible()

    allocation = Allocation.objects.get(request=row)
    pi.goto(f"/allocations/{allocation.pk}/")
    expect(pi.get_by_text("Waits for Slurm").first).to_be_visible()
    assert list_problems(pi, "allocation-waiting") == []
    reconcile_cluster(show.cluster, get_fake(show.cluster.name), show.now)
    pi.reload()
    expect(pi.get_by_text("In force").first).to_be_visible()
    qos = allocation.lines.get(offering__code="a100").qos_name  # the project holds another line
    expect(
        pi.get_by_text(f"sbatch -A p1001 --gres=gpu:a100:2 --qos={qos} --time=01:00:00 job.sh")
    ).to_be_visible()
    pi.get_by_role("link", name="Usage and cost").click()
    expect(pi.get_by_role("heading", name=re.compile("Usage and cost"))).to_be_visible()


def test_the_command_can_be_copied(show: Showcase, open_page: Callable[..., Page]) -> None:
    page = open_page(1280, "ada", permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"/allocations/{show.allocations['climate'].pk}/")
    page.get_by_role("button", name="Copy").first.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("() => navigator.clipboard.readText()")
    assert copied == "sbatch -A p1001 --gres=gpu:a100:2 --time=01:00:00 job.sh"


def test_a_wrong_form_leads_to_its_fields(show: Showcase, open_page: Callable[..., Page]) -> None:
    page = open_page(390, "ada")
    page.goto("/requests/new/?offering=a100&project=p1001")
    page.locator("#id_lines-0-units").fill("0")
    page.get_by_label("What is it for?").fill("")
    page.get_by_role("button", name="Send the request").click()
    summary = page.locator("#error-summary")
    expect(summary).to_be_focused()
    assert list_problems(page, "request-form-wrong") == []
    summary.get_by_role("link", name=re.compile("in a sentence or two")).click()
    expect(page.get_by_label("What is it for?")).to_be_focused()
    described = page.get_by_label("What is it for?").get_attribute("aria-describedby")
    assert described == "id_justification_helptext id_justification_error"
    units = page.locator("#id_lines-0-units")
    assert units.get_attribute("aria-invalid") == "true"
    expect(page.locator("#id_lines-0-units_error")).to_contain_text("Ask for 1 to 16 units")


def tab_to(page: Page, selector: str, most: int = 60) -> None:
    """Press Tab until the element has the focus, which must then be visible."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            outline = page.evaluate("() => getComputedStyle(document.activeElement).outlineStyle")
            assert outline != "none", selector
            return
    raise AssertionError(f"Tab never reached {selector}")


def test_the_keyboard_alone_is_enough(show: Showcase, open_page: Callable[..., Page]) -> None:
    page = open_page(1280)
    page.goto("/login/")
    expect(page.locator("#id_username")).to_be_focused()
    page.keyboard.type("ben")
    tab_to(page, "#id_password")
    page.keyboard.type(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Hello").wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("() => document.activeElement.className") == "skip-link"
    page.keyboard.press("Enter")
    assert page.evaluate("() => document.activeElement.id") == "content"
    tab_to(page, "a[href='/requests/new/']")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Request GPUs").wait_for()
    tab_to(page, "#id_lines-0-units")
    page.keyboard.press("Control+a")
    page.keyboard.type("3")
    tab_to(page, "#id_justification")
    page.keyboard.type("Typed without a mouse.")
    tab_to(page, "button[name=send]")
    page.keyboard.press("Enter")
    expect(page.get_by_text("The request was sent")).to_be_visible()
    row = AllocationRequest.objects.latest("id")
    assert (row.requester.username, row.lines.get().units) == ("ben", 3)


def test_the_form_works_without_a_script(show: Showcase, open_page: Callable[..., Page]) -> None:
    page = open_page(390, java_script_enabled=False)
    page.goto("/login/")
    page.get_by_label("Login").fill("ben")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.goto("/requests/new/?offering=a100")
    page.locator("#id_lines-0-unit_hours").fill("1000")
    page.get_by_role("button", name="Recalculate").click()
    expect(page.locator("[data-total]")).to_have_text("1\u202f950.00 EUR")
    page.get_by_role("button", name="Add another line").click()
    page.locator("#id_lines-1-offering").select_option("mig-1g")
    page.get_by_role("button", name="Recalculate").click()
    expect(page.locator("#id_lines-1-units")).to_have_value("4")
    page.get_by_role("button", name="Remove line 1").click()
    expect(page.locator("#id_lines-0-offering")).to_have_value("mig-1g")
    page.get_by_label("What is it for?").fill("A course.")
    page.get_by_role("button", name="Send the request").click()
    expect(page.get_by_text("The request was sent")).to_be_visible()


def test_finance_downloads_the_month(show: Showcase, open_page: Callable[..., Page]) -> None:
    page = open_page(1280, "fay")
    page.get_by_role("link", name="Chargeback").first.click()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="Download CSV").click()
    name = waiting.value.suggested_filename
    assert re.fullmatch(r"chargeback-20\d\d-\d\d\.csv", name)
