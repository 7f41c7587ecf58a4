"""A cluster's accounting is read again and again from Slurm, and Slurm may be away."""

from datetime import UTC, datetime, timedelta

from accounting.records import DELIMITER
from portal.slurm.backends.fake import FakeGateway
from portal.usage.models import ImportRun, Job, QuarantinedRow
from portal.usage.selectors import get_freshness, get_last_run
from portal.usage.services import choose_window, import_file, ingest_cluster
from tests.integration.factories import World
from tests.integration.usage.sacct import NOW, make_lines, make_row, make_running

NOVEMBER_START = datetime(2026, 11, 1, tzinfo=UTC)


def make_gateway(rows: list[dict[str, str]]) -> FakeGateway:
    gateway = FakeGateway("c1")
    for row in rows:
        gateway.add_sacct_row(row, datetime(2026, 11, 10, tzinfo=UTC))
    return gateway


def test_reads_the_whole_month_first_and_then_what_is_new(world: World) -> None:
    gateway = make_gateway([make_row()])
    run = ingest_cluster(world.cluster, gateway, NOW)
    assert (run.is_complete, run.is_full, run.new_count) == (True, True, 1)
    assert run.window_start_at == NOVEMBER_START
    soon = NOW + timedelta(minutes=1)
    run = ingest_cluster(world.cluster, gateway, soon)
    assert (run.is_complete, run.is_full, run.same_count) == (True, False, 1)
    assert run.window_start_at == NOW - timedelta(hours=2)
    assert get_freshness(world.cluster) == soon
    assert choose_window(world.cluster, NOW + timedelta(hours=6)) == (NOVEMBER_START, True)


def test_a_full_read_goes_back_to_the_oldest_open_job(world: World) -> None:
    old = make_running(make_row(start="2026-09-20T00:00:00"), 60)
    ingest_cluster(world.cluster, make_gateway([old]), NOW)
    start_at, is_full = choose_window(world.cluster, NOW + timedelta(days=1))
    assert (start_at, is_full) == (datetime(2026, 9, 20, tzinfo=UTC), True)


def test_nothing_is_left_out_where_nobody_read_for_months(world: World) -> None:
    ingest_cluster(world.cluster, make_gateway([]), NOW)
    much_later = NOW + timedelta(days=100)
    assert choose_window(world.cluster, much_later) == (NOW - timedelta(hours=2), True)
    gateway = FakeGateway("c1")
    missed = make_row(start="2026-12-20T00:00:00")
    end_at = datetime(2026, 12, 20, 1, tzinfo=UTC)
    gateway.add_sacct_row(missed, end_at - timedelta(hours=1), end_at)
    assert ingest_cluster(world.cluster, gateway, much_later).new_count == 1


def test_an_open_job_without_end_does_not_make_reads_longer_for_ever(world: World) -> None:
    stuck = make_running(make_row(start="2025-01-01T00:00:00"), 60)
    started = make_running(make_row(start="2026-11-12T00:00:00"), 60)
    ingest_cluster(world.cluster, make_gateway([started, stuck]), NOW)
    later = NOW + timedelta(days=1)
    assert choose_window(world.cluster, later) == (later - timedelta(days=400), True)


def test_months_begin_in_the_sites_zone(world: World) -> None:
    world.site.time_zone = "Asia/Shanghai"
    world.site.save()
    assert choose_window(world.cluster, NOW)[0] == datetime(2026, 10, 31, 16, tzinfo=UTC)


def test_slurm_that_is_away_leaves_a_run_with_its_reason(world: World) -> None:
    gateway = make_gateway([make_row()])
    gateway.is_away = True
    run = ingest_cluster(world.cluster, gateway, NOW)
    assert not run.is_complete
    assert "does not answer" in run.error
    assert get_freshness(world.cluster) is None
    assert get_last_run(world.cluster) == run


def test_an_answer_that_breaks_off_keeps_its_rows_and_is_read_again(world: World) -> None:
    gateway = make_gateway([make_row(), make_row()])
    gateway.sacct_error = "slurm_persist_conn_open: failed"
    run = ingest_cluster(world.cluster, gateway, NOW)
    assert (run.is_complete, get_freshness(world.cluster)) == (False, None)
    assert "slurm_persist_conn_open" in run.error
    gateway.sacct_error = ""
    run = ingest_cluster(world.cluster, gateway, NOW + timedelta(minutes=1))
    assert (run.is_complete, run.is_full, Job.objects.count()) == (True, True, 2)


def test_another_slurm_that_answers_is_not_taken_in(world: World) -> None:
    run = ingest_cluster(world.cluster, make_gateway([make_row(Cluster="other")]), NOW)
    assert not run.is_complete
    assert "answers for other" in run.error
    assert not Job.objects.exists()
    assert not QuarantinedRow.objects.exists()


def test_a_file_does_not_make_the_accounting_fresher(world: World) -> None:
    for delimiter in (DELIMITER, "|", "@@"):
        run = import_file(world.cluster, make_lines([make_row()], delimiter), NOW)
        assert (run.is_complete, run.new_count) == (True, 1)
    assert get_freshness(world.cluster) is None
    assert ImportRun.objects.filter(source="file").count() == 3
