"""Small fitted models of every kind that inspection serves."""

import matplotlib
import numpy as np
import pytest

from qtkm import Power, QTKMClassifier, QTKMRegressor
from qtkm.inspection import MainEffect

matplotlib.use("Agg")
pd = pytest.importorskip("pandas")

SETTINGS = {
    "penalty": "ridge",
    "period": 2.0,
    "alpha": 1e-3,
    "max_iter": 4,
    "random_state": 0,
    "n_jobs": 1,
}


def make_frame(n=60):
    """Columns that depend on each other, one of them of categories."""
    rng = np.random.default_rng(1)
    a = rng.uniform(-1, 2, n)
    b = a / 2 + rng.uniform(0, 3, n)
    kind = np.where(b > rng.uniform(0, 3, n), "long", np.where(a > 0, "short", "mid"))
    return pd.DataFrame({"a": a, "b": b, "kind": kind})


def make_target(X):
    return 5 + np.sin(2 * X["a"]) * X["b"] + (X["kind"] == "long") * X["a"]


@pytest.fixture(scope="session")
def X():
    return make_frame()


@pytest.fixture(scope="session")
def y(X):
    return make_target(X).to_numpy()


@pytest.fixture(scope="session")
def weight(X):
    return np.random.default_rng(2).integers(0, 4, len(X)).astype(float)


def fit(X, y, network="cpd", estimator=QTKMRegressor, **changes):
    """Fit to a frame with categories."""
    settings = {"rank": 3, "n_basis": [6, 4, 1][: X.shape[1]], **SETTINGS, **changes}
    categorical = ["kind"] if "kind" in X else None
    model = estimator(network=network, categorical_features=categorical, **settings)
    return model.fit(X, y)


def fit_kind(X, y, kind, **changes):
    """Fit a network, with main effects if a plus follows its name; or main effects alone: "gam"."""
    if kind == "gam":
        return fit(X, y, rank=0, main_effects=True, **changes)
    return fit(X, y, kind.rstrip("+"), main_effects=kind.endswith("+"), **changes)


@pytest.fixture(scope="session", params=["cpd", "train", "ring+"])
def model(request, X, y):
    return fit_kind(X, y, request.param)


@pytest.fixture(scope="session", params=["cpd", "cpd+", "train+", "ring", "gam"])
def each(request, X, y):
    return fit_kind(X, y, request.param)


@pytest.fixture(scope="session")
def cpd(X, y):
    return fit(X, y)


@pytest.fixture(scope="session")
def power(X, y):
    return fit(X, y, basis=[Power(n_basis=3), "fourier", "fourier"], n_basis="auto")


@pytest.fixture(scope="session", params=["cpd+", "train", "gam"])
def outputs(request, X, y):
    """A model of two outputs."""
    return fit_kind(X, np.column_stack([y, np.cos(X["b"])]), request.param)


@pytest.fixture(scope="session", params=["logistic+", "softmax"])
def two_classes(request, X, y):
    loss, main = request.param.rstrip("+"), request.param.endswith("+")
    labels = np.where(y > 5, "yes", "no")
    return fit(X, labels, estimator=QTKMClassifier, loss=loss, main_effects=main)


@pytest.fixture(scope="session", params=[False, True], ids=["plain", "main"])
def three_classes(request, X, y):
    labels = np.digitize(y, [4, 6])
    return fit(X, labels, estimator=QTKMClassifier, main_effects=request.param)


@pytest.fixture(scope="session")
def tucker(X, y):
    return fit(X[["a", "b"]], y, "tucker", n_basis=4, rank=2)


def make_effect(name, values, effect, mean=0.0, response="response", **changes):
    """A main effect made by hand, with rows everywhere."""
    facts = {"deciles": None, "inner": None, "support": np.ones(len(values))} | changes
    return MainEffect(name, values, effect, mean, response=response, **facts)


@pytest.fixture
def close_figures():
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
