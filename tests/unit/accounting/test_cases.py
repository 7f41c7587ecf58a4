"""Every worked case: what sacct printed, and what a correct meter makes of it."""

from datetime import UTC, datetime, timedelta

from accounting.records import FINAL_STATES
from accounting.usage import clip_run, meter
from tests.unit.accounting.case_loader import (
    APRIL,
    LATER,
    MARCH,
    load_cases,
    meter_all,
    sum_by_account,
    sum_seconds,
)

CASES = load_cases()


def test_the_loader_finds_every_case() -> None:
    numbers = (1, 2, 3, 4, 5, 6, 8, 9, 10, 11, 12, 13, 14, 16, 19, 21, 23, 25)
    assert sorted(CASES) == [f"C{number:02}" for number in numbers]


def test_c01_bills_both_runs_of_a_requeued_job() -> None:
    case = CASES["C01"]
    records = case.records()
    assert len(records) == case.expect["records"]
    assert len({record.db_index for record in records}) == 2
    assert len({record.job_id_raw for record in records}) == 1
    assert all(record.is_final for record in records)
    assert sum_by_account(meter_all(records, case.window())) == case.expect["gpu_seconds"]
    newest = meter_all(records[1:], case.window())
    assert sum_seconds(newest) == case.expect["without_-D_gpu_seconds"]


def test_c02_meters_a_preempted_run_and_keeps_its_state_for_the_policy() -> None:
    case = CASES["C02"]
    uses = meter_all(case.records(), case.window())
    assert sum_seconds(uses) == case.expect["usage_gpu_seconds"]
    assert sum_seconds(uses) == case.expect["charge_if_policy_bill_preempted"]
    waived = [use for use in uses if use[0].state != "PREEMPTED"]
    assert sum_seconds(waived) == case.expect["charge_if_policy_waive_preempted"]
    assert "PREEMPTED" in FINAL_STATES


def test_c03_splits_a_job_at_the_month() -> None:
    case = CASES["C03"]
    records = case.records()
    march, april = sum_seconds(meter_all(records)), sum_seconds(meter_all(records, APRIL))
    assert march == case.expect["2026-03"]["gpu_seconds"]
    assert april == case.expect["2026-04"]["gpu_seconds"]
    assert march + april == records[0].elapsed_seconds * 4 == 72000


def test_c04_gives_nothing_to_the_month_that_begins_when_the_job_ends() -> None:
    case = CASES["C04"]
    records = case.records()
    assert sum_seconds(meter_all(records)) == case.expect["2026-03"]["gpu_seconds"]
    assert len(meter_all(records, APRIL)) == case.expect["2026-04"]["charge_rows"]


def test_c05_takes_finality_from_the_state_and_not_from_end() -> None:
    case = CASES["C05"]
    as_of = datetime(2026, 4, 2, 12, tzinfo=UTC)
    for output in (0, 1):
        (record,) = case.records(output)
        (use,) = meter(record, MARCH, as_of=as_of)
        assert use.unit_seconds == case.expect["2026-03"]["gpu_seconds"]
        assert use.is_final is case.expect["2026-03"]["final_for_month"]
        assert record.is_final is case.expect["2026-03"]["record_final"]
    (polled,) = case.records(0)
    (use,) = meter(polled, APRIL, as_of=as_of)
    april = case.expect["2026-04_as_of_2026-04-02T12:00:00"]
    assert use.unit_seconds == april["gpu_seconds"]
    assert use.is_final is april["record_final"]
    (truncated,) = case.records(1)
    assert truncated.end_at == MARCH.end_at
    assert meter(truncated, APRIL, as_of=as_of) == ()


def test_c05_does_not_count_on_past_what_sacct_saw() -> None:
    (record,) = CASES["C05"].records(0)
    seen_at = datetime(2026, 4, 2, 12, tzinfo=UTC)
    assert meter(record, APRIL, as_of=LATER) == meter(record, APRIL, as_of=seen_at)
    (use,) = meter(record, APRIL, as_of=seen_at - timedelta(days=1))
    assert use.unit_seconds == 2 * 12 * 3600


def test_c06_leaves_suspended_time_out() -> None:
    case = CASES["C06"]
    (record,) = case.records()
    ((_, use),) = meter_all([record], case.window())
    assert use.unit_seconds == case.expect["gpu_seconds"]
    assert record.suspended_seconds == 7200
    span_seconds = (use.end_at - use.start_at).total_seconds()
    assert span_seconds == case.expect["wrong_if_end_minus_start"]
    assert not use.is_split_estimated


def test_c08_skips_steps() -> None:
    case = CASES["C08"]
    records = case.records()
    assert len(records) == case.expect["charge_records"]
    assert sum_seconds(meter_all(records, case.window())) == case.expect["gpu_seconds"]


def test_c09_counts_typed_gpus_once_and_the_rest_untyped() -> None:
    case = CASES["C09"]
    uses = meter_all(case.records(), case.window())
    assert sum_by_account(uses) == case.expect["gpu_seconds"]
    by_sku: dict[str, dict[str, int]] = {}
    for record, use in uses:
        sku = use.tres.partition(":")[2] or "untyped"
        by_sku.setdefault(record.account, {})[sku] = use.unit_seconds
    assert by_sku == case.expect["by_sku"]


def test_c10_bills_mig_instances_under_their_own_name() -> None:
    case = CASES["C10"]
    uses = meter_all(case.records(), case.window())
    slices = {use.tres.partition(":")[2]: use.unit_seconds for _, use in uses}
    assert slices == case.expect["slice_seconds"]
    full = sum(use.unit_seconds for _, use in uses if use.tres == "gres/gpu")
    assert full == case.expect["full_gpu_seconds"]


def test_c11_bills_shards_and_mps_as_themselves() -> None:
    case = CASES["C11"]
    uses = meter_all(case.records(), case.window())
    assert sum_by_account(uses, "gres/shard") == case.expect["shard_seconds"]
    assert sum_by_account(uses, "gres/mps") == case.expect["mps_seconds"]
    assert sum_seconds(uses) == case.expect["gpu_seconds"]


def test_c12_reads_pending_arrays_and_bills_their_tasks() -> None:
    case = CASES["C12"]
    records = case.records()
    assert sum_seconds(meter_all(records, case.window())) == case.expect["gpu_seconds"]
    pending = [record for record in records if record.state == "PENDING"]
    assert len(pending) == case.expect["pending_rows"]
    assert [record.start_at for record in pending] == [None, None]
    assert len({(record.cluster, record.db_index) for record in records}) == 4


def test_c13_keeps_components_apart_and_never_multiplies_by_nodes() -> None:
    case = CASES["C13"]
    records = case.records()
    uses = meter_all(records, case.window())
    expected = {name: n for name, n in case.expect["gpu_seconds"].items() if n}
    assert sum_by_account(uses) == expected
    cpu_seconds = {}
    for record in records:
        clip = clip_run(record, case.window(), as_of=LATER)
        assert clip is not None
        cpu_seconds[record.account] = dict(record.alloc_tres)["cpu"] * clip.elapsed_seconds
    assert cpu_seconds == case.expect["cpu_seconds"]


def test_c14_keeps_rows_without_use_and_bills_the_cancelled_run() -> None:
    case = CASES["C14"]
    records = case.records()
    uses = meter_all(records, case.window())
    assert len(records) == case.expect["records"]
    assert len(uses) == case.expect["charge_rows"]
    assert sum_seconds(uses) == case.expect["gpu_seconds"]
    assert {record.state for record in records} == {"CANCELLED", "COMPLETED"}


def test_c16_a_fixed_runaway_job_has_no_use_left() -> None:
    case = CASES["C16"]
    runaway, fixed = case.records()
    issued = case.expect["2026-03_if_already_invoiced"]
    assert (runaway.cluster, runaway.db_index) == (fixed.cluster, fixed.db_index)
    before = sum_seconds(meter_all([runaway], as_of=datetime(2026, 4, 1, tzinfo=UTC)))
    after = sum_seconds(meter_all([fixed]))
    assert before == issued["issued_gpu_seconds"]
    assert after == case.expect["2026-03_if_reconciled_before_close"]["gpu_seconds"]
    assert after - before == issued["correction_in_2026-04"]["gpu_seconds"]
    assert not runaway.is_final
    assert fixed.is_final


def test_c19_bills_what_was_allocated_and_not_what_was_asked_for() -> None:
    case = CASES["C19"]
    records = case.records()
    assert sum_seconds(meter_all(records, case.window())) == case.expect["gpu_seconds"]
    assert dict(records[0].alloc_tres)["mem"] == 16 * 1024


def test_c21_places_a_late_row_in_the_month_of_its_use() -> None:
    case = CASES["C21"]
    row = case.expect["2026-04_row"]
    ((_, use),) = meter_all(case.records(), MARCH)
    assert use.unit_seconds == row["gpu_seconds"]
    assert use.start_at == datetime.fromisoformat(row["ChargePeriodStart"])
    assert use.end_at == datetime.fromisoformat(row["ChargePeriodEnd"])
    assert meter_all(case.records(), APRIL) == []


def test_c23_keeps_unsigned_64_bit_keys_as_text() -> None:
    case = CASES["C23"]
    records = case.records()
    assert len(records) == case.expect["records"]
    assert [record.db_index for record in records] == case.expect["db_index_as_text"]
    assert all(int(record.db_index) >= 2**63 for record in records)
    assert sum_by_account(meter_all(records, case.window())) == case.expect["gpu_seconds"]


def test_c25_shows_the_relabelled_read_as_the_same_row() -> None:
    case = CASES["C25"]
    first, again, orphan = case.records()
    assert (first.cluster, first.db_index) == (again.cluster, again.db_index)
    assert (first.account, again.account) == ("proj-a", "proj-a2")
    assert first.uid == again.uid == 20001
    assert (orphan.account, orphan.user, orphan.uid) == ("proj-z", "", 20077)
    expected = case.expect["2026-03"]["gpu_seconds"]
    assert sum_by_account(meter_all([first, orphan])) == {
        "proj-a": expected["proj-a"],
        "proj-z": expected["(suspense: proj-z)"],
    }
