"""Reads the books: statements from postings, and what is used but not posted."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import NamedTuple

from django.db.models import Count, Min, Sum

from accounting.money import Currency, Money
from accounting.statement import ChargeLine, Statement
from accounting.usage import month_label
from portal.catalog.models import Offering
from portal.catalog.selectors import MICROS
from portal.ledger.costs import (
    DayCost,
    PersonCost,
    cost_by_day,
    cost_by_person,
    load_titles,
)
from portal.ledger.models import LedgerAccount, Period, Posting
from portal.ledger.payers import EVERYBODY, Payers
from portal.ledger.pricing import (
    LineKey,
    get_currency,
    list_records,
    price_line,
    price_month,
)
from portal.projects.models import Organisation, Project
from portal.projects.selectors import get_site
from portal.usage.models import UsageRecord

__all__ = [
    "DayCost",
    "PersonCost",
    "PostedLine",
    "UnpricedLine",
    "build_statement",
    "cost_by_day",
    "cost_by_person",
    "get_site_currency",
    "list_open_months",
    "list_posted",
    "list_provisional",
    "list_unpriced",
]

LINE_FIELDS = (
    "project_id",
    "organisation_id",
    "cost_centre",
    "user",
    "offering_id",
    "tres",
    "purchase_option",
    "rate_id",
    "unit_price_micros",
)
OWED = (LedgerAccount.Kind.PROJECT, LedgerAccount.Kind.SUSPENSE)


@dataclass(frozen=True, slots=True)
class PostedLine:
    """What is posted for a line: the sums over its transactions."""

    unit_seconds: int
    job_count: int
    amount: Money
    transaction_count: int


@dataclass(frozen=True, slots=True)
class UnpricedLine:
    """Usage that cannot be billed: `reason` is a sentence for the operator."""

    project_code: str
    user: str
    offering_title: str
    tres: str
    purchase_option: str
    unit_seconds: int
    job_count: int
    reason: str


def list_posted(month: date, payers: Payers = EVERYBODY) -> dict[LineKey, PostedLine]:
    """Return what is posted in a month, by charge line. One query."""
    postings = payers.narrow(
        Posting.objects.filter(transaction__period__month=month, account__kind__in=OWED),
        organisation="transaction__organisation_id",
        project="transaction__project_id",
    )
    exponent = get_site().currency_exponent
    rows = (
        postings.order_by()
        .values_list(*(f"transaction__{name}" for name in LINE_FIELDS), "currency")
        .annotate(
            seconds=Sum("transaction__unit_seconds"),
            jobs=Sum("transaction__job_count"),
            micros=Sum("amount_micros"),
            count=Count("transaction_id"),
        )
    )
    return {
        LineKey(*names): PostedLine(
            seconds, jobs, Money.from_micros(micros, Currency(code, exponent)), count
        )
        for *names, code, seconds, jobs, micros, count in rows
    }


def build_statement(
    month: date,
    *,
    organisation_ids: Collection[int] | None = None,
    project_ids: Collection[int] | None = None,
    project: Project | None = None,
) -> Statement:
    """Return the month's statement from its postings; lines that came to nothing are left out.

    Of everybody, or of what any of these organisations (as it was when posted) or projects pays.
    """
    posted = list_posted(month, Payers.read(organisation_ids, project_ids, project))
    labels = _Labels.load(posted)
    return Statement(
        month_label(month.year, month.month),
        tuple(
            labels.make_line(month, key, line.unit_seconds, line.job_count, line.amount)
            for key, line in posted.items()
            if line.unit_seconds or line.amount
        ),
    )


def list_provisional(
    month: date,
    *,
    organisation_ids: Collection[int] | None = None,
    project_ids: Collection[int] | None = None,
    project: Project | None = None,
) -> tuple[ChargeLine, ...]:
    """Return what the usage that may still change would cost if it ended now; not posted.

    Narrowed as in build_statement.
    """
    payers = Payers.read(organisation_ids, project_ids, project)
    priced = price_month(month, payers.narrow_usage(list_records(is_final=False)))
    labels = _Labels.load(priced.lines)
    lines = [
        labels.make_line(
            month,
            key,
            line.unit_seconds,
            line.job_count,
            price_line(line.unit_seconds, key.unit_price_micros, priced.currency),
        )
        for key, line in priced.lines.items()
    ]
    return tuple(sorted(lines, key=lambda line: line.sort_key))


def list_unpriced(
    month: date,
    *,
    organisation_ids: Collection[int] | None = None,
    project_ids: Collection[int] | None = None,
    project: Project | None = None,
) -> tuple[UnpricedLine, ...]:
    """Return the usage of a month, open or final, that has no offering or no price.

    Narrowed as in build_statement.
    """
    payers = Payers.read(organisation_ids, project_ids, project)
    priced = price_month(month, payers.narrow_usage(UsageRecord.objects.all()))
    codes = dict(
        Project.objects.filter(pk__in={group.project_id for group in priced.unpriced}).values_list(
            "id", "code"
        )
    )
    titles = load_titles(group.offering_id for group in priced.unpriced)
    lines = [
        UnpricedLine(
            codes[group.project_id],
            group.user,
            titles.get(group.offering_id, ""),
            group.tres,
            group.purchase_option,
            line.unit_seconds,
            line.job_count,
            "No offering of the catalogue matches its partition and GPU type."
            if group.offering_id is None
            else "The offering has no price for all of this time.",
        )
        for group, line in priced.unpriced.items()
    ]
    return tuple(sorted(lines, key=lambda line: (line.project_code, line.user, line.tres)))


def list_open_months(today: date) -> tuple[date, ...]:
    """Return the months from the first usage to today's that are not closed, oldest first."""
    month = UsageRecord.objects.aggregate(first=Min("period"))["first"]
    closed = set(Period.objects.filter(state=Period.State.CLOSED).values_list("month", flat=True))
    months: list[date] = []
    while month is not None and month <= today:
        if month not in closed:
            months.append(month)
        month = date(month.year + month.month // 12, month.month % 12 + 1, 1)
    return tuple(months)


def get_site_currency() -> Currency:
    """Return the currency in which the books are kept."""
    return get_currency(get_site())


class _Labels(NamedTuple):
    """The codes that a statement shows for ids."""

    projects: dict[int, str]
    organisations: dict[int, str]
    offerings: dict[int, str]

    @classmethod
    def load(cls, keys: Collection[LineKey]) -> "_Labels":
        def read(
            model: type[Project] | type[Organisation] | type[Offering], ids: set[int]
        ) -> dict[int, str]:
            return dict(model.objects.filter(pk__in=ids).values_list("id", "code"))

        return cls(
            read(Project, {key.project_id for key in keys}),
            read(Organisation, {key.organisation_id for key in keys}),
            read(Offering, {key.offering_id for key in keys}),
        )

    def make_line(
        self, month: date, key: LineKey, unit_seconds: int, job_count: int, amount: Money
    ) -> ChargeLine:
        return ChargeLine(
            project=self.projects[key.project_id],
            offering=self.offerings[key.offering_id],
            purchase_option=key.purchase_option,
            user=key.user,
            tres=key.tres,
            unit_seconds=unit_seconds,
            rate_id=str(key.rate_id),
            unit_price=Decimal(key.unit_price_micros) / MICROS,
            currency=amount.currency,
            amount=amount,
            organisation=self.organisations[key.organisation_id],
            cost_centre=key.cost_centre,
            period=month_label(month.year, month.month),
            job_count=job_count,
        )
