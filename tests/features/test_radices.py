"""How a number of basis functions splits into digits."""

from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from qtkm.features.radices import split


@pytest.mark.parametrize(
    ("n_basis", "quantization", "radices"),
    [
        (64, 2, (2, 2, 2, 2, 2, 2)),
        (24, 2, (2, 2, 2, 3)),
        (60, 2, (2, 2, 3, 5)),
        (7, 2, (7,)),
        (1, 2, (1,)),
        (32, 4, (4, 4, 2)),
        (24, 4, (4, 2, 3)),
        (45, 2, (3, 3, 5)),
        (18, 6, (6, 3)),
        (60, "prime", (2, 2, 3, 5)),
        (1, "prime", (1,)),
        (24, [4, 3, 2], (4, 3, 2)),
        (24, (2, 12), (2, 12)),
        (6, [1, 6], (1, 6)),
        (24, None, (24,)),
        (24, "auto", (2, 2, 2, 3)),
        (1, None, (1,)),
    ],
)
def test_split(n_basis, quantization, radices):
    assert split(n_basis, quantization) == radices


@given(st.integers(1, 5000), st.integers(2, 12) | st.just("prime"))
def test_radices_multiply_to_the_whole_and_what_does_not_divide_is_prime(n_basis, quantization):
    radices = split(n_basis, quantization)
    assert prod(radices) == n_basis
    tail = [radix for radix in radices if radix != quantization]
    assert tail == sorted(tail)
    assert all(all(radix % k for k in range(2, radix)) for radix in tail)
    if quantization != "prime":
        rest = n_basis
        for radix in radices:
            assert radix == quantization or rest % quantization
            rest //= radix


@given(st.lists(st.integers(1, 6), min_size=1, max_size=5))
def test_digits_with_their_weights_count_every_number_once(radices):
    digits = np.indices(radices).reshape(len(radices), -1)
    numbers = np.cumprod([1, *radices[:-1]]) @ digits
    assert sorted(numbers) == list(range(prod(radices)))


def test_numbers_of_numpy_count_as_whole_numbers():
    assert split(np.int64(24), np.int32(2)) == (2, 2, 2, 3)
    assert split(24, np.array([4, 6])) == (4, 6)


@pytest.mark.parametrize("n_basis", [0, -8, 8.0, "8", None, True])
def test_a_number_of_basis_functions_must_be_whole_and_positive(n_basis):
    with pytest.raises(ValueError, match=r"n_basis=.* must be an integer >= 1"):
        split(n_basis, 2)


@pytest.mark.parametrize("base", [1, 0, -2])
def test_a_base_below_two_is_refused_and_none_is_suggested(base):
    with pytest.raises(ValueError, match=rf"quantization={base} must be >= 2; use None"):
        split(8, base)


@pytest.mark.parametrize("given", ["primes", 2.5, True, ["a"], [[2], [4]]])
def test_what_is_no_quantization_is_refused_with_the_choices(given):
    with pytest.raises(ValueError, match=r"quantization=.*\"prime\".* None"):
        split(8, given)


@pytest.mark.parametrize("radices", [[2, 2], [3, 3], [], [0, 8], [-2, -4], [Fraction(5, 2), 2]])
def test_radices_that_do_not_multiply_to_the_whole_are_refused(radices):
    with pytest.raises(ValueError, match=r"product is n_basis=8"):
        split(8, radices)
