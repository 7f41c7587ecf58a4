"""Turns what sacct prints into job records, and every row that cannot be trusted into a rejection.

One value per row of Slurm's accounting: a run of a job, an array task, a component of a
heterogeneous job. How single cells are read stands in `cells`.
"""

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from operator import itemgetter
from typing import NamedTuple

from accounting.cells import (
    parse_db_index,
    parse_instant,
    parse_int,
    parse_span,
    parse_state,
    parse_tres_cell,
    parse_uid,
)
from accounting.errors import RecordFormatError, TresError

__all__ = [
    "DELIMITER",
    "FINAL_STATES",
    "SACCT_FIELDS",
    "JobRecord",
    "RecordFormatError",
    "RejectedRow",
    "make_delimiter",
    "read_records",
]

SACCT_FIELDS: tuple[str, ...] = (
    "Cluster",
    "DBIndex",
    "JobIDRaw",
    "JobID",
    "Account",
    "User",
    "UID",
    "Partition",
    "QOS",
    "State",
    "Submit",
    "Eligible",
    "Start",
    "End",
    "ElapsedRaw",
    "Suspended",
    "AllocTRES",
    "NodeList",
    "JobName",
)
"""What to ask for with `sacct -o`; the text that users choose stands last."""

NEEDED_FIELDS = frozenset(
    {"Cluster", "JobIDRaw", "JobID", "Account", "State"}
    | {"Submit", "Start", "End", "ElapsedRaw", "AllocTRES"}
)
DELIMITER = "^~|~^"
"""For `sacct --delimiter`; `make_delimiter` gives one that nobody can have put into a job name."""

OPEN_STATES = frozenset(
    {"PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "SIGNALING", "STAGE_OUT"}
    | {"STOPPED", "REQUEUE_FED", "REQUEUE_HOLD", "RESV_DEL_HOLD", "SPECIAL_EXIT", "EXPEDITING"}
)
FINAL_STATES = frozenset(
    {"COMPLETED", "CANCELLED", "FAILED", "TIMEOUT", "NODE_FAIL", "BOOT_FAIL", "PREEMPTED"}
    | {"DEADLINE", "OUT_OF_MEMORY", "LAUNCH_FAILED", "RECONFIG_FAIL"}
    | {"REQUEUED", "RESIZING", "REVOKED"}
)
"""States after which a row no longer changes by itself. REQUEUED and RESIZING end a row too: the
job's next run or size has a row of its own."""

MAX_ELAPSED_SECONDS = 100 * 366 * 86400  # an unset or wrapped counter is far beyond, a job is not
_NEVER_RUN = frozenset({"PENDING", "REVOKED"})
_PLAIN = re.compile(r"[!-\[\]-~]+")  # no space, no backslash
MAX_ROW_BYTES = 1 << 20  # a row with its continuation lines; Slurm's own texts are far shorter


@dataclass(frozen=True, slots=True)
class JobRecord:
    """One row of Slurm's accounting, checked.

    (cluster, db_index) names it for ever. db_index is sacct's DBIndex as decimal text, for since
    24.11 it may exceed 2**63; only where sacct printed none it is "JobIDRaw@Submit" (so one
    cluster must not be read now with and now without the column). state is upper case with its
    suffix ("by 20001") cut off. Instants are aware UTC, None where Slurm prints Unknown or None.
    elapsed_seconds excludes suspended_seconds: End - Start = elapsed + suspended. alloc_tres holds
    (name, count) as in `parse_tres`. In texts, bytes that are not UTF-8 stand as \\xNN.
    """

    cluster: str
    db_index: str
    job_id_raw: str
    job_id: str
    account: str
    user: str
    uid: int | None
    partition: str
    qos: str
    state: str
    submit_at: datetime | None
    eligible_at: datetime | None
    start_at: datetime | None
    end_at: datetime | None
    elapsed_seconds: int
    suspended_seconds: int
    alloc_tres: tuple[tuple[str, int], ...]
    node_list: str
    job_name: str

    @property
    def is_final(self) -> bool:
        """Whether the row has ended: told by the state alone, for `sacct -T` prints an End for
        jobs that still run."""
        return self.state in FINAL_STATES


@dataclass(frozen=True, slots=True)
class RejectedRow:
    """A row that cannot be read or believed, whole, with the reason; it is never billed as 0.

    (cluster, db_index) names it as in JobRecord, both "" where the row does not tell. So the rows
    of a job that runs on are known as one, though each tells another ElapsedRaw.
    """

    line: bytes
    reason: str
    line_number: int
    cluster: str = ""
    db_index: str = ""


class _Run(NamedTuple):  # quicker to build than a frozen dataclass, once per row
    """What a row says about one run, before it is believed."""

    state: str
    start_at: datetime | None
    end_at: datetime | None
    elapsed_seconds: int
    told_suspended_seconds: int | None
    tres: tuple[tuple[str, int], ...]

    def check(self) -> int:
        """Return the suspended seconds; RecordFormatError if the row contradicts itself."""
        if self.state not in FINAL_STATES and self.state not in OPEN_STATES:
            raise RecordFormatError(f"unknown state {self.state[:80]}")
        if self.elapsed_seconds > MAX_ELAPSED_SECONDS:
            raise RecordFormatError(f"ElapsedRaw {self.elapsed_seconds} is absurd")
        if self.state in _NEVER_RUN and self.elapsed_seconds:
            raise RecordFormatError(f"{self.state} with {self.elapsed_seconds} s elapsed")
        if self.start_at is None:
            return self._check_without_start()
        if self.end_at is None:
            if self.state in FINAL_STATES:
                raise RecordFormatError(f"{self.state}, but End is unknown")
            return self.told_suspended_seconds or 0
        return self._check_span(int((self.end_at - self.start_at).total_seconds()))

    def _check_without_start(self) -> int:
        """A run that never started has no time and no resources.

        REQUEUED rows that Slurm merged have lost their start and still hold TRES: what they used
        is unknown, which is not 0 (Slurm's CHANGELOG on merged requeue rows).
        """
        if self.elapsed_seconds:
            raise RecordFormatError(f"{self.elapsed_seconds} s elapsed, but Start is unknown")
        if self.state not in _NEVER_RUN and any(count for _, count in self.tres):
            raise RecordFormatError(f"{self.state} with allocated TRES, but Start is unknown")
        return 0

    def _check_span(self, span_seconds: int) -> int:
        """ElapsedRaw = End - Start - Suspended, in Slurm's source. Of an open row, Suspended may
        lag behind (`sacct -T` leaves out a suspension that has not ended)."""
        if span_seconds < 0:
            raise RecordFormatError("End is before Start")
        rest = span_seconds - self.elapsed_seconds
        told = self.told_suspended_seconds
        if rest < 0:
            raise RecordFormatError(
                f"ElapsedRaw {self.elapsed_seconds} is above End - Start, {span_seconds} s"
            )
        if self.state not in FINAL_STATES:
            return rest
        if told is None and rest and not self.elapsed_seconds:
            raise RecordFormatError(f"0 s elapsed in a run of {span_seconds} s")
        if told is not None and told != rest:
            raise RecordFormatError(
                f"ElapsedRaw {self.elapsed_seconds} is not End - Start - Suspended,"
                f" {span_seconds} - {told} s"
            )
        return rest


def make_delimiter() -> str:
    """Return a new random delimiter of printable ASCII for one call of sacct.

    sacct never escapes what users wrote. With a delimiter that did not exist when a job was
    submitted, no job name can hold it, and so none can pass for a row of its own.
    """
    return f"^{secrets.token_hex(8)}^"


def read_records(
    lines: Iterable[bytes], *, delimiter: str = DELIMITER
) -> Iterator[tuple[JobRecord | RejectedRow, bytes]]:
    """Yield every row of `sacct -P` as a record or a rejection, each with its bytes.

    lines: the output, line by line, a header first, each with its "\\n" or all without. Columns are
    found by their names in any order; unknown ones are ignored. Rows of steps are skipped. The
    bytes are the row's own, continuation lines included, without the last newline. Times without
    an offset are taken as UTC (run sacct with TZ=UTC); epoch seconds (SLURM_TIME_FORMAT=%s) and
    times with an offset are read too.

    With JobName as the last column a name may hold anything: further delimiters belong to it, and a
    line without any delimiter continues it. A broken line makes one rejection, and the rows
    after it are read as if it were not there. RecordFormatError, before any row, if the header is
    missing, lacks a needed column, has one twice, or ends in a carriage return. Nothing is held but
    the row at hand.
    """
    stream = iter(lines)
    first = next(stream, None)
    if first is None:
        raise RecordFormatError("sacct printed nothing, not even a header")
    layout = _Layout.read(first, delimiter)
    for line_number, row in _join_lines(stream, layout):
        line = row.removesuffix(b"\n")
        is_cut = layout.ends_with_newline and len(line) == len(row)
        result = _read_row(line, line_number, layout, is_cut=is_cut)
        if result is not None:
            yield result, line


@dataclass(frozen=True, slots=True)
class _Layout:
    """Where the columns are, and how a row is taken apart."""

    separator: str
    delimiter: bytes
    column_count: int
    pick: Callable[[Sequence[str]], tuple[str, ...]]  # the cells in the order of SACCT_FIELDS
    has_db_index: bool
    name_is_last: bool
    ends_with_newline: bool

    @classmethod
    def read(cls, header: bytes, delimiter: str) -> "_Layout":
        if not delimiter or not _PLAIN.fullmatch(delimiter):
            raise RecordFormatError(f"a delimiter is plain printable ASCII, not {delimiter!r}")
        text = header.removesuffix(b"\n").decode("utf-8", "backslashreplace")
        if text.endswith("\r"):
            raise RecordFormatError("the lines end in CR LF; sacct's own end in LF")
        names = text.lower().split(delimiter.lower())
        wanted = [field.lower() for field in SACCT_FIELDS]
        missing = sorted(field for field in NEEDED_FIELDS if field.lower() not in names)
        if missing:
            raise RecordFormatError(f"no column {', '.join(missing)} in the header {text[:500]!r}")
        twice = sorted({name for name in names if name in wanted and names.count(name) > 1})
        if twice:
            raise RecordFormatError(f"the columns {', '.join(twice)} stand twice in the header")
        empty = len(names)  # _split_row adds one empty cell there
        return cls(
            separator=delimiter,
            delimiter=delimiter.encode(),
            column_count=len(names),
            pick=itemgetter(*(names.index(f) if f in names else empty for f in wanted)),
            has_db_index="dbindex" in names,
            name_is_last=names[-1] == "jobname",
            ends_with_newline=header.endswith(b"\n"),
        )


def _join_lines(stream: Iterator[bytes], layout: _Layout) -> Iterator[tuple[int, bytes]]:
    """Yield (number of the first line, row), with the lines that continue a job name joined.

    A last line without its newline stands alone, for it may be cut short anywhere.
    """
    row: bytes | None = None
    row_number = 1
    joiner = b"" if layout.ends_with_newline else b"\n"
    for number, line in enumerate(stream, start=2):
        if row is not None:
            if layout.name_is_last and _continues(row, line, layout):
                row += joiner + line
                continue
            yield row_number, row
        row, row_number = line, number
    if row is not None:
        yield row_number, row


def _continues(row: bytes, line: bytes, layout: _Layout) -> bool:
    if layout.delimiter in line or len(row) > MAX_ROW_BYTES:
        return False
    return line.endswith(b"\n") or not layout.ends_with_newline


def _read_row(
    line: bytes, line_number: int, layout: _Layout, *, is_cut: bool
) -> JobRecord | RejectedRow | None:
    if is_cut:
        return RejectedRow(line, "the output ends inside this row", line_number)
    try:
        return _build_record(_split_row(line, layout), has_db_index=layout.has_db_index)
    except (RecordFormatError, TresError) as error:
        return RejectedRow(line, str(error), line_number, *_find_name(line, layout))


def _find_name(line: bytes, layout: _Layout) -> tuple[str, str]:
    """Return (cluster, db_index) of a row whose other cells may hold anything."""
    if layout.has_db_index:
        with suppress(RecordFormatError):
            cluster, db_index, *_ = _split_row(line, layout)
            return cluster, parse_db_index(db_index)
    return "", ""


def _split_row(line: bytes, layout: _Layout) -> tuple[str, ...]:
    """Return the cells in the order of SACCT_FIELDS, "" for a column that was not asked for."""
    try:
        text = line.decode()
    except UnicodeDecodeError:
        text = line.decode("utf-8", "backslashreplace")
    if "\x00" in text:  # PostgreSQL cannot store it
        text = text.replace("\x00", "\\x00")
    count = layout.column_count
    cells = text.split(layout.separator, count - 1 if layout.name_is_last else -1)
    if len(cells) != count:
        raise RecordFormatError(f"{len(cells)} columns, not {count}")
    cells.append("")
    return layout.pick(cells)


def _build_record(cells: tuple[str, ...], *, has_db_index: bool) -> JobRecord | None:
    (
        cluster, db_index, job_id_raw, job_id, account, user, uid, partition, qos, state,
        submit, eligible, start, end, elapsed, suspended, tres, node_list, job_name,
    ) = cells  # fmt: skip
    if "." in job_id_raw or "." in job_id.partition("[")[0]:  # a long array ends in "...]"
        return None
    if not cluster:
        raise RecordFormatError("Cluster is empty")
    parse_int(job_id_raw, "JobIDRaw")
    submit_at, start_at, end_at = parse_instant(submit), parse_instant(start), parse_instant(end)
    if has_db_index:
        db_index = parse_db_index(db_index)
    elif submit_at is None:
        raise RecordFormatError("there is neither DBIndex nor Submit to name the row by")
    else:
        db_index = f"{job_id_raw}@{submit_at:%Y-%m-%dT%H:%M:%SZ}"
    run = _Run(
        parse_state(state),
        start_at,
        end_at,
        parse_int(elapsed, "ElapsedRaw"),
        parse_span(suspended),
        parse_tres_cell(tres),
    )
    return JobRecord(
        cluster, db_index, job_id_raw, job_id, account, user, parse_uid(uid), partition, qos,
        run.state, submit_at, parse_instant(eligible), start_at, end_at,
        run.elapsed_seconds, run.check(), run.tres, node_list, job_name,
    )  # fmt: skip
