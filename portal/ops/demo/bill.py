"""The month's amounts computed apart: sacct's seconds x units x price, and nothing of the portal's.

It imports no code of accounting or of the portal's apps on purpose: two ways to one number.
"""

import csv
import io
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import yaml

OPEN_STATES = ("PENDING", "RUNNING", "SUSPENDED", "CONFIGURING", "COMPLETING", "RESIZING")
SACCT_FIELDS = "JobID,Account,User,Partition,State,Start,End,ElapsedRaw,AllocTRES"


class BillKey(NamedTuple):
    """What a charge is for."""

    project: str
    user: str
    offering: str
    purchase_option: str


@dataclass(frozen=True, slots=True)
class Prices:
    """The demo's site file, read as text: GRES type -> offering, and prices as fractions.

    The spot partitions are those of its inventory file that jobs are preempted in.
    """

    zone: ZoneInfo
    exponent: int
    offerings: dict[str, str]
    spot_partitions: frozenset[str]
    per_unit_hour: dict[tuple[str, str], Fraction]


def read_prices(site_file: Path) -> Prices:
    """Return the prices of the demo's site file."""
    data = yaml.load(site_file.read_text("utf-8"), yaml.BaseLoader)
    cluster = data["clusters"][0]
    pools = {pool["code"]: pool for pool in cluster["pools"]}
    inventory_file = site_file.parent / cluster["inventory"]
    inventory = yaml.load(inventory_file.read_text("utf-8"), yaml.BaseLoader)
    return Prices(
        zone=ZoneInfo(data["site"]["time_zone"]),
        exponent=int(data["site"]["currency_exponent"]),
        offerings={pools[item["pool"]]["gres_type"]: item["code"] for item in data["offerings"]},
        spot_partitions=frozenset(
            item["name"] for item in inventory["partitions"] if item["preempt_mode"] == "requeue"
        ),
        per_unit_hour={
            (item["offering"], item["purchase_option"]): Fraction(item["per_unit_hour"])
            for item in data["prices"]
        },
    )


def get_month_start(month: str, zone: ZoneInfo) -> datetime:
    """Return the instant at which "2026-01" begins."""
    year, number = (int(part) for part in month.split("-"))
    return datetime(year, number, 1, tzinfo=zone).astimezone(UTC)


def list_sacct_arguments(start_at: datetime) -> list[str]:
    """Return sacct's command line for all jobs that ended since; it runs with TZ=UTC."""
    return [
        "sacct", "-a", "-X", "-D", "-n", "-P", "--noconvert",
        "-S", start_at.strftime("%Y-%m-%dT%H:%M:%S"), "-E", "now", "-o", SACCT_FIELDS,
    ]  # fmt: skip


def compute_unit_seconds(
    rows: Iterable[list[str]], prices: Prices, start_at: datetime
) -> dict[BillKey, int]:
    """Return the unit-seconds since the month began, from rows of SACCT_FIELDS."""
    totals: dict[BillKey, int] = defaultdict(int)
    for _job, account, user, partition, state, start, end, elapsed, tres in rows:
        if state.split(" ")[0] in OPEN_STATES or int(elapsed) == 0:
            continue
        began, ended = (datetime.fromisoformat(text).replace(tzinfo=UTC) for text in (start, end))
        seconds = int(elapsed)
        if began < start_at:
            seconds = max(0, int((ended - start_at).total_seconds()))
        option = "spot" if partition in prices.spot_partitions else "on_demand"
        for item in tres.split(","):
            name, _, count = item.partition("=")
            if name.startswith("gres/gpu:") and seconds:
                offering = prices.offerings[name.removeprefix("gres/gpu:")]
                totals[BillKey(account, user, offering, option)] += seconds * int(count)
    return dict(totals)


def compute_amount(unit_seconds: int, price: Fraction, exponent: int) -> Fraction:
    """Return seconds / 3600 x price, rounded half to even to the currency's digits."""
    scale = 10**exponent
    return Fraction(round(Fraction(unit_seconds, 3600) * price * scale), scale)


def list_differences(csv_text: str, wanted: dict[BillKey, int], prices: Prices) -> list[str]:
    """Return a sentence for each row of the CSV that differs from what was computed."""
    differences = []
    seen: dict[BillKey, tuple[int, Fraction]] = {}
    for row in csv.DictReader(io.StringIO(csv_text)):
        key = BillKey(row["project"], row["user"], row["offering"], row["purchase_option"])
        seconds, amount = int(row["unit_seconds"]), Fraction(row["amount"])
        before = seen.get(key, (0, Fraction(0)))
        seen[key] = (before[0] + seconds, before[1] + amount)
    for key in sorted(seen.keys() | wanted.keys()):
        seconds, amount = seen.get(key, (0, Fraction(0)))
        price = prices.per_unit_hour[key.offering, key.purchase_option]
        right_seconds = wanted.get(key, 0)
        right = compute_amount(right_seconds, price, prices.exponent)
        if (seconds, amount) != (right_seconds, right):
            differences.append(
                f"{' '.join(key)}: the CSV says {seconds} unit-seconds, {float(amount):.6f}; "
                f"sacct says {right_seconds}, {float(right):.6f}"
            )
    return differences


def render_csv(csv_text: str) -> str:
    """Return the CSV as a table for a terminal."""
    columns = (
        ("project", "project"), ("user", "user"), ("offering", "offering"),
        ("purchase_option", "option"), ("jobs", "jobs"), ("unit_seconds", "unit-seconds"),
        ("unit_price", "price/h"), ("amount", "amount"), ("currency", ""),
    )  # fmt: skip
    rows = [[title for _, title in columns]]
    rows += [[row[name] for name, _ in columns] for row in csv.DictReader(io.StringIO(csv_text))]
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if 4 <= number <= 7 else cell.ljust(width)
            for number, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )
