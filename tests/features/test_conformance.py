"""What every registered feature map must do."""

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone

from qtkm.features import REGISTRY
from tests.problems import NUMERIC, make_map

SIZES = [1, 2, 7, 8, 24, 60]
EXPLICIT = {1: [1], 2: [2], 7: [7], 8: [4, 2], 24: [3, 2, 4], 60: [5, 1, 12]}
INSIDE = np.linspace(0, 1, 41)


def quantizations(n_basis):
    return [2, 3, "prime", EXPLICIT[n_basis], None]


#: sizes and quantizations that differ in kind: one feature, one digit, equal and unequal digits
KINDS = [
    (1, 2), (2, None), (7, "prime"), (8, 2), (8, [4, 2]), (24, None), (24, "prime"),
    (60, [5, 1, 12]),
]  # fmt: skip
CASES = [
    pytest.param(make_map(name, n_basis, quantization), id=f"{name}-{n_basis}-{quantization}")
    for name in REGISTRY
    for n_basis, quantization in (KINDS if name in NUMERIC else [(1, None), (2, None), (7, None)])
]


def values_of(feature_map):
    """Values a map may meet: category codes, or numbers inside of the unit box and around it."""
    if feature_map.is_categorical:
        return np.arange(feature_map.n_features)
    return np.concatenate([INSIDE, [-0.25, 1.1]])


def combine(vectors):
    """Kronecker product of one vector a level, the lowest digit running fastest."""
    result = np.ones(1)
    for vector in vectors:
        result = np.kron(vector, result)
    return result


@pytest.mark.parametrize("feature_map", CASES)
def test_radices_multiply_to_the_number_of_features(feature_map):
    values = values_of(feature_map)
    n_features = feature_map.n_features
    assert np.prod(feature_map.radices) == n_features
    assert feature_map.features(values).shape == (len(values), n_features)


@pytest.mark.parametrize("feature_map", CASES)
def test_features_are_the_kronecker_product_of_the_factors(feature_map):
    values = values_of(feature_map)
    factors = feature_map.factors(values)
    assert factors.shape == (len(values), sum(feature_map.radices))
    features = feature_map.features(values)
    for n in range(len(values)):
        expected = combine([factors[n, level] for level in feature_map.slices])
        np.testing.assert_allclose(features[n], expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("n_basis", SIZES)
def test_quantization_does_not_change_the_basis(name, n_basis):
    values = np.concatenate([INSIDE, [-0.25, 1.1]])
    plain = make_map(name, n_basis, None).features(values)
    for quantization in quantizations(n_basis):
        quantized = make_map(name, n_basis, quantization).features(values)
        # powers beyond the box grow, so errors are relative to the largest
        tolerance = 1e-12 * np.abs(plain).max()
        np.testing.assert_allclose(quantized, plain, rtol=0, atol=tolerance)


@pytest.mark.parametrize("conjugate", [True, False])
@pytest.mark.parametrize("feature_map", CASES)
def test_products_of_functions_coincide_as_their_kind_says(feature_map, conjugate):
    features = feature_map.features(values_of(feature_map))
    left = features.conj() if conjugate else features
    kind = feature_map.kind(conjugate)
    found: dict = {}
    for m, p in product(range(feature_map.n_features), repeat=2):
        together = left[:, m] * features[:, p]
        if kind == "each" and m != p:
            np.testing.assert_array_equal(together, 0)
            continue
        place = {"lags": p - m, "sums": p + m, "each": m, "pairs": (m, p)}[kind]
        first = found.setdefault(place, together)
        np.testing.assert_allclose(
            together, first, rtol=0, atol=1e-12 * np.abs(features).max() ** 2
        )


@pytest.mark.parametrize("feature_map", CASES)
def test_groups_of_levels_multiply_to_all_functions(feature_map, monkeypatch):
    values = values_of(feature_map)
    whole = feature_map.features(values)
    monkeypatch.setattr("qtkm.features.feature_map.MOST_IN_GROUP", 6)
    groups = feature_map.groups
    levels = range(len(feature_map.radices))
    assert [level for group in groups for level in levels[group]] == list(levels)
    parts = feature_map.group_features(values)
    assert all(
        part.shape[1] <= 6 or g.stop - g.start == 1 for part, g in zip(parts, groups, strict=True)
    )
    for n in range(len(values)):
        expected = combine([part[n] for part in parts])
        np.testing.assert_allclose(whole[n], expected, rtol=0, atol=1e-12 * np.abs(whole).max())


@pytest.mark.parametrize("feature_map", CASES)
def test_a_map_has_a_frequency_for_every_function_or_none_at_all(feature_map):
    frequencies = feature_map.frequencies
    if frequencies is not None:
        assert frequencies.shape == (feature_map.n_features,)
        assert np.abs(frequencies).min() == 0  # a constant belongs to every smooth function


@pytest.mark.parametrize("feature_map", CASES)
def test_constant_is_the_constant_function(feature_map):
    constant = combine(feature_map.constant())
    response = feature_map.features(values_of(feature_map)) @ constant
    np.testing.assert_allclose(response, 1, rtol=0, atol=1e-12)


@pytest.mark.parametrize("feature_map", CASES)
@given(width=st.floats(1e-6, 0.5))
def test_bin_error_bounds_the_error_of_values_moved_by_half_a_width(feature_map, width):
    if feature_map.is_categorical:
        assert feature_map.bin_error(width) == 0  # a category never moves
        return
    moved = np.clip(INSIDE[:, None] + np.linspace(-width / 2, width / 2, 9), 0, 1)
    true = feature_map.features(np.repeat(INSIDE, 9))
    error = np.abs(feature_map.features(moved.ravel()) - true).max()
    assert error <= feature_map.bin_error(width) + 1e-12


@pytest.mark.parametrize("name", NUMERIC)
def test_bin_error_is_no_more_than_twice_the_worst_error(name):
    feature_map, width = make_map(name, 24), 1e-4
    ends = np.array([1 - width / 2, 1.0])
    error = np.abs(np.diff(feature_map.features(ends), axis=0)).max()
    assert feature_map.bin_error(width) <= 2 * error


@pytest.mark.parametrize("feature_map", CASES)
def test_values_in_single_precision_give_the_factors_of_the_same_values(feature_map):
    values = values_of(feature_map).astype(np.float32)
    single, double = feature_map.factors(values), feature_map.factors(values.astype(float))
    np.testing.assert_array_equal(single, double)


@pytest.mark.parametrize("feature_map", CASES)
def test_a_clone_is_the_same_map(feature_map):
    values = values_of(feature_map)
    np.testing.assert_array_equal(clone(feature_map).features(values), feature_map.features(values))


@pytest.mark.parametrize("name", NUMERIC)
@given(data=st.data())
def test_any_radices_give_the_same_basis_and_pass_the_check(name, data):
    radices = data.draw(st.lists(st.integers(1, 5), min_size=1, max_size=4))
    feature_map = make_map(name, math.prod(radices), radices)
    feature_map.check("column 0")
    plain = make_map(name, math.prod(radices), None).features(INSIDE)
    np.testing.assert_allclose(feature_map.features(INSIDE), plain, rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", NUMERIC)
@pytest.mark.parametrize("n_basis", [0, -2, 2.5, True, "many"])
def test_a_size_that_makes_no_sense_is_refused_by_its_value(name, n_basis):
    with pytest.raises(ValueError, match=f"n_basis={n_basis!r}"):
        make_map(name, n_basis).check("column 0")


@pytest.mark.parametrize("name", NUMERIC)
def test_more_basis_functions_than_double_precision_can_tell_apart_are_refused(name):
    make_map(name, 2**40).check("height")
    with pytest.raises(ValueError, match=rf"height: n_basis={2**41} .* at most 2\*\*40"):
        make_map(name, 2**41).check("height")
    with pytest.raises(ValueError, match="too many"):  # at once, not after a factorization
        make_map(name, 2**61 - 1).check("height")
