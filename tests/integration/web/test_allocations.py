"""The allocation's page: holds by operators alone, the line to type, and when it ends soon."""

from datetime import timedelta

import pytest

from portal.allocations.models import Allocation, AllocationHold
from portal.audit.models import AuditEvent
from portal.catalog.choices import PurchaseOption
from tests.integration.factories import NOW, TODAY, World

REASON = {"reason": "Cooling repair"}


@pytest.fixture
def allocation(world: World) -> Allocation:
    return world.approve(world.submit())


def make_addresses(allocation: Allocation) -> tuple[str, str, str]:
    page = f"/allocations/{allocation.pk}/"
    line = allocation.lines.order_by("id")[0]
    return page, f"{page}lines/{line.pk}/hold/", f"{page}lines/{line.pk}/release/"


def test_an_operator_places_and_releases_a_hold(world: World, sign_in, allocation) -> None:
    page, place, release = make_addresses(allocation)
    client = sign_in(world.operator)
    assert "Place the hold" in client.get(page).content.decode()
    assert client.post(place, REASON).url == page
    html = client.get(page).content.decode()
    assert "Cooling repair" in html
    assert "Release the hold" in html
    assert "Release the hold" not in sign_in(world.pi).get(page).content.decode()
    assert client.post(place, REASON).status_code == 409
    assert client.post(release).url == page
    assert client.post(release).status_code == 409
    hold = AllocationHold.objects.get()
    assert (hold.placed_by, hold.released_by) == ("otto", "otto")
    assert "On hold" not in client.get(page).content.decode()


def test_nobody_else_places_or_releases(world: World, sign_in, allocation) -> None:
    page, place, release = make_addresses(allocation)
    sign_in(world.operator).post(place, REASON)
    before = AuditEvent.objects.count()
    for user, status in (
        (world.pi, 403),
        (world.member, 403),
        (world.approver, 403),
        (world.finance, 403),
        (world.outsider, 404),
    ):
        client = sign_in(user)
        for address in (place, release):
            assert client.post(address, REASON).status_code == status
            assert client.post(address).status_code == status
        if status == 403:
            assert "Place the hold" not in client.get(page).content.decode()
    assert AuditEvent.objects.count() == before
    assert AllocationHold.objects.filter(released_at=None).count() == 1


@pytest.mark.parametrize("reason", ["", "  ", "x" * 201, "a\x00b", None])
def test_a_wrong_reason_is_told_at_its_field(world: World, sign_in, allocation, reason) -> None:
    _, place, _ = make_addresses(allocation)
    data = {} if reason is None else {"reason": reason}
    response = sign_in(world.operator).post(place, data)
    html = response.content.decode()
    assert response.status_code == 400
    line = allocation.lines.order_by("id")[0]
    assert f'id="id_hold-{line.pk}_reason_error"' in html
    assert 'id="error-summary"' in html
    assert AllocationHold.objects.count() == 0


def test_a_line_of_another_allocation_is_not_found(world: World, sign_in, allocation) -> None:
    other = world.approve(world.submit())
    line = other.lines.order_by("id")[0]
    client = sign_in(world.operator)
    for act in ("hold", "release"):
        for pk in (line.pk, 999_999_999_999_999_999):
            address = f"/allocations/{allocation.pk}/lines/{pk}/{act}/"
            assert client.post(address, REASON).status_code == 404
            assert client.get(address).status_code == 405


def test_lines_that_serve_the_same_gpus_are_told_apart_by_qos(world: World, sign_in) -> None:
    first = world.approve(world.submit())
    line = first.lines.get(offering=world.a100)
    html = sign_in(world.pi).get(f"/allocations/{first.pk}/").content.decode()
    assert "--qos=" not in html
    second = world.approve(world.submit())
    html = sign_in(world.pi).get(f"/allocations/{first.pk}/").content.decode()
    assert f"--gres=gpu:a100:2 --qos={line.qos_name} --time=01:00:00 job.sh" in html
    twin = second.lines.get(offering=world.a100)
    twin.purchase_option = PurchaseOption.SPOT
    twin.save()
    html = sign_in(world.pi).get(f"/allocations/{first.pk}/").content.decode()
    assert f"--qos={line.qos_name}" not in html


@pytest.mark.parametrize(
    ("past_days", "days", "is_told"),
    [(0, 9, False), (0, 30, False), (24, 30, True), (61, 90, False), (68, 90, True)],
)
def test_an_allocation_ends_soon_in_its_last_quarter(
    world: World, sign_in, past_days: int, days: int, is_told: bool
) -> None:
    begin = TODAY - timedelta(days=past_days)
    row = world.submit(
        NOW - timedelta(days=past_days), start_date=begin, end_date=begin + timedelta(days=days)
    )
    world.approve(row)
    assert ("ends soon" in sign_in(world.pi).get("/").content.decode()) == is_told


def test_many_allocations_are_cut_where_they_would_bury_the_rest(world: World, sign_in) -> None:
    for _ in range(6):
        world.approve(world.submit())
    html = sign_in(world.pi).get("/").content.decode()
    assert html.count(": waiting for Slurm") == 5
    assert "7 more notes on allocations" in html
    assert ">6 more<" in html
    row = world.submit()
    html = sign_in(world.approver).get(f"/reviews/{row.pk}/").content.decode()
    assert "4 more of p1001" in html
