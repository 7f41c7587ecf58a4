"""A wrong posting or transaction cannot be built."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import LedgerError
from accounting.ledger import LedgerAccountKind, Posting, Transaction
from accounting.money import Currency, Money

CNY, USD = Currency("CNY"), Currency("USD")


def _posting(amount: str, currency: Currency = CNY, account: str = "project:p1001") -> Posting:
    return Posting(account, Money(amount, currency))


@pytest.mark.parametrize(
    "postings",
    [
        (),
        (_posting("0"),),
        (_posting("1.00"), _posting("-0.99")),
        (_posting("1.00"), _posting("-1.00", USD)),
        (_posting("1.00"), _posting("-1.00"), _posting("0", USD)),
    ],
)
def test_refuses_empty_unbalanced_and_mixed(postings: tuple[Posting, ...]) -> None:
    with pytest.raises(LedgerError):
        Transaction("k", "charge", postings)


def test_refuses_postings_that_are_not_rounded_or_nameless() -> None:
    with pytest.raises(LedgerError):
        _posting("0.001")
    with pytest.raises(LedgerError):
        _posting("1", account="")
    with pytest.raises(TypeError):
        Posting("p", 1)  # type: ignore[arg-type]


def test_refuses_a_transaction_without_a_key() -> None:
    with pytest.raises(LedgerError):
        Transaction("", "charge", (_posting("1"), _posting("-1")))


@given(st.lists(st.integers(-(10**12), 10**12), min_size=1, max_size=20))
def test_is_built_if_and_only_if_it_balances(cents: list[int]) -> None:
    postings = [Posting("p", Money.from_micros(cent * 10_000, CNY)) for cent in cents]
    rest = Posting("r", Money.from_micros(-sum(cents) * 10_000, CNY))
    transaction = Transaction("k", "charge", (*postings, rest))
    reversal = transaction.reverse("k:reversal", "taken back")
    pairs = zip(transaction.postings, reversal.postings, strict=True)
    assert not any(one.amount + other.amount for one, other in pairs)
    cent_off = Posting("r", rest.amount + Money("0.01", CNY))
    with pytest.raises(LedgerError):
        Transaction("k", "charge", (*postings, cent_off))


def test_a_reversal_needs_a_key_of_its_own() -> None:
    with pytest.raises(LedgerError):
        Transaction("k", "charge", (_posting("1"), _posting("-1"))).reverse("k", "again")


def test_kinds_have_stable_names() -> None:
    assert [kind.value for kind in LedgerAccountKind] == [
        "project",
        "suspense",
        "revenue",
        "credit",
    ]
