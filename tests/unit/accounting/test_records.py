"""Rows of sacct become records, or are rejected with a reason; none moves another."""

from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.records import (
    DELIMITER,
    FINAL_STATES,
    MAX_ROW_BYTES,
    SACCT_FIELDS,
    JobRecord,
    RecordFormatError,
    RejectedRow,
    make_delimiter,
    read_records,
)
from tests.unit.accounting.builders import header, read, read_one, read_reason, row

D = DELIMITER.encode()


def test_reads_every_field() -> None:
    record = read_one()
    midnight = datetime(2026, 3, 10, tzinfo=UTC)
    assert record == JobRecord(
        cluster="c1",
        db_index="7001",
        job_id_raw="11",
        job_id="11",
        account="proj-a",
        user="u1",
        uid=20001,
        partition="gpu",
        qos="normal",
        state="COMPLETED",
        submit_at=midnight,
        eligible_at=midnight,
        start_at=midnight,
        end_at=midnight.replace(hour=1),
        elapsed_seconds=3600,
        suspended_seconds=0,
        alloc_tres=(
            ("billing", 8),
            ("cpu", 8),
            ("gres/gpu:a100", 2),
            ("gres/gpu", 2),
            ("mem", 65536),
            ("node", 1),
        ),
        node_list="n1",
        job_name="train",
    )


def test_user_text_stands_last_and_the_delimiter_is_plain() -> None:
    assert SACCT_FIELDS[-1] == "JobName"
    assert len(DELIMITER) > 1
    assert (DELIMITER + make_delimiter()).isascii()
    assert make_delimiter() != make_delimiter()


@pytest.mark.parametrize(
    "name",
    [
        b"",
        b"a|b",
        b"a" + D + b"b" + D,
        D * 40,
        b"two\nlines",
        b"\n\n",
        b"ends in newline\n",
        b"caf\xe9 \xff\xfe",
        b"\x00nul",
        b"tab\t and \r return",
        "日本語 🙂".encode(),
        b"=cmd()",
    ],
)
def test_a_hostile_job_name_stays_in_its_own_row(name: bytes) -> None:
    before, hostile, after = read(
        row(DBIndex="1"), row(DBIndex="2", JobName=name), row(DBIndex="3")
    )
    assert isinstance(before, JobRecord)
    assert isinstance(hostile, JobRecord)
    assert isinstance(after, JobRecord)
    assert (before.db_index, hostile.db_index, after.db_index) == ("1", "2", "3")
    assert before.job_name == after.job_name == "train"
    assert hostile.alloc_tres == before.alloc_tres
    expected = name.decode("utf-8", "backslashreplace").replace("\x00", "\\x00")
    assert hostile.job_name == expected


def test_a_name_with_newline_and_delimiters_costs_one_rejection_and_moves_nothing() -> None:
    name = b"x\nforged" + D + b"half\nrest"
    results = read(row(DBIndex="1", JobName=name), row(DBIndex="2"))
    records = [result for result in results if isinstance(result, JobRecord)]
    (rejected,) = [result for result in results if isinstance(result, RejectedRow)]
    assert [record.db_index for record in records] == ["1", "2"]
    assert records[0].job_name == "x"
    assert rejected == RejectedRow(b"forged" + D + b"half\nrest", "2 columns, not 19", 3)


def test_a_rejected_row_keeps_its_name_where_it_tells_one() -> None:
    rejected = read(
        row(DBIndex="0042", AllocTRES="?"),
        row(DBIndex="-1", AllocTRES="?"),
        b"c1" + D + b"43" + D + b"half\n",
        row(DBIndex="44").removesuffix(b"\n"),
    )
    assert all(isinstance(result, RejectedRow) for result in rejected)
    names = [(result.cluster, result.db_index) for result in rejected]
    assert names == [("c1", "42"), ("", ""), ("", ""), ("", "")]


def test_a_fresh_delimiter_keeps_a_forged_row_out() -> None:
    forged = b"x\n" + row(DBIndex="999", Account="victim").removesuffix(b"\n")
    delimiter = make_delimiter()
    (record,) = read(row(delimiter, DBIndex="1", JobName=forged), delimiter=delimiter)
    assert isinstance(record, JobRecord)
    assert record.db_index == "1"
    assert record.job_name == forged.decode()


def test_gives_every_row_with_its_bytes() -> None:
    first, second = row(DBIndex="1", JobName=b"a\nb\xff"), row(DBIndex="2", State="ODD")
    lines = (header() + first + second).splitlines(keepends=True)
    assert [raw + b"\n" for _, raw in read_records(lines)] == [first, second]


def test_a_step_is_skipped_with_its_continuation() -> None:
    steps = (
        row(JobIDRaw="11.batch", JobID="11.batch", User="", Partition=""),
        row(JobIDRaw="11.0", JobID="11.0", JobName=b"a\nb"),
        row(JobIDRaw="12.0", JobID="5020_1.0"),
    )
    (record,) = read(row(), *steps)
    assert isinstance(record, JobRecord)
    assert record.job_name == "train"


def test_an_array_id_that_was_cut_is_no_step() -> None:
    assert read_one(JobID="5030_[1,3,5-...]", State="PENDING", Start="Unknown", End="Unknown",
                    ElapsedRaw="0", AllocTRES="").job_id == "5030_[1,3,5-...]"  # fmt: skip


def test_output_that_ends_inside_a_row_rejects_only_that_row() -> None:
    whole, cut = row(DBIndex="1"), row(DBIndex="2", AllocTRES="gres/gpu=16")
    for length in range(1, len(cut)):
        results = read(whole, cut[:length])
        assert isinstance(results[0], JobRecord)
        assert results[0].job_name == "train"
        assert isinstance(results[1], RejectedRow)
        assert len(results) == 2


def test_columns_are_found_by_name() -> None:
    lines = [
        b"State|X|AllocTRES|ElapsedRaw|End|Start|Submit|account|jobid|JobIDRaw|Cluster",
        b"FAILED|?|gres/gpu=1|60|2026-03-10T00:01:00|2026-03-10T00:00:00|"
        b"2026-03-09T23:00:00|p|7|7|c",
    ]
    ((record, _),) = read_records(lines, delimiter="|")
    assert isinstance(record, JobRecord)
    assert (record.account, record.state, record.elapsed_seconds) == ("p", "FAILED", 60)
    assert (record.user, record.uid, record.qos, record.job_name) == ("", None, "", "")
    assert record.db_index == "7@2026-03-09T23:00:00Z"


def test_without_a_key_of_any_kind_a_row_is_rejected() -> None:
    lines = [
        b"State|AllocTRES|ElapsedRaw|End|Start|Submit|Account|JobID|JobIDRaw|Cluster",
        b"PENDING||0|Unknown|Unknown|Unknown|p|7|7|c",
        b"PENDING||0|Unknown|Unknown|2026-03-09T23:00:00|p|7|7|c|extra",
    ]
    results = [result for result, _ in read_records(lines, delimiter="|")]
    assert all(isinstance(result, RejectedRow) for result in results)


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [b"\n"],
        [b"sacct: error: slurmdbd\n"],
        [header().replace(b"AllocTRES", b"ReqTRES")],
        [header().replace(b"QOS", b"State")],
        [header().replace(b"\n", b"\r\n")],
    ],
)
def test_refuses_output_that_is_not_what_was_asked_for(lines: list[bytes]) -> None:
    with pytest.raises(RecordFormatError):
        list(read_records(lines))


@pytest.mark.parametrize("delimiter", ["", " ", "\n", "|\\", "é"])
def test_refuses_a_delimiter_that_is_not_plain(delimiter: str) -> None:
    with pytest.raises(RecordFormatError):
        list(read_records([b"x\n"], delimiter=delimiter))


@pytest.mark.parametrize(
    ("text", "state"),
    [("CANCELLED by 20001", "CANCELLED"), ("cancelled", "CANCELLED"), ("Node_Fail", "NODE_FAIL")],
)
def test_cuts_the_suffix_of_a_state(text: str, state: str) -> None:
    record = read_one(State=text)
    assert record.state == state
    assert record.is_final


@pytest.mark.parametrize("state", sorted(FINAL_STATES - {"REVOKED"}))
def test_every_final_state_is_read_and_its_use_stands(state: str) -> None:
    assert read_one(State=state).is_final


def test_a_revoked_sibling_has_no_use() -> None:
    idle = {"Start": "Unknown", "ElapsedRaw": "0", "AllocTRES": ""}
    assert read_one(State="REVOKED", **idle).is_final
    assert "REVOKED" in read_reason(State="REVOKED")


@pytest.mark.parametrize("index", [str(2**63), str(2**64 - 1), "10801471057994413056", "1"])
def test_keeps_a_db_index_as_text(index: str) -> None:
    assert read_one(DBIndex=index).db_index == index


@pytest.mark.parametrize("index", ["", "0", str(2**64), "-1", "1e3", "٣", "sBQ1KKWHF70001"])
def test_rejects_a_db_index_that_is_no_key(index: str) -> None:
    assert "DBIndex" in read_reason(DBIndex=index)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("00:00:00", 0), ("01:00:00", 3600), ("1-00:00:00", 86400), ("10:05", 605), ("10:05.000", 605),
     ("605", 605)],
)  # fmt: skip
def test_reads_every_spelling_of_a_span(text: str, seconds: int) -> None:
    end = datetime(2026, 3, 10, 1, tzinfo=UTC).timestamp() + seconds
    assert read_one(Suspended=text, End=str(int(end))).suspended_seconds == seconds


@pytest.mark.parametrize(
    "text",
    ["1773100800", "2026-03-10T00:00:00Z", "2026-03-10T08:00:00+0800", "2026-03-09T19:00:00-05:00"],
)
def test_reads_epoch_seconds_and_offsets(text: str) -> None:
    assert read_one(Start=text).start_at == datetime(2026, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "Unknown", "None", "0", "4294967294", "18446744073709551614"])
def test_reads_every_spelling_of_no_time(text: str) -> None:
    assert read_one(Eligible=text).eligible_at is None


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ({"ElapsedRaw": "-3600"}, "ElapsedRaw is no count"),
        ({"ElapsedRaw": ""}, "ElapsedRaw is no count"),
        ({"ElapsedRaw": "4294967295", "End": "Unknown", "State": "RUNNING"}, "absurd"),
        ({"ElapsedRaw": "3601"}, "above End - Start"),
        ({"ElapsedRaw": "0"}, "is not End - Start - Suspended"),
        ({"ElapsedRaw": "0", "Suspended": ""}, "0 s elapsed in a run of 3600 s"),
        ({"Suspended": "00:10:00"}, "is not End - Start - Suspended"),
        ({"Suspended": "INVALID"}, "not a span"),
        ({"End": "2026-03-09T23:00:00", "ElapsedRaw": "0"}, "End is before Start"),
        ({"End": "Unknown"}, "End is unknown"),
        ({"State": "REQUEUED", "Start": "Unknown", "ElapsedRaw": "0"}, "Start is unknown"),
        ({"State": "CANCELLED", "Start": "None", "ElapsedRaw": "0"}, "Start is unknown"),
        ({"Start": "Unknown", "AllocTRES": ""}, "Start is unknown"),
        ({"State": "PENDING", "End": "Unknown"}, "PENDING with 3600 s"),
        ({"State": "SLEEPING"}, "unknown state SLEEPING"),
        ({"State": ""}, "not a state"),
        ({"State": "COMPLETED+"}, "not a state"),
        ({"Start": "2026-03-10"}, "not a time"),
        ({"Start": "2026-02-30T00:00:00"}, "not a time"),
        ({"Start": "yesterday"}, "not a time"),
        ({"Start": "0000-00-00T00:00:00"}, "not a time"),
        ({"Start": "99999999999999"}, "not a time"),
        ({"AllocTRES": "gres/gpu:a100=3,gres/gpu=2"}, "above its 2"),
        ({"AllocTRES": "gres/gpu=2,gres/gpu=2"}, "stands twice"),
        ({"AllocTRES": "gres/gpu=4294967295"}, "no number of units"),
        ({"AllocTRES": b"gres/gpu=\xff"}, "no count"),
        ({"UID": "nobody"}, "UID"),
        ({"Cluster": ""}, "Cluster is empty"),
        ({"JobIDRaw": "5020_1"}, "JobIDRaw"),
        ({"QOS": "two\nlines"}, "columns, not 19"),
    ],
)
def test_rejects_a_row_that_cannot_be_believed(cells: dict[str, str | bytes], words: str) -> None:
    results = read(row(DBIndex="1"), row(**cells), row(DBIndex="3"))
    rejected = [result for result in results if isinstance(result, RejectedRow)]
    records = [result for result in results if isinstance(result, JobRecord)]
    assert words in rejected[0].reason
    assert rejected[0].line_number == 3
    assert [record.db_index for record in records] == ["1", "3"]


def test_an_open_row_may_lag_behind_with_its_suspension() -> None:
    record = read_one(State="SUSPENDED", Suspended="00:30:00")
    assert (record.elapsed_seconds, record.suspended_seconds) == (3600, 0)


def test_a_name_that_never_ends_is_not_gathered_for_ever() -> None:
    flood = b"\n".join([b"x" * 1023] * 3000)
    results = read(row(DBIndex="1", JobName=flood), row(DBIndex="2"))
    records = [result for result in results if isinstance(result, JobRecord)]
    assert [record.db_index for record in records] == ["1", "2"]
    assert all(len(record.job_name) <= MAX_ROW_BYTES + 2000 for record in records)
    assert len(results) > 3


def test_holds_only_the_row_at_hand() -> None:
    pulled = 0

    def stream() -> Iterator[bytes]:
        nonlocal pulled
        yield header()
        for index in range(1, 1000):
            pulled += 1
            yield row(DBIndex=str(index))

    results = read_records(stream())
    next(results)
    assert pulled <= 2


@given(st.lists(st.binary(max_size=60), max_size=20))
def test_garbage_never_costs_a_true_row(garbage: list[bytes]) -> None:
    results = read(*(line.replace(b"\n", b"") + b"\n" for line in garbage), row(DBIndex="5"))
    last = results[-1]
    assert isinstance(last, JobRecord)
    assert last.db_index == "5"
    assert all(isinstance(result, RejectedRow) for result in results[:-1])


@given(st.lists(st.binary(max_size=40), min_size=1, max_size=8))
def test_any_names_give_as_many_records_with_a_fresh_delimiter(names: list[bytes]) -> None:
    delimiter = make_delimiter()
    rows = [row(delimiter, DBIndex=str(n), JobName=name) for n, name in enumerate(names, start=1)]
    results = read(*rows, delimiter=delimiter)
    assert [result.db_index for result in results if isinstance(result, JobRecord)] == [
        str(n) for n in range(1, len(names) + 1)
    ]
