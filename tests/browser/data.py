"""A believable university for browser tests and screenshots, made through the portal's services."""

import random
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import uuid4
from zoneinfo import ZoneInfo

from accounting.records import DELIMITER, SACCT_FIELDS
from portal.allocations.inputs import Grant, LineInput, RequestInput
from portal.allocations.models import Allocation, AllocationRequest
from portal.allocations.services import (
    add_comment,
    approve_request,
    ask_for_changes,
    place_hold,
    submit_request,
)
from portal.catalog.models import Offering, Rate
from portal.inventory.models import Cluster, Pool
from portal.ledger.services import post_open_periods
from portal.projects.models import Membership, Organisation, Project, RoleGrant, Site, User
from portal.reconcile.services import reconcile_cluster
from portal.slurm.factory import get_fake
from portal.usage.services import import_window

PASSWORD = "a long enough password"
ZONE = ZoneInfo("Europe/Berlin")


@dataclass
class Showcase:
    """What tests need of the university."""

    now: datetime
    people: dict[str, User]
    projects: dict[str, Project]
    offerings: dict[str, Offering]
    cluster: Cluster
    allocations: dict[str, Allocation]
    waiting: AllocationRequest


def build_showcase(now: datetime) -> Showcase:
    """Return a site with people, requests in several states, jobs of weeks, and a ledger."""
    Site.objects.update_or_create(
        pk=1,
        defaults={
            "name": "Northfield University",
            "time_zone": "Europe/Berlin",
            "currency": "EUR",
            "support_email": "gpu-help@northfield.example",
        },
    )
    show = Showcase(now, _make_people(), {}, {}, _make_cluster(now), {}, AllocationRequest())
    show.projects = _make_projects(show.people)
    show.offerings = _make_offerings(show.cluster, now)
    _make_requests(show)
    reconcile_cluster(show.cluster, get_fake(show.cluster.name), now - timedelta(minutes=1))
    show.cluster.refresh_from_db()
    import_window(
        show.cluster,
        _make_lines(show),
        now - timedelta(days=60),
        now - timedelta(minutes=1),
        now - timedelta(minutes=1),
    )
    post_open_periods(now)
    return show


def _make_people() -> dict[str, User]:
    names = {
        "ada": "Ada Lindqvist",
        "ben": "Ben Okafor",
        "chen": "Chen Wei",
        "dora": "Dora Marchetti",
        "emil": "Emil Novak",
        "olga": "Olga Brandt",
        "otto": "Otto Reyes",
        "fay": "Fay Sutherland",
    }
    people = {}
    for username, name in names.items():
        first, _, last = name.partition(" ")
        user = User(
            username=username,
            first_name=first,
            last_name=last,
            email=f"{username}@northfield.example",
            unix_name=f"sw-{username}",
        )
        user.set_password(PASSWORD)
        user.save()
        people[username] = user
    RoleGrant.objects.create(user=people["olga"], role="approver")
    RoleGrant.objects.create(user=people["otto"], role="operator")
    RoleGrant.objects.create(user=people["fay"], role="finance")
    return people


def _make_cluster(now: datetime) -> Cluster:
    return Cluster.objects.create(
        name="tarn", title="Tarn", backend=Cluster.Backend.FAKE, contact_at=now
    )


def _make_projects(people: dict[str, User]) -> dict[str, Project]:
    science = Organisation.objects.create(
        code="science", name="Faculty of Science", cost_centre="4100", slurm_account="sw-science"
    )
    physics = Organisation.objects.create(
        code="physics",
        name="Department of Physics",
        parent=science,
        cost_centre="4110",
        slurm_account="sw-physics",
    )
    medicine = Organisation.objects.create(
        code="medicine", name="Medical School", cost_centre="5200", slurm_account="sw-medicine"
    )
    plan = {
        "p1001": ("Regional climate downscaling", physics, {"ada": "pi", "ben": "manager"}),
        "p1002": ("Protein folding at scale", medicine, {"dora": "pi", "emil": "member"}),
        "p1003": ("Lattice field theory", physics, {"ada": "pi", "chen": "member"}),
    }
    projects = {}
    for code, (title, organisation, members) in plan.items():
        project = Project.objects.create(
            code=code,
            title=title,
            organisation=organisation,
            description="Trains and runs deep models on GPUs of the Tarn cluster.",
        )
        for username, role in members.items():
            Membership.objects.create(project=project, user=people[username], role=role)
        projects[code] = project
    Membership.objects.create(project=projects["p1001"], user=people["chen"], role="member")
    return projects


OFFERINGS = [
    ("a100", "A100 80 GB", "GPU", "a100", "gpu", 64, 41, 16, "2.40", "0.96"),
    ("mig-3g", "A100 slice 3g.40gb", "slice", "3g.40gb", "mig", 16, 16, 8, "1.10", "0.44"),
    ("mig-1g", "A100 slice 1g.10gb", "slice", "1g.10gb", "mig", 56, 12, 28, "0.35", None),
]
TEXTS = {
    "a100": "Whole GPUs with NVLink, for training and multi-GPU work.",
    "mig-3g": "Three sevenths of an A100: fine-tuning and large inference.",
    "mig-1g": "One seventh of an A100: notebooks, courses, small inference.",
}


def _make_offerings(cluster: Cluster, now: datetime) -> dict[str, Offering]:
    offerings = {}
    start = now - timedelta(days=400)
    for code, title, unit, gres, partition, total, used, most, price, spot in OFFERINGS:
        pool = Pool.objects.create(
            cluster=cluster,
            code=code,
            title=title,
            gpu_model="NVIDIA A100 80GB",
            gres_type=gres,
            is_mig="g." in gres,
            partition=partition,
            spot_partition="spot" if spot else "",
            observed_total_units=total,
            observed_used_units=used,
            observed_unavailable_units=0,
            observed_at=now - timedelta(minutes=2),
        )
        offering = Offering.objects.create(
            code=code,
            title=title,
            description=TEXTS[code],
            pool=pool,
            unit_name=unit,
            default_units=4,
            max_units=most,
            default_unit_hours=400,
            max_unit_hours=50_000,
            cpus_per_unit=16 if unit == "GPU" else 4,
            memory_gib_per_unit=120 if unit == "GPU" else 16,
        )
        offerings[code] = offering
        _add_rate(offering, price, "on_demand", start)
        if spot:
            _add_rate(offering, spot, "spot", start)
    physics = Organisation.objects.get(code="physics")
    _add_rate(offerings["a100"], "1.95", "on_demand", start, physics)
    return offerings


def _add_rate(
    offering: Offering,
    price: str,
    option: str,
    starts_at: datetime,
    organisation: Organisation | None = None,
) -> None:
    Rate.objects.create(
        offering=offering,
        purchase_option=option,
        organisation=organisation,
        unit_price_micros=int(Decimal(price) * 1_000_000),
        currency="EUR",
        starts_at=starts_at,
    )


def _make_requests(show: Showcase) -> None:
    wide = [
        ("a100", "on_demand", 8, 1200),
        ("a100", "spot", 4, 400),
        ("mig-1g", "on_demand", 4, 500),
    ]
    show.allocations["climate"] = _grant(show, "p1001", "ada", wide, ago=45, days=62)
    show.allocations["folding"] = _grant(
        show, "p1002", "dora", [("mig-3g", "on_demand", 4, 300)], ago=30, days=120
    )
    show.allocations["lattice"] = _grant(
        show, "p1003", "ada", [("a100", "on_demand", 2, 100)], ago=20, days=200
    )
    place_hold(
        actor=show.people["otto"],
        line=show.allocations["lattice"].lines.get(),
        reason="The cooling of rack 4 is being repaired until Thursday.",
        now=show.now - timedelta(hours=5),
    )
    data = _make_input(show, [("a100", "on_demand", 8, 2000), ("a100", "spot", 4, 800)], 0, 90)
    show.waiting = submit_request(
        actor=show.people["ben"],
        project=show.projects["p1001"],
        data=data,
        now=show.now - timedelta(hours=3),
    )
    add_comment(
        actor=show.people["ben"],
        request_id=show.waiting.pk,
        body="The ensemble grows from 8 to 20 members in the next quarter.",
        now=show.now - timedelta(hours=2),
    )
    _ask_back(show)


def _ask_back(show: Showcase) -> None:
    data = _make_input(show, [("mig-3g", "on_demand", 8, 4000)], 0, 180)
    row = submit_request(
        actor=show.people["ada"],
        project=show.projects["p1003"],
        data=data,
        now=show.now - timedelta(days=2),
    )
    ask_for_changes(
        actor=show.people["olga"],
        request_id=row.pk,
        version=row.version,
        comment="Half of this would fit the whole quarter. Could you start with 2000 hours?",
        now=show.now - timedelta(days=1),
    )


def _make_input(
    show: Showcase, lines: list[tuple[str, str, int, int]], ago: int, days: int
) -> RequestInput:
    today = (show.now - timedelta(days=ago)).astimezone(ZONE).date()
    return RequestInput(
        lines=[LineInput(show.offerings[code].pk, *rest) for code, *rest in lines],
        start_date=today,
        end_date=today + timedelta(days=days),
        justification=(
            "We downscale the regional ensemble with a diffusion model. One training run takes "
            "about 90 GPU-hours on eight A100s; the sweep needs twelve of them."
        ),
        submit_key=uuid4(),
    )


def _grant(
    show: Showcase,
    code: str,
    username: str,
    lines: list[tuple[str, str, int, int]],
    *,
    ago: int,
    days: int,
) -> Allocation:
    at = show.now - timedelta(days=ago)
    row = submit_request(
        actor=show.people[username],
        project=show.projects[code],
        data=_make_input(show, lines, ago, days),
        now=at,
    )
    first = row.lines.order_by("id")[0]
    grants = {first.pk: Grant(first.units, first.unit_hours)}
    return approve_request(
        actor=show.people["olga"],
        request_id=row.pk,
        version=row.version,
        grants=grants,
        comment="Fine for this quarter.",
        now=at + timedelta(hours=3),
    )


@dataclass(frozen=True)
class _Stream:
    """Jobs of one kind, some a day."""

    allocation: str
    offering: str
    option: str
    users: tuple[str, ...]
    units: tuple[int, ...]
    hours: tuple[int, int]
    per_day: int


STREAMS = (
    _Stream("climate", "a100", "on_demand", ("ada", "ben", "chen"), (1, 2, 4, 8), (1, 6), 3),
    _Stream("climate", "a100", "spot", ("ben",), (1, 2), (1, 5), 1),
    _Stream("climate", "mig-1g", "on_demand", ("chen", "ada"), (1,), (2, 9), 2),
    _Stream("folding", "mig-3g", "on_demand", ("dora", "emil"), (1, 2), (2, 8), 1),
)


def _make_lines(show: Showcase) -> list[bytes]:
    random_numbers = random.Random(7)
    rows = []
    for days_ago in range(26, 0, -1):
        day = show.now - timedelta(days=days_ago)
        if day.weekday() < 5:
            for stream in STREAMS:
                for _ in range(random_numbers.randint(0, stream.per_day)):
                    rows.append(_make_row(show, stream, day, random_numbers, len(rows)))
    running = replace(STREAMS[0], units=(8,))
    rows.append(
        _make_row(show, running, show.now - timedelta(hours=1), random_numbers, 9000, live=True)
    )
    broken = dict(rows[-1], DBIndex="77", JobID="77", JobIDRaw="77", ElapsedRaw="-5")
    lines = [DELIMITER.join(SACCT_FIELDS)]
    lines += [DELIMITER.join(row[name] for name in SACCT_FIELDS) for row in [*rows, broken]]
    return [f"{line}\n".encode() for line in lines]


def _make_row(
    show: Showcase,
    stream: _Stream,
    day: datetime,
    numbers: random.Random,
    index: int,
    *,
    live: bool = False,
) -> dict[str, str]:
    allocation = show.allocations[stream.allocation]
    line = allocation.lines.get(offering__code=stream.offering, purchase_option=stream.option)
    pool = show.offerings[stream.offering].pool
    units = numbers.choice(stream.units)
    start = day.replace(microsecond=0) - (timedelta(0) if live else timedelta(hours=12))
    elapsed = 3540 if live else numbers.randint(*stream.hours) * 3600 + numbers.randint(0, 3599)
    stamp = start.strftime("%Y-%m-%dT%H:%M:%S")
    end = (start + timedelta(seconds=elapsed)).strftime("%Y-%m-%dT%H:%M:%S")
    state = numbers.choice(["COMPLETED"] * 8 + ["FAILED", "TIMEOUT"])
    number = str(41_000 + index)
    return {
        "Cluster": show.cluster.name,
        "DBIndex": number,
        "JobIDRaw": number,
        "JobID": number,
        "Account": allocation.project.code,
        "User": f"sw-{numbers.choice(stream.users)}",
        "UID": "20001",
        "Partition": pool.spot_partition if stream.option == "spot" else pool.partition,
        "QOS": line.qos_name,
        "State": "RUNNING" if live else state,
        "Submit": stamp,
        "Eligible": stamp,
        "Start": stamp,
        "End": "Unknown" if live else end,
        "ElapsedRaw": str(elapsed),
        "Suspended": "00:00:00",
        "AllocTRES": f"cpu=8,gres/gpu:{pool.gres_type}={units},gres/gpu={units},mem=64G,node=1",
        "NodeList": "tarn-g01",
        "JobName": "train",
    }
