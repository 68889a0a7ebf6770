"""Data that the tests of the searches share: small, smooth, and quick to fit."""

import numpy as np
import pytest

from qtkm import QTKMClassifier, QTKMRegressor

SETTINGS = {"penalty": "ridge", "max_iter": 8, "posterior": False, "random_state": 0}
#: a grid of 16 candidates, so that there are rounds
GRID = {
    "alphas": [1e-1, 1e-3],
    "n_basis": [4, 8],
    "periods": [2.0, 4.0],
    "ranks": [1, 3],
}
PARAMETERS = {"alphas": "alpha", "n_basis": "n_basis", "periods": "period", "ranks": "rank"}


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).uniform(-1, 2, size=(150, 3))


@pytest.fixture(scope="session")
def y(X):
    noise = 0.1 * np.random.default_rng(1).standard_normal(len(X))
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + noise


@pytest.fixture(scope="session")
def labels(y):
    return np.where(y > 0.3, "high", "low")


@pytest.fixture
def regressor():
    return QTKMRegressor(**SETTINGS)


@pytest.fixture
def classifier():
    return QTKMClassifier(**SETTINGS)
