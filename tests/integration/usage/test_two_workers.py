"""Imports that run at once, and one that is killed, end in the rows of a single one."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import quote

import pytest
from django.db import connection, connections

from portal.usage import ingest
from portal.usage.models import ImportRun, Job, JobRow, QuarantinedRow, UsageRecord
from portal.usage.services import import_window
from tests.integration.factories import World
from tests.integration.usage.sacct import (
    NOW,
    WINDOW_START,
    import_rows,
    make_lines,
    make_row,
    make_running,
    take_snapshot,
)

ROOT = Path(__file__).resolve().parents[3]


def forget_usage() -> None:
    for model in (JobRow, UsageRecord, Job, QuarantinedRow, ImportRun):
        model.objects.all().delete()


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_store_every_row_once(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    monkeypatch.setattr(ingest, "CHUNK_ROWS", 7)
    ended = [make_row(Account=account) for account in ("p1001", "nobody") for _ in range(40)]
    rows = [make_running(row, 60) for row in ended[::2]] + ended + [make_row(AllocTRES="?")]
    import_rows(world.cluster, rows)
    expected = take_snapshot(with_raw_rows=False)
    forget_usage()

    def work(lines: list[bytes]) -> None:
        try:
            import_window(world.cluster, lines, WINDOW_START, NOW, NOW)
        finally:
            connections.close_all()

    jobs = [make_lines(rows), make_lines(rows[::-1]), make_lines(rows[30:] + rows[:30])]
    with ThreadPoolExecutor(len(jobs)) as pool:
        list(pool.map(work, jobs))
    assert take_snapshot(with_raw_rows=False) == expected
    runs = ImportRun.objects.all()
    assert sum(run.new_count for run in runs) == len(ended)
    assert all(
        run.read_count
        == run.new_count + run.changed_count + run.same_count + run.quarantined_count
        == len(rows)
        for run in runs
    )


def get_database_url() -> str:
    values = connection.settings_dict
    if connection.vendor == "sqlite":
        return f"sqlite:///{values['NAME']}"
    host = quote(values["HOST"], safe="")
    port = f":{values['PORT']}" if values["PORT"] else ""
    return f"postgresql://{values['USER']}@{host}{port}/{values['NAME']}"


@pytest.mark.django_db(transaction=True)
def test_a_killed_process_leaves_whole_chunks_that_the_next_import_completes() -> None:
    world = World()
    rows = [make_row() for _ in range(ingest.CHUNK_ROWS + 500)]
    lines = make_lines(rows)
    argv = ["manage.py", "import_usage", "--skip-checks", "--cluster", "c1", "--from-file", "-"]
    process = subprocess.Popen(
        [sys.executable, *argv],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "SLUICEWAY_DATABASE_URL": get_database_url(),
        },
    )
    try:
        assert process.stdin is not None
        process.stdin.write(b"".join(lines[:-50]))
        process.stdin.flush()
        deadline = time.monotonic() + 60
        while not Job.objects.exists():
            assert process.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        process.kill()
        process.wait()
    killed = ImportRun.objects.get()
    assert (killed.is_complete, killed.finished_at) == (False, None)
    assert killed.read_count == Job.objects.count() == UsageRecord.objects.count()
    run = import_rows(world.cluster, rows)
    run.refresh_from_db()
    assert (run.new_count, run.same_count) == (500, ingest.CHUNK_ROWS)
    after = take_snapshot()
    forget_usage()
    import_rows(world.cluster, rows)
    assert take_snapshot() == after
