"""Numbers are written so that people can read them."""

import numpy as np
import pytest

from qtkm.estimators.wording import readable


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0"),
        (-0.0, "0"),
        (0.5, "0.5"),
        (1 / 3, "0.3333"),
        (-2.5, "-2.5"),
        (2013, "2013"),
        (9999.6, "10,000"),
        (81912.3, "81,910"),
        (1234567.8, "1,235,000"),
        (9.99996e9, "1e10"),
        (-1.5e12, "-1.5e12"),
        (0.00001234, "1.234e-5"),
        (0.0001, "0.0001"),
        (0.000099999, "0.0001"),
        (np.float32(0.25), "0.25"),
        (np.int64(7), "7"),
        (np.inf, "inf"),
        (np.nan, "nan"),
        (1.5 - 20000j, "1.5-20,000j"),
        (np.complex128(2 + 1j), "2+1j"),
    ],
)
def test_a_number_is_written_out_where_that_is_short(number, text):
    assert readable(number) == text


def test_digits_are_significant_ones():
    assert readable(12345.678, 7) == "12,345.68"
    assert readable(423.4, 2) == "420"
    assert readable(0.0012345, 2) == "0.0012"


def test_positive_numbers_have_a_sign_if_wanted():
    assert [readable(x, sign="+") for x in (3, -3, 81912.3)] == ["+3", "-3", "+81,910"]
    assert readable(1.5e-7, sign="+") == "+1.5e-7"


def test_text_is_the_number_up_to_its_digits():
    rng = np.random.default_rng(0)
    for number in rng.normal(size=200) * 10.0 ** rng.integers(-12, 13, 200):
        assert float(readable(number).replace(",", "")) == pytest.approx(number, rel=5.1e-4)
