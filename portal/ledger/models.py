"""Stored double-entry transactions and the periods that they belong to; amounts in micro-units."""

from django.db import models

from accounting.ledger import LedgerAccountKind
from portal.catalog.choices import PurchaseOption
from portal.catalog.models import Offering, Rate
from portal.projects.models import Organisation, Project


class Period(models.Model):
    """A month of the site's zone. Only an open period takes transactions."""

    class State(models.TextChoices):
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    month = models.DateField(unique=True, help_text="the month's first day")
    state = models.CharField(max_length=10, choices=State.choices, default=State.OPEN)
    posted_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"{self.month:%Y-%m}"


class LedgerAccount(models.Model):
    """An account of the books: what a project owes, what nobody owns yet, what was earned."""

    class Kind(models.TextChoices):
        PROJECT = LedgerAccountKind.PROJECT.value, "Project"
        SUSPENSE = LedgerAccountKind.SUSPENSE.value, "Suspense"
        REVENUE = LedgerAccountKind.REVENUE.value, "Revenue"

    code = models.CharField(max_length=100, unique=True)
    kind = models.CharField(max_length=12, choices=Kind.choices)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, null=True, blank=True, related_name="ledger_accounts"
    )

    def __str__(self) -> str:
        return self.code


class Transaction(models.Model):
    """A balanced set of postings for one charge line: what it became less what was posted before.

    The charge line is (project, organisation, cost centre, user, offering, TRES, purchase option,
    rate, price) in a period, all as they were when posted; its unit seconds, jobs and amount are
    the sums over its transactions. `key` names the line and counts its transactions, so that the
    database refuses a second posting of the same difference.
    """

    key = models.CharField(max_length=900, unique=True)
    period = models.ForeignKey(Period, on_delete=models.PROTECT, related_name="transactions")
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="transactions")
    organisation = models.ForeignKey(Organisation, on_delete=models.PROTECT, related_name="+")
    cost_centre = models.CharField(max_length=40, blank=True)
    user = models.CharField(max_length=255, blank=True)
    offering = models.ForeignKey(Offering, on_delete=models.PROTECT, related_name="+")
    tres = models.CharField(max_length=255)
    purchase_option = models.CharField(max_length=12, choices=PurchaseOption.choices)
    rate = models.ForeignKey(Rate, on_delete=models.PROTECT, related_name="+")
    unit_price_micros = models.BigIntegerField()
    unit_seconds = models.BigIntegerField()
    job_count = models.IntegerField()
    posted_at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(fields=["period", "project"], name="transaction_period_project")]

    def __str__(self) -> str:
        return self.key


class Posting(models.Model):
    """One side of a transaction; debits are positive, and a transaction's postings sum to 0."""

    transaction = models.ForeignKey(Transaction, on_delete=models.PROTECT, related_name="postings")
    account = models.ForeignKey(LedgerAccount, on_delete=models.PROTECT, related_name="postings")
    amount_micros = models.BigIntegerField()
    currency = models.CharField(max_length=3)

    def __str__(self) -> str:
        return f"{self.amount_micros} on {self.account_id}"
