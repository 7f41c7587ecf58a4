"""The worked cases, through the database: what the usage records hold per account and month."""

from datetime import UTC, date, datetime

import pytest

from portal.audit.models import AuditEvent
from portal.inventory.models import Cluster
from portal.usage.models import ImportRun, Job
from portal.usage.services import import_window
from tests.integration.factories import World, make_project
from tests.integration.usage.sacct import sum_seconds
from tests.unit.accounting.case_loader import load_cases

CASES = load_cases()
MARCH, APRIL = date(2026, 3, 1), date(2026, 4, 1)
LATER = datetime(2026, 6, 1, tzinfo=UTC)


@pytest.fixture
def cluster(world: World) -> Cluster:
    for code in ("proj-a", "proj-a2", "proj-b", "proj-c"):
        make_project(code, organisation=world.organisation)
    return world.cluster


def import_case(cluster: Cluster, name: str, output: int = 0, now: datetime = LATER) -> ImportRun:
    lines = CASES[name].outputs[output].splitlines(keepends=True)
    run = import_window(cluster, lines, LATER, LATER, now, delimiter="|")
    run.refresh_from_db()
    return run


def sum_by_account(*accounts: str) -> dict[str, int]:
    return {account: sum_seconds(project__code=account, period=MARCH) for account in accounts}


@pytest.mark.parametrize("name", ["C01", "C09", "C23"])
def test_seconds_by_account(cluster: Cluster, name: str) -> None:
    import_case(cluster, name)
    expected = CASES[name].expect["gpu_seconds"]
    assert sum_by_account(*expected) == expected
    assert sum_seconds() == sum(expected.values())


@pytest.mark.parametrize(
    ("name", "seconds"),
    [("C02", 43200), ("C06", 28800), ("C08", 14400), ("C12", 5400), ("C14", 3600), ("C19", 28800)],
)
def test_seconds_of_the_month(cluster: Cluster, name: str, seconds: int) -> None:
    run = import_case(cluster, name)
    assert sum_seconds(period=MARCH) == sum_seconds() == seconds
    assert run.quarantined_count == 0


def test_a_job_across_months_is_whole_in_both(cluster: Cluster) -> None:
    import_case(cluster, "C03")
    import_case(cluster, "C03")
    assert (sum_seconds(period=MARCH), sum_seconds(period=APRIL)) == (28800, 43200)


def test_a_job_that_ends_at_midnight_has_nothing_in_the_next_month(cluster: Cluster) -> None:
    import_case(cluster, "C04")
    assert (sum_seconds(period=MARCH), sum_seconds(period=APRIL)) == (7200, 0)


def test_a_truncated_row_does_not_undo_a_whole_one(cluster: Cluster) -> None:
    now = datetime(2026, 4, 2, 12, tzinfo=UTC)
    for output in (0, 1, 0):
        import_case(cluster, "C05", output, now)
        assert (sum_seconds(period=MARCH), sum_seconds(period=APRIL)) == (259200, 259200)
    assert not Job.objects.get().is_final


def test_mig_slices_and_shares_are_their_own_units(cluster: Cluster) -> None:
    import_case(cluster, "C10")
    import_case(cluster, "C11")
    assert sum_seconds(tres="gres/gpu:a100_1g.10gb") == 21600
    assert sum_seconds(tres="gres/shard") == 14400
    assert sum_seconds(tres="gres/mps") == 180000


def test_components_of_a_heterogeneous_job_are_jobs(cluster: Cluster) -> None:
    import_case(cluster, "C13")
    assert sum_by_account("proj-a", "proj-b") == {"proj-a": 0, "proj-b": 86400}
    assert Job.objects.count() == 2


def test_a_relabelled_account_stays_and_an_unknown_one_is_in_suspense(cluster: Cluster) -> None:
    import_case(cluster, "C25")
    assert sum_by_account("proj-a", "proj-a2") == {"proj-a": 3600, "proj-a2": 0}
    assert sum_seconds(project__is_suspense=True) == 3600
    assert AuditEvent.objects.filter(action="ignore_relabel").count() == 1
