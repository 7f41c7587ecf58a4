"""A row that cannot be read is one entry of the quarantine until it is read or dealt with."""

from datetime import timedelta

import pytest

from portal.usage.models import Job, QuarantinedRow, UsageRecord
from tests.integration.factories import World
from tests.integration.usage.sacct import NOW, import_rows, make_row, make_running

MINUTE = timedelta(minutes=1)
BAD = "cpu=8,gres/gpu=2?"


def list_open() -> list[QuarantinedRow]:
    return list(QuarantinedRow.objects.filter(resolved_at__isnull=True).order_by("id"))


def test_a_running_job_that_cannot_be_read_is_one_entry_with_its_newest_line(world: World) -> None:
    row = make_row(AllocTRES=BAD)
    for minute in range(4):
        import_rows(world.cluster, [make_running(row, 60 * minute + 1)], NOW + minute * MINUTE)
    (entry,) = list_open()
    assert (entry.key, entry.first_seen_at) == (row["DBIndex"], NOW)
    assert entry.last_seen_at == NOW + 3 * MINUTE
    assert b"^~|~^181^~|~^" in bytes(entry.line)


def test_an_older_reading_that_comes_late_does_not_take_the_newer_lines_place(world: World) -> None:
    row = make_row(AllocTRES=BAD)
    import_rows(world.cluster, [row], NOW + MINUTE)
    import_rows(world.cluster, [make_running(row, 5)], NOW)
    assert b"COMPLETED" in bytes(list_open()[0].line)


def test_a_row_that_is_read_at_last_leaves_the_quarantine_and_is_billed(world: World) -> None:
    row, other = make_row(), make_row(AllocTRES=BAD)
    import_rows(world.cluster, [make_running(row, 60) | {"AllocTRES": BAD}, other])
    assert len(list_open()) == 2
    import_rows(world.cluster, [row], NOW + MINUTE)
    assert [entry.key for entry in list_open()] == [other["DBIndex"]]
    assert QuarantinedRow.objects.get(key=row["DBIndex"]).resolved_by == ""
    assert UsageRecord.objects.get().unit_seconds == 3600


def test_an_older_reading_does_not_hide_that_the_newest_row_cannot_be_read(world: World) -> None:
    row = make_row()
    running, ended = make_running(row, 60), row | {"AllocTRES": BAD}
    import_rows(world.cluster, [running])
    import_rows(world.cluster, [ended], NOW + MINUTE)
    import_rows(world.cluster, [running], NOW + 2 * MINUTE)
    import_rows(world.cluster, [ended], NOW + 3 * MINUTE)
    assert [entry.key for entry in list_open()] == [row["DBIndex"]]


def test_what_somebody_dealt_with_comes_back_only_with_something_new(world: World) -> None:
    row = make_row(AllocTRES=BAD)
    import_rows(world.cluster, [row])
    QuarantinedRow.objects.update(resolved_at=NOW, resolved_by="otto")
    import_rows(world.cluster, [row], NOW + MINUTE)
    assert list_open() == []
    import_rows(world.cluster, [row | {"ElapsedRaw": "7200"}], NOW + 2 * MINUTE)
    assert [entry.resolved_by for entry in list_open()] == [""]


@pytest.mark.parametrize("cells", [{"Cluster": "other"}, {"DBIndex": "x"}])
def test_a_row_without_a_name_here_is_known_by_its_bytes(
    world: World, cells: dict[str, str]
) -> None:
    row = make_row(**cells)
    import_rows(world.cluster, [row, row, row | {"JobName": "second"}])
    assert len(list_open()) == 2
    assert all(len(entry.key) == 64 for entry in list_open())
    assert not Job.objects.exists()
