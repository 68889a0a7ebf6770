"""Grids and codes: exact while there are few distinct values, equal-width bins beyond."""

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from qtkm.data import code_type, find_distinct
from tests.coded import encode

FINITE = st.floats(allow_nan=False, allow_infinity=False)
COLUMNS = st.lists(FINITE, min_size=1, max_size=40).map(np.array)


def encode_all(column, max_bins):
    return encode(column, float(column.min()), float(column.max()), max_bins)


@given(COLUMNS, st.integers(0, 3) | st.none())
@example(np.array([1e300, -1e300, 1e300, 5e-324, -5e-324, 0.0]), 0)
def test_an_exact_grid_gives_every_value_back(column, spare):
    n_distinct = len(np.unique(column))
    grid, codes = encode_all(column, None if spare is None else n_distinct + spare)
    assert not grid.is_binned
    assert len(grid) == n_distinct
    assert (np.diff(grid.values) > 0).all()
    np.testing.assert_array_equal(grid.values[codes], column)


@given(COLUMNS)
@example(np.arange(300.0) * 7.3)
def test_counting_and_sorting_find_the_same_grid(column):
    sorted_grid, sorted_codes = encode_all(column, None)
    counted_grid, counted_codes = encode_all(column, len(column))
    np.testing.assert_array_equal(counted_grid.values, sorted_grid.values)
    np.testing.assert_array_equal(counted_codes, sorted_codes)
    assert counted_codes.dtype == sorted_codes.dtype


@pytest.mark.parametrize("max_bins", [None, 2, 100])
def test_both_zeros_are_one_value(max_bins):
    grid, codes = encode_all(np.array([0.0, -0.0, 1.0, -0.0]), max_bins)
    np.testing.assert_array_equal(grid.values, [0, 1])
    np.testing.assert_array_equal(codes, [0, 0, 1, 0])
    assert not np.signbit(grid.values).any()


def test_one_value_too_many_makes_bins():
    column = np.arange(11.0)
    assert not encode_all(column, 11)[0].is_binned
    assert encode_all(column, 10)[0].is_binned


def check_bins(column, max_bins):
    grid, codes = encode_all(column, max_bins)
    assert grid.is_binned
    assert len(grid) == max_bins
    assert (np.diff(grid.values) >= 0).all()
    # halves of everything, since the largest ranges have no width in floating point
    half_width = (column.max() / 2 - column.min() / 2) / max_bins
    distance = np.abs(column / 2 - grid.values[codes] / 2)
    rounding = 4 * np.spacing(np.abs(column).max())
    assert (distance <= half_width / 2 + rounding).all()


@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=40, unique=True),
    st.sampled_from([1e300, 1.0, 1e-200]),
    st.data(),
)
def test_a_value_is_no_further_than_half_a_bin_from_its_centre(units, scale, data):
    column = np.array(units) * scale
    assume(np.ptp(column) > 1e-300)
    limit = len(np.unique(column)) - 1
    assume(limit >= 2)
    check_bins(column, data.draw(st.integers(2, limit)))


@pytest.mark.parametrize(
    "column",
    [
        np.array([-1.5e308, -1e308, -4e307, 0.0, 5e307, 1e308, 1.5e308]),
        np.array([1e-310, 2e-310, 3e-310, 4e-310]),
        np.array([1.5e-323, 2e-323, 2.5e-323]),
        1 + np.arange(9) * np.finfo(float).eps,
    ],
    ids=["largest", "denormal", "smallest", "close together"],
)
def test_bins_hold_in_the_largest_and_smallest_ranges(column):
    check_bins(column, 2)


def test_bins_are_of_equal_width_and_need_only_the_ends_of_the_range():
    column = np.random.default_rng(0).uniform(2, 4, size=500)
    grid, codes = encode(column, 0.0, 10.0, 20)
    np.testing.assert_allclose(grid.values, np.arange(20) * 0.5 + 0.25)
    np.testing.assert_array_equal(codes, column // 0.5)
    for part in (slice(0, 250), slice(250, 500)):
        part_grid, part_codes = encode(column[part], 0.0, 10.0, 20)
        np.testing.assert_array_equal(part_grid.values, grid.values)
        np.testing.assert_array_equal(part_codes, codes[part])


def test_the_ends_of_the_range_fall_into_the_outermost_bins():
    grid, codes = encode_all(np.linspace(-1, 1, 101), 10)
    assert (codes[0], codes[-1]) == (0, 9)
    assert len(grid) == 10


@pytest.mark.parametrize(
    ("n_codes", "expected"),
    [(1, np.uint8), (256, np.uint8), (257, np.uint16), (65536, np.uint16), (65537, np.uint32)],
)
def test_codes_take_the_smallest_type_that_holds_them(n_codes, expected):
    assert code_type(n_codes) is expected
    column = np.arange(float(n_codes))
    for max_bins in (None, n_codes):
        _, codes = encode_all(column, max_bins)
        assert codes.dtype == expected
        np.testing.assert_array_equal(codes, np.arange(n_codes))


@pytest.mark.parametrize("max_bins", [None, 3, 100])
def test_any_memory_layout_and_precision_gives_the_same_codes(max_bins):
    matrix = np.random.default_rng(0).integers(0, 8, size=(50, 3)) / 4
    expected_grid, expected = encode_all(matrix[:, 1].copy(), max_bins)
    read_only = matrix[:, 1].copy()
    read_only.flags.writeable = False
    for column in (matrix[:, 1], np.asfortranarray(matrix)[:, 1], read_only):
        for dtype in (np.float64, np.float32):
            grid, codes = encode_all(column.astype(dtype, copy=False), max_bins)
            np.testing.assert_array_equal(grid.values, expected_grid.values)
            np.testing.assert_array_equal(codes, expected)


def test_more_values_than_the_limit_are_found_by_the_table_of_many_rows_too():
    column = np.tile(np.arange(1400.0), 10)  # more rows than are sorted
    assert find_distinct(column, 1257) is None
    np.testing.assert_array_equal(find_distinct(column, 1400), np.arange(1400.0))
