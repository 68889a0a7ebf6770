"""Loops with explicit vector instructions against NumPy.

A loop is compiled here around the library's own intrinsics, and not cached: a cached one would
not notice that they have changed.
"""

import numpy as np
import pytest
from numba import njit
from numpy import uint64 as index

from qtkm.kernels import cpd, cpd_gradient, lines
from qtkm.kernels._simd import LANES, add_multiple, elementwise, row_times_matrix

#: below, at and above whole numbers of vectors
SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17, 31]
#: rows of padded matrices are as long as this
WIDE = [n * LANES for n in range(1, 6)]

each_size = pytest.mark.parametrize("size", SIZES)
each_width = pytest.mark.parametrize("width", WIDE)
each_type = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def planes(rng, n_rows, size, dtype=np.float64):
    """Rows [Re | Im], with a number before and after them that nobody may touch."""
    whole = rng.normal(size=2 + n_rows * 2 * size).astype(dtype)
    return whole, whole[1:-1].reshape(n_rows, 2 * size)


def numbers(rows):
    """Complex numbers, in double precision, of rows of planes."""
    half = rows.shape[-1] // 2
    return rows[..., :half].astype(float) + 1j * rows[..., half:]


def tolerance(dtype):
    return 1e-13 if dtype == np.float64 else 1e-5


# -- elementwise ------------------------------------------------------------------------------


@njit
def multiply_one(out, a, i, j, size):
    cpd._times_one((out, a), (i, j), size)


@njit
def multiply_two(out, a, b, i, j, k, size):
    cpd._times_two((out, a, b), (i, j, k), size)


@njit
def product(out, a, b, i, j, k, size):
    cpd_gradient._product((out, a, b), (i, j, k), size)


@njit
def plus_product(out, a, b, i, j, k, size):
    cpd_gradient._plus_product((out, a, b), (i, j, k), size)


def place(row, size):
    """Where a row of planes begins: one number further, see `planes`."""
    return index(1 + row * 2 * size)


@each_size
@each_type
def test_a_row_is_multiplied_by_rows_of_a_table(size, dtype):
    rng = np.random.default_rng(size)
    (out, rows), (table, lines) = planes(rng, 3, size), planes(rng, 4, size, dtype)
    before, whole = numbers(rows), out.copy()
    multiply_one(out, table, place(1, size), place(2, size), index(size))
    multiply_two(out, table, table, place(2, size), place(0, size), place(3, size), index(size))
    factors = numbers(lines)
    np.testing.assert_allclose(numbers(rows)[1], before[1] * factors[2], atol=1e-13)
    np.testing.assert_allclose(numbers(rows)[2], before[2] * factors[0] * factors[3], atol=1e-13)
    np.testing.assert_array_equal(numbers(rows)[0], before[0])
    np.testing.assert_array_equal(out[[0, -1]], whole[[0, -1]])


@each_size
def test_a_row_may_be_multiplied_by_itself(size):
    rng = np.random.default_rng(size)
    out, rows = planes(rng, 1, size)
    before = numbers(rows)
    multiply_two(out, out, out, *[place(0, size)] * 3, index(size))
    np.testing.assert_allclose(numbers(rows), before**3, atol=1e-13)


@each_size
def test_results_may_go_to_another_row_of_an_array_that_is_read(size):
    """As in the tangents of a CPD, where two rows of one array take turns."""
    rng = np.random.default_rng(size)
    (moved, rows), (table, lines) = planes(rng, 2, size), planes(rng, 3, size)
    before, factors = numbers(rows), numbers(lines)
    product(moved, moved, table, place(1, size), place(0, size), place(2, size), index(size))
    expected = before[0] * factors[2]
    np.testing.assert_allclose(numbers(rows)[1], expected, atol=1e-13)
    np.testing.assert_array_equal(numbers(rows)[0], before[0])
    plus_product(moved, moved, table, place(1, size), place(0, size), place(1, size), index(size))
    np.testing.assert_allclose(numbers(rows)[1], expected + before[0] * factors[1], atol=1e-13)


def test_nothing_is_touched_where_there_is_nothing_to_do():
    out, table = np.arange(5.0), np.arange(5.0)
    multiply_one(out, table, index(1), index(2), index(0))
    np.testing.assert_array_equal(out, np.arange(5.0))


def test_a_loop_takes_as_many_arrays_as_its_body():
    sum_of_three = elementwise(lambda out, a, b, c: {0: a + b + c, 3: a * b})

    @njit
    def run(out, a, b, c, size):
        zero = index(0)
        sum_of_three((out, a, b, c), (zero, zero, zero, zero), size)

    rng = np.random.default_rng(0)
    out, a, b, c = (rng.normal(size=14) for _ in range(4))
    expected = numbers(a) + numbers(b) + numbers(c)
    run(out, a, b, c, index(7))
    np.testing.assert_allclose(numbers(out), expected, atol=1e-14)
    np.testing.assert_allclose(numbers(c), numbers(a) * numbers(b), atol=1e-14)


# -- rows and small matrices ------------------------------------------------------------------


@njit
def times_matrix(out, row, matrix, places, distances, n_rows, n_columns):
    row_times_matrix((out, row, matrix), places, distances, n_rows, n_columns)


@njit
def plus_multiple(out, row, places, distances, real, imaginary, count):
    add_multiple((out, row), places, distances, real, imaginary, count)


def put(states, at, far, values):
    """Write complex numbers in planes."""
    states[at : at + len(values)] = values.real
    states[at + far : at + far + len(values)] = values.imag


def get(states, at, far, count):
    """Read complex numbers in planes."""
    return states[at : at + count].astype(float) + 1j * states[at + far : at + far + count]


def draw(rng, *shape):
    return rng.normal(size=shape) + 1j * rng.normal(size=shape)


@each_width
@each_type
@pytest.mark.parametrize("n_rows", [1, 2, 3, 4, 7, 16])
def test_a_row_times_a_matrix_is_the_sum_of_its_rows(width, dtype, n_rows):
    """Row and result stand in one array, as the states of a walk along a train do."""
    rng = np.random.default_rng(width + n_rows)
    row, matrix, room = draw(rng, n_rows), draw(rng, n_rows, width), 37
    states, buffer = np.full(4 * room, 7.0), np.full(3 + 2 * matrix.size, 7.0, dtype=dtype)
    put(states, 2 * room, room, row)
    put(buffer, 3, matrix.size, matrix.ravel())
    matrix = get(buffer, 3, matrix.size, matrix.size).reshape(matrix.shape)
    times_matrix(
        states, states, buffer,
        (index(1), index(2 * room), index(3)),
        (index(room), index(room), index(matrix.size)),
        index(n_rows), index(width),
    )  # fmt: skip
    np.testing.assert_allclose(get(states, 1, room, width), row @ matrix, atol=1e-13)
    np.testing.assert_array_equal(get(states, 2 * room, room, n_rows), row)
    untouched = np.r_[0, 1 + width : 1 + room, 1 + room + width : 2 * room]
    np.testing.assert_array_equal(states[untouched], 7)


@each_width
@each_type
def test_a_multiple_of_a_row_is_added(width, dtype):
    rng = np.random.default_rng(width)
    out, row, factor = draw(rng, width), draw(rng, width), complex(*rng.normal(size=2))
    sums, states = np.full(70, 7.0, dtype=dtype), np.full(70, 7.0)
    put(sums, 5, 30, out)
    put(states, 2, 40 - width, row)
    out = get(sums, 5, 30, width)
    plus_multiple(
        sums, states, (index(5), index(2)), (index(30), index(40 - width)),
        factor.real, factor.imag, index(width),
    )  # fmt: skip
    found = get(sums, 5, 30, width)
    np.testing.assert_allclose(found, out + factor * row, atol=tolerance(dtype))
    untouched = np.r_[:5, 5 + width : 35, 35 + width : 70]
    np.testing.assert_array_equal(sums[untouched], 7)


@each_width
def test_a_multiple_of_a_row_may_be_added_to_the_row_itself(width):
    rng = np.random.default_rng(width)
    row, factor = draw(rng, width), complex(*rng.normal(size=2))
    sums = np.concatenate([row.real, row.imag])
    plus_multiple(
        sums, sums, (index(0), index(0)), (index(width), index(width)),
        factor.real, factor.imag, index(width),
    )  # fmt: skip
    np.testing.assert_allclose(numbers(sums), row + factor * row, atol=1e-13)


def test_no_rows_sum_to_zeros():
    out, row, matrix = np.full(8, 7.0), np.empty(0), np.empty(0)
    zero = index(0)
    times_matrix(out, row, matrix, (zero,) * 3, (index(4), zero, zero), zero, index(4))
    np.testing.assert_array_equal(out, 0)


# -- summed -----------------------------------------------------------------------------------


@njit
def sums_of_products(a, b, i, j, count):
    return lines._sums((a, b), (i, j), count)


@njit
def conjugate_product(out, a, b, c, i, j, k, m, size):
    lines._weighed((out, a, b, c), (i, j, k, m), size)


@each_width
def test_sums_of_products_come_in_four_parts(width):
    rng = np.random.default_rng(0)
    (whole, a), (other, b) = planes(rng, 3, width), planes(rng, 2, width)
    found = sums_of_products(whole, other, index(1 + 4 * width), index(1 + 2 * width), index(width))
    x, y = numbers(a[2]), numbers(b[1])
    expected = [x.real @ y.real, x.real @ y.imag, x.imag @ y.real, x.imag @ y.imag]
    np.testing.assert_allclose(found, expected, atol=1e-13)


@each_size
def test_the_first_of_a_weighed_product_is_conjugated(size):
    rng = np.random.default_rng(0)
    arrays = [planes(rng, 2, size) for _ in range(4)]
    before = arrays[0][0].copy()
    conjugate_product(
        *(whole for whole, _ in arrays), index(1), *[index(1 + 2 * size)] * 3, index(size)
    )
    a, b, c = (numbers(rows[1]) for _, rows in arrays[1:])
    np.testing.assert_allclose(numbers(arrays[0][1][0]), a.conj() * b * c, atol=1e-13)
    np.testing.assert_array_equal(np.delete(arrays[0][0], range(1, 1 + 2 * size)),
                                  np.delete(before, range(1, 1 + 2 * size)))  # fmt: skip
