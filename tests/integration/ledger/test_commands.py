"""The commands: one call each, JSON and CSV out, errors as sentences."""

import csv
import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from accounting.export import CSV_COLUMNS
from portal.ledger.services import post_period
from tests.integration.factories import World
from tests.integration.ledger.books import sum_owed
from tests.integration.ledger.test_posting import NOVEMBER
from tests.integration.usage.sacct import NOW, import_rows, make_lines, make_row, make_running


def run(*args: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command(*args, stdout=out, stderr=err, skip_checks=True)
    return out.getvalue(), err.getvalue()


def test_imports_a_file_and_says_what_it_did(world: World, tmp_path: Path) -> None:
    path = tmp_path / "jobs.txt"
    path.write_bytes(b"".join(make_lines([make_row(), make_row(AllocTRES="?")], "|")))
    out, _ = run("import_usage", "--cluster", "c1", "--from-file", str(path))
    summary = json.loads(out)
    assert summary | {"run": 0} == {
        "run": 0,
        "cluster": "c1",
        "source": "file",
        "window_start_at": None,
        "window_end_at": None,
        "is_complete": True,
        "read": 2,
        "new": 1,
        "changed": 0,
        "same": 0,
        "quarantined": 1,
        "error": "",
    }


def test_import_says_what_is_wrong(world: World, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"No cluster is called 'c7'\. There are: c1"):
        run("import_usage", "--cluster", "c7")
    with pytest.raises(CommandError, match="cannot be read"):
        run("import_usage", "--cluster", "c1", "--from-file", str(tmp_path / "none"))
    for content in (b"", b"\x00\xff\x01", b"JobID|State\n1|COMPLETED\n"):
        (tmp_path / "bad").write_bytes(content)
        with pytest.raises(CommandError, match="Nothing more was taken in"):
            run("import_usage", "--cluster", "c1", "--from-file", str(tmp_path / "bad"))


def test_chargeback_as_table_and_as_csv(world: World, tmp_path: Path) -> None:
    rows = [make_row(units=4), make_row(Partition="spot"), make_row(Partition="other")]
    import_rows(world.cluster, [*rows, make_running(make_row(), 60)])
    post_period(NOVEMBER, NOW)
    import_rows(world.cluster, [make_row(User="sw-late")])
    out, err = run("chargeback", "--month", "2026-11")
    assert "4.80 EUR" in out
    assert out.splitlines()[-1].split() == ["total", "5.28", "EUR"]
    assert "1 charge lines are final but not posted yet." in err
    assert "Not charged: 1.000000 unit-hours" in err
    path = tmp_path / "chargeback.csv"
    path.write_text("old")
    run("chargeback", "--month", "2026-11", "--out", str(path))
    with path.open(newline="") as stream:
        found = list(csv.DictReader(stream))
    assert list(found[0]) == list(CSV_COLUMNS)
    cents = sum(round(float(row["amount"]) * 100) for row in found)
    assert cents == int(sum_owed() * 100) == 528
    first = path.read_bytes()
    run("chargeback", "--month", "2026-11", "--out", str(path), "--project", "p1001")
    assert path.read_bytes() == first
    assert [entry.name for entry in tmp_path.iterdir()] == ["chargeback.csv"]


def test_chargeback_says_what_is_wrong(world: World, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="a month is YYYY-MM, not '2026-13'"):
        run("chargeback", "--month", "2026-13")
    for month in ("9999-12", "0001-01", "2026-1"):
        with pytest.raises(CommandError, match="a month is YYYY-MM"):
            run("chargeback", "--month", month)
    with pytest.raises(CommandError, match="No project has the code 'p9'"):
        run("chargeback", "--month", "2026-11", "--project", "p9")
    with pytest.raises(CommandError, match="cannot be written"):
        run("chargeback", "--month", "2026-11", "--out", str(tmp_path / "none" / "x.csv"))
