"""What must not matter: the scale of weights, the order of columns, a column given twice."""

import numpy as np
import pytest

from qtkm import QTKMClassifier, QTKMRegressor
from qtkm.losses import REGISTRY as LOSSES
from qtkm.networks import REGISTRY as NETWORKS
from tests.problems import make_network

N_BASIS = 5

each_network = pytest.mark.parametrize("name", NETWORKS)


def make(name, n_columns=3, max_iter=15):
    """Build a regressor with a network of a name, small enough for every network."""
    return QTKMRegressor(
        network=make_network(name, 3, [(N_BASIS,)] * n_columns), n_basis=N_BASIS, period=2.0,
        quantization=None, alpha=1e-5, max_iter=max_iter, penalty="ridge", random_state=0,
        posterior=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def new():
    X = np.random.default_rng(7).uniform(-1, 2, size=(200, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def relative_error(found, expected):
    return np.sqrt(np.mean((found - expected) ** 2)) / np.std(expected)


@each_network
def test_the_scale_of_weights_changes_no_bit(name, X, y):
    weight = np.random.default_rng(1).uniform(0.1, 2, size=len(y))
    model = make(name, max_iter=3)
    expected = model.fit(X, y, weight).predict(X)
    for scale in (0.25, 4.0**200):  # powers of four and their roots round nothing
        np.testing.assert_array_equal(model.fit(X, y, scale * weight).predict(X), expected)


@pytest.mark.parametrize("loss", [name for name, cls in LOSSES.items() if cls.for_classes])
def test_the_scale_of_weights_changes_no_class(loss, X, three):
    weight = np.random.default_rng(1).uniform(0.1, 2, size=len(three))
    model = QTKMClassifier(
        loss=loss, n_basis=4, period=2.0, rank=2, max_iter=3, random_state=0, penalty="ridge"
    )
    expected = model.fit(X, three, weight).decision_function(X)
    np.testing.assert_array_equal(model.fit(X, three, 16 * weight).decision_function(X), expected)


@each_network
@pytest.mark.parametrize("order", [(2, 0, 1), (1, 0, 2)], ids=str)
def test_the_order_of_columns_makes_no_function_harder_to_learn(name, order, X, y, new):
    fresh, expected = new
    one = make(name).fit(X, y).predict(fresh)
    other = make(name).fit(X[:, order], y).predict(fresh[:, order])
    assert relative_error(one, expected) < 0.15
    assert relative_error(other, expected) < 0.15
    assert relative_error(other, one) < 0.15


@each_network
def test_a_column_that_is_there_twice_does_no_harm(name, X, y, new):
    fresh, expected = new
    twice = [0, 1, 0, 2]
    model = make(name, n_columns=4).fit(X[:, twice], y)
    assert relative_error(model.predict(fresh[:, twice]), expected) < 0.25
    assert np.all(np.diff(model.history_["objective"]) <= 1e-9)
