"""A job that is read again, later or older, whole or with gaps, ends as its best row says."""

from datetime import UTC, date, datetime, timedelta

import pytest

from portal.audit.models import AuditEvent
from portal.usage.models import Job, JobRow, QuarantinedRow, UsageRecord
from tests.integration.factories import World, make_project
from tests.integration.usage.sacct import (
    NOW,
    get_counts,
    import_rows,
    make_row,
    make_running,
    sum_seconds,
    take_snapshot,
)

NOVEMBER = date(2026, 11, 1)


def test_a_running_job_grows_without_a_raw_row_for_each_poll(world: World) -> None:
    row = make_row(ElapsedRaw=7200)
    for elapsed in (60, 120, 180):
        run = import_rows(world.cluster, [make_running(row, elapsed)])
    assert get_counts(run) == (1, 0, 1, 0, 0)
    record = UsageRecord.objects.get()
    assert (record.unit_seconds, record.is_final) == (180, False)
    assert JobRow.objects.count() == 1
    import_rows(world.cluster, [row])
    record.refresh_from_db()
    assert (record.unit_seconds, record.is_final) == (7200, True)
    assert JobRow.objects.count() == 2


def test_a_row_that_is_older_than_what_is_known_changes_nothing(world: World) -> None:
    row = make_row(ElapsedRaw=7200)
    import_rows(world.cluster, [row])
    before = take_snapshot()
    run = import_rows(world.cluster, [make_running(row, 600)])
    assert get_counts(run) == (1, 0, 0, 1, 0)
    assert take_snapshot() == before


def test_of_two_final_rows_the_one_read_later_stands(world: World) -> None:
    row = make_row(ElapsedRaw=7200)
    shorter = row | {"ElapsedRaw": "3600", "End": "2026-11-10T01:00:00"}
    import_rows(world.cluster, [shorter], NOW + timedelta(minutes=1))
    import_rows(world.cluster, [row], NOW)
    assert sum_seconds() == 3600
    import_rows(world.cluster, [row], NOW + timedelta(minutes=2))
    assert sum_seconds() == 7200


def test_a_job_that_runs_is_not_made_to_wait_by_an_older_row(world: World) -> None:
    running = make_running(make_row(), 0)
    waiting = running | {"State": "PENDING", "Start": "Unknown", "AllocTRES": ""}
    import_rows(world.cluster, [running])
    import_rows(world.cluster, [waiting], NOW + timedelta(minutes=1))
    assert Job.objects.get().state == "RUNNING"


def test_a_suspension_that_grew_is_not_undone_by_an_older_row(world: World) -> None:
    suspended = make_running(make_row(), 60) | {"State": "SUSPENDED", "Suspended": "00:05:00"}
    import_rows(world.cluster, [suspended])
    older = suspended | {"Suspended": "00:01:00"}
    import_rows(world.cluster, [older], NOW + timedelta(minutes=1))
    assert Job.objects.get().suspended_seconds == 300


def test_a_runaway_job_that_is_repaired_leaves_no_usage(world: World) -> None:
    row = make_row(ElapsedRaw=0)
    import_rows(world.cluster, [make_running(row, 200_000)])
    assert sum_seconds() == 200_000
    import_rows(world.cluster, [row])
    assert not UsageRecord.objects.exists()
    assert Job.objects.get().is_final


def test_an_account_that_is_relabelled_does_not_move_final_usage(world: World) -> None:
    make_project("p2002")
    row = make_row()
    import_rows(world.cluster, [row])
    relabelled = row | {"Account": "p2002", "User": "sw-new"}
    for minutes in (1, 2):
        import_rows(world.cluster, [relabelled], NOW + timedelta(minutes=minutes))
    job, record = Job.objects.get(), UsageRecord.objects.get()
    assert job.changed_at == NOW
    assert (job.account, job.user, job.project) == ("p1001", "sw-ben", world.project)
    assert (record.project, record.user) == (world.project, "sw-ben")
    event = AuditEvent.objects.get(action="ignore_relabel")
    assert event.data["found"] == ["p2002", "sw-new", 20001]
    assert JobRow.objects.count() == 2


def test_a_relabelled_row_that_comes_and_goes_is_told_once(world: World) -> None:
    row = make_row()
    relabelled = row | {"Account": "p2002"}
    for minute, found in enumerate((row, relabelled, row, relabelled)):
        import_rows(world.cluster, [found], NOW + timedelta(minutes=minute))
    assert AuditEvent.objects.filter(action="ignore_relabel").count() == 1
    assert UsageRecord.objects.get().project == world.project


def test_a_person_that_was_unknown_at_first_is_filled_in(world: World) -> None:
    row = make_row()
    import_rows(world.cluster, [row | {"User": "", "UID": ""}])
    import_rows(world.cluster, [row], NOW + timedelta(minutes=1))
    job = Job.objects.get()
    assert (job.user, job.uid, UsageRecord.objects.get().user) == ("sw-ben", 20001, "sw-ben")
    assert not AuditEvent.objects.filter(action="ignore_relabel").exists()


@pytest.mark.parametrize(
    ("found", "kept"),
    [
        ({"Partition": "", "QOS": "Unknown"}, ("spot", "q1")),
        ({"Partition": "", "QOS": ""}, ("spot", "q1")),
        ({"Partition": "gpu", "QOS": "q2"}, ("gpu", "q2")),
    ],
)
def test_a_row_without_partition_and_qos_takes_none_away(
    world: World, found: dict[str, str], kept: tuple[str, str]
) -> None:
    row = make_row(Partition="spot", QOS="q1")
    import_rows(world.cluster, [make_running(row, 60)])
    import_rows(world.cluster, [row | found])
    job, record = Job.objects.get(), UsageRecord.objects.get()
    assert (job.partition, job.qos, record.qos, record.unit_seconds) == (*kept, kept[1], 3600)
    assert record.purchase_option == ("spot" if kept[0] == "spot" else "on_demand")
    assert not AuditEvent.objects.filter(action="ignore_relabel").exists()


def test_a_job_first_seen_without_partition_gets_its_place_later(world: World) -> None:
    row = make_row(Partition="spot", QOS="q1")
    import_rows(world.cluster, [row | {"Partition": "", "QOS": "Unknown"}])
    assert UsageRecord.objects.get().offering is None
    import_rows(world.cluster, [row], NOW + timedelta(minutes=1))
    record = UsageRecord.objects.get()
    assert (record.offering, record.purchase_option, record.qos) == (world.a100, "spot", "q1")


def test_a_database_that_counts_from_one_again_overwrites_no_job(world: World) -> None:
    old = make_row(DBIndex="7", JobIDRaw="7", Submit="2026-11-10T00:00:00")
    import_rows(world.cluster, [old])
    new = make_row(
        DBIndex="7", JobIDRaw="7", Submit="2026-11-12T00:00:00", start="2026-11-12T00:00:00"
    )
    other = make_row(DBIndex="7", JobIDRaw="9")
    for row in (new, other):
        run = import_rows(world.cluster, [row])
        assert (run.changed_count, run.quarantined_count) == (0, 1)
    waiting = QuarantinedRow.objects.get(resolved_at=None)
    assert "made anew" in waiting.reason
    assert Job.objects.get().submit_at == datetime(2026, 11, 10, tzinfo=UTC)
    assert UsageRecord.objects.get().unit_seconds == 3600
