"""Quantities, by value."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import fields
from functions.webapp.quantity import amount, same


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1000m", "1"),
        ("1", 1),
        ("0.5", "500m"),
        (".5", "0.50"),
        ("5.", "5"),
        ("+5", "5"),
        ("1k", "1e3"),
        ("1E3", "1k"),
        ("1Ki", "1024"),
        ("1.5Gi", "1536Mi"),
        ("1P", "1e15"),
        ("1E", "1e18"),
        ("2Ei", "2048Pi"),
        ("0", "0Mi"),
        (0.5, "500m"),
        ("0.0001", "1m"),  # amounts of a container are rounded up to thousandths
        ("1n", "1m"),
        ("100E", "9223372036854775807"),  # and end at the largest int64
    ],
)
def test_spellings_of_one_amount_are_the_same(one, other):
    assert same(one, other)
    assert same(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1", "2"),
        ("1k", "1Ki"),
        ("1m", "1M"),
        ("0", ""),
        ("1", True),
        (True, 1),
        ("x", "y"),
        ("1 Mi", "1Mi"),
        ("NaN", "1"),
        ("Infinity", "1"),
        ("9e999999Ki", "1"),
        ("1_0", "10"),
        ("\u0661", "1"),
    ],
)
def test_different_amounts_and_nonsense_are_not_the_same(one, other):
    assert not same(one, other)
    assert not same(other, one)


@given(st.text() | st.from_regex(fields.QUANTITY) | st.sampled_from(["NaN", "sNaN", "9e999999Ki", "1e-999999999"]))
def test_every_text_is_the_same_as_itself(text):
    assert same(text, text)


@given(st.from_regex(fields.QUANTITY, fullmatch=True))
def test_what_the_model_accepts_has_an_amount(text):
    assert amount(text) is not None


@given(st.text(max_size=12) | st.from_regex(r"[-+]?[0-9.eE]{1,9}[KMGTPEi]{0,2}", fullmatch=True))
def test_no_text_makes_it_raise(text):
    amount(text)
