"""Data that the tests of the estimators share: small, smooth, and quick to fit."""

import numpy as np
import pytest

from qtkm import QTKMClassifier, QTKMRegressor

SETTINGS = {
    "penalty": "ridge",
    "n_basis": 8,
    "period": 2.0,
    "rank": 3,
    "alpha": 1e-4,
    "max_iter": 8,
    "posterior": False,  # tests about it ask for it
    "random_state": 0,
}


def make_model(**changes):
    """Build a regressor whose fit takes a few milliseconds."""
    return QTKMRegressor(**{**SETTINGS, **changes})


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).uniform(-1, 2, size=(120, 3))


@pytest.fixture(scope="session")
def y(X):
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


@pytest.fixture
def model():
    return make_model()


@pytest.fixture
def make():
    return make_model


@pytest.fixture
def classify():
    """Build a classifier whose fit takes a few milliseconds."""
    return lambda **changes: QTKMClassifier(**{**SETTINGS, "alpha": 1e-3, "max_iter": 6, **changes})


@pytest.fixture(scope="session")
def two(X):
    return (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0.3).astype(int)


@pytest.fixture(scope="session")
def three(X):
    return np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [0.3, 1.8])]
