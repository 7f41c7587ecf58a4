"""What pages read: usage by QOS, day and person."""

from datetime import date, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.usage.selectors import (
    count_open_quarantine,
    get_last_run,
    list_import_runs,
    list_quarantined,
    list_read_clusters,
    list_recent_jobs,
    list_usage_by_day,
    list_usage_by_person,
    used_unit_seconds_by_qos,
)
from portal.usage.services import import_file
from tests.integration.factories import World, make_cluster
from tests.integration.usage.sacct import NOW, import_rows, make_lines, make_row, make_running

NOVEMBER = date(2026, 11, 1)


def test_used_seconds_by_qos_count_running_jobs_and_know_zero(world: World) -> None:
    rows = [make_row(QOS="q1", units=2), make_running(make_row(QOS="q1"), 100), make_row(QOS="q2")]
    import_rows(world.cluster, rows)
    with CaptureQueriesContext(connection) as queries:
        assert used_unit_seconds_by_qos(["q1", "q3"]) == {"q1": 7300, "q3": 0}
    assert len(queries) == 1


@pytest.mark.parametrize(
    ("zone", "days"),
    [
        ("UTC", {date(2026, 11, 10): 2 * 7200, date(2026, 11, 11): 2 * 1800}),
        ("Asia/Shanghai", {date(2026, 11, 11): 2 * 9000}),
    ],
)
def test_usage_is_split_over_the_days_of_the_sites_zone(
    world: World, zone: str, days: dict[date, int]
) -> None:
    world.site.time_zone = zone
    world.site.save()
    import_rows(world.cluster, [make_row(start="2026-11-10T22:00:00", ElapsedRaw=9000, units=2)])
    found = list_usage_by_day(world.project, NOVEMBER, date(2026, 12, 1))
    assert {day.day: day.unit_seconds for day in found} == days
    assert {(day.offering_title, day.open_unit_seconds) for day in found} == {("A100 80 GB", 0)}


def test_the_day_of_a_clock_change_has_its_own_length(world: World) -> None:
    world.site.time_zone = "Europe/Berlin"
    world.site.save()
    row = make_row(start="2026-10-24T22:00:00", ElapsedRaw=25 * 3600 + 60)
    import_rows(world.cluster, [row])
    found = list_usage_by_day(world.project, date(2026, 10, 1), NOVEMBER)
    assert [(day.day.day, day.unit_seconds) for day in found] == [(25, 25 * 3600), (26, 60)]


def test_days_add_up_where_a_job_was_suspended(world: World) -> None:
    row = make_row(start="2026-11-10T00:00:00", ElapsedRaw=100_001)
    row |= {"Suspended": "1-00:00:00", "End": "2026-11-12T03:46:41"}
    import_rows(world.cluster, [row])
    found = list_usage_by_day(world.project, NOVEMBER, date(2026, 12, 1))
    assert len(found) == 3
    assert sum(day.unit_seconds for day in found) == 100_001


def test_usage_by_person_tells_what_may_still_change(world: World) -> None:
    rows = [
        make_row(User="sw-ada", units=4),
        make_row(User="sw-ben"),
        make_running(make_row(User="sw-ben"), 50),
        make_row(User="sw-ben", Partition="other"),
    ]
    import_rows(world.cluster, rows)
    found = list_usage_by_person(world.project, NOVEMBER)
    assert [
        (row.user, row.offering_title, row.unit_seconds, row.open_unit_seconds, row.job_count)
        for row in found
    ] == [
        ("sw-ada", "A100 80 GB", 14400, 0, 1),
        ("sw-ben", "", 3600, 0, 1),
        ("sw-ben", "A100 80 GB", 3650, 50, 2),
    ]


def test_recent_jobs_begin_with_those_that_wait(world: World) -> None:
    waiting = make_row(State="PENDING", Start="Unknown", End="Unknown", ElapsedRaw=0, AllocTRES="")
    old, new = make_row(start="2026-11-01T00:00:00"), make_row(start="2026-11-09T00:00:00")
    import_rows(world.cluster, [old, waiting, new])
    jobs = list_recent_jobs(world.project, limit=2)
    assert [job.db_index for job in jobs] == [waiting["DBIndex"], new["DBIndex"]]


def test_quarantine_is_listed_by_when_it_was_last_seen_until_it_is_resolved(world: World) -> None:
    first, second = make_row(AllocTRES="?"), make_row(AllocTRES="!")
    import_rows(world.cluster, [first, second])
    import_rows(world.cluster, [first], NOW + timedelta(minutes=1))
    keys = [first["DBIndex"], second["DBIndex"]]
    assert [row.key for row in list_quarantined()] == keys
    assert list(list_quarantined(make_cluster())) == []
    assert count_open_quarantine() == count_open_quarantine(world.cluster) == 2
    row = world.cluster.quarantined_rows.first()
    row.resolved_at = NOW
    row.save()
    assert count_open_quarantine() == 1


def test_a_file_is_listed_as_an_import_but_does_not_tell_that_slurm_was_read(world: World) -> None:
    other = make_cluster()
    import_file(world.cluster, make_lines([make_row()]), NOW)
    assert list_read_clusters() == frozenset()
    later = import_rows(world.cluster, [make_row()], NOW + timedelta(minutes=1))
    assert list_read_clusters() == {world.cluster.pk}
    assert [run.source for run in list_import_runs(world.cluster)] == ["sacct", "file"]
    assert get_last_run(world.cluster) == later
    assert get_last_run(other) is None
