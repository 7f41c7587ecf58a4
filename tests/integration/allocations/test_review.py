"""Review: who decides, what a decision becomes, and that it is made once."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connection

from portal.allocations.inputs import Grant
from portal.allocations.models import Allocation, AllocationLine
from portal.allocations.selectors import get_request, list_review_queue
from portal.allocations.services import (
    add_comment,
    approve_request,
    ask_for_changes,
    place_hold,
    reject_request,
    release_hold,
)
from portal.audit.models import AuditEvent
from portal.common.errors import Conflict, InvalidInput, NotFound, NotPermitted, PortalError
from portal.projects.choices import ProjectRole, SiteRole
from tests.integration.factories import NOW, World, add_person, grant_role, make_user


def test_an_approval_becomes_an_allocation_with_one_qos_per_line(world: World) -> None:
    allocation = world.approve(world.submit())
    lines = list(allocation.lines.order_by("id"))
    assert [(line.units, line.unit_hours) for line in lines] == [(4, 100), (4, 40)]
    assert [line.qos_name for line in lines] == [
        f"sw-p1001-a100-{lines[0].pk}",
        f"sw-p1001-1g.10gb-{lines[1].pk}",
    ]
    assert allocation.request.state == "approved"
    assert allocation.request.decided_by == world.approver


@pytest.mark.parametrize("gres_type", ["a100", "3g.40gb", "a-gres-type-with-a-very-long-name"])
def test_qos_of_a_long_code_differ_within_what_slurmdbd_compares(
    world: World, gres_type: str
) -> None:
    world.project.code = "p1001-a-code-of-thirty-nine-characters-"
    world.project.save()
    world.a100_pool.gres_type = gres_type
    world.a100_pool.save()
    allocations = [world.approve(world.submit()) for _ in range(2)]
    names = [line.qos_name for one in allocations for line in one.lines.all()]
    assert len({name[:42] for name in names}) == len(names) == 4
    assert max(len(name) for name in names) <= 42
    assert all(name.startswith("sw-p1001-a-code") for name in names)


def test_less_is_granted_and_a_line_is_left_out(world: World) -> None:
    request = world.submit()
    first, second = request.lines.order_by("id")
    allocation = approve_request(
        actor=world.approver,
        request_id=request.pk,
        version=1,
        grants={first.pk: Grant(2, 50), second.pk: Grant(0, 0)},
        now=NOW,
    )
    assert [(line.units, line.unit_hours) for line in allocation.lines.all()] == [(2, 50)]
    second.refresh_from_db()
    assert (second.granted_units, second.granted_unit_hours) == (0, 0)


@pytest.mark.parametrize("grant", [Grant(5, 10), Grant(-1, 10), Grant(4, 0), Grant(4, 101)])
def test_more_than_asked_for_cannot_be_granted(world: World, grant: Grant) -> None:
    request = world.submit()
    line = request.lines.order_by("id")[0]
    with pytest.raises(InvalidInput):
        approve_request(
            actor=world.approver,
            request_id=request.pk,
            version=1,
            grants={line.pk: grant},
            now=NOW,
        )
    assert Allocation.objects.count() == 0
    request.refresh_from_db()
    assert (request.state, request.version) == ("submitted", 1)


def test_a_line_of_another_request_cannot_be_granted(world: World) -> None:
    other = world.submit().lines.order_by("id")[0]
    request = world.submit()
    with pytest.raises(InvalidInput):
        approve_request(
            actor=world.approver,
            request_id=request.pk,
            version=1,
            grants={other.pk: Grant(1, 1)},
            now=NOW,
        )


@pytest.mark.parametrize("who", ["pi", "member", "outsider", "operator", "finance"])
def test_without_the_right_nobody_approves(world: World, who: str) -> None:
    request = world.submit()
    with pytest.raises(NotPermitted):
        approve_request(
            actor=getattr(world, who), request_id=request.pk, version=1, grants={}, now=NOW
        )
    assert Allocation.objects.count() == 0


def test_nobody_approves_their_own_request(world: World) -> None:
    grant_role(world.pi, SiteRole.APPROVER)
    request = world.submit()
    with pytest.raises(NotPermitted):
        approve_request(actor=world.pi, request_id=request.pk, version=1, grants={}, now=NOW)


def test_an_approver_of_another_organisation_cannot_approve(world: World) -> None:
    stranger = make_user()
    other = World("other-")
    grant_role(stranger, SiteRole.APPROVER, other.organisation)
    request = world.submit()
    assert list(list_review_queue(stranger)) == []
    with pytest.raises(NotPermitted):
        approve_request(actor=stranger, request_id=request.pk, version=1, grants={}, now=NOW)


def test_a_second_decision_is_refused(world: World) -> None:
    request = world.submit()
    world.approve(request)
    with pytest.raises(Conflict):
        reject_request(
            actor=world.approver, request_id=request.pk, version=1, comment="No.", now=NOW
        )


@pytest.mark.django_db(transaction=True)
def test_of_two_approvers_at_once_one_wins() -> None:
    world = World()
    second = make_user("second")
    grant_role(second, SiteRole.APPROVER)
    request = world.submit()

    def decide(actor: object) -> str:
        try:
            approve_request(actor=actor, request_id=request.pk, version=1, grants={}, now=NOW)  # type: ignore[arg-type]
            return "approved"
        except Conflict as error:
            return error.code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        results = sorted(pool.map(decide, (world.approver, second)))
    assert results == ["approved", "decided"]
    assert Allocation.objects.count() == 1
    assert AllocationLine.objects.count() == 2
    assert AuditEvent.objects.filter(action="approve_request").count() == 1


def test_a_period_that_is_over_cannot_be_approved(world: World) -> None:
    request = world.submit()
    with pytest.raises(Conflict):
        world.approve(request, now=NOW + timedelta(days=30))


def test_a_rejection_needs_a_reason(world: World) -> None:
    request = world.submit()
    with pytest.raises(InvalidInput) as caught:
        reject_request(actor=world.approver, request_id=request.pk, version=1, comment=" ", now=NOW)
    assert "comment" in caught.value.fields
    rejected = reject_request(
        actor=world.approver, request_id=request.pk, version=1, comment="Use spot.", now=NOW
    )
    assert rejected.state == "rejected"
    assert rejected.comments.get().body == "Use spot."


def test_changes_are_asked_for_and_the_queue_forgets_the_request(world: World) -> None:
    request = world.submit()
    assert list(list_review_queue(world.approver)) == [request]
    ask_for_changes(
        actor=world.approver, request_id=request.pk, version=1, comment="Fewer GPUs?", now=NOW
    )
    assert list(list_review_queue(world.approver)) == []
    with pytest.raises(Conflict):
        world.approve(request)


def test_members_and_reviewers_comment_and_outsiders_do_not(world: World) -> None:
    request = world.submit()
    for person in (world.member, world.approver):
        add_comment(actor=person, request_id=request.pk, body="Seen.", now=NOW)
    with pytest.raises(NotPermitted):
        add_comment(actor=world.outsider, request_id=request.pk, body="Seen.", now=NOW)
    assert request.comments.count() == 2


def test_an_outsider_does_not_see_a_request(world: World) -> None:
    request = world.submit()
    with pytest.raises(NotFound):
        get_request(world.outsider, request.pk)


def test_a_hold_is_placed_once_and_released(world: World) -> None:
    line = world.approve(world.submit()).lines.order_by("id")[0]
    with pytest.raises(NotPermitted):
        place_hold(actor=world.pi, line=line, reason="No budget", now=NOW)
    place_hold(actor=world.operator, line=line, reason="No budget", now=NOW)
    with pytest.raises(Conflict):
        place_hold(actor=world.operator, line=line, reason="Again", now=NOW)
    release_hold(actor=world.operator, line=line, now=NOW)
    with pytest.raises(PortalError):
        release_hold(actor=world.operator, line=line, now=NOW)


def test_a_manager_may_request_and_an_approver_among_the_members_may_decide(world: World) -> None:
    manager = make_user("mia")
    add_person(world.project, manager, ProjectRole.MANAGER)
    grant_role(world.member, SiteRole.APPROVER, world.organisation)
    request = world.submit()
    assert list(list_review_queue(world.member)) == [request]
