"""Posts usage to the books: appends the difference between what should be there and what is."""

import logging
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date, datetime

from django.db import transaction

from accounting import ledger as books
from accounting.money import Money
from portal.catalog.models import Offering
from portal.common.errors import Conflict
from portal.ledger.models import LedgerAccount, Period, Posting, Transaction
from portal.ledger.payers import Payers
from portal.ledger.pricing import LineKey, LineSum, list_records, price_line, price_month
from portal.ledger.selectors import PostedLine, list_open_months, list_posted
from portal.projects.models import Project
from portal.projects.selectors import get_site_zone

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Difference:
    """What is missing in the books for one line: its target less what is posted."""

    key: LineKey
    unit_seconds: int
    job_count: int
    amount: Money
    transaction_count: int


def post_open_periods(now: datetime) -> int:
    """Post every open month that has usage; return how many transactions were added."""
    today = now.astimezone(get_site_zone()).date()
    return sum(post_period(month, now) for month in list_open_months(today))


def post_period(month: date, now: datetime) -> int:
    """Bring a month's postings in line with its final usage; return how many transactions that
    took.

    `month` is its first day. Run again, or by two workers at once, it adds nothing more: the
    difference is computed and stored under the period's lock, and each transaction's key can be
    stored once. Usage without an offering or a price is not posted: see list_unpriced. Raises
    Conflict where the month is closed.
    """
    if month.day != 1:
        raise ValueError(f"a month is named by its first day, not {month}")
    period, _ = Period.objects.get_or_create(month=month)
    _check_open(period)
    if not list_differences(month):
        return 0
    with transaction.atomic():
        period = Period.objects.select_for_update().get(pk=period.pk)
        _check_open(period)
        differences = list_differences(month)
        _store_transactions(period, differences, now)
        period.posted_at = now
        period.save(update_fields=["posted_at"])
    logger.info("%d transactions were posted in %s", len(differences), period)
    return len(differences)


def list_differences(month: date, *, project: Project | None = None) -> tuple[Difference, ...]:
    """Return what post_period would post now, in the order of lines."""
    payers = Payers.read(project=project)
    wanted = price_month(month, payers.narrow_usage(list_records(is_final=True)))
    posted = list_posted(month, payers)
    nothing = PostedLine(0, 0, Money.zero(wanted.currency), 0)
    found: list[Difference] = []
    for key in sorted(wanted.lines.keys() | posted.keys()):
        before = posted.get(key, nothing)
        line = wanted.lines.get(key, LineSum())
        amount = price_line(line.unit_seconds, key.unit_price_micros, before.amount.currency)
        difference = Difference(
            key,
            line.unit_seconds - before.unit_seconds,
            line.job_count - before.job_count,
            amount - before.amount,
            before.transaction_count,
        )
        if difference.unit_seconds or difference.job_count or difference.amount:
            found.append(difference)
    return tuple(found)


def _check_open(period: Period) -> None:
    if period.state == Period.State.CLOSED:
        raise Conflict(f"{period} is closed: nothing more can be posted in it.")


def _store_transactions(period: Period, differences: Sequence[Difference], now: datetime) -> None:
    projects = Project.objects.in_bulk({item.key.project_id for item in differences})
    offerings = Offering.objects.in_bulk({item.key.offering_id for item in differences})
    values = [
        _build_transaction(
            period, item, projects[item.key.project_id], offerings[item.key.offering_id]
        )
        for item in differences
    ]
    accounts = _ensure_accounts(projects.values(), offerings.values())
    stored = Transaction.objects.bulk_create(
        Transaction(
            key=value.key,
            period=period,
            unit_seconds=item.unit_seconds,
            job_count=item.job_count,
            posted_at=now,
            **item.key._asdict(),
        )
        for value, item in zip(values, differences, strict=True)
    )
    Posting.objects.bulk_create(
        Posting(
            transaction=row,
            account=accounts[posting.ledger_account],
            amount_micros=posting.amount.micros,
            currency=posting.amount.currency.code,
        )
        for row, value in zip(stored, values, strict=True)
        for posting in value.postings
    )


def _build_transaction(
    period: Period, item: Difference, project: Project, offering: Offering
) -> books.Transaction:
    """Return the balanced value; the project owes what the offering earns."""
    key = item.key
    name = ":".join(
        (
            str(period),
            project.code,
            key.user,
            offering.code,
            key.tres,
            key.purchase_option,
            f"o{key.organisation_id}",
            key.cost_centre,
            f"r{key.rate_id}",
            str(key.unit_price_micros),
            str(item.transaction_count + 1),
        )
    )
    return books.Transaction(
        name,
        f"{item.unit_seconds} unit-seconds of {offering.code} by {key.user or 'nobody'}",
        (
            books.Posting(_name_debit(project), item.amount),
            books.Posting(_name_credit(offering), -item.amount),
        ),
    )


def _name_debit(project: Project) -> str:
    return "suspense" if project.is_suspense else f"project:{project.code}"


def _name_credit(offering: Offering) -> str:
    return f"revenue:{offering.code}"


def _ensure_accounts(
    projects: Collection[Project], offerings: Collection[Offering]
) -> dict[str, LedgerAccount]:
    kinds = LedgerAccount.Kind
    wanted = [
        LedgerAccount(
            code=_name_debit(project),
            kind=kinds.SUSPENSE if project.is_suspense else kinds.PROJECT,
            project=project,
        )
        for project in projects
    ] + [LedgerAccount(code=_name_credit(offering), kind=kinds.REVENUE) for offering in offerings]
    LedgerAccount.objects.bulk_create(wanted, ignore_conflicts=True)
    codes = [account.code for account in wanted]
    return {account.code: account for account in LedgerAccount.objects.filter(code__in=codes)}
