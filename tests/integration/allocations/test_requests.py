"""Requests: who may submit which content, once."""

from datetime import timedelta
from uuid import uuid4

import pytest

from portal.allocations.inputs import LineInput
from portal.allocations.models import AllocationRequest, RequestLine
from portal.allocations.services import resubmit_request, submit_request, withdraw_request
from portal.audit.selectors import list_events
from portal.common.errors import Conflict, InvalidInput, NotPermitted
from portal.projects.choices import ProjectState
from tests.integration.factories import NOW, TODAY, World, make_rate


def test_a_pi_submits_a_request_with_two_lines(world: World) -> None:
    request = world.submit()
    assert request.state == "submitted"
    assert [line.units for line in request.lines.order_by("id")] == [4, 4]
    event = list_events("request", request.pk).get()
    assert (event.actor, event.action) == ("ada", "submit_request")


def test_a_double_click_stores_one_request(world: World) -> None:
    data = world.make_input()
    first = submit_request(actor=world.pi, project=world.project, data=data, now=NOW)
    second = submit_request(actor=world.pi, project=world.project, data=data, now=NOW)
    assert first.pk == second.pk
    assert AllocationRequest.objects.count() == 1


def test_a_key_of_somebody_else_is_refused(world: World) -> None:
    key = uuid4()
    world.submit(submit_key=key)
    world.project.memberships.create(user=world.outsider, role="pi")
    with pytest.raises(Conflict):
        submit_request(
            actor=world.outsider,
            project=world.project,
            data=world.make_input(submit_key=key),
            now=NOW,
        )


def test_a_member_cannot_request(world: World) -> None:
    with pytest.raises(NotPermitted):
        submit_request(actor=world.member, project=world.project, data=world.make_input(), now=NOW)


def test_an_ended_project_cannot_request(world: World) -> None:
    world.project.state = ProjectState.ENDED
    world.project.save()
    with pytest.raises(Conflict):
        world.submit()


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ({"units": 0}, "lines.0.units"),
        ({"units": 17}, "lines.0.units"),
        ({"unit_hours": 0}, "lines.0.unit_hours"),
        ({"unit_hours": 100_001}, "lines.0.unit_hours"),
        ({"offering_id": 999_999}, "lines.0.offering"),
        ({"purchase_option": "reserved"}, "lines.0.purchase_option"),
    ],
)
def test_a_wrong_line_is_named(world: World, line: dict[str, object], field: str) -> None:
    values = {
        "offering_id": world.a100.pk,
        "purchase_option": "on_demand",
        "units": 4,
        "unit_hours": 10,
    }
    with pytest.raises(InvalidInput) as caught:
        world.submit(lines=(LineInput(**{**values, **line}),))
    assert field in caught.value.fields
    assert AllocationRequest.objects.count() == RequestLine.objects.count() == 0


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"end_date": TODAY}, "end_date"),
        ({"end_date": TODAY - timedelta(days=2)}, "end_date"),
        ({"start_date": TODAY - timedelta(days=1)}, "start_date"),
        ({"end_date": TODAY + timedelta(days=366)}, "end_date"),
        ({"justification": "  \n"}, "justification"),
        ({"justification": "a\x00b"}, "justification"),
        ({"justification": "a" * 5_001}, "justification"),
        ({"lines": ()}, "lines"),
    ],
)
def test_a_wrong_field_is_named(world: World, values: dict[str, object], field: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        world.submit(**values)
    assert field in caught.value.fields
    assert AllocationRequest.objects.count() == 0


def test_the_same_offering_and_option_twice_is_refused(world: World) -> None:
    line = LineInput(world.a100.pk, "on_demand", 1, 1)
    with pytest.raises(InvalidInput) as caught:
        world.submit(lines=(line, line))
    assert "lines.1.offering" in caught.value.fields


def test_a_gone_offering_is_refused(world: World) -> None:
    world.a100.is_active = False
    world.a100.save()
    with pytest.raises(InvalidInput) as caught:
        world.submit()
    assert "no longer available" in caught.value.fields["lines.0.offering"]


def test_an_offering_whose_price_has_ended_is_refused(world: World) -> None:
    world.mig.rates.update(ends_at=NOW - timedelta(days=1))
    with pytest.raises(InvalidInput) as caught:
        world.submit()
    assert "no price" in caught.value.fields["lines.1.purchase_option"]


def test_spot_needs_a_preemptible_partition(world: World) -> None:
    make_rate(world.mig, "0.08", "spot")
    world.mig_pool.spot_partition = ""
    world.mig_pool.save()
    with pytest.raises(InvalidInput):
        world.submit(lines=(LineInput(world.mig.pk, "spot", 1, 1),))


def test_a_request_is_changed_and_submitted_again(world: World) -> None:
    request = world.submit()
    changed = resubmit_request(
        actor=world.pi,
        request_id=request.pk,
        version=1,
        data=world.make_input(lines=(LineInput(world.mig.pk, "on_demand", 2, 5),)),
        now=NOW,
    )
    assert changed.version == 2
    assert [line.units for line in changed.lines.all()] == [2]


def test_a_stale_version_changes_nothing(world: World) -> None:
    request = world.submit()
    with pytest.raises(Conflict):
        withdraw_request(actor=world.pi, request_id=request.pk, version=7, now=NOW)
    request.refresh_from_db()
    assert request.state == "submitted"


def test_a_withdrawn_request_cannot_be_withdrawn_again(world: World) -> None:
    request = world.submit()
    withdraw_request(actor=world.pi, request_id=request.pk, version=1, now=NOW)
    with pytest.raises(Conflict):
        withdraw_request(actor=world.pi, request_id=request.pk, version=2, now=NOW)
