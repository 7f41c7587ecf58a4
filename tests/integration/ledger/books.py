"""Computes charges apart from the product, and adds up what the books hold."""

from collections import defaultdict
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction

from portal.ledger.models import LedgerAccount, Posting, Transaction

CENT = Decimal("0.01")


def round_cents(exact: Fraction) -> Decimal:
    """Return the amount in cents, half to even, by other means than the product's."""
    cents = exact * 100
    whole, rest = divmod(cents.numerator, cents.denominator)
    double = 2 * rest
    if double > cents.denominator or (double == cents.denominator and whole % 2):
        whole += 1
    return (Decimal(whole) / 100).quantize(CENT, ROUND_HALF_EVEN)


def price_apart(uses: Iterable[tuple[object, int, str]]) -> Decimal:
    """Return the sum over lines of (line, unit-seconds, price per unit-hour), rounded per line."""
    lines: dict[tuple[object, str], int] = defaultdict(int)
    for line, unit_seconds, price in uses:
        lines[line, price] += unit_seconds
    return sum(
        (round_cents(Fraction(price) * seconds / 3600) for (_, price), seconds in lines.items()),
        Decimal(0),
    )


def sum_postings(*kinds: str) -> Decimal:
    """Return the sum of postings on accounts of these kinds, or of all."""
    postings = Posting.objects.all()
    if kinds:
        postings = postings.filter(account__kind__in=kinds)
    return Decimal(sum(postings.values_list("amount_micros", flat=True))) / 1_000_000


def sum_owed() -> Decimal:
    """Return what projects and suspense owe."""
    return sum_postings(LedgerAccount.Kind.PROJECT, LedgerAccount.Kind.SUSPENSE)


def check_balance() -> None:
    """Assert that every stored transaction balances and has its two sides."""
    for row in Transaction.objects.prefetch_related("postings"):
        amounts = [posting.amount_micros for posting in row.postings.all()]
        assert sum(amounts) == 0
        assert len(amounts) == 2
    assert sum_postings() == 0
