"""What things cost, on the pages where it is decided and seen."""

import json
import re
from datetime import timedelta
from html import unescape

from django.utils import timezone

from portal.catalog.models import Rate
from portal.ledger.models import Period
from portal.projects.choices import ProjectState
from tests.integration.factories import (
    World,
    grant_role,
    make_organisation,
    make_project,
    make_user,
)
from tests.integration.web.test_pages import grant, use


def test_jobs_tell_what_each_costs(world: World, sign_in) -> None:
    use(world, grant(world))
    html = " ".join(sign_in(world.member).get("/projects/p1001/jobs/").content.decode().split())
    assert html.count("2.40 EUR") == 1
    assert html.count("0.20 EUR") == 1
    assert html.count("no price") == 1


def test_a_job_whose_offering_has_no_price_has_no_cost(world: World, sign_in) -> None:
    use(world, grant(world))
    Rate.objects.update(starts_at=timezone.now() + timedelta(days=1))
    html = sign_in(world.member).get("/projects/p1001/jobs/").content.decode()
    assert "EUR" not in html


def test_the_review_carries_the_price_of_each_line(world: World, sign_in) -> None:
    row = world.submit()
    html = sign_in(world.approver).get(f"/reviews/{row.pk}/").content.decode()
    found = re.search(r'data-prices="([^"]*)"', html)
    assert found is not None
    first, second = row.lines.order_by("id")
    assert json.loads(unescape(found[1])) == {
        "currency": "EUR",
        "exponent": 2,
        "lines": {str(first.pk): "1200000", str(second.pk): "200000"},
    }


def test_the_reviewer_sees_that_an_offering_is_gone(world: World, sign_in) -> None:
    row = world.submit()
    client = sign_in(world.approver)
    assert "no longer in the catalogue" not in client.get(f"/reviews/{row.pk}/").content.decode()
    world.a100.is_active = False
    world.a100.save()
    assert "no longer in the catalogue" in client.get(f"/reviews/{row.pk}/").content.decode()


def test_a_rejection_is_told_on_the_requesters_home_for_a_week(world: World, sign_in) -> None:
    row = world.submit()
    data = {"version": row.version, "decision": "reject", "comment": "Not this year."}
    assert sign_in(world.approver).post(f"/reviews/{row.pk}/", data).status_code == 302
    told = f"Request #{row.pk} for p1001: rejected"
    assert told in sign_in(world.pi).get("/").content.decode()
    assert told not in sign_in(world.member).get("/").content.decode()
    row.refresh_from_db()
    row.decided_at = timezone.now() - timedelta(days=8)
    row.save()
    assert told not in sign_in(world.pi).get("/").content.decode()


def test_finance_is_told_of_usage_without_a_price(world: World, sign_in) -> None:
    told = "Usage without a price in November 2026: 1 line"
    assert told not in sign_in(world.finance).get("/").content.decode()
    use(world, grant(world))
    for user in (world.finance, world.operator):
        assert told in sign_in(user).get("/").content.decode()
    for user in (world.pi, world.approver):
        assert told not in sign_in(user).get("/").content.decode()


def test_who_led_a_project_that_has_ended_still_sees_its_charges(world: World, sign_in) -> None:
    use(world, grant(world))
    world.project.state = ProjectState.ENDED
    world.project.save()
    csv = sign_in(world.pi).get("/chargeback/2026-11/csv/").content.decode()
    assert ",p1001," in csv
    other = make_project("p2002", organisation=world.organisation)
    other.memberships.create(user=world.outsider, role="pi")
    csv = sign_in(world.outsider).get("/chargeback/2026-11/csv/").content.decode()
    assert ",p1001," not in csv


def test_a_project_that_moves_keeps_its_lines_for_its_pi(world: World, sign_in) -> None:
    use(world, grant(world))
    Period.objects.update(state=Period.State.CLOSED)
    world.project.organisation = make_organisation("chemistry")
    world.project.save()
    pi, reader = sign_in(world.pi), make_user("carl")
    (line,) = pi.get("/chargeback/2026-11/csv/").content.decode().splitlines()[1:]
    assert ",physics," in line
    html = pi.get("/chargeback/2026-11/").content.decode()
    assert "2.40 EUR" in html
    assert "Used, but without a price" in html
    grant_role(reader, "finance", world.project.organisation)
    csv = sign_in(reader).get("/chargeback/2026-11/csv/").content.decode()
    assert ",p1001," not in csv


def test_charges_are_those_of_granted_organisations_and_led_projects(world: World, sign_in) -> None:
    use(world, grant(world))
    granted = make_organisation("chemistry")
    grant_role(world.pi, "finance", granted)
    for user in (world.pi, world.finance):
        assert ",p1001," in sign_in(user).get("/chargeback/2026-11/csv/").content.decode()
    reader = make_user("carl")
    grant_role(reader, "finance", granted)
    html = sign_in(reader).get("/chargeback/2026-11/").content.decode()
    assert "p1001" not in html
    assert "Used, but without a price" not in html
    assert "Usage without a price" not in sign_in(reader).get("/").content.decode()


def test_the_first_month_leads_to_none_before(world: World, sign_in) -> None:
    for address in ("/chargeback/2000-01/", "/projects/p1001/usage/2000-01/"):
        html = sign_in(world.pi).get(address).content.decode()
        assert 'rel="prev"' not in html
        assert 'href=""' not in html
    assert 'rel="prev"' in sign_in(world.pi).get("/chargeback/2000-02/").content.decode()
