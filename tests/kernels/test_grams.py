"""Gram matrices of blocks of rows against products of matrices."""

import numpy as np
import pytest

from qtkm.kernels import grams

SIZES = range(1, 18)


def make_block(numbers, dtype):
    """Rows [Re | Im] with padded halves, and zeros for what a tile reads beyond them."""
    count, size = numbers.shape
    half = int(grams.padded(size))
    planes = 2 if np.iscomplexobj(numbers) else 1
    block = np.zeros((count + grams.ENTRIES, planes * half), dtype=dtype)
    block[:count, :size] = numbers.real
    if planes == 2:
        block[:count, half : half + size] = numbers.imag
    return block


def draw(seed, count, size, is_complex, dtype):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(count, size))
    numbers = numbers + 1j * rng.normal(size=numbers.shape) if is_complex else numbers
    return numbers.astype(np.result_type(dtype, np.complex64) if is_complex else dtype)


@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-13), ("float32", 1e-5)])
@pytest.mark.parametrize("n_sums", [1, 2, 4], ids=["real", "hermitian", "both"])
@pytest.mark.parametrize("count", [0, 1, 5, 16])
def test_triangles_are_those_of_the_products(count, n_sums, dtype, tol):
    for size in SIZES:
        rows, columns = np.triu_indices(size)
        is_complex = n_sums > 1
        squares = grams.new_squares(size, int(grams.padded(size)), n_sums)
        hermitian, symmetric = 0.0, 0.0
        for seed in (0, 1):  # sums of two blocks
            numbers = draw(seed, count, size, is_complex, dtype)
            grams.add_gram(make_block(numbers, dtype), count, size, squares, (0,) * n_sums)
            double = numbers.astype(np.complex128 if is_complex else np.float64)
            hermitian = hermitian + double.conj().T @ double
            symmetric = symmetric + double.T @ double
        width = len(rows) * (2 if is_complex else 1)
        out, both = np.full((2, width), np.nan), np.full((2 * (n_sums == 4), width), np.nan)
        grams.pack(squares, size, out, both, 1)
        kind = np.complex128 if is_complex else np.float64
        np.testing.assert_allclose(out.view(kind)[1], hermitian[rows, columns], atol=100 * tol)
        if n_sums == 4:
            np.testing.assert_allclose(both.view(kind)[1], symmetric[rows, columns], atol=100 * tol)
        assert np.isnan(out[0]).all()  # no other slot is touched
        np.testing.assert_array_equal(squares, 0)  # the next one begins anew


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_right_hand_sides_are_rows_times_targets(dtype, n_outputs):
    block = draw(0, 9, 5, False, dtype)
    target = draw(1, n_outputs, 9, False, "float64")
    out = np.ones((2, n_outputs, 5))
    grams.add_products(block, 6, target, out, 1)
    expected = 1 + target[:, :6] @ block[:6].astype(float)
    np.testing.assert_allclose(out[1], expected, atol=1e-12)
    np.testing.assert_array_equal(out[0], 1)


def test_blocks_hold_some_rows_whatever_their_width():
    assert grams.block_rows(8, 8) == 256
    assert grams.block_rows(10**6, 8) == 16
