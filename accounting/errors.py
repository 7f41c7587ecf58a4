"""The root of every error that this package raises."""


class AccountingError(Exception):
    """Something that cannot be accounted exactly; the message says what and why."""


class MoneyError(AccountingError, ValueError):
    """An amount that is not an exact, finite number, or two currencies in one sum."""


class TresError(AccountingError, ValueError):
    """A TRES text that cannot be read, or whose counts contradict each other."""


class RecordFormatError(AccountingError, ValueError):
    """The output as a whole is not what was asked of sacct: nothing of it may be used."""


class RateError(AccountingError, ValueError):
    """A rate or a rate card that cannot be right: overlapping, empty or inexact."""


class NoRateError(AccountingError, LookupError):
    """No price is known for something that was used; the message names what is missing."""


class LedgerError(AccountingError, ValueError):
    """A posting or a transaction that must not exist: unbalanced, empty, mixed, unrounded."""


class StatementError(AccountingError, ValueError):
    """A charge line or a statement that contradicts itself."""
