"""A column of the fit: its feature map at its grid values."""

import numpy as np
import pytest

from qtkm.data import Box
from qtkm.objective import Column, column
from tests.coded import encode
from tests.problems import make_map

RAW = np.random.default_rng(0).uniform(2, 6, size=400)


def make_column(feature_map, max_bins, bounds=(2.0, 6.0), low=2.0, high=6.0):
    grid, codes = encode(RAW, low, high, max_bins)
    return Column("x", feature_map, Box(*bounds, "continue", "x"), grid), codes


def true_error(feature_map, made, codes, bounds):
    unit = (RAW - bounds[0]) / (bounds[1] - bounds[0])
    return np.abs(feature_map.features(made.values[codes]) - feature_map.features(unit)).max()


def test_values_of_an_exact_grid_are_the_raw_ones_in_the_unit_box():
    made, codes = make_column(make_map("fourier", 8), None)
    np.testing.assert_allclose(made.values[codes], (RAW - 2) / 4, atol=1e-15)
    assert made.bin_error == 0


@pytest.mark.parametrize("name", ["fourier", "power"])
@pytest.mark.parametrize("max_bins", [10, 100])
def test_the_bin_error_bounds_the_error_of_the_features(name, max_bins):
    feature_map = make_map(name, 16)
    made, codes = make_column(feature_map, max_bins)
    assert 0 < true_error(feature_map, made, codes, (2, 6)) <= made.bin_error


def test_the_bin_error_knows_of_bins_beyond_the_box():
    """Where the basis continues outside of the box, its bins are wider than 1/n of the box."""
    feature_map, bounds = make_map("fourier", 16), (3.0, 4.0)
    made, codes = make_column(feature_map, 100, bounds)
    assert true_error(feature_map, made, codes, bounds) <= made.bin_error


def test_categories_are_their_own_values_and_are_never_binned():
    made = Column("x", make_map("categorical", 4), None, 4)
    assert len(made) == 4
    np.testing.assert_array_equal(made.factors, np.eye(4))
    assert made.bin_error == 0


@pytest.mark.parametrize("name", ["fourier", "power"])
@pytest.mark.parametrize("conjugate", [True, False])
def test_functions_and_products_of_all_values_are_those_of_their_chunks(
    name, conjugate, monkeypatch
):
    made, _ = make_column(make_map(name, 8), None)
    (whole,) = made.chunks()
    features, products = made.functions(whole, None), made.functions(whole, conjugate)
    monkeypatch.setattr(column, "KEPT_NUMBERS", 3000)
    parts = made.chunks()
    assert len(parts) > 3
    some = [made.functions(p, None) for p in parts]
    np.testing.assert_array_equal(np.concatenate(some), features)
    some = [made.functions(p, conjugate) for p in parts]
    np.testing.assert_array_equal(np.concatenate(some, axis=1), products)
