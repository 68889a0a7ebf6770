"""Data that the tests of the baselines share."""

import numpy as np
import pytest


@pytest.fixture(scope="session")
def X():
    return np.random.default_rng(0).uniform(-1, 2, size=(60, 3))


@pytest.fixture(scope="session")
def y(X):
    noise = np.random.default_rng(1).normal(size=len(X))
    return 5 + np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * noise


@pytest.fixture(scope="session")
def new():
    return np.random.default_rng(2).uniform(-1.2, 2.2, size=(25, 3))
