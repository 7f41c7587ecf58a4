"""Exact money: an amount in one currency, and the one place where an amount is rounded.

Amounts are Decimal and never float. Sums are exact or raise: no result is ever cut to a context's
precision.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation, Overflow
from fractions import Fraction

from accounting.errors import MoneyError

MICROS_PER_UNIT = 1_000_000
_MAX_DIGITS = 40  # either side of the point; far beyond any invoice, small enough to add exactly
_EXACT = Context(prec=4 * _MAX_DIGITS, traps=[Inexact, InvalidOperation, Overflow])
_CODE = re.compile(r"[A-Z][A-Z0-9]{1,9}")


@dataclass(frozen=True, slots=True, order=True)
class Currency:
    """A currency, or a site's own unit of credit.

    code: 2 to 10 capital letters and digits, "CNY". exponent: digits of the minor unit, 0 to 6
    (ISO 4217: 2 for CNY, 0 for JPY, 3 for KWD).
    """

    code: str
    exponent: int = 2

    def __post_init__(self) -> None:
        if not isinstance(self.code, str) or not _CODE.fullmatch(self.code):
            raise MoneyError(f"not a currency code: {self.code!r}")
        if type(self.exponent) is not int or not 0 <= self.exponent <= 6:
            raise MoneyError(f"a currency's exponent is 0 to 6, not {self.exponent!r}")


@dataclass(frozen=True, slots=True)
class Money:
    """An exact amount of one currency; not yet rounded unless it came from round_posting.

    amount is a Decimal, an int or a decimal text. A float or a bool raises TypeError; NaN, infinity
    and text that is not a number raise MoneyError. Amounts of two currencies are never equal, and
    adding or ordering them raises MoneyError.
    """

    amount: Decimal
    currency: Currency

    def __init__(self, amount: Decimal | int | str, currency: Currency) -> None:
        if not isinstance(currency, Currency):
            raise TypeError(f"a currency is a Currency, not {type(currency).__name__}")
        object.__setattr__(self, "amount", read_exact(amount))
        object.__setattr__(self, "currency", currency)

    @classmethod
    def zero(cls, currency: Currency) -> "Money":
        """Return nothing at all, in this currency: where a sum starts."""
        return cls(0, currency)

    @classmethod
    def from_micros(cls, micros: int, currency: Currency) -> "Money":
        """Return the amount that is stored as whole millionths of the currency's unit."""
        if type(micros) is not int:
            raise TypeError(f"micros are an int, not {type(micros).__name__}")
        return cls(_EXACT.scaleb(read_exact(micros), -6), currency)

    @property
    def micros(self) -> int:
        """The amount in whole millionths of the currency's unit; MoneyError if it has a rest."""
        scaled = _EXACT.multiply(self.amount, Decimal(MICROS_PER_UNIT))
        if scaled != scaled.to_integral_value():
            raise MoneyError(f"{self} is not a whole number of millionths")
        return int(scaled)

    @property
    def is_rounded(self) -> bool:
        """Whether the amount is a whole number of the currency's minor unit."""
        scaled = _EXACT.scaleb(self.amount, self.currency.exponent)
        return scaled == scaled.to_integral_value()

    def _same(self, other: "Money") -> Decimal:
        if other.currency != self.currency:
            raise MoneyError(
                f"{self.currency.code} and {other.currency.code} do not go in one sum"
                if self.currency.code != other.currency.code
                else f"{self.currency.code} is used with two different exponents"
            )
        return other.amount

    def __add__(self, other: "Money") -> "Money":
        if not isinstance(other, Money):
            return NotImplemented
        return Money(_EXACT.add(self.amount, self._same(other)), self.currency)

    def __sub__(self, other: "Money") -> "Money":
        if not isinstance(other, Money):
            return NotImplemented
        return Money(_EXACT.subtract(self.amount, self._same(other)), self.currency)

    def __neg__(self) -> "Money":
        return Money(_EXACT.subtract(Decimal(0), self.amount), self.currency)

    def __lt__(self, other: "Money") -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount < self._same(other)

    def __le__(self, other: "Money") -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount <= self._same(other)

    def __gt__(self, other: "Money") -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount > self._same(other)

    def __ge__(self, other: "Money") -> bool:
        if not isinstance(other, Money):
            return NotImplemented
        return self.amount >= self._same(other)

    def __bool__(self) -> bool:
        return bool(self.amount)

    def __str__(self) -> str:
        return f"{render_amount(self)} {self.currency.code}"


def read_exact(value: Decimal | int | str) -> Decimal:
    """Return an exact, finite Decimal, never a negative zero.

    TypeError for a float, a bool or anything else; MoneyError for NaN, infinity, text that is no
    plain number, or more than 40 digits on one side of the point.
    """
    if isinstance(value, bool) or not isinstance(value, Decimal | int | str):
        raise TypeError(f"an exact amount is a Decimal, int or str, not {type(value).__name__}")
    if isinstance(value, str) and not re.fullmatch(r"[+-]?[0-9]+(\.[0-9]+)?", value):
        raise MoneyError(f"not an amount: {value!r}")
    number = Decimal(value)
    if not number.is_finite():
        raise MoneyError(f"not an amount: {value!r}")
    exponent = number.as_tuple().exponent
    if not isinstance(exponent, int) or exponent < -_MAX_DIGITS or number.adjusted() >= _MAX_DIGITS:
        raise MoneyError(f"an amount has at most {_MAX_DIGITS} digits on a side of its point")
    return number if number else Decimal(0)


def sum_money(amounts: Iterable[Money], currency: Currency) -> Money:
    """Return the exact sum; an amount in another currency raises MoneyError."""
    total = Money.zero(currency)
    for amount in amounts:
        total += amount
    return total


def render_amount(money: Money) -> str:
    """Return "1234.50": the currency's digits after the point, more only where they are not 0."""
    sign, digits, exponent = money.amount.as_tuple()
    assert isinstance(exponent, int)
    whole = int("".join(map(str, digits))) * 10 ** max(exponent, 0)
    places = max(-exponent, 0)
    while places > money.currency.exponent and whole % 10 == 0:
        whole, places = whole // 10, places - 1
    if places < money.currency.exponent:
        whole *= 10 ** (money.currency.exponent - places)
        places = money.currency.exponent
    text = str(whole).rjust(places + 1, "0")
    point = len(text) - places
    return ("-" if sign else "") + text[:point] + ("." + text[point:] if places else "")


def round_posting(amount: Fraction, currency: Currency) -> Money:
    """Return the amount in whole minor units of the currency: the only rounding of money here.

    Half to even: 0.125 becomes 0.12, 0.135 becomes 0.14, so that many lines do not drift to one
    side; an amount and its reversal round to opposite amounts. It is called once per charge line;
    totals are sums of what it returned.
    """
    if isinstance(amount, bool) or not isinstance(amount, Fraction | int):
        raise TypeError(f"an unrounded amount is a Fraction, not {type(amount).__name__}")
    minor_units = round(Fraction(amount) * 10**currency.exponent)
    return Money(_EXACT.scaleb(read_exact(minor_units), -currency.exponent), currency)
