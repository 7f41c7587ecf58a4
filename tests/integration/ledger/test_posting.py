"""Final usage is posted once, to the cent, and the books follow when it changes."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from django.db import IntegrityError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from accounting.statement import ChargeItem, make_charge_lines
from portal.common.errors import Conflict
from portal.ledger.models import Period, Posting, Transaction
from portal.ledger.pricing import load_prices
from portal.ledger.selectors import (
    build_statement,
    list_open_months,
    list_provisional,
    list_unpriced,
)
from portal.ledger.services import post_open_periods, post_period
from portal.usage.models import UsageRecord
from tests.integration.factories import World, make_organisation, make_project, make_rate
from tests.integration.ledger.books import check_balance, price_apart, sum_owed
from tests.integration.usage.sacct import NOW, import_rows, make_row, make_running

NOVEMBER, DECEMBER = date(2026, 11, 1), date(2026, 12, 1)


def get_total(month: date = NOVEMBER, **filters: object) -> Decimal:
    return sum((line.amount.amount for line in build_statement(month, **filters).lines), Decimal(0))


def test_a_line_is_seconds_times_units_times_price(world: World) -> None:
    import_rows(world.cluster, [make_row(units=4, ElapsedRaw=5000), make_row(ElapsedRaw=7)])
    assert post_period(NOVEMBER, NOW) == 1
    (line,) = build_statement(NOVEMBER).lines
    assert (line.unit_seconds, line.job_count, line.unit_price) == (20007, 2, Decimal("1.2"))
    assert line.amount.amount == price_apart([("ben", 20007, "1.2")]) == Decimal("6.67")
    assert (line.project, line.organisation, line.cost_centre, line.user, line.offering) == (
        "p1001",
        "physics",
        "CC-physics",
        "sw-ben",
        "a100",
    )
    check_balance()


def test_posting_again_adds_nothing(world: World) -> None:
    import_rows(world.cluster, [make_row(), make_row(gres="1g.10gb"), make_row(Partition="spot")])
    assert post_period(NOVEMBER, NOW) == 3
    before = list(Posting.objects.values_list("id", "amount_micros"))
    assert post_period(NOVEMBER, NOW) == 0
    assert post_open_periods(NOW) == 0
    assert list(Posting.objects.values_list("id", "amount_micros")) == before


def test_the_statement_is_the_sum_of_postings_and_of_prices_computed_apart(world: World) -> None:
    make_project("p2002", organisation=make_organisation("chemistry"))
    prices = {("gpu", "a100"): "1.2", ("spot", "a100"): "0.48", ("gpu", "1g.10gb"): "0.2"}
    rows, uses = [], []
    for number in range(60):
        (partition, gres), price = list(prices.items())[number % 3]
        account, user = ("p1001", "p2002", "nobody")[number % 7 % 3], f"sw-u{number % 4}"
        units, elapsed = number % 8 + 1, 997 * (number + 1) % 50_000 + 1
        rows.append(
            make_row(
                Account=account,
                User=user,
                Partition=partition,
                gres=gres,
                units=units,
                ElapsedRaw=elapsed,
            )
        )
        uses.append(((account, user, partition, gres), units * elapsed, price))
    import_rows(world.cluster, rows)
    post_period(NOVEMBER, NOW)
    assert get_total() == sum_owed() == price_apart(uses)
    chemistry = {make_project("p3003").organisation_id}
    assert get_total(organisation_ids=chemistry) == 0
    parts = [get_total(project=project) for project in world.project.__class__.objects.all()]
    assert sum(parts) == get_total()
    check_balance()


def test_running_usage_is_provisional_until_it_is_final(world: World) -> None:
    row = make_row(ElapsedRaw=7200)
    import_rows(world.cluster, [make_running(row, 3600)])
    assert post_period(NOVEMBER, NOW) == 0
    (line,) = list_provisional(NOVEMBER)
    assert line.amount.amount == Decimal("1.20")
    import_rows(world.cluster, [row])
    assert post_period(NOVEMBER, NOW) == 1
    assert list_provisional(NOVEMBER) == ()
    assert get_total() == Decimal("2.40")


def test_a_change_of_usage_is_posted_as_a_difference(world: World) -> None:
    row = make_row(ElapsedRaw=7200)
    import_rows(world.cluster, [row])
    post_period(NOVEMBER, NOW)
    shorter = row | {"ElapsedRaw": "3600", "End": "2026-11-10T01:00:00"}
    import_rows(world.cluster, [shorter], NOW + timedelta(hours=1))
    assert post_period(NOVEMBER, NOW) == 1
    assert [row.unit_seconds for row in Transaction.objects.order_by("id")] == [7200, -3600]
    assert get_total() == sum_owed() == Decimal("1.20")
    gone = row | {"ElapsedRaw": "0", "End": row["Start"]}
    import_rows(world.cluster, [gone], NOW + timedelta(hours=2))
    assert post_period(NOVEMBER, NOW) == 1
    assert build_statement(NOVEMBER).lines == ()
    assert sum_owed() == 0
    check_balance()


def test_usage_that_leaves_suspense_moves_in_the_books(world: World) -> None:
    import_rows(world.cluster, [make_row(Account="p2002")])
    post_period(NOVEMBER, NOW)
    assert [line.project for line in build_statement(NOVEMBER).lines] == ["suspense"]
    make_project("p2002")
    import_rows(world.cluster, [])
    assert post_period(NOVEMBER, NOW) == 2
    assert [line.project for line in build_statement(NOVEMBER).lines] == ["p2002"]
    assert get_total() == Decimal("1.20")
    check_balance()


def test_a_new_price_splits_a_job_at_its_instant(world: World) -> None:
    make_rate(world.a100, "2.40", starts_at=datetime(2026, 11, 10, 0, 30, tzinfo=UTC))
    import_rows(world.cluster, [make_row(units=3), make_row(start="2026-11-12T00:00:00")])
    post_period(NOVEMBER, NOW)
    lines = build_statement(NOVEMBER).lines
    assert [(line.unit_price, line.unit_seconds, line.job_count) for line in lines] == [
        (Decimal("1.2"), 5400, 1),
        (Decimal("2.4"), 9000, 2),
    ]
    assert get_total() == price_apart([("", 5400, "1.2"), ("", 9000, "2.4")])


def test_a_price_for_a_while_counts_the_job_once_at_the_price_around_it(world: World) -> None:
    edges = [datetime(2026, 11, 10, 0, minute, tzinfo=UTC) for minute in (20, 40)]
    make_rate(world.a100, "0.30", starts_at=edges[0], ends_at=edges[1])
    import_rows(world.cluster, [make_row()])
    post_period(NOVEMBER, NOW)
    lines = build_statement(NOVEMBER).lines
    assert [(line.unit_price, line.unit_seconds, line.job_count) for line in lines] == [
        (Decimal("1.2"), 2400, 1),
        (Decimal("0.3"), 1200, 1),
    ]


def test_usage_that_comes_to_nothing_in_money_is_posted_all_the_same(world: World) -> None:
    import_rows(world.cluster, [make_row(ElapsedRaw=1)])
    assert post_period(NOVEMBER, NOW) == 1
    (line,) = build_statement(NOVEMBER).lines
    assert (line.unit_seconds, line.job_count, line.amount.amount) == (1, 1, 0)
    import_rows(world.cluster, [make_row(ElapsedRaw=1)])
    later = NOW + timedelta(minutes=1)
    assert (post_period(NOVEMBER, later), post_period(NOVEMBER, NOW)) == (1, 0)
    assert build_statement(NOVEMBER).lines[0].unit_seconds == 2
    assert Period.objects.get().posted_at == later


def test_an_organisations_own_price_comes_before_the_lists(world: World) -> None:
    make_rate(world.a100, "0.60", organisation=world.organisation)
    make_project("p2002")
    import_rows(world.cluster, [make_row(), make_row(Account="p2002")])
    post_period(NOVEMBER, NOW)
    amounts = {line.project: line.amount.amount for line in build_statement(NOVEMBER).lines}
    assert amounts == {"p1001": Decimal("0.60"), "p2002": Decimal("1.20")}


def test_a_price_that_is_mended_reverses_the_old_lines(world: World) -> None:
    import_rows(world.cluster, [make_row()])
    post_period(NOVEMBER, NOW)
    world.a100.rates.filter(purchase_option="on_demand").update(unit_price_micros=3_000_000)
    assert post_period(NOVEMBER, NOW) == 2
    assert post_period(NOVEMBER, NOW) == 0
    assert get_total() == sum_owed() == Decimal("3.00")
    check_balance()


def test_usage_without_a_price_or_an_offering_is_told_and_not_billed(world: World) -> None:
    rows = [
        make_row(gres="1g.10gb", Partition="spot"),  # no spot price
        make_row(Partition="other", units=2),
        make_row(),
    ]
    import_rows(world.cluster, rows)
    assert post_period(NOVEMBER, NOW) == 1
    unpriced = list_unpriced(NOVEMBER)
    assert sorted((line.tres, line.unit_seconds) for line in unpriced) == [
        ("gres/gpu:1g.10gb", 3600),
        ("gres/gpu:a100", 7200),
    ]
    assert all(line.reason for line in unpriced)
    make_rate(world.mig, "0.05", "spot")
    assert post_period(NOVEMBER, NOW) == 1
    assert len(list_unpriced(NOVEMBER)) == 1


def test_a_price_in_another_currency_is_no_price_here(world: World) -> None:
    world.a100.rates.update(currency="CHF")
    import_rows(world.cluster, [make_row()])
    assert post_period(NOVEMBER, NOW) == 0
    assert [line.unit_seconds for line in list_unpriced(NOVEMBER)] == [3600]


def test_a_job_that_begins_before_its_first_price_is_not_billed_in_part(world: World) -> None:
    world.a100.rates.update(starts_at=datetime(2026, 11, 10, 0, 30, tzinfo=UTC))
    import_rows(world.cluster, [make_row()])
    assert post_period(NOVEMBER, NOW) == 0
    assert [line.unit_seconds for line in list_unpriced(NOVEMBER)] == [3600]


def test_months_of_another_zone_are_posted_apart(world: World) -> None:
    world.site.time_zone = "Asia/Shanghai"
    world.site.save()
    later = NOW + timedelta(days=20)
    import_rows(world.cluster, [make_row(start="2026-11-30T15:00:00", ElapsedRaw=7200)], later)
    assert list_open_months(later.date()) == (NOVEMBER, DECEMBER)
    assert post_open_periods(later) == 2
    assert get_total(NOVEMBER) == get_total(DECEMBER) == Decimal("1.20")


def test_a_project_that_moves_takes_what_is_not_closed_to_its_new_organisation(
    world: World,
) -> None:
    chemistry = make_organisation("chemistry")
    make_rate(world.a100, "0.60", organisation=chemistry)
    import_rows(world.cluster, [make_row()])
    post_period(NOVEMBER, NOW)
    (before,) = Transaction.objects.all()
    world.project.organisation = chemistry
    world.project.save()
    assert post_period(NOVEMBER, NOW) == 2
    assert post_period(NOVEMBER, NOW) == 0
    (line,) = build_statement(NOVEMBER).lines
    assert (line.organisation, line.cost_centre) == ("chemistry", "CC-chemistry")
    assert get_total() == sum_owed() == Decimal("0.60")
    (kept,) = Transaction.objects.filter(pk=before.pk)
    assert (kept.organisation, kept.cost_centre) == (world.organisation, "CC-physics")
    check_balance()


def test_a_statement_holds_what_any_of_the_organisations_or_projects_pays(world: World) -> None:
    chemistry = make_organisation("chemistry")
    first, second = (make_project(code, organisation=chemistry) for code in ("p2002", "p3003"))
    codes = ("p1001", "p2002", "p3003")
    rows = [make_row(Account=code) for code in codes]
    rows += [make_running(make_row(Account=code), 60) for code in codes]
    rows += [make_row(Account=code, Partition="other") for code in codes]
    import_rows(world.cluster, rows)
    post_period(NOVEMBER, NOW)
    scopes = [
        ({}, {"p1001", "p2002", "p3003"}),
        ({"project_ids": [first.pk]}, {"p2002"}),
        ({"project": second}, {"p3003"}),
        ({"organisation_ids": [chemistry.pk]}, {"p2002", "p3003"}),
        (
            {"organisation_ids": [world.organisation.pk], "project_ids": [second.pk]},
            {"p1001", "p3003"},
        ),
        ({"organisation_ids": []}, set()),
        ({"organisation_ids": [], "project_ids": [first.pk]}, {"p2002"}),
    ]
    for scope, expected in scopes:
        assert {line.project for line in build_statement(NOVEMBER, **scope).lines} == expected
        assert {line.project for line in list_provisional(NOVEMBER, **scope)} == expected
        assert {line.project_code for line in list_unpriced(NOVEMBER, **scope)} == expected


def test_a_closed_month_takes_nothing(world: World) -> None:
    import_rows(world.cluster, [make_row()])
    Period.objects.create(month=NOVEMBER, state=Period.State.CLOSED)
    with pytest.raises(Conflict, match="2026-11 is closed"):
        post_period(NOVEMBER, NOW)
    assert post_open_periods(NOW) == 0
    assert not Transaction.objects.exists()


def test_a_month_is_named_by_its_first_day(world: World) -> None:
    with pytest.raises(ValueError, match="first day"):
        post_period(date(2026, 11, 2), NOW)


def test_the_database_refuses_the_same_transaction_twice(world: World) -> None:
    import_rows(world.cluster, [make_row()])
    post_period(NOVEMBER, NOW)
    row = Transaction.objects.get()
    row.pk = None
    with pytest.raises(IntegrityError), transaction.atomic():
        row.save(force_insert=True)


def test_lines_are_those_of_the_accounting_core(world: World) -> None:
    make_rate(world.a100, "1.31", starts_at=datetime(2026, 11, 10, 0, 17, 3, tzinfo=UTC))
    import_rows(
        world.cluster, [make_row(units=n % 5 + 1, ElapsedRaw=n * 331) for n in range(1, 30)]
    )
    post_period(NOVEMBER, NOW)
    card = load_prices(NOVEMBER).card
    items = []
    for record in UsageRecord.objects.all():
        key = (str(record.offering_id), record.purchase_option, None)
        parts = card.split(record, *key)
        items += [
            ChargeItem("2026-11", "physics", "CC-physics", "p1001", record.user, "a100",
                       record.purchase_option, record.tres, part.rate, part.unit_seconds)
            for part in parts
        ]  # fmt: skip
    expected = make_charge_lines(item for item in items)
    found = build_statement(NOVEMBER).lines
    assert [(line.amount, line.unit_seconds, line.job_count) for line in found] == [
        (line.amount, line.unit_seconds, line.job_count) for line in expected
    ]


def test_queries_do_not_grow_with_the_rows(world: World) -> None:
    post_period(NOVEMBER, NOW)
    counts = []
    for size in (2, 60):
        make_rate(world.mig, "0.30", starts_at=datetime(2026, 11, 2 + size // 10, tzinfo=UTC))
        import_rows(world.cluster, [make_row() for _ in range(size)])
        with CaptureQueriesContext(connection) as queries:
            post_period(NOVEMBER, NOW)
        counts.append(len(queries))
        with CaptureQueriesContext(connection) as queries:
            build_statement(NOVEMBER)
            list_provisional(NOVEMBER)
            list_unpriced(NOVEMBER)
        counts.append(len(queries))
    assert counts[:2] == counts[2:]


@pytest.mark.django_db(transaction=True)
def test_two_workers_at_once_post_once() -> None:
    world = World()
    rows = [make_row(User=f"sw-u{number}", ElapsedRaw=number * 60) for number in range(1, 40)]
    import_rows(world.cluster, rows)

    def work(_: int) -> int:
        try:
            return post_period(NOVEMBER, NOW)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(work, range(4)))
    assert sorted(counts) == [0, 0, 0, 39]
    expected = price_apart((number, number * 60, "1.2") for number in range(1, 40))
    assert get_total() == sum_owed() == expected
    check_balance()
