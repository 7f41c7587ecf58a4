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
    """Whose charges a person sees: all (None), or those of granted organisations and led projects.

    A led project counts by itself, so that its lines stay when it changes organisation.
    """

    organisation_ids: frozenset[int] | None
    project_ids: frozenset[int] | None

    @property
    def is_empty(self) -> bool:
        """Whether the person sees nobody's charges."""
        return self.organisation_ids is not None and not (self.organisation_ids or self.project_ids)


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
            return Scope(None, None)
        granted |= organisations
    led = list_led_projects(user).values_list("id", flat=True)
    return Scope(frozenset(granted), frozenset(led))


def get_statement(month: date, scope: Scope) -> Statement:
    """Return the part of a month's statement that belongs to the scope."""
    return build_statement(
        month, organisation_ids=scope.organisation_ids, project_ids=scope.project_ids
    )


def make_chargeback_view(month: date, scope: Scope, site: SiteView) -> ChargebackView:
    """Return the month as the page shows it; a fixed number of queries."""
    statement = get_statement(month, scope)
    running = list_provisional(
        month, organisation_ids=scope.organisation_ids, project_ids=scope.project_ids
    )
    unpriced = _list_unpriced(month, scope)
    organisations = {row.code: row for row in Organisation.objects.all()}
    titles = _load_titles(statement.lines)
    return ChargebackView(
        month=month,
        organisations=tuple(_group(statement.lines, organisations, titles, site)),
        total=sum_money((line.amount for line in statement.lines), site.currency),
        running=running,
        running_total=sum_money((line.amount for line in running), site.currency),
        unpriced=unpriced,
        names=name_people(
            {line.user for line in (*statement.lines, *running)} | {line.user for line in unpriced}
        ),
        titles=dict(Offering.objects.values_list("code", "title")),
        options=dict(PurchaseOption.choices),
    )


def count_unpriced(month: date, scope: Scope) -> int:
    """Return how many lines of the month's usage have no price and so are not charged."""
    return len(_list_unpriced(month, scope))


def _list_unpriced(month: date, scope: Scope) -> tuple[UnpricedLine, ...]:
    return list_unpriced(
        month, organisation_ids=scope.organisation_ids, project_ids=scope.project_ids
    )


def _load_titles(lines: Iterable[ChargeLine]) -> dict[str, str]:
    """Return the titles of the lines' projects, by code."""
    rows = Project.objects.filter(code__in={line.project for line in lines})
    return dict(rows.values_list("code", "title"))


def _group(
    lines: Iterable[ChargeLine],
    organisations: dict[str, Organisation],
    titles: dict[str, str],
    site: SiteView,
) -> Iterable[OrganisationCharges]:
    for (code, cost_centre), group in groupby(
        lines, key=lambda line: (line.organisation, line.cost_centre)
    ):
        charges = tuple(_group_projects(group, titles, site))
        yield OrganisationCharges(
            name=organisations[code].name if code in organisations else code,
            cost_centre=cost_centre,
            projects=charges,
            total=sum_money((one.total for one in charges), site.currency),
        )


def _group_projects(
    lines: Iterable[ChargeLine], titles: dict[str, str], site: SiteView
) -> Iterable[ProjectCharges]:
    for code, group in groupby(lines, key=lambda line: line.project):
        kept = tuple(group)
        yield ProjectCharges(
            code=code,
            title=titles.get(code, ""),
            lines=kept,
            total=sum_money((line.amount for line in kept), site.currency),
        )
