"""At full rank the model is ridge regression on explicit features, and kernel ridge regression."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from tests import dense
from tests.problems import make_cores, make_map, make_objective, update

ALPHA = 0.05
both_loops = pytest.mark.usefixtures("loops")  # NumPy, and compiled
each_basis = pytest.mark.parametrize("basis", ["fourier", "power"])


def fitted_responses(objective, block, cores=None):
    iterate = objective.at(make_cores(objective) if cores is None else cores)
    update(objective, iterate, block)
    return iterate.responses(objective.shards[0])


def kernel_ridge(objective):
    """Responses at the training rows of kernel ridge regression with the product kernel."""
    phi, target, _ = dense.rows(objective)
    kernel = phi @ phi.conj().T
    n_rows = len(target)
    return kernel @ np.linalg.solve(kernel + ALPHA * n_rows * np.eye(n_rows), target)


@both_loops
@each_basis
@pytest.mark.parametrize("n_outputs", [1, 2])
def test_one_column_and_one_core_are_kernel_ridge_regression(basis, n_outputs):
    rank = n_outputs  # outputs that share terms need as many of them as there are outputs
    objective = make_objective(
        [make_map(basis, 8, None)], n_values=[60], alpha=ALPHA, rank=rank, n_outputs=n_outputs
    )
    found = fitted_responses(objective, 0)
    np.testing.assert_allclose(found, kernel_ridge(objective), atol=1e-9)


@both_loops
@pytest.mark.parametrize("weighted", [False, True])
def test_powers_agree_with_the_ridge_regression_of_scikit_learn(weighted):
    objective = make_objective(
        [make_map("power", 6, None)], n_values=[60], alpha=ALPHA, rank=1, weighted=weighted
    )
    phi, target, weight = dense.rows(objective)
    ridge = Ridge(ALPHA * weight.sum(), fit_intercept=False, solver="cholesky")
    expected = ridge.fit(phi, target[:, 0], sample_weight=weight).predict(phi)
    np.testing.assert_allclose(fitted_responses(objective, 0)[:, 0], expected, atol=1e-9)


@both_loops
def test_the_real_part_is_ridge_regression_on_cosines_and_sines():
    objective = make_objective(
        [make_map("fourier", 7, None)], n_values=[60], alpha=ALPHA, rank=1, residual="real"
    )
    phi, target, _ = dense.rows(objective)
    explicit = np.hstack([phi.real, -phi.imag])
    ridge = Ridge(ALPHA * len(target), fit_intercept=False, solver="cholesky")
    expected = ridge.fit(explicit, target[:, 0]).predict(explicit)
    found = fitted_responses(objective, 0)[:, 0].real
    np.testing.assert_allclose(found, expected, atol=1e-9)


@both_loops
@each_basis
def test_two_columns_of_full_rank_are_ridge_regression_on_the_product_kernel(basis):
    """Whatever the first core, if its columns span everything the second can be anything."""
    objective = make_objective(
        [make_map(basis, 3, None), make_map(basis, 4, None)], alpha=ALPHA, rank=3, n_values=[30, 30]
    )
    found = fitted_responses(objective, 1)
    np.testing.assert_allclose(found, kernel_ridge(objective), atol=1e-8)


@both_loops
@each_basis
def test_two_levels_of_full_rank_are_ridge_regression_on_the_whole_basis(basis):
    objective = make_objective([make_map(basis, 6, [2, 3])], alpha=ALPHA, rank=3, n_values=[60])
    found = fitted_responses(objective, 0)
    np.testing.assert_allclose(found, kernel_ridge(objective), atol=1e-8)


def test_categories_are_ridge_regression_on_dummy_variables():
    objective = make_objective([make_map("categorical", 5)], alpha=ALPHA, rank=1)
    phi, target, _ = dense.rows(objective)
    kernel_machine = KernelRidge(alpha=ALPHA * len(target), kernel="linear").fit(phi, target)
    found = fitted_responses(objective, 0)
    np.testing.assert_allclose(found, kernel_machine.predict(phi), atol=1e-10)
