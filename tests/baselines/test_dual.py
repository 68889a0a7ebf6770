"""Kernel systems are solved however close to singular they are."""

import numpy as np
import pytest

from qtkm.baselines.kernel import Eigenpairs, solve


@pytest.fixture(params=[(6, float), (25, float), (6, complex), (25, complex)], ids=str)
def kernel(request):
    """A singular kernel, of low rank and of almost full rank, symmetric or Hermitian."""
    (rank, dtype), rng = request.param, np.random.default_rng(0)
    features = rng.normal(size=(30, rank)).astype(dtype)
    if dtype is complex:
        features += 1j * rng.normal(size=(30, rank))
    return features @ features.conj().T / rank


@pytest.mark.parametrize("dtype", [float, complex])
@pytest.mark.parametrize("ridge", [10.0, 1e-2, 1e-5, 1e-9])
def test_solutions_satisfy_their_equations(kernel, ridge, dtype):
    dtype = complex if np.iscomplexobj(kernel) else dtype
    rng = np.random.default_rng(1)
    right = rng.normal(size=(30, 2))
    right = kernel @ (right + 1j * rng.normal(size=(30, 2)) if dtype is complex else right)
    expected = np.linalg.solve(kernel + ridge * np.eye(30), right)
    for found in (solve(kernel, ridge, right), Eigenpairs(kernel).solve(ridge, right)):
        assert found.dtype == dtype
        error = max(1e-9, 1e-14 / ridge)  # what rounding the kernel alone can do
        np.testing.assert_allclose(found, expected, atol=error * np.abs(expected).max())


@pytest.mark.parametrize("ridge", [0.0, 1e-30, 1e-17])
def test_a_singular_kernel_has_the_solution_of_least_norm(kernel, ridge):
    right = np.random.default_rng(1).normal(size=(30, 1))
    found = solve(kernel, ridge, right)
    np.testing.assert_allclose(found, np.linalg.pinv(kernel, rcond=1e-10) @ right, atol=1e-10)


def test_eigenvectors_are_orthonormal_and_give_the_kernel_back(kernel):
    spectrum = Eigenpairs(kernel)
    rank = np.linalg.matrix_rank(kernel)
    assert spectrum.vectors.shape == (30, rank)
    vectors = spectrum.vectors
    np.testing.assert_allclose(vectors.conj().T @ vectors, np.eye(rank), atol=1e-13)
    np.testing.assert_allclose((vectors * spectrum.values) @ vectors.conj().T, kernel, atol=1e-13)


def test_a_kernel_of_zeros_has_no_coefficients():
    assert not solve(np.zeros((3, 3)), 0.0, np.ones((3, 1))).any()
