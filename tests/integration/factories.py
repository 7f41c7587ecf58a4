"""Builds rows for tests: plain functions with believable defaults."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from itertools import count
from uuid import uuid4

from portal.allocations.inputs import LineInput, RequestInput
from portal.allocations.models import Allocation, AllocationRequest
from portal.allocations.services import approve_request, submit_request
from portal.catalog.models import Offering, Rate
from portal.inventory.models import Cluster, Pool
from portal.projects.choices import ProjectRole, SiteRole
from portal.projects.models import Membership, Organisation, Project, RoleGrant, Site, User

NOW = datetime(2026, 11, 16, 9, 0, tzinfo=UTC)
TODAY = date(2026, 11, 16)
_numbers = count(1)


def make_site(**values: object) -> Site:
    defaults = {"name": "Example University", "time_zone": "UTC", "currency": "EUR"}
    return Site.objects.update_or_create(pk=1, defaults={**defaults, **values})[0]


def make_user(username: str = "", **values: object) -> User:
    username = username or f"person{next(_numbers)}"
    values.setdefault("unix_name", f"sw-{username}")
    values.setdefault("email", f"{username}@example.org")
    values.setdefault("first_name", username.capitalize())
    values.setdefault("last_name", "Example")
    user = User(username=username, **values)
    user.set_password("a long enough password")
    user.save()
    return user


def make_organisation(code: str = "", **values: object) -> Organisation:
    code = code or f"org{next(_numbers)}"
    values.setdefault("name", code.capitalize())
    values.setdefault("cost_centre", f"CC-{code}")
    values.setdefault("slurm_account", f"sw-{code}")
    return Organisation.objects.create(code=code, **values)


def make_project(code: str = "", **values: object) -> Project:
    code = code or f"p{1000 + next(_numbers)}"
    values.setdefault("title", f"Project {code}")
    if "organisation" not in values:
        values["organisation"] = make_organisation()
    return Project.objects.create(code=code, **values)


def add_person(project: Project, user: User, role: str = ProjectRole.MEMBER) -> Membership:
    return Membership.objects.create(project=project, user=user, role=role)


def grant_role(user: User, role: str, organisation: Organisation | None = None) -> RoleGrant:
    return RoleGrant.objects.create(user=user, role=role, organisation=organisation)


def make_cluster(name: str = "", **values: object) -> Cluster:
    name = name or f"cluster{next(_numbers)}"
    values.setdefault("title", name.capitalize())
    values.setdefault("backend", Cluster.Backend.FAKE)
    return Cluster.objects.create(name=name, **values)


def make_pool(cluster: Cluster | None = None, gres_type: str = "a100", **values: object) -> Pool:
    values.setdefault("code", f"pool{next(_numbers)}")
    values.setdefault("title", f"Pool of {gres_type}")
    values.setdefault("gpu_model", "NVIDIA A100 80GB")
    values.setdefault("partition", "gpu")
    values.setdefault("spot_partition", "spot")
    values.setdefault("is_mig", "g." in gres_type)
    return Pool.objects.create(cluster=cluster or make_cluster(), gres_type=gres_type, **values)


def make_offering(code: str = "", pool: Pool | None = None, **values: object) -> Offering:
    code = code or f"offering{next(_numbers)}"
    values.setdefault("title", code.capitalize())
    values.setdefault("max_units", 16)
    values.setdefault("max_unit_hours", 100_000)
    return Offering.objects.create(code=code, pool=pool or make_pool(), **values)


def make_rate(
    offering: Offering,
    price: str = "1.20",
    purchase_option: str = "on_demand",
    **values: object,
) -> Rate:
    values.setdefault("starts_at", datetime(2026, 1, 1, tzinfo=UTC))
    values.setdefault("currency", "EUR")
    micros = int(Decimal(price) * 1_000_000)
    return Rate.objects.create(
        offering=offering, purchase_option=purchase_option, unit_price_micros=micros, **values
    )


class World:
    """A small site: one project with PI, member and outsider, an approver, two offerings."""

    def __init__(self, prefix: str = "") -> None:
        self.site = make_site()
        self.organisation = make_organisation(f"{prefix}physics")
        self.project = make_project(f"{prefix}p1001", organisation=self.organisation)
        self.pi = make_user(f"{prefix}ada")
        self.member = make_user(f"{prefix}ben")
        self.outsider = make_user(f"{prefix}eve")
        self.approver = make_user(f"{prefix}olga")
        self.operator = make_user(f"{prefix}otto")
        self.finance = make_user(f"{prefix}fay")
        add_person(self.project, self.pi, ProjectRole.PI)
        add_person(self.project, self.member)
        grant_role(self.approver, SiteRole.APPROVER, self.organisation)
        grant_role(self.operator, SiteRole.OPERATOR)
        grant_role(self.finance, SiteRole.FINANCE)
        self.cluster = make_cluster(f"{prefix}c1")
        self.a100_pool = make_pool(self.cluster, "a100", code="a100")
        self.mig_pool = make_pool(self.cluster, "1g.10gb", code="mig-1g")
        self.a100 = make_offering(f"{prefix}a100", self.a100_pool, title="A100 80 GB")
        self.mig = make_offering(
            f"{prefix}mig-1g", self.mig_pool, title="A100 1g.10gb", unit_name="MIG instance"
        )
        make_rate(self.a100, "1.20")
        make_rate(self.a100, "0.48", "spot")
        make_rate(self.mig, "0.20")

    def make_input(self, **values: object) -> RequestInput:
        lines = (
            LineInput(self.a100.pk, "on_demand", 4, 100),
            LineInput(self.mig.pk, "on_demand", 4, 40),
        )
        defaults = {
            "lines": lines,
            "start_date": TODAY,
            "end_date": TODAY + timedelta(days=30),
            "justification": "Training of a climate model.",
            "submit_key": uuid4(),
        }
        return RequestInput(**{**defaults, **values})

    def submit(self, now: datetime = NOW, **values: object) -> AllocationRequest:
        data = self.make_input(**values)
        return submit_request(actor=self.pi, project=self.project, data=data, now=now)

    def approve(self, request: AllocationRequest, now: datetime = NOW) -> Allocation:
        return approve_request(
            actor=self.approver, request_id=request.pk, version=request.version, grants={}, now=now
        )
