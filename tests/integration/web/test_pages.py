"""Every page for every kind of reader, with a fixed number of queries on lists."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from portal.allocations.models import Allocation
from portal.allocations.services import place_hold
from portal.inventory.services import record_contact
from portal.ledger.services import post_open_periods
from portal.reconcile.services import reconcile_cluster
from portal.slurm.factory import get_fake
from portal.usage.services import import_window
from tests.integration.factories import World, make_project, make_user
from tests.integration.usage.sacct import make_lines, make_row, make_running
from tests.integration.web.forms import make_request_data, today

MONTH_PAGES = ("/projects/p1001/usage/2026-11/", "/chargeback/2026-11/")
PAGES = (
    "/",
    "/projects/",
    "/projects/p1001/",
    "/projects/p1001/jobs/",
    "/catalogue/",
    "/requests/",
    "/requests/new/",
    "/allocations/",
    *MONTH_PAGES,
)


def use(world: World, allocation: Allocation, hours_ago: int = 30) -> None:
    """Let a job of an hour end, another run, and one stay unreadable; then post."""
    now = timezone.now().replace(microsecond=0)
    start = (now - timedelta(hours=hours_ago)).strftime("%Y-%m-%dT%H:%M:%S")
    qos = allocation.lines.get(offering=world.a100).qos_name
    rows = [
        make_row(start=start, QOS=qos, Cluster=world.cluster.name, units=2),
        make_running(make_row(start=start, QOS=qos, Cluster=world.cluster.name), 600),
        make_row(start=start, Cluster=world.cluster.name, ElapsedRaw="3600", gres="h100"),
    ]
    broken = {**rows[0], "DBIndex": "1", "ElapsedRaw": "-4"}
    lines = make_lines([*rows, broken])
    import_window(world.cluster, lines, now - timedelta(days=2), now, now)
    post_open_periods(now)


def grant(world: World) -> Allocation:
    now = timezone.now()
    begin, end = today() - timedelta(days=1), today() + timedelta(days=20)
    row = world.submit(now - timedelta(days=1), start_date=begin, end_date=end)
    return world.approve(row, now)


def test_the_login_is_the_only_page_for_strangers(world: World, client: Client) -> None:
    assert client.get("/login/").status_code == 200
    for address in (*PAGES, "/reviews/", "/requests/1/", "/chargeback/2026-11/csv/"):
        response = client.get(address)
        assert response.status_code == 302
        assert response.url.startswith("/login/")


@pytest.mark.parametrize("role", ["pi", "member", "approver", "operator", "finance"])
def test_every_page_opens_for_every_role(world: World, sign_in, role: str) -> None:
    allocation = grant(world)
    use(world, allocation)
    row = world.submit(timezone.now(), start_date=today(), end_date=today() + timedelta(days=9))
    client = sign_in(getattr(world, role))
    month = timezone.now().strftime("%Y-%m")
    addresses = [
        *PAGES,
        f"/requests/{row.pk}/",
        f"/allocations/{allocation.pk}/",
        f"/projects/p1001/usage/{month}/",
        f"/chargeback/{month}/",
        "/reviews/",
    ]
    for address in addresses:
        response = client.get(address)
        assert response.status_code == 200, address
        html = response.content.decode()
        assert "style=" not in html
        assert "<script>" not in html
        assert html.count("<h1") == 1


def test_what_is_not_visible_is_not_found(world: World, sign_in) -> None:
    allocation = grant(world)
    client = sign_in(world.outsider)
    for address in (
        "/projects/p1001/",
        "/projects/p1001/jobs/",
        "/projects/p1001/usage/2026-11/",
        f"/requests/{allocation.request_id}/",
        f"/requests/{allocation.request_id}/edit/",
        f"/requests/{allocation.request_id}/withdraw/",
        f"/allocations/{allocation.pk}/",
        f"/reviews/{allocation.request_id}/",
    ):
        assert client.get(address).status_code == 404, address
    assert "p1001" not in client.get("/projects/").content.decode()
    assert client.post(f"/requests/{allocation.request_id}/comment/").status_code == 404


@pytest.mark.parametrize(
    "address",
    [
        "/nowhere/",
        "/projects/p%00/",
        "/projects/" + "x" * 300 + "/",
        "/requests/0/",
        "/requests/99999999999999999999999/",
        "/requests/999999999999999999/",
        "/allocations/-1/",
        "/chargeback/2026-13/",
        "/chargeback/0000-00/",
        "/projects/p1001/usage/2026-1/",
    ],
)
def test_an_address_that_leads_nowhere_is_a_404_page(world: World, sign_in, address: str) -> None:
    response = sign_in(world.pi).get(address)
    assert response.status_code == 404
    assert "Not found" in response.content.decode()


def test_pages_that_only_take_a_form_refuse_to_be_opened(world: World, sign_in) -> None:
    row = world.submit()
    client = sign_in(world.pi)
    for address in ("/logout/", "/projects/p1001/members/add/", f"/requests/{row.pk}/comment/"):
        response = client.get(address)
        assert response.status_code == 405, address
        assert "only takes a form" in response.content.decode()
        assert "POST" in response["Allow"]
    for address in ("/", "/catalogue/", "/projects/", f"/requests/{row.pk}/"):
        assert client.post(address).status_code == 405, address


def test_a_page_number_that_makes_no_sense_shows_a_page(world: World, sign_in) -> None:
    for page in ("0", "-1", "many", "9" * 30, "%00"):
        assert sign_in(world.pi).get(f"/requests/?page={page}").status_code == 200


def test_the_catalogue_tells_prices_and_what_is_free(world: World, sign_in) -> None:
    pool = world.a100_pool
    pool.observed_total_units, pool.observed_used_units = 64, 41
    pool.observed_at = timezone.now()
    pool.save()
    html = sign_in(world.pi).get("/catalogue/").content.decode()
    assert "1.20 EUR" in html
    assert "0.48 EUR" in html
    assert "<strong>23</strong> of 64 free" in " ".join(html.split())
    assert html.count("no data") == 1
    assert "Slurm was not asked yet" in html


def test_the_form_is_filled_in_from_the_offering(world: World, sign_in) -> None:
    html = sign_in(world.pi).get("/requests/new/?offering=mig-1g").content.decode()
    assert '<option value="mig-1g" selected>' in html
    assert 'name="lines-0-units" value="1"' in html
    assert 'name="lines-0-unit_hours" value="100"' in html
    assert "20.00 EUR" in html


def test_lines_can_be_added_and_removed_without_a_script(world: World, sign_in) -> None:
    client = sign_in(world.pi)
    data = make_request_data(world, justification="") | {"add_line": "1"}
    html = client.post("/requests/new/", data).content.decode()
    assert "lines-1-offering" in html
    assert "error-summary" not in html
    two = make_request_data(world, {}, {"offering": "mig-1g", "units": ""})
    html = client.post("/requests/new/", two | {"recalculate": "1"}).content.decode()
    assert "140.00 EUR" in html
    html = client.post("/requests/new/", two | {"remove_line": "0"}).content.decode()
    assert "lines-1-offering" not in html
    assert '<option value="mig-1g" selected>' in html
    assert world.project.requests.count() == 0


def test_a_request_of_two_lines_goes_from_form_to_allocation(world: World, sign_in) -> None:
    mig = {"offering": "mig-1g", "units": "4", "unit_hours": "40"}
    sent = sign_in(world.pi).post("/requests/new/", make_request_data(world, {}, mig))
    row = world.project.requests.get()
    assert sent.url == f"/requests/{row.pk}/"
    reviewer = sign_in(world.approver)
    page = reviewer.get(f"/reviews/{row.pk}/").content.decode()
    assert "128.00 EUR" in page
    first, second = row.lines.order_by("id")
    data = {
        "version": row.version,
        "decision": "approve",
        f"units-{first.pk}": "2",
        f"unit_hours-{first.pk}": "50",
        f"units-{second.pk}": "4",
        f"unit_hours-{second.pk}": "40",
    }
    assert reviewer.post(f"/reviews/{row.pk}/", data).url == f"/requests/{row.pk}/"
    allocation = Allocation.objects.get()
    assert sorted(allocation.lines.values_list("units", "unit_hours")) == [(2, 50), (4, 40)]
    html = sign_in(world.member).get(f"/allocations/{allocation.pk}/").content.decode()
    assert "sbatch -A p1001 --gres=gpu:a100:2 --time=01:00:00 job.sh" in html
    assert "sbatch -A p1001 --gres=gpu:1g.10gb:1 --time=01:00:00 job.sh" in html
    assert "Waits for Slurm" in html


def test_spot_is_asked_for_by_its_partition(world: World, sign_in) -> None:
    spot = {"purchase_option": "spot"}
    sign_in(world.pi).post("/requests/new/", make_request_data(world, spot))
    allocation = world.approve(world.project.requests.get(), timezone.now())
    html = sign_in(world.pi).get(f"/allocations/{allocation.pk}/").content.decode()
    assert "sbatch -A p1001 --gres=gpu:a100:2 -p spot --time=01:00:00 job.sh" in html


def test_changes_are_asked_for_and_sent(world: World, sign_in) -> None:
    row = world.submit(timezone.now(), start_date=today(), end_date=today() + timedelta(days=9))
    reviewer, pi = sign_in(world.approver), sign_in(world.pi)
    data = {"version": row.version, "decision": "ask_for_changes", "comment": "Less, please."}
    assert reviewer.post(f"/reviews/{row.pk}/", data).status_code == 302
    assert "changes are asked for" in pi.get("/").content.decode()
    assert "Less, please." in pi.get(f"/requests/{row.pk}/").content.decode()
    row.refresh_from_db()
    html = pi.get(f"/requests/{row.pk}/edit/").content.decode()
    assert f'name="version" value="{row.version}"' in html
    sent = pi.post(
        f"/requests/{row.pk}/edit/", make_request_data(world, {"units": "1"}, version=row.version)
    )
    assert sent.status_code == 302
    row.refresh_from_db()
    assert (row.state, row.lines.get().units) == ("submitted", 1)
    assert "changed the request" in pi.get(f"/requests/{row.pk}/").content.decode()


def test_a_request_is_withdrawn_once(world: World, sign_in) -> None:
    row = world.submit()
    pi = sign_in(world.pi)
    assert "Withdraw request" in pi.get(f"/requests/{row.pk}/withdraw/").content.decode()
    address, data = f"/requests/{row.pk}/withdraw/", {"version": row.version}
    assert pi.post(address, data).status_code == 302
    assert pi.post(address, data).status_code == 409
    assert pi.get(address).status_code == 409
    assert pi.get(f"/requests/{row.pk}/edit/").status_code == 409


def test_members_come_and_go(world: World, sign_in) -> None:
    pi = sign_in(world.pi)
    data = {"username": "eve", "role": "member"}
    assert pi.post("/projects/p1001/members/add/", data).status_code == 302
    member = world.project.memberships.get(user=world.outsider)
    assert sign_in(world.outsider).get("/projects/p1001/").status_code == 200
    assert pi.post(f"/projects/p1001/members/{member.pk}/remove/").status_code == 302
    assert sign_in(world.outsider).get("/projects/p1001/").status_code == 404


def test_an_allocation_tells_its_use_its_slurm_objects_and_its_holds(world: World, sign_in) -> None:
    allocation = grant(world)
    client = sign_in(world.member)
    address = f"/allocations/{allocation.pk}/"
    assert "no data" in client.get(address).content.decode()
    reconcile_cluster(world.cluster, get_fake(world.cluster.name), timezone.now())
    use(world, allocation)
    html = client.get(address).content.decode()
    line = allocation.lines.get(offering=world.a100)
    assert line.qos_name in html
    assert "In force" in html
    assert "<strong>2.17</strong> of 100 GPU-hours used" in html
    place_hold(actor=world.operator, line=line, reason="Cooling repair", now=timezone.now())
    html = client.get(address).content.decode()
    assert "Cooling repair" in html
    assert "On hold" in html


def test_slurm_being_away_is_told_and_pages_stay_up(world: World, sign_in) -> None:
    allocation = grant(world)
    record_contact(world.cluster, timezone.now(), "slurmctld: connection refused")
    html = sign_in(world.pi).get(f"/allocations/{allocation.pk}/").content.decode()
    assert "does not answer" in html
    assert "Waits for Slurm" in html
    assert "waiting for Slurm" in sign_in(world.pi).get("/").content.decode()
    assert "does not answer" in sign_in(world.operator).get("/").content.decode()


def test_operators_see_rows_that_could_not_be_read(world: World, sign_in) -> None:
    use(world, grant(world))
    assert "could not be read" in sign_in(world.operator).get("/").content.decode()
    assert "could not be read" not in sign_in(world.pi).get("/").content.decode()


def test_the_operations_page_is_for_operators(world: World, sign_in) -> None:
    use(world, grant(world))
    reconcile_cluster(world.cluster, get_fake(world.cluster.name), timezone.now())
    html = sign_in(world.operator).get("/operations/").content.decode()
    assert "ElapsedRaw" in html
    assert "Create account p1001" in html
    for user in (world.pi, world.finance, world.approver):
        assert sign_in(user).get("/operations/").status_code == 403
        assert "Operations" not in sign_in(user).get("/").content.decode()


def test_usage_and_chargeback_tell_the_same_amounts(world: World, sign_in) -> None:
    use(world, grant(world))
    at = timezone.now() - timedelta(hours=30)
    month = at.strftime("%Y-%m")
    usage = sign_in(world.member).get(f"/projects/p1001/usage/{month}/").content.decode()
    assert "2.40 EUR" in usage
    assert "0.20 EUR" in usage
    assert "still running" in usage
    assert '<svg class="chart" role="img"' in usage
    for user in (world.finance, world.operator, world.pi):
        html = sign_in(user).get(f"/chargeback/{month}/").content.decode()
        assert "2.40 EUR" in html
        assert "Running, not final yet" in html
        assert "Used, but without a price" in html
    csv = sign_in(world.finance).get(f"/chargeback/{month}/csv/")
    assert csv["Content-Type"].startswith("text/csv")
    lines = csv.content.decode().splitlines()
    assert len(lines) == 2
    assert ",7200,2.000000,1.20,2.40,EUR" in lines[1]


def test_chargeback_is_for_those_who_pay_or_run_it(world: World, sign_in) -> None:
    use(world, grant(world))
    month = timezone.now().strftime("%Y-%m")
    html = sign_in(world.member).get(f"/chargeback/{month}/").content.decode()
    assert "No charges to show you" in html
    assert sign_in(world.member).get(f"/chargeback/{month}/csv/").status_code == 403
    other = World("x-")
    html = sign_in(other.pi).get(f"/chargeback/{month}/").content.decode()
    assert "sw-ben" not in html
    csv = sign_in(other.pi).get(f"/chargeback/{month}/csv/").content.decode()
    assert len(csv.splitlines()) == 1


def count_queries(client: Client, address: str) -> int:
    client.get(address)
    with CaptureQueriesContext(connection) as queries:
        assert client.get(address).status_code == 200
    return len(queries)


@pytest.mark.parametrize(
    ("role", "address"),
    [
        ("pi", "/"),
        ("approver", "/"),
        ("operator", "/"),
        ("operator", "/projects/"),
        ("operator", "/operations/"),
        ("pi", "/projects/p1001/"),
        ("pi", "/requests/"),
        ("pi", "/requests/new/"),
        ("approver", "/reviews/"),
        ("pi", "/allocations/"),
        ("pi", "/catalogue/"),
        ("finance", "/chargeback/2026-11/"),
    ],
)
def test_the_number_of_queries_does_not_grow(
    world: World, sign_in, role: str, address: str
) -> None:
    client = sign_in(getattr(world, role))
    now = timezone.now()
    period = {"start_date": today(), "end_date": today() + timedelta(days=9)}
    world.approve(world.submit(now, **period), now)
    world.submit(now, **period)
    before = count_queries(client, address)
    for index in range(6):
        world.approve(world.submit(now, **period), now)
        world.submit(now, **period)
        project = make_project(f"p2{index:03}", organisation=world.organisation)
        project.memberships.create(user=make_user(), role="pi")
        world.project.memberships.create(user=make_user())
    assert count_queries(client, address) == before
    assert before <= 30


def test_a_site_that_is_not_loaded_says_so(client: Client, db: None) -> None:
    assert client.get("/login/").status_code == 200
    user = get_user_model().objects.create_user("root", password="a long enough password")
    client.force_login(user)
    response = client.get("/")
    assert response.status_code == 400
    assert "load_site" in response.content.decode()


def test_pages_carry_a_strict_policy(world: World, client: Client) -> None:
    policy = client.get("/login/")["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "style-src 'self'" in policy


def test_a_form_without_its_token_is_told_to_load_again(world: World) -> None:
    client = Client(enforce_csrf_checks=True)
    response = client.post("/login/", {"username": "ada", "password": "x"})
    assert response.status_code == 403
