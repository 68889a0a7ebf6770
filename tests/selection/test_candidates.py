"""Which candidates there are: given lists, and what "auto" stands for."""

import numpy as np
import pytest
from sklearn.model_selection import ParameterGrid

from qtkm import CPD, Fourier, Power, QTKMRegressor, QTKMRegressorCV, TensorTrain
from qtkm.selection.search import MOST_STEPS
from tests.selection.conftest import GRID, PARAMETERS


def tried(search, X, y):
    """Lists of all values of every parameter."""
    results = search.fit(X, y).cv_results_
    return {
        name[6:]: list(dict.fromkeys(values.tolist()))
        for name, values in results.items()
        if name.startswith("param_")
    }


def search_of(**changes):
    model = QTKMRegressor(**({"penalty": "ridge", "max_iter": 1, "random_state": 0} | changes))
    return QTKMRegressorCV(model, cv="hold-out", refit=False, random_state=0)


def test_auto_is_around_the_defaults_of_a_fit_to_a_fold(X, y):
    fold = np.arange(75, 150), np.arange(75)
    model = QTKMRegressor(max_iter=1, penalty="ridge").fit(X[fold[0]], y[fold[0]])
    lists = tried(search_of().set_params(cv=[fold]), X, y)
    basis = model.columns_[0]["basis"]
    assert lists["rank"][:3] == [model.rank_ // 2, model.rank_, 2 * model.rank_]
    assert lists["n_basis"][:3] == [basis.n_basis // 2, basis.n_basis, 2 * basis.n_basis]
    assert lists["period"][:3] == [basis.period / 2, basis.period, 2 * basis.period]
    assert lists["alpha"][:3] == pytest.approx([100 / 75, 1 / 75, 0.01 / 75])


def test_a_best_value_at_the_end_of_an_auto_list_is_followed(X, y):
    search = search_of(n_basis=4, period=2.0, alpha=1e-6, max_iter=3).fit(X, y)
    ranks = search.cv_results_["param_rank"].tolist()
    assert ranks[:3] == [1, 3, 6]
    best = search.best_params_["rank"]
    assert min(ranks) < best < max(ranks) or best == 1 or len(ranks) == 3 + MOST_STEPS


def test_repeated_rows_count_once(X, y):
    search = search_of(n_basis=4, period=2.0).set_params(cv=2)
    once = tried(search, X, y)
    twice = tried(search, np.repeat(X, 2, axis=0), np.repeat(y, 2))
    assert once["rank"] == twice["rank"]
    assert once["alpha"] == pytest.approx(twice["alpha"])


@pytest.mark.parametrize(
    ("changes", "names"),
    [
        ({"rank": 2, "alpha": 0.1}, {"n_basis", "period"}),
        ({"basis": Fourier(n_basis=4)}, {"alpha", "period", "rank"}),
        ({"basis": "power", "n_basis": 3}, {"alpha", "rank"}),
        ({"basis": [Power(), Fourier(), Power()], "n_basis": 3}, {"alpha", "period", "rank"}),
        ({"network": CPD(2)}, {"alpha", "n_basis", "period"}),
        ({"network": TensorTrain(), "n_basis": 4}, {"alpha", "period", "rank"}),
        ({"n_basis": [4, 2, 4], "period": [2.0, 3.0, 4.0]}, {"alpha", "rank"}),
    ],
)
def test_what_the_estimator_fixes_is_not_searched(changes, names, X, y):
    assert set(tried(search_of(**changes), X, y)) == names


def test_periods_mean_nothing_to_polynomials(X, y):
    search = search_of(basis="power", rank=1, alpha=0.1).set_params(periods=[2.0, 4.0], n_basis=[3])
    assert tried(search, X, y) == {"n_basis": [3]}


def test_given_lists_in_the_order_of_a_grid_search(X, y):
    search = search_of().set_params(**GRID).fit(X, y)
    grid = {PARAMETERS[name]: values for name, values in GRID.items()}
    assert search.cv_results_["params"] == list(ParameterGrid(grid))


def test_arrays_are_lists_of_plain_numbers(X, y):
    lists = {"ranks": np.array([1, 2]), "alphas": np.logspace(-3, -1, 2), "periods": (2.0,)}
    search = search_of(n_basis=4).set_params(**lists).fit(X, y)
    assert search.best_params_["rank"] in (1, 2)
    assert {type(value) for value in search.best_params_.values()} == {int, float}


def test_an_entry_may_hold_a_value_for_each_column(X, y):
    search = search_of(rank=2, alpha=1e-3).set_params(n_basis=[4, (4, 8, 2)], periods=[2.0])
    results = search.fit(X, y).cv_results_
    assert results["param_n_basis"].tolist() == [4, (4, 8, 2)]
