"""What can be inspected: fitted models and searches for one, of either of two classes."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from qtkm import QTKMRegressor, QTKMRegressorCV
from qtkm.inspection import (
    CoefficientsDisplay,
    HistoryDisplay,
    ResidualsDisplay,
    SpectrumDisplay,
    importances,
    largest_coefficients,
    rank_one_terms,
    spectrum,
)
from tests.inspection.conftest import SETTINGS

pytestmark = pytest.mark.usefixtures("close_figures")


@pytest.fixture(scope="module")
def rows(X):
    return X[["a", "b"]].to_numpy()


@pytest.fixture
def regressor():
    return QTKMRegressor(n_basis=4, rank=2, **SETTINGS)


INSPECT = {
    "importances": importances,
    "largest_coefficients": lambda m, X: largest_coefficients(m),
    "history": lambda m, X: HistoryDisplay.from_estimator(m),
    "residuals": lambda m, X: ResidualsDisplay.from_estimator(m, X, X[:, 0]),
}


@pytest.mark.parametrize("name", INSPECT)
def test_of_a_pipeline_the_last_step_is_asked_for(name, regressor, rows, y):
    pipe = make_pipeline(StandardScaler(), regressor).fit(rows, y)
    with pytest.raises(TypeError, match=r"importances\(pipe\[-1\], pipe\[:-1\].transform\(X\)\)"):
        INSPECT[name](pipe, rows)
    scaled = pipe[:-1].transform(rows)
    expected = importances(regressor.fit(scaled, y), scaled)
    np.testing.assert_allclose(importances(pipe[-1], scaled).total, expected.total)


@pytest.mark.parametrize("name", INSPECT)
def test_other_models_are_refused(name, rows, y):
    with pytest.raises(TypeError, match=r"Inspection needs a QTKMRegressor .*, got Ridge"):
        INSPECT[name](Ridge().fit(rows, y), rows)


@pytest.mark.parametrize("name", INSPECT)
def test_what_is_not_fitted_says_so(name, regressor, rows):
    for model in (regressor, QTKMRegressorCV(), GridSearchCV(regressor, {"rank": [1, 2]})):
        with pytest.raises(NotFittedError):
            INSPECT[name](model, rows)


def test_of_a_search_the_best_model_is_inspected(regressor, rows, y):
    lists = {"ranks": [1, 2], "alphas": [1e-3], "n_basis": [4], "periods": [2.0]}
    for search in (QTKMRegressorCV(regressor, **lists), GridSearchCV(regressor, {"rank": [1, 2]})):
        search.fit(rows, y)
        expected = importances(search.best_estimator_, rows)
        np.testing.assert_array_equal(importances(search, rows).total, expected.total)
        n_epochs = len(HistoryDisplay.from_estimator(search).objective)
        assert n_epochs == search.best_estimator_.n_iter_
    bare = QTKMRegressorCV(regressor, **lists, refit=False).fit(rows, y)
    with pytest.raises(TypeError, match="with refit=True, got QTKMRegressorCV"):
        importances(bare, rows)


def test_rows_where_none_belong_are_refused(cpd, X):
    with pytest.raises(ValueError, match=r"n_coefficients=DataFrame must be .* need no X"):
        CoefficientsDisplay.from_estimator(cpd, X)
    with pytest.raises(TypeError, match="must be the name or index of a column, got a DataFrame"):
        SpectrumDisplay.from_estimator(cpd, X)


def test_the_first_of_two_classes_negates_the_weights(two_classes):
    found, turned = (
        largest_coefficients(two_classes),
        largest_coefficients(two_classes, output="no"),
    )
    np.testing.assert_array_equal(turned.indices, found.indices)
    np.testing.assert_allclose(turned.values, -found.values)
    terms, opposite = rank_one_terms(two_classes), rank_one_terms(two_classes, output="no")
    np.testing.assert_allclose(opposite.coefficients, -terms.coefficients)
    assert opposite.offset == -terms.offset


def test_shares_and_strengths_are_those_of_either_class(two_classes, X):
    for measure, kinds in (
        (lambda **k: importances(two_classes, X, **k), ("first_order", "total", "interactions")),
        (lambda **k: spectrum(two_classes, "a", **k), ("magnitudes",)),
    ):
        one, other = measure(output="yes"), measure(output="no")
        for kind in kinds:
            expected = getattr(one, kind)
            np.testing.assert_allclose(getattr(other, kind), expected, rtol=1e-9, atol=1e-12)
