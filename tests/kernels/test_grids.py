"""Hash tables of distinct values against sorting."""

import numpy as np
import pytest

from qtkm.kernels import grids

COLUMNS = {
    "whole numbers": np.arange(500.0) % 37,
    "many": np.random.default_rng(0).normal(size=1000),
    "one value": np.full(20, -2.5),
    "none": np.empty(0),
    "extremes": np.array([5e-324, -5e-324, 1e308, -1e308, 0.0, np.inf, 1.0, 1.0]),
}


def hash_table(n_values):
    size = 1 << int(np.ceil(np.log2(4 * n_values + 4)))
    return np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int64)


@pytest.mark.parametrize("column", COLUMNS.values(), ids=COLUMNS)
def test_distinct_values_are_those_of_sorting_and_all_are_found_again(column):
    expected, bits = np.unique(column), column.view(np.uint64)
    keys, used = hash_table(len(expected))
    assert grids.distinct(bits, len(expected), keys, used) == len(expected)
    np.testing.assert_array_equal(np.sort(keys[used >= 0].view(np.float64)), expected)
    codes = np.empty(len(column), dtype=np.uint16)
    grids.look_up(bits, keys, used, codes)
    values = np.empty(len(expected))
    values[used[used >= 0]] = keys[used >= 0].view(np.float64)
    np.testing.assert_array_equal(values[codes], column)


def test_counting_stops_beyond_the_limit():
    keys, used = hash_table(5)
    assert grids.distinct(np.arange(100.0).view(np.uint64), 5, keys, used) == 6
