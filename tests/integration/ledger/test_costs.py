"""Costs by day and by person add up to the statement."""

from datetime import UTC, date, datetime
from decimal import Decimal

from django.db import connection
from django.test.utils import CaptureQueriesContext

from portal.ledger.selectors import (
    build_statement,
    cost_by_day,
    cost_by_person,
    list_provisional,
)
from portal.ledger.services import post_period
from tests.integration.factories import World, make_rate
from tests.integration.usage.sacct import NOW, import_rows, make_row, make_running

NOVEMBER = date(2026, 11, 1)


def make_usage(world: World) -> None:
    make_rate(world.a100, "1.31", starts_at=datetime(2026, 11, 8, 0, 17, 3, tzinfo=UTC))
    rows = [
        make_row(
            start=f"2026-11-{number % 14 + 1:02d}T{number % 24:02d}:13:00",
            User=f"sw-u{number % 3}",
            units=number % 4 + 1,
            ElapsedRaw=number * 7919 % 200_000 + 1,
        )
        for number in range(40)
    ]
    rows.append(make_running(make_row(User="sw-u1", units=3), 12_345))
    rows.append(make_row(Partition="other", ElapsedRaw=100))
    import_rows(world.cluster, rows)
    post_period(NOVEMBER, NOW)


def test_days_and_people_add_up_to_the_statement(world: World) -> None:
    make_usage(world)
    final = sum((line.amount.amount for line in build_statement(NOVEMBER).lines), Decimal(0))
    running = sum((line.amount.amount for line in list_provisional(NOVEMBER)), Decimal(0))
    seconds = sum(line.unit_seconds for line in build_statement(NOVEMBER).lines)
    assert final > 0
    assert running > 0
    for costs in (cost_by_day(world.project, NOVEMBER), cost_by_person(world.project, NOVEMBER)):
        for is_provisional, total in ((False, final), (True, running)):
            amounts = [
                cost.amount.amount
                for cost in costs
                if cost.amount is not None and cost.is_provisional == is_provisional
            ]
            assert sum(amounts) == total
        priced = [cost for cost in costs if cost.amount is not None and not cost.is_provisional]
        assert sum(cost.unit_seconds for cost in priced) == seconds
        unknown = [cost for cost in costs if cost.amount is None]
        assert [(cost.offering_title, cost.unit_seconds) for cost in unknown] == [("", 100)]


def test_queries_do_not_grow_with_the_rows(world: World) -> None:
    make_usage(world)
    counts = []
    for _ in range(2):
        import_rows(world.cluster, [make_row() for _ in range(50)])
        for read in (cost_by_day, cost_by_person):
            with CaptureQueriesContext(connection) as queries:
                read(world.project, NOVEMBER)
            counts.append(len(queries))
    assert counts[:2] == counts[2:]
