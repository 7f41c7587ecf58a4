"""Rows of sacct become jobs and usage records, once, whatever the order and the interruptions."""

import random
from collections.abc import Iterator
from datetime import date, timedelta

import pytest

from accounting.records import RecordFormatError, make_delimiter
from portal.usage import ingest
from portal.usage.models import ImportRun, Job, JobRow, QuarantinedRow, UsageRecord
from portal.usage.services import import_window
from tests.integration.factories import World
from tests.integration.usage.sacct import (
    NOW,
    WINDOW_START,
    get_counts,
    import_rows,
    make_lines,
    make_row,
    make_running,
    sum_seconds,
    take_snapshot,
)

NOVEMBER = date(2026, 11, 1)


def make_mix() -> list[dict[str, str]]:
    """Return jobs of many kinds, two of them seen while they ran and after."""
    long_job = make_row(start="2026-10-30T00:00:00", ElapsedRaw=400_000, units=4)
    ended = make_row(ElapsedRaw=7200, units=2)
    return [
        make_running(ended, 600),
        make_row(),
        make_row(State="CANCELLED by 20001", Start="None", End="2026-11-10T01:00:00",
                 ElapsedRaw=0, AllocTRES=""),
        make_row(gres="1g.10gb", units=3, User="sw-ada"),
        make_row(Account="nobody", User=""),
        make_running(ended, 1200),
        long_job,
        make_row(State="REQUEUED", Partition="spot"),
        ended,
        make_row(AllocTRES="cpu=8,gres/gpu=2?"),
        make_row(State="PREEMPTED", QOS="x" * 300),
    ]  # fmt: skip


def test_a_row_becomes_a_job_and_a_usage_record(world: World) -> None:
    run = import_rows(world.cluster, [make_row(units=4, ElapsedRaw=5400, DBIndex=2**64 - 5)])
    assert get_counts(run) == (1, 1, 0, 0, 0)
    assert run.is_complete
    job, record = Job.objects.get(), UsageRecord.objects.get()
    assert (job.db_index, job.project, job.is_final) == (str(2**64 - 5), world.project, True)
    assert (record.period, record.offering, record.purchase_option) == (
        NOVEMBER,
        world.a100,
        "on_demand",
    )
    assert (record.units, record.elapsed_seconds, record.unit_seconds) == (4, 5400, 21_600)
    assert (record.tres, record.user, record.is_final) == ("gres/gpu:a100", "sw-ben", True)


def test_the_same_rows_again_change_nothing(world: World) -> None:
    rows = make_mix()
    first = import_rows(world.cluster, rows)
    before = take_snapshot()
    again = import_rows(world.cluster, rows, NOW + timedelta(minutes=1))
    assert get_counts(first) == (11, 7, 2, 0, 2)
    assert get_counts(again) == (11, 0, 0, 9, 2)
    assert take_snapshot() == before


@pytest.mark.parametrize("seed", range(5))
def test_the_order_and_the_batches_do_not_matter(
    world: World, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = make_mix()
    import_rows(world.cluster, rows)
    expected = take_snapshot(with_raw_rows=False)
    for model in (JobRow, UsageRecord, Job, QuarantinedRow):
        model.objects.all().delete()
    generator = random.Random(seed)
    shuffled = rows + generator.sample(rows, 4)
    generator.shuffle(shuffled)
    monkeypatch.setattr(ingest, "CHUNK_ROWS", generator.choice((1, 2, 3, 7)))
    cut = generator.randrange(len(shuffled))
    import_rows(world.cluster, shuffled[:cut])
    import_rows(world.cluster, shuffled[max(cut - 3, 0) :])
    found = take_snapshot(with_raw_rows=False)
    for jobs in (found["Job"], expected["Job"]):  # the row that was taken in last may differ
        assert len(jobs) == 7
    assert found == expected


def test_an_import_that_is_killed_is_finished_by_the_next(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "CHUNK_ROWS", 2)
    rows = [make_row() for _ in range(7)]

    def stop_after(count: int) -> Iterator[bytes]:
        yield from make_lines(rows)[: count + 1]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_window(world.cluster, stop_after(5), WINDOW_START, NOW, NOW)
    killed = ImportRun.objects.get()
    assert not killed.is_complete
    assert get_counts(killed) == (4, 4, 0, 0, 0)
    assert Job.objects.count() == UsageRecord.objects.count() == 4
    assert get_counts(import_rows(world.cluster, rows)) == (7, 3, 0, 4, 0)
    after = take_snapshot()
    import_rows(world.cluster, rows)
    assert take_snapshot() == after


def test_another_delimiter_gives_the_same_rows(world: World) -> None:
    rows = make_mix()
    import_rows(world.cluster, rows)
    before = take_snapshot()
    delimiter = make_delimiter()
    run = import_window(
        world.cluster, make_lines(rows, delimiter), WINDOW_START, NOW, NOW, delimiter=delimiter
    )
    assert get_counts(run) == (11, 0, 0, 9, 2)
    assert take_snapshot() == before


def test_a_job_name_cannot_pass_for_a_row(world: World) -> None:
    forged = make_row(Account="p1001", User="sw-eve", units=8)
    delimiter = make_delimiter()
    name = "x\n" + make_lines([forged])[1].decode().rstrip("\n")
    run = import_window(
        world.cluster,
        make_lines([make_row(JobName=name)], delimiter),
        WINDOW_START,
        NOW,
        NOW,
        delimiter=delimiter,
    )
    assert get_counts(run) == (1, 1, 0, 0, 0)
    assert Job.objects.get().job_name == name


def test_unreadable_rows_are_kept_with_their_reason(world: World) -> None:
    rows = [
        make_row(),
        make_row(AllocTRES="gres/gpu=many"),
        make_row(ElapsedRaw=-5, End="2026-11-10T01:00:00"),
        make_row(Cluster="c9"),
        make_row(Account="a" * 256),
    ]
    run = import_rows(world.cluster, rows)
    assert get_counts(run) == (5, 1, 0, 0, 4)
    later = NOW + timedelta(hours=1)
    import_rows(world.cluster, rows, later)
    kept = QuarantinedRow.objects.order_by("id")
    assert [row.first_seen_at for row in kept] == [NOW] * 4
    assert [row.last_seen_at for row in kept] == [later] * 4
    assert all(row.reason for row in kept)
    assert "cluster c9" in kept[2].reason
    assert bytes(kept[0].line) == make_lines([rows[1]])[1].rstrip(b"\n")


def test_bytes_that_are_no_text_are_stored(world: World) -> None:
    header, line = make_lines([make_row(JobName="NAME")])
    lines = [header, line.replace(b"NAME", b"\xff\x00\xfe")]
    run = import_window(world.cluster, lines, WINDOW_START, NOW, NOW)
    assert get_counts(run) == (1, 1, 0, 0, 0)
    assert bytes(JobRow.objects.get().line) == lines[1].rstrip(b"\n")


def test_refuses_an_output_without_the_needed_columns(world: World) -> None:
    with pytest.raises(RecordFormatError):
        import_window(world.cluster, [b"JobID|State\n"], WINDOW_START, NOW, NOW)
    run = ImportRun.objects.get()
    assert not run.is_complete
    assert run.error


def test_a_job_is_split_at_the_sites_own_midnight(world: World) -> None:
    world.site.time_zone = "Asia/Shanghai"
    world.site.save()
    # November ends in Shanghai at 16:00 UTC.
    row = make_row(start="2026-11-30T15:00:00", ElapsedRaw=7200, units=3)
    import_rows(world.cluster, [row], NOW + timedelta(days=20))
    assert sum_seconds(period=NOVEMBER) == 3 * 3600
    assert sum_seconds(period=date(2026, 12, 1)) == 3 * 3600


def test_queries_do_not_grow_with_the_rows(
    world: World, django_assert_max_num_queries: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import connection
    from django.test.utils import CaptureQueriesContext

    monkeypatch.setattr(
        type(connection.ops), "bulk_batch_size", lambda self, fields, objs: max(len(objs), 1)
    )
    counts = []
    for size in (3, 300):
        rows = [make_row() for _ in range(size)]
        import_rows(world.cluster, [make_running(row, 60) for row in rows])
        with CaptureQueriesContext(
            connection,
        ) as queries:
            import_rows(world.cluster, rows)
        counts.append(len(queries))
    assert counts[0] == counts[1]
