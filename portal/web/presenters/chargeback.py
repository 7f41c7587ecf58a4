"""The chargeback of a month: for whom it may be shown, and its lines grouped with totals."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from itertools import groupby

from accounting.money import Money, sum_money
from accounting.statement import ChargeLine, Statement
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering
from portal.ledger.selectors import (
    UnpricedLine,
    build_statement,
    list_provisional,
    list_unpriced,
)
from portal.projects.choices import SiteRole
from portal.projects.models import Organisation, Project, User
from portal.projects.selectors import list_granted_organisations, list_led_projects
from portal.web.presenters.people import name_people
from portal.web.site import SiteView


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose charges a person sees: all (None), those of organisations, and of projects led."""

    organisation_ids: frozenset[int] | None
    organisation_codes: frozenset[str]
    project_codes: frozenset[str]

    @property
    def is_empty(self) -> bool:
        """Whether the person sees nobody's charges."""
        return self.organisation_ids is not None and not self.organisation_ids

    def holds(self, organisation: str, project: str) -> bool:
        """Say whether a line of this organisation and project belongs to the scope."""
        return (
            self.organisation_ids is None
            or organisation in self.organisation_codes
            or project in self.project_codes
        )


@dataclass(frozen=True, slots=True)
class ProjectCharges:
    """A project's lines and their sum."""

    code: str
    title: str
    lines: tuple[ChargeLine, ...]
    total: Money


@dataclass(frozen=True, slots=True)
class OrganisationCharges:
    """An organisation's projects and their sum."""

    name: str
    cost_centre: str
    projects: tuple[ProjectCharges, ...]
    total: Money


@dataclass(frozen=True, slots=True)
class ChargebackView:
    """A month on screen: what is charged, what still runs, and what has no price."""

    month: date
    organisations: tuple[OrganisationCharges, ...]
    total: Money
    running: tuple[ChargeLine, ...]
    running_total: Money
    unpriced: tuple[UnpricedLine, ...]
    names: dict[str, str]
    titles: dict[str, str]
    options: dict[str, str]


def find_scope(user: User) -> Scope:
    """Return whose charges the person may see: finance and operators, and PIs of their own."""
    granted: set[int] = set()
    for role in (SiteRole.FINANCE, SiteRole.OPERATOR):
        organisations = list_granted_organisations(user, role)
        if organisations is None:
            return Scope(None, frozenset(), frozenset())
        granted |= organisations
    led = list(list_led_projects(user).values_list("code", "organisation_id"))
    codes = Organisation.objects.filter(pk__in=granted).values_list("code", flat=True)
    return Scope(
        organisation_ids=frozenset(granted | {organisation_id for _, organisation_id in led}),
        organisation_codes=frozenset(codes) if granted else frozenset(),
        project_codes=frozenset(code for code, _ in led),
    )


def get_statement(month: date, scope: Scope) -> Statement:
    """Return the part of a month's statement that belongs to the scope."""
    whole = build_statement(month, organisation_ids=scope.organisation_ids)
    lines = (line for line in whole.lines if scope.holds(line.organisation, line.project))
    return Statement(whole.period, tuple(lines))


def make_chargeback_view(month: date, scope: Scope, site: SiteView) -> ChargebackView:
    """Return the month as the page shows it; a fixed number of queries."""
    statement = get_statement(month, scope)
    running = tuple(
        line
        for line in list_provisional(month, organisation_ids=scope.organisation_ids)
        if scope.holds(line.organisation, line.project)
    )
    unpriced = list_unpriced(month)
    organisations = {row.code: row for row in Organisation.objects.all()}
    projects = _load_projects(statement.lines, running, unpriced)
    return ChargebackView(
        month=month,
        organisations=tuple(_group(statement.lines, organisations, projects, site)),
        total=sum_money((line.amount for line in statement.lines), site.currency),
        running=running,
        running_total=sum_money((line.amount for line in running), site.currency),
        unpriced=tuple(_keep_unpriced(unpriced, projects, scope)),
        names=name_people(
            {line.user for line in (*statement.lines, *running)} | {line.user for line in unpriced}
        ),
        titles=dict(Offering.objects.values_list("code", "title")),
        options=dict(PurchaseOption.choices),
    )


def count_unpriced(month: date, scope: Scope) -> int:
    """Return how many lines of the month's usage have no price and so are not charged."""
    lines = list_unpriced(month)
    projects = _load_projects((), (), lines)
    return len(list(_keep_unpriced(lines, projects, scope)))


def _keep_unpriced(
    lines: Iterable[UnpricedLine], projects: dict[str, Project], scope: Scope
) -> Iterable[UnpricedLine]:
    return (
        line
        for line in lines
        if line.project_code in projects
        and scope.holds(projects[line.project_code].organisation.code, line.project_code)
    )


def _load_projects(
    lines: Iterable[ChargeLine], running: Iterable[ChargeLine], unpriced: Iterable[UnpricedLine]
) -> dict[str, Project]:
    codes = {line.project for line in (*lines, *running)}
    codes |= {line.project_code for line in unpriced}
    rows = Project.objects.filter(code__in=codes).select_related("organisation")
    return {row.code: row for row in rows}


def _group(
    lines: Iterable[ChargeLine],
    organisations: dict[str, Organisation],
    projects: dict[str, Project],
    site: SiteView,
) -> Iterable[OrganisationCharges]:
    for (code, cost_centre), group in groupby(
        lines, key=lambda line: (line.organisation, line.cost_centre)
    ):
        charges = tuple(_group_projects(group, projects, site))
        yield OrganisationCharges(
            name=organisations[code].name if code in organisations else code,
            cost_centre=cost_centre,
            projects=charges,
            total=sum_money((one.total for one in charges), site.currency),
        )


def _group_projects(
    lines: Iterable[ChargeLine], projects: dict[str, Project], site: SiteView
) -> Iterable[ProjectCharges]:
    for code, group in groupby(lines, key=lambda line: line.project):
        kept = tuple(group)
        yield ProjectCharges(
            code=code,
            title=projects[code].title if code in projects else "",
            lines=kept,
            total=sum_money((line.amount for line in kept), site.currency),
        )
