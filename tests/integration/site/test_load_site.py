"""The site file in the database: created, changed, same; all or nothing; never deleted."""

from datetime import UTC, datetime

import pytest
from django.core.management import CommandError, call_command

from portal.audit.models import AuditEvent
from portal.catalog.models import Offering, Rate
from portal.ops.site.load import load_site
from portal.ops.site.problems import SiteFileError
from portal.ops.site.read import read_site_text
from portal.projects.models import Membership, Organisation, Project, Site, User
from tests.unit.ops.test_site_read import GOOD

pytestmark = pytest.mark.django_db
NOW = datetime(2026, 6, 15, 12, tzinfo=UTC)


def load(text=GOOD, *, is_dry_run=False):
    description, document = read_site_text(text, "site.yaml", {})
    return load_site(description, document, now=NOW, is_dry_run=is_dry_run)


def count_rows():
    models = (Site, Organisation, User, Project, Membership, Offering, Rate, AuditEvent)
    return [model.objects.count() for model in models]


def test_stores_everything_the_first_time():
    assert {outcome.verb for outcome in load()} == {"created"}
    assert Organisation.objects.get(code="low").parent.code == "top"
    rate = Rate.objects.get()
    assert (rate.unit_price_micros, rate.currency) == (1_200_000, "EUR")
    # Midnight in Berlin, not in UTC.
    assert rate.starts_at == datetime(2025, 12, 31, 23, tzinfo=UTC)


def test_gives_new_people_no_password():
    load()
    assert not User.objects.get(username="ann").has_usable_password()


def test_changes_nothing_the_second_time():
    load()
    before = count_rows()
    assert {outcome.verb for outcome in load()} == {"same"}
    assert count_rows() == before


def test_names_the_fields_that_it_changed_and_audits_them():
    load()
    outcomes = load(GOOD.replace("title: One", "title: Two"))
    assert [str(outcome) for outcome in outcomes if outcome.verb == "changed"] == [
        "changed  project p1 (title)"
    ]
    assert AuditEvent.objects.filter(action="changed_project", object_id="p1").exists()


def test_leaves_a_password_as_it_is():
    load()
    user = User.objects.get(username="ann")
    user.set_password("a password of hers")
    user.save()
    load(GOOD.replace("unix_name: ann", "unix_name: ann2"))
    assert User.objects.get(username="ann").check_password("a password of hers")


def test_deletes_nothing_that_the_file_leaves_out():
    load()
    load(GOOD[: GOOD.index("projects:")])
    assert Project.objects.filter(code="p1").exists()


def test_a_dry_run_tells_and_stores_nothing():
    before = count_rows()
    assert any(outcome.verb == "created" for outcome in load(is_dry_run=True))
    assert count_rows() == before


def test_appends_a_price_and_ends_the_one_before():
    load()
    load(GOOD + "  - {offering: a100, purchase_option: on_demand, per_unit_hour: 1.5, "
         "from_date: 2026-07-01}\n")  # fmt: skip
    first, second = Rate.objects.order_by("starts_at")
    assert first.ends_at == second.starts_at
    assert (first.unit_price_micros, second.unit_price_micros) == (1_200_000, 1_500_000)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("1.20", "1.30", "site.yaml:21: prices[0].from_date: This price has begun already"),
        ("from_date: 2026-01-01", "from_date: 2026-06-15", "tomorrow at the earliest"),
        ("currency: EUR", "currency: USD", "site.yaml:1: site.currency: This stays EUR"),
        ("Europe/Berlin", "Asia/Tokyo", "site.time_zone: This stays Europe/Berlin"),
    ],
)
def test_refuses_to_rewrite_the_past(before, after, message):
    load()
    rows = count_rows()
    with pytest.raises(SiteFileError) as caught:
        load(GOOD.replace(before, after).replace("title: One", "title: Not stored"))
    assert message in str(caught.value)
    assert count_rows() == rows
    assert Project.objects.get(code="p1").title == "One"


def test_refuses_a_unix_login_that_another_person_has():
    load()
    text = GOOD.replace("username: ann, unix_name: ann", "username: eve, unix_name: ann")
    with pytest.raises(SiteFileError, match=r"people\[0\].unix_name: “ann” is taken by ann"):
        load(text.replace("user: ann", "user: eve"))


def test_the_command_fails_with_every_problem_and_stores_nothing(tmp_path):
    path = tmp_path / "site.yaml"
    path.write_text(GOOD.replace("currency:", "curency:"), "utf-8")
    with pytest.raises(CommandError, match="2 problems; nothing was stored"):
        call_command("load_site", str(path))
    assert not Site.objects.exists()


def test_the_command_fills_in_variables(tmp_path, capsys):
    path = tmp_path / "site.yaml"
    path.write_text(GOOD.replace("name: Site", 'name: "${NAME}"'), "utf-8")
    call_command("load_site", str(path), "--set", "NAME=Campus")
    assert Site.objects.get().name == "Campus"
    assert "created" in capsys.readouterr().out
