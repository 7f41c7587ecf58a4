"""Double entry: postings and transactions that cannot be wrong once they exist."""

from dataclasses import dataclass
from enum import StrEnum

from accounting.errors import LedgerError
from accounting.money import Money, sum_money


class LedgerAccountKind(StrEnum):
    """What a ledger account stands for.

    PROJECT owes what it used, SUSPENSE holds what no project owns yet, REVENUE is what the platform
    earned (its balance is negative), CREDIT is what was waived or given.
    """

    PROJECT = "project"
    SUSPENSE = "suspense"
    REVENUE = "revenue"
    CREDIT = "credit"


@dataclass(frozen=True, slots=True)
class Posting:
    """An amount on one ledger account: positive is a debit, negative a credit.

    The amount must already be rounded to the currency's minor unit (LedgerError otherwise), so that
    sums of postings are what people see and pay.
    """

    ledger_account: str
    amount: Money
    memo: str = ""

    def __post_init__(self) -> None:
        if not self.ledger_account:
            raise LedgerError("a posting names its ledger account")
        if not isinstance(self.amount, Money):
            raise TypeError(f"a posting's amount is Money, not {type(self.amount).__name__}")
        if not self.amount.is_rounded:
            raise LedgerError(f"{self.amount} is not rounded: a posting comes from round_posting")


@dataclass(frozen=True, slots=True)
class Transaction:
    """Postings of one currency that sum to zero; anything else raises LedgerError.

    key names what it records and is the same whenever it is recorded again, so that a store can
    refuse the second time.
    """

    key: str
    description: str
    postings: tuple[Posting, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "postings", tuple(self.postings))
        if not self.key:
            raise LedgerError("a transaction has a key")
        if len(self.postings) < 2:
            raise LedgerError(f"transaction {self.key} has {len(self.postings)} postings, not 2")
        currencies = {posting.amount.currency for posting in self.postings}
        if len(currencies) > 1:
            codes = ", ".join(sorted(currency.code for currency in currencies))
            raise LedgerError(f"transaction {self.key} mixes currencies: {codes}")
        rest = sum_money((posting.amount for posting in self.postings), currencies.pop())
        if rest:
            raise LedgerError(f"transaction {self.key} does not balance: {rest} is left over")

    def reverse(self, key: str, description: str) -> "Transaction":
        """Return the Reversal: the same postings with opposite amounts, under a key of its own."""
        if key == self.key:
            raise LedgerError(f"the reversal of {self.key} needs another key")
        return Transaction(
            key,
            description,
            tuple(
                Posting(posting.ledger_account, -posting.amount, posting.memo)
                for posting in self.postings
            ),
        )
