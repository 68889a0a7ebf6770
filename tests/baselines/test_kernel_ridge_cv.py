"""The cross-validation gives the scores of a loop that solves every case afresh."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from qtkm import Fourier, Power
from qtkm.baselines import ProductKernelRidge, ProductKernelRidgeCV
from tests.baselines.oracles import explicit_features, ridge, unit
from tests.covering import covered

ALPHAS, PERIODS = [1e-3, 0.1, 10.0], [1.25, 3.0]


def loop(X, y, folds, make_maps, weight=None):
    """Mean squared errors, period by period, alpha by alpha: (n_pairs, n_folds)."""
    weight = np.ones(len(y)) if weight is None else weight
    values = unit(X, X)
    target = (y - np.average(y, axis=0, weights=weight)).reshape(len(y), -1)
    table = []
    for period in PERIODS:
        features = explicit_features(make_maps(period), values)
        for alpha in ALPHAS:
            errors = []
            for train, test in folds:
                weights = ridge(features[train], target[train], alpha, weight[train])
                residual = (features[test] @ weights).real - target[test]
                errors.append(np.average(residual**2, axis=0, weights=weight[test]).mean())
            table.append(errors)
    return np.array(table)


def table_of(model):
    results = model.cv_results_
    return np.column_stack([results[key] for key in results if key.startswith("split")])


@covered
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("cv", [3, KFold(4, shuffle=True, random_state=0)], ids=str)
@pytest.mark.parametrize("n_basis", [4, 5])
def test_scores_are_those_of_a_loop(X, y, n_basis, cv, n_jobs):
    model = ProductKernelRidgeCV(
        n_basis=n_basis, alphas=ALPHAS, periods=PERIODS, cv=cv, n_jobs=n_jobs
    ).fit(X, y)
    folds = list((KFold(cv) if isinstance(cv, int) else cv).split(X))
    expected = loop(X, y, folds, lambda period: [Fourier(n_basis, period)] * 3)
    np.testing.assert_allclose(table_of(model), expected, rtol=1e-8)
    np.testing.assert_allclose(model.cv_results_["mean_test_mse"], expected.mean(axis=1))
    np.testing.assert_allclose(model.cv_results_["std_test_mse"], expected.std(axis=1))
    best = int(np.argmin(expected.mean(axis=1)))
    assert model.best_index_ == best
    assert model.cv_results_["rank_test_mse"][best] == 1
    assert model.best_params_ == {"alpha": ALPHAS[best % 3], "period": PERIODS[best // 3]}
    assert model.best_score_ == model.cv_results_["mean_test_mse"][best]


def test_scores_with_weights_and_outputs_are_those_of_a_loop(X, y):
    weight = np.random.default_rng(3).uniform(0.1, 3, size=len(y))
    both = np.column_stack([y, 100 * X[:, 0] ** 2])
    model = ProductKernelRidgeCV(n_basis=4, alphas=ALPHAS, periods=PERIODS)
    model.fit(X, both, sample_weight=weight)
    folds = list(KFold(3).split(X))
    expected = loop(X, both, folds, lambda period: [Fourier(4, period)] * 3, weight)
    np.testing.assert_allclose(table_of(model), expected, rtol=1e-8)


def test_folds_may_be_given_as_pairs_of_masks(X, y):
    folds = [(np.arange(60) % 3 != k, np.arange(60) % 3 == k) for k in range(3)]
    model = ProductKernelRidgeCV(n_basis=4, alphas=ALPHAS, periods=PERIODS, cv=folds).fit(X, y)
    expected = loop(X, y, folds, lambda period: [Fourier(4, period)] * 3)
    np.testing.assert_allclose(table_of(model), expected, rtol=1e-8)


def test_it_predicts_as_a_fit_with_the_chosen_parameters(X, y, new):
    search = ProductKernelRidgeCV(n_basis=8, alphas=ALPHAS, periods=PERIODS).fit(X, y)
    model = ProductKernelRidge(n_basis=8, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(new), model.predict(new))
    assert search.alpha_ == search.best_params_["alpha"]
    assert search.columns_[0]["basis"].period == search.best_params_["period"]


def test_powers_have_no_period_to_choose(X, y, new):
    search = ProductKernelRidgeCV("power", n_basis=4, alphas=ALPHAS).fit(X, y)
    assert search.best_params_["period"] == "auto"
    assert len(search.cv_results_["params"]) == len(ALPHAS)
    folds = list(KFold(3).split(X))
    expected = loop(X, y, folds, lambda period: [Power(4)] * 3)[: len(ALPHAS)]
    np.testing.assert_allclose(table_of(search), expected, rtol=1e-8)
    model = ProductKernelRidge("power", n_basis=4, **search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(new), model.predict(new))


def test_of_alphas_that_make_no_difference_the_largest_is_chosen(X, y):
    # each penalty vanishes beside 512 features
    alphas = [1e-30, 1e-20, 1e-25]
    search = ProductKernelRidgeCV(n_basis=8, alphas=alphas, periods=[1.25]).fit(X, y)
    assert search.best_params_["alpha"] == 1e-20


def test_the_default_grid_is_that_of_the_paper():
    model = ProductKernelRidgeCV()
    np.testing.assert_allclose(model.alphas, np.logspace(-5, 5, 11))
    np.testing.assert_allclose(model.periods, 1 + np.logspace(-2, 6, 9, base=2))


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("alphas", [], r"alphas=\[\] must be a list of at least one number"),
        ("alphas", 1.0, "alphas=1.0 must be a list"),
        ("alphas", [1.0, -1.0], "an entry of alphas=-1.0 must be a finite number >= 0"),
        ("periods", [0.5], "an entry of periods=0.5 must be a finite number >= 1"),
        ("periods", "auto", "periods='auto' must be a list"),
        ("max_rows", 10, "X has 60 rows"),
        ("basis", Fourier(period=3.0), "period=1.25 contradicts basis"),
        ("cv", ShuffleSplit(1, test_size=1, random_state=0), "Fold 0 .* and 0 to test on"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(X, y, parameter, value, message):
    weight = np.ones(len(y))
    if parameter == "cv":
        weight[next(value.split(X))[1]] = 0
    with pytest.raises(ValueError, match=message):
        ProductKernelRidgeCV(**{parameter: value}).fit(X, y, sample_weight=weight)
