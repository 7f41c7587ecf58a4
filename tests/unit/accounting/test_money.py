"""Money is exact, of one currency, and rounded in one place."""

from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounting.errors import MoneyError
from accounting.money import Currency, Money, round_posting, sum_money

CNY, JPY, USD = Currency("CNY"), Currency("JPY", 0), Currency("USD")
MICROS = st.integers(-(10**18), 10**18)


@pytest.mark.parametrize("amount", [0.1, 1.0, True, None, Fraction(1, 2)])
def test_refuses_a_float_and_anything_else_inexact(amount: object) -> None:
    with pytest.raises(TypeError):
        Money(amount, CNY)  # type: ignore[arg-type]


@pytest.mark.parametrize("amount", [Decimal("NaN"), Decimal("sNaN"), Decimal("-Infinity")])
def test_refuses_nan_and_infinity(amount: Decimal) -> None:
    with pytest.raises(MoneyError):
        Money(amount, CNY)


@pytest.mark.parametrize(
    "text", ["NaN", "inf", "", " 1", "1_000", "1e3", "٣", "1,5", "0x10", "1\n"]
)
def test_refuses_text_that_is_no_plain_number(text: str) -> None:
    with pytest.raises(MoneyError):
        Money(text, CNY)


@pytest.mark.parametrize("amount", [Decimal("1e40"), Decimal("1e-41"), Decimal("1e999999")])
def test_refuses_amounts_that_could_not_be_added_exactly(amount: Decimal) -> None:
    with pytest.raises(MoneyError):
        Money(amount, CNY)


def test_refuses_to_round_or_read_what_no_invoice_holds() -> None:
    with pytest.raises(MoneyError):
        round_posting(Fraction(10**200), CNY)
    with pytest.raises(MoneyError):
        Money.from_micros(10**200, CNY)
    with pytest.raises(MoneyError):
        Money("9" * 40, CNY) + Money(1, CNY)


def test_refuses_to_mix_currencies() -> None:
    one, other = Money(1, CNY), Money(1, USD)
    for operation in (
        lambda: one + other,
        lambda: one - other,
        lambda: one < other,
        lambda: one <= other,
        lambda: one > other,
        lambda: one >= other,
        lambda: sum_money([one, other], CNY),
        lambda: Money(1, CNY) + Money(1, Currency("CNY", 3)),
    ):
        with pytest.raises(MoneyError):
            operation()
    assert one != other


@pytest.mark.parametrize("code", ["cny", "", "C", "C-Y", "CNY\n"])
def test_refuses_a_code_that_is_none(code: str) -> None:
    with pytest.raises(MoneyError):
        Currency(code)


@pytest.mark.parametrize(
    ("amount", "currency", "text"),
    [
        ("1234.5", CNY, "1234.50 CNY"),
        ("-0.05", CNY, "-0.05 CNY"),
        ("-0", CNY, "0.00 CNY"),
        (Decimal("1E+3"), CNY, "1000.00 CNY"),
        ("0.123400", CNY, "0.1234 CNY"),
        (120, JPY, "120 JPY"),
        ("120.0", JPY, "120 JPY"),
        ("99999999999999999999999999999999.99", CNY, "99999999999999999999999999999999.99 CNY"),
    ],
)
def test_prints_the_digits_of_its_currency(
    amount: Decimal | int | str, currency: Currency, text: str
) -> None:
    assert str(Money(amount, currency)) == text


def test_adds_beyond_the_precision_of_a_default_context() -> None:
    large, small = Money("9" * 38, CNY), Money("0." + "0" * 38 + "1", CNY)
    assert large + small - large == small


def test_micros_refuse_a_rest() -> None:
    assert Money("0.000001", CNY).micros == 1
    with pytest.raises(MoneyError):
        _ = Money("0.0000001", CNY).micros


@given(MICROS)
def test_micros_there_and_back(micros: int) -> None:
    assert Money.from_micros(micros, CNY).micros == micros


@given(MICROS, MICROS)
def test_addition_is_exact_and_undone_by_subtraction(first: int, second: int) -> None:
    one, other = Money.from_micros(first, CNY), Money.from_micros(second, CNY)
    assert (one + other).micros == first + second
    assert one + other - other == one
    assert hash(one + other) == hash(other + one)
    assert (one < other) is (first < second)
    assert not one + -one


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (Fraction(125, 1000), "0.12 CNY"),
        (Fraction(135, 1000), "0.14 CNY"),
        (Fraction(-125, 1000), "-0.12 CNY"),
        (Fraction(1, 3), "0.33 CNY"),
        (Fraction(2, 3), "0.67 CNY"),
        (Fraction(1250001, 10**7), "0.13 CNY"),
        (Fraction(5, 1000), "0.00 CNY"),
    ],
)
def test_rounds_half_to_even(amount: Fraction, text: str) -> None:
    assert str(round_posting(amount, CNY)) == text


def test_rounding_refuses_a_float() -> None:
    with pytest.raises(TypeError):
        round_posting(0.125, CNY)  # type: ignore[arg-type]


@given(st.fractions(), st.sampled_from([CNY, JPY, Currency("KWD", 3)]))
def test_rounding_is_near_whole_and_symmetric(amount: Fraction, currency: Currency) -> None:
    rounded = round_posting(amount, currency)
    assert rounded.is_rounded
    assert abs(Fraction(rounded.amount) - amount) * 2 <= Fraction(1, 10**currency.exponent)
    assert round_posting(-amount, currency) == -rounded
