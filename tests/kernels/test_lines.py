"""Sums along lines against NumPy."""

import numpy as np
import pytest

from qtkm.kernels import lines as kernels


def make_lines(rng, n_lines, n_points, is_complex=True):
    """Random complex numbers, and their lines."""
    numbers = rng.normal(size=(n_lines, n_points)) + 0j
    if is_complex:
        numbers.imag = rng.normal(size=numbers.shape)
    return numbers, to_lines(numbers)


def to_lines(numbers):
    rows = np.hstack([numbers.T.real, numbers.T.imag])
    return kernels.to_lines(rows, kernels.padded_length(numbers.shape[1]))


@pytest.mark.parametrize("n_points", [1, 3, 4, 5, 64, 65, 200])
def test_lines_are_rows_turned_and_padded_with_zeros(n_points):
    rows = np.random.default_rng(0).normal(size=(n_points, 6))
    length = kernels.padded_length(n_points)
    assert length >= n_points
    lines = kernels.to_lines(rows, length)
    for r in range(3):
        np.testing.assert_array_equal(lines[r, 0, :n_points], rows[:, r])
        np.testing.assert_array_equal(lines[r, 1, :n_points], rows[:, 3 + r])
    np.testing.assert_array_equal(lines[:, :, n_points:], 0)
    back = np.empty_like(rows)
    kernels.to_rows(lines, back)
    np.testing.assert_array_equal(back, rows)


@pytest.mark.parametrize("n_points", [1, 6, 500])
@pytest.mark.parametrize("radix", [1, 2, 5])
@pytest.mark.parametrize("rank", [1, 4, 17])
@pytest.mark.parametrize("kind", ["complex", "real", "weighed"])
def test_a_levels_matrix_is_the_gram_matrix_of_its_design(n_points, radix, rank, kind):
    rng, is_complex = np.random.default_rng(0), kind != "real"
    factors, factor_lines = make_lines(rng, radix, n_points, is_complex)
    other, other_lines = make_lines(rng, rank, n_points, is_complex)
    first, second = np.triu_indices(radix)
    pairs = factors[first].conj() * factors[second]
    if len(pairs) % 2:
        pairs = np.vstack([pairs, np.zeros(n_points)])
    places = np.full((radix, radix), -1)
    places[first, second] = np.arange(len(first))
    grams, grams_lines = np.ones((n_points, rank, rank), dtype=complex), np.empty((0, 2, 0))
    if kind == "weighed":
        half = rng.normal(size=(n_points, rank, rank)) + 1j * rng.normal(size=grams.shape)
        grams = half @ half.conj().transpose(0, 2, 1)
        r, s = np.triu_indices(rank)
        grams_lines = to_lines(grams[:, r, s].T)
    found = kernels.level_matrix(
        grams_lines, other_lines, factor_lines, to_lines(pairs), places.ravel(), is_complex
    )
    design = (factors[:, None] * other[None]).reshape(radix * rank, n_points)
    weight = np.tile(grams, (1, radix, radix))
    expected = np.einsum("in,jn,nij->ij", design.conj(), design, weight)
    np.testing.assert_allclose(found, expected, atol=1e-12 * np.abs(expected).max())
