"""Wrong input is answered with a sentence at the right place and a 4xx; nothing is half-stored."""

from datetime import timedelta
from typing import Any

import pytest

from portal.allocations.models import Allocation, AllocationRequest, RequestComment, RequestLine
from portal.audit.models import AuditEvent
from portal.projects.models import Membership
from tests.integration.factories import World, add_person, grant_role, make_user
from tests.integration.web.forms import make_request_data, today

NUL = "\x00"


def count_rows() -> tuple[int, ...]:
    models = (AllocationRequest, RequestLine, Allocation, RequestComment, Membership, AuditEvent)
    return tuple(model.objects.count() for model in models)


def find_error(response: Any, field_id: str) -> str:
    """Return the text of a field's error, by the id that the field points at."""
    html = response.content.decode()
    assert f'aria-describedby="{field_id}_error"' in html or f"{field_id}_error" in html
    _, _, rest = html.partition(f'id="{field_id}_error"')
    return rest.partition("</ul>")[0]


WRONG_LINES = [
    ({"units": "0"}, "id_lines-0-units", "Ask for 1 to 16 units"),
    ({"units": "-3"}, "id_lines-0-units", "Ask for 1 to 16 units"),
    ({"units": "17"}, "id_lines-0-units", "Ask for 1 to 16 units"),
    ({"units": "9" * 40}, "id_lines-0-units", "Ask for 1 to 16 units"),
    ({"units": "9" * 6000}, "id_lines-0-units", "whole number"),
    ({"units": "four"}, "id_lines-0-units", "whole number"),
    ({"units": ""}, "id_lines-0-units", "whole number"),
    ({"units": f"4{NUL}"}, "id_lines-0-units", "whole number"),
    ({"units": "1.5"}, "id_lines-0-units", "whole number"),
    ({"units": "1_0"}, "id_lines-0-units", "whole number"),
    ({"units": "٤"}, "id_lines-0-units", "whole number"),
    ({"units": "４"}, "id_lines-0-units", "whole number"),
    ({"unit_hours": "1_00"}, "id_lines-0-unit_hours", "whole number"),
    ({"unit_hours": "१००"}, "id_lines-0-unit_hours", "whole number"),
    ({"unit_hours": "0"}, "id_lines-0-unit_hours", "Ask for 1 to 100000 unit-hours"),
    ({"unit_hours": "100001"}, "id_lines-0-unit_hours", "Ask for 1 to 100000 unit-hours"),
    ({"offering": "gone"}, "id_lines-0-offering", "no longer available"),
    ({"offering": f"a100{NUL}"}, "id_lines-0-offering", "Null characters"),
    ({"offering": ""}, "id_lines-0-offering", "Choose an offering"),
    ({"purchase_option": "reserved"}, "id_lines-0-purchase_option", "can be had as"),
    ({"purchase_option": ""}, "id_lines-0-purchase_option", "on demand or spot"),
]


@pytest.mark.parametrize(("line", "field", "sentence"), WRONG_LINES)
def test_a_wrong_line_gets_its_sentence(world: World, sign_in, line, field, sentence) -> None:
    before = count_rows()
    response = sign_in(world.pi).post("/requests/new/", make_request_data(world, line))
    assert response.status_code == 400
    assert sentence in find_error(response, field)
    assert 'id="error-summary"' in response.content.decode()
    assert count_rows() == before


WRONG_VALUES = [
    ({"end_date": today().isoformat()}, "id_end_date", "must end after it begins"),
    (
        {"end_date": (today() - timedelta(days=9)).isoformat()},
        "id_end_date",
        "must end after it begins",
    ),
    (
        {"start_date": (today() - timedelta(days=9)).isoformat()},
        "id_start_date",
        "cannot begin in the past",
    ),
    ({"start_date": "31.2.2026"}, "id_start_date", "Write a date as"),
    ({"start_date": ""}, "id_start_date", "Choose a day"),
    ({"start_date": "٢٠٢٦-11-30"}, "id_start_date", "Write a date as"),
    ({"end_date": "9999-12-31"}, "id_end_date", "up to 365 days"),
    ({"end_date": "99999-12-31"}, "id_end_date", "Write a date as"),
    ({"justification": "  "}, "id_justification", "in a sentence or two"),
    ({"justification": f"a{NUL}b"}, "id_justification", "Null characters"),
    ({"justification": "x" * 6000}, "id_justification", "at most 5000"),
    ({"project": ""}, "id_project", "Choose the project"),
    ({"project": "p9999"}, "id_project", "projects that you lead"),
    ({"project": f"p1001{NUL}"}, "id_project", "Null characters"),
]


@pytest.mark.parametrize(("values", "field", "sentence"), WRONG_VALUES)
def test_a_wrong_value_gets_its_sentence(world: World, sign_in, values, field, sentence) -> None:
    before = count_rows()
    response = sign_in(world.pi).post("/requests/new/", make_request_data(world, **values))
    assert response.status_code == 400
    assert sentence in find_error(response, field)
    assert count_rows() == before


@pytest.mark.parametrize(
    "values",
    [
        {"submit_key": None},
        {"submit_key": "not-a-key"},
        {"lines-TOTAL_FORMS": None},
        {"lines-TOTAL_FORMS": "-1"},
        {"lines-TOTAL_FORMS": "many"},
        {"lines-TOTAL_FORMS": "0_1"},
        {"lines-TOTAL_FORMS": "١"},
        {"lines-TOTAL_FORMS": "0"},
        {"lines-TOTAL_FORMS": "100000"},
    ],
)
def test_a_damaged_form_is_refused(world: World, sign_in, values) -> None:
    before = count_rows()
    response = sign_in(world.pi).post("/requests/new/", make_request_data(world, **values))
    assert response.status_code == 400
    assert 'id="error-summary"' in response.content.decode()
    assert count_rows() == before


def test_an_offering_that_is_gone_meanwhile_is_named(world: World, sign_in) -> None:
    data = make_request_data(world)
    world.a100.is_active = False
    world.a100.save()
    response = sign_in(world.pi).post("/requests/new/", data)
    assert response.status_code == 400
    assert "no longer available" in find_error(response, "id_lines-0-offering")
    shown = sign_in(world.pi).get("/requests/new/?offering=a100")
    assert shown.status_code == 200
    assert "no longer available" in shown.content.decode()


def test_an_odd_offering_in_the_address_is_no_error_of_ours(world: World, sign_in) -> None:
    for code in ("%00", "a" * 5000, "%ff%fe", "'--"):
        assert sign_in(world.pi).get(f"/requests/new/?offering={code}").status_code == 200


def test_the_same_offering_twice_is_pointed_out_on_the_second_line(world: World, sign_in) -> None:
    response = sign_in(world.pi).post("/requests/new/", make_request_data(world, {}, {}))
    assert response.status_code == 400
    assert "line above" in " ".join(find_error(response, "id_lines-1-offering").split())


def test_who_leads_no_project_cannot_request(world: World, sign_in) -> None:
    before = count_rows()
    for user in (world.member, world.outsider, world.operator):
        response = sign_in(user).post("/requests/new/", make_request_data(world))
        assert response.status_code == 400
        assert "You lead no project" in response.content.decode()
    assert count_rows() == before


def test_a_double_click_stores_one_request(world: World, sign_in) -> None:
    client, data = sign_in(world.pi), make_request_data(world)
    first, second = client.post("/requests/new/", data), client.post("/requests/new/", data)
    assert (first.status_code, second.status_code) == (302, 302)
    assert first.url == second.url
    assert AllocationRequest.objects.count() == 1


def test_a_form_that_somebody_else_used_is_refused(world: World, sign_in) -> None:
    other = make_user("second")
    add_person(world.project, other, "manager")
    data = make_request_data(world)
    assert sign_in(world.pi).post("/requests/new/", data).status_code == 302
    assert sign_in(other).post("/requests/new/", data).status_code == 409


def test_nobody_without_the_right_approves(world: World, sign_in) -> None:
    row = world.submit()
    before = count_rows()
    data = {"version": row.version, "decision": "approve"}
    for user, status in (
        (world.pi, 403),
        (world.member, 403),
        (world.operator, 403),
        (world.finance, 403),
        (world.outsider, 404),
    ):
        response = sign_in(user).post(f"/reviews/{row.pk}/", data)
        assert response.status_code == status
        assert sign_in(user).get(f"/reviews/{row.pk}/").status_code == status
    assert count_rows() == before


def test_of_two_approvers_at_once_the_second_learns_of_it(world: World, sign_in) -> None:
    second = make_user("oskar")
    grant_role(second, "approver", world.organisation)
    row = world.submit()
    data = {"version": row.version, "decision": "approve"}
    assert sign_in(world.approver).post(f"/reviews/{row.pk}/", data).status_code == 302
    response = sign_in(second).post(f"/reviews/{row.pk}/", data)
    assert response.status_code == 409
    assert "already approved" in response.content.decode()
    assert Allocation.objects.count() == 1


def test_a_review_of_an_old_version_changes_nothing(world: World, sign_in) -> None:
    row = world.submit()
    changed = make_request_data(world, {"units": "2"}, version=row.version)
    answer = sign_in(world.pi).post(f"/requests/{row.pk}/edit/", changed)
    assert answer.status_code == 302
    response = sign_in(world.approver).post(
        f"/reviews/{row.pk}/", {"version": row.version, "decision": "approve"}
    )
    assert response.status_code == 409
    assert "has changed since you opened it" in response.content.decode()
    again = sign_in(world.pi).post(f"/requests/{row.pk}/edit/", changed)
    assert again.status_code == 409
    assert Allocation.objects.count() == 0


@pytest.mark.parametrize("value", ["5", "-1", "many", "9" * 30, "0_1", "١"])
def test_a_grant_beyond_the_request_is_refused_at_its_field(
    world: World, sign_in, value: str
) -> None:
    row = world.submit()
    line = row.lines.order_by("id")[0]
    data = {"version": row.version, "decision": "approve", f"units-{line.pk}": value}
    response = sign_in(world.approver).post(f"/reviews/{row.pk}/", data)
    assert response.status_code == 400
    html = response.content.decode()
    assert f'id="id_units-{line.pk}_error"' in html
    assert Allocation.objects.count() == 0


@pytest.mark.parametrize(
    "values",
    [
        {"decision": "maybe"},
        {"decision": ""},
        {"version": "x"},
        {"version": ""},
        {"version": "0_1"},
    ],
)
def test_a_damaged_decision_is_refused(world: World, sign_in, values) -> None:
    row = world.submit()
    data = {"version": row.version, "decision": "approve", **values}
    response = sign_in(world.approver).post(f"/reviews/{row.pk}/", data)
    assert response.status_code == 400
    assert 'id="error-summary"' in response.content.decode()


@pytest.mark.parametrize("decision", ["reject", "ask_for_changes"])
def test_a_refusal_needs_its_reason(world: World, sign_in, decision: str) -> None:
    row = world.submit()
    data = {"version": row.version, "decision": decision, "comment": " "}
    response = sign_in(world.approver).post(f"/reviews/{row.pk}/", data)
    assert response.status_code == 400
    assert "Say w" in find_error(response, "id_comment")


def test_granting_nothing_is_refused(world: World, sign_in) -> None:
    row = world.submit()
    data = {"version": row.version, "decision": "approve"}
    data |= {f"units-{line.pk}": "0" for line in row.lines.all()}
    response = sign_in(world.approver).post(f"/reviews/{row.pk}/", data)
    assert response.status_code == 400
    assert "reject the request instead" in response.content.decode()


@pytest.mark.parametrize("username", ["nobody-here", "", f"ben{NUL}", "x" * 500, "ben"])
def test_a_wrong_member_is_refused_at_the_field(world: World, sign_in, username: str) -> None:
    before = count_rows()
    response = sign_in(world.pi).post(
        "/projects/p1001/members/add/", {"username": username, "role": "member"}
    )
    assert response.status_code == 400
    assert find_error(response, "id_username")
    assert count_rows() == before


def test_only_those_who_may_change_members(world: World, sign_in) -> None:
    member = Membership.objects.get(user=world.member)
    data = {"username": "eve", "role": "member"}
    for user, status in ((world.member, 403), (world.finance, 403), (world.outsider, 404)):
        assert sign_in(user).post("/projects/p1001/members/add/", data).status_code == status
        address = f"/projects/p1001/members/{member.pk}/remove/"
        assert sign_in(user).get(address).status_code == status
        assert sign_in(user).post(address).status_code == status
    assert Membership.objects.count() == 2


def test_the_last_pi_stays(world: World, sign_in) -> None:
    pi = Membership.objects.get(user=world.pi)
    response = sign_in(world.pi).post(f"/projects/p1001/members/{pi.pk}/remove/")
    assert response.status_code == 409
    assert "name another first" in response.content.decode()


def test_an_empty_comment_is_refused(world: World, sign_in) -> None:
    row = world.submit()
    for text in ("", "   ", f"a{NUL}", "x" * 6000):
        response = sign_in(world.pi).post(f"/requests/{row.pk}/comment/", {"comment": text})
        assert response.status_code == 400
        assert find_error(response, "id_comment")
    assert RequestComment.objects.count() == 0


def test_a_wrong_password_is_a_400_with_its_sentence(world: World, client) -> None:
    response = client.post("/login/", {"username": "ada", "password": "wrong"})
    assert response.status_code == 400
    assert "do not go together" in response.content.decode()
    assert client.post("/login/", {"username": f"a{NUL}", "password": "x"}).status_code == 400


@pytest.mark.parametrize("count", ["2", "13", "24"])
def test_lines_that_were_announced_but_not_sent_are_told(world: World, sign_in, count: str) -> None:
    before = count_rows()
    data = make_request_data(world, **{"lines-TOTAL_FORMS": count})
    response = sign_in(world.pi).post("/requests/new/", data)
    assert response.status_code == 400
    assert "Choose an offering" in find_error(response, "id_lines-1-offering")
    assert count_rows() == before


def test_too_many_lines_are_told_in_the_portals_words(world: World, sign_in) -> None:
    data = make_request_data(world, **{"lines-TOTAL_FORMS": "25"})
    response = sign_in(world.pi).post("/requests/new/", data)
    assert response.status_code == 400
    assert "One request holds up to 12 lines" in response.content.decode()


@pytest.mark.parametrize("day", ["12/01/2026", "01.12.2026", "2026/12/01", "1 Dec 2026"])
def test_a_date_in_another_order_is_not_guessed_at(world: World, sign_in, day: str) -> None:
    before = count_rows()
    data = make_request_data(world, start_date=day)
    response = sign_in(world.pi).post("/requests/new/", data)
    assert response.status_code == 400
    assert "Write a date as" in find_error(response, "id_start_date")
    assert count_rows() == before


def test_spaces_around_a_number_do_no_harm(world: World, sign_in) -> None:
    data = make_request_data(world, {"units": " 4 ", "unit_hours": "100 "})
    assert sign_in(world.pi).post("/requests/new/", data).status_code == 302
    line = RequestLine.objects.get()
    assert (line.units, line.unit_hours) == (4, 100)
