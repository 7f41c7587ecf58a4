"""The site description's parts, typed: what may stand in the file, and within which bounds."""

import re
from datetime import date
from decimal import Decimal
from typing import Annotated
from zoneinfo import available_timezones

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    model_validator,
)
from pydantic_core import PydanticCustomError

from gres_config.problems import suggest
from portal.catalog.choices import PurchaseOption
from portal.inventory.models import Cluster
from portal.projects.choices import ProjectRole, SiteRole

_PRICE = re.compile(r"[0-9]{1,9}(\.[0-9]{1,6})?")
_MAX_COUNT = 2_147_483_647


def _match(pattern: str, sentence: str) -> AfterValidator:
    compiled = re.compile(pattern)

    def check(value: str) -> str:
        if not compiled.fullmatch(value):
            raise PydanticCustomError("site_text", sentence)
        return value

    return AfterValidator(check)


def _read_price(value: object) -> object:
    if not isinstance(value, str) or not _PRICE.fullmatch(value):
        raise PydanticCustomError(
            "site_price", "A price is written as plain digits, with at most 6 after the point."
        )
    return Decimal(value)


def _check_zone(value: str) -> str:
    zones = available_timezones()
    if value not in zones:
        sentence = f"“{value}” is no time zone such as Europe/Berlin.{suggest(value, zones)}"
        raise PydanticCustomError("site_zone", "{sentence}", {"sentence": sentence})
    return value


def _text(limit: int, at_least: int = 1) -> StringConstraints:
    return StringConstraints(strip_whitespace=True, min_length=at_least, max_length=limit)


Slug = Annotated[
    str,
    _text(40),
    _match(r"[A-Za-z0-9_-]+", "Use letters, digits, hyphen and underscore."),
]
SlurmName = Annotated[
    str,
    _match(
        r"[a-z0-9][a-z0-9_.-]{0,38}",
        "Use 1 to 39 characters: lower-case letters, digits, hyphen, dot and underscore, beginning "
        "with a letter or digit.",
    ),
]
GresType = Annotated[
    str,
    _text(60),
    _match(r"[A-Za-z][A-Za-z0-9_.]*|[0-9]+[a-z]*\.[A-Za-z0-9_.+]+", "Use Slurm's GRES type."),
]
PartitionName = Annotated[str, _text(60), _match(r"[A-Za-z0-9_.-]+", "Use a partition's name.")]
UnixName = Annotated[
    str, _match(r"[a-z_][a-z0-9_.-]{0,31}", "Use a Unix login: lower-case letters and digits.")
]
Login = Annotated[
    str, _text(150), _match(r"[\w.@+-]+", "Use letters, digits and the signs @ . + - _.")
]
Email = Annotated[
    str, _text(254), _match(r"[^@\s]+@[^@\s]+", "Use an e-mail address, name@example.org.")
]
Name = Annotated[str, _text(150)]
ShortName = Annotated[str, _text(100)]
Text = Annotated[str, _text(5000, 0)]
FolderPath = Annotated[str, _text(250, 0)]
Count = Annotated[int, Field(ge=1, le=_MAX_COUNT)]
Price = Annotated[Decimal, BeforeValidator(_read_price)]


class Part(BaseModel):
    """A part of the file: frozen, and a key that it does not know is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class SiteDescription(Part):
    """What is true of the whole site."""

    name: ShortName
    time_zone: Annotated[str, AfterValidator(_check_zone)] = "UTC"
    currency: Annotated[str, _match(r"[A-Z]{3}", "Use three capital letters, such as EUR.")]
    currency_exponent: Annotated[int, Field(ge=0, le=6)] = 2
    support_email: Email | None = None


class OrganisationDescription(Part):
    """An organisation; `parent` is the code of the one above it."""

    code: Slug
    name: Name
    parent: Slug | None = None
    cost_centre: Annotated[str, _text(40, 0)] = ""
    slurm_account: SlurmName


class RoleDescription(Part):
    """A site role, for an organisation and all below it, or for the whole site."""

    role: SiteRole
    organisation: Slug | None = None


class PersonDescription(Part):
    """A person; no password: those come from `changepassword` or single sign-on."""

    username: Login
    first_name: Annotated[str, _text(150, 0)] = ""
    last_name: Annotated[str, _text(150, 0)] = ""
    email: Email | None = None
    unix_name: UnixName | None = None
    roles: tuple[RoleDescription, ...] = ()


class MemberDescription(Part):
    """A person's role in a project."""

    user: Login
    role: ProjectRole = ProjectRole.MEMBER


class ProjectDescription(Part):
    """A project; its code becomes its Slurm account's name."""

    code: SlurmName
    title: Name
    description: Text = ""
    organisation: Slug
    members: tuple[MemberDescription, ...] = ()


class PoolDescription(Part):
    """GPUs or MIG instances of one GRES type behind one partition."""

    code: Slug
    title: ShortName
    gpu_model: ShortName
    gres_type: GresType
    is_mig: bool = False
    partition: PartitionName
    spot_partition: PartitionName | None = None


class ClusterDescription(Part):
    """A Slurm cluster; `name` is its ClusterName.

    `inventory` is the gres_config file of its nodes, beside this file unless absolute; pools take
    from it what they don't say themselves.
    """

    name: Slug
    title: ShortName
    inventory: FolderPath = ""
    backend: Cluster.Backend = Cluster.Backend.CLI
    slurm_conf: FolderPath = ""
    slurm_bin_dir: FolderPath = ""
    policy_dir: FolderPath = ""
    pools: tuple[PoolDescription, ...] = ()


class OfferingDescription(Part):
    """What can be requested of a pool, with the form's defaults and bounds."""

    code: Slug
    title: ShortName
    description: Text = ""
    cluster: Slug
    pool: Slug
    unit_name: Annotated[str, _text(40)] = "GPU"
    default_units: Count = 1
    max_units: Count
    default_unit_hours: Count = 100
    max_unit_hours: Count
    default_days: Count = 90
    max_days: Count = 365
    max_wall_hours: Count = 48
    cpus_per_unit: Count = 1
    memory_gib_per_unit: Count = 1
    is_active: bool = True

    @model_validator(mode="after")
    def _check_bounds(self) -> "OfferingDescription":
        for what in ("units", "unit_hours", "days"):
            if getattr(self, f"default_{what}") > getattr(self, f"max_{what}"):
                raise PydanticCustomError(
                    "site_bounds",
                    "{sentence}",
                    {"sentence": f"default_{what} is more than max_{what}."},
                )
        return self


class PriceDescription(Part):
    """A price per unit-hour from the beginning of a day of the site's zone."""

    offering: Slug
    purchase_option: PurchaseOption
    organisation: Slug | None = None
    per_unit_hour: Price
    from_date: date


class Description(Part):
    """A whole site."""

    site: SiteDescription
    organisations: tuple[OrganisationDescription, ...] = ()
    people: tuple[PersonDescription, ...] = ()
    projects: tuple[ProjectDescription, ...] = ()
    clusters: tuple[ClusterDescription, ...] = ()
    offerings: tuple[OfferingDescription, ...] = ()
    prices: tuple[PriceDescription, ...] = ()
