"""Gram matrices of blocks of rows against products of matrices."""

import numpy as np
import pytest

from qtkm.kernels import grams

SIZES = range(1, 18)


def make_block(numbers, sums, dtype):
    """Rows [Re | Im] with padded halves, as the products need them."""
    count, size = numbers.shape
    half = int(grams.padded(size))
    block = np.zeros((count, (1 if len(sums) == 1 else 3) * half), dtype=dtype)
    block[:, :size] = numbers.real
    if np.iscomplexobj(numbers):
        block[:, half : half + size] = numbers.imag
    grams.mix(block, count, half, sums)
    return block


def draw(seed, count, size, is_complex, dtype):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(count, size))
    numbers = numbers + 1j * rng.normal(size=numbers.shape) if is_complex else numbers
    return numbers.astype(np.result_type(dtype, np.complex64) if is_complex else dtype)


@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-13), ("float32", 1e-5)])
@pytest.mark.parametrize("n_sums", [1, 2, 3], ids=["real", "hermitian", "both"])
@pytest.mark.parametrize("count", [0, 1, 5, 16])
def test_triangles_are_those_of_the_products(count, n_sums, dtype, tol):
    for size in SIZES:
        rows, columns = np.triu_indices(size)
        is_complex, sums = n_sums > 1, (0,) * n_sums
        squares = np.zeros((n_sums, size + -size % grams.ENTRIES, grams.padded(size)))
        hermitian, symmetric = 0.0, 0.0
        for seed in (0, 1):  # sums of two blocks
            numbers = draw(seed, count, size, is_complex, dtype)
            grams.add_gram(make_block(numbers, sums, dtype), count, size, squares, sums)
            double = numbers.astype(np.complex128 if is_complex else np.float64)
            hermitian = hermitian + double.conj().T @ double
            symmetric = symmetric + double.T @ double
        width = len(rows) * (2 if is_complex else 1)
        out, both = np.full((2, width), np.nan), np.full((2 * (n_sums == 3), width), np.nan)
        grams.pack(squares, size, sums, out, both, 1)
        kind = np.complex128 if is_complex else np.float64
        np.testing.assert_allclose(out.view(kind)[1], hermitian[rows, columns], atol=100 * tol)
        if n_sums == 3:
            np.testing.assert_allclose(both.view(kind)[1], symmetric[rows, columns], atol=100 * tol)
        assert np.isnan(out[0]).all()  # no other slot is touched
        np.testing.assert_array_equal(squares, 0)  # the next one begins anew


@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-12), ("float32", 1e-5)])
@pytest.mark.parametrize("n_sums", [1, 2, 3], ids=["real", "hermitian", "both"])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_right_hand_sides_are_rows_times_targets(dtype, tol, n_sums, n_outputs):
    sums, half = (0,) * n_sums, int(grams.padded(5))
    numbers = draw(0, 9, 5, n_sums > 1, dtype)
    target = draw(1, n_outputs, 9, False, dtype)
    block = make_block(numbers, sums, dtype)
    out = np.ones((2, n_outputs, half * min(n_sums, 2)))
    grams.add_products(block, 6, target, np.empty(block.shape[1], dtype), out, 1, sums)
    expected = target[:, :6] @ numbers[:6]
    np.testing.assert_allclose(out[1, :, :5] - 1, expected.real, atol=tol)
    if n_sums > 1:
        np.testing.assert_allclose(out[1, :, half : half + 5] - 1, expected.imag, atol=tol)
    np.testing.assert_array_equal(out[0], 1)


def test_blocks_hold_some_rows_whatever_their_width():
    assert grams.block_rows(8, 8) == 256
    assert grams.block_rows(10**6, 8) == 16
