"""scikit-learn's own checks of an estimator, and what the rest of scikit-learn does with it."""

import numpy as np
import pytest
from joblib import parallel_config
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.inspection import permutation_importance
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from qtkm import ALS, CPD, Fourier, Hinge, Power, QTKMClassifier, QTKMRegressor, Squared

#: what the checks can tell apart: defaults (but for the search and main effects of classes, which
#: take long), parts given as objects, several classes, precision
ESTIMATORS = [
    QTKMRegressor(rank=2, alpha=1e-3, max_iter=4),
    QTKMRegressor(
        Fourier(n_basis=6), network=CPD(3), loss=Squared("real"), solver=ALS(), max_bins=None,
        max_iter=6, extrapolation="continue", penalty="ridge", posterior=False,
    ),
    QTKMClassifier(rank=2, alpha=1e-3, max_iter=4, main_effects=False, posterior=False),
    QTKMClassifier(
        Power(), max_iter=5, penalty="ridge", loss="softmax", quantization=None,
        class_weight="balanced", dtype="float32", init="random",
    ),
]  # fmt: skip


#: frames may have their columns in another order, and more of them, than in the fit
EXPECTED = {"check_dataframe_column_names_consistency": "columns are found by their names"}


@parametrize_with_checks(ESTIMATORS, expected_failed_checks=lambda estimator: EXPECTED)
def test_estimator_checks(estimator, check):
    check(estimator)


def test_a_clone_has_the_parameters_and_none_of_the_fit(model, X, y):
    model.set_params(basis=Fourier(period=3.0), period="auto")
    copy = clone(model.fit(X, y))
    assert repr(copy) == repr(model)
    assert copy.basis is not model.basis
    assert not hasattr(copy, "cores_")


def test_fitting_leaves_the_parameters_alone(make, X, y):
    parts = {"basis": Fourier(), "network": CPD(), "loss": Squared(), "solver": ALS()}
    model = make(**parts)
    before = repr(model.get_params())
    model.fit(X, y)
    assert repr(model.get_params()) == before
    assert all(getattr(model, name) is part for name, part in parts.items())


def test_a_search_reaches_inside_of_objects(make, X, y):
    parts = {"basis": Fourier(), "network": CPD(), "solver": ALS(), "loss": Squared()}
    model = make(**parts, n_basis="auto", rank="auto")
    grid = {
        "basis__n_basis": [1, 8],
        "network__rank": [1, 3],
        "solver__inner_sweeps": [2],
        "loss__residual": ["real"],
    }
    search = GridSearchCV(model, grid, cv=3).fit(X, y)
    assert search.best_params_["basis__n_basis"] == 8
    assert search.best_estimator_.rank_ == search.best_params_["network__rank"]
    assert search.best_score_ > 0.8


def test_two_fits_at_once_in_one_process_are_those_one_after_the_other(make, X, y):
    """A search whose fits are threads of this process; fits take any number of threads, too."""
    search = GridSearchCV(make(n_jobs=2), {"rank": [1, 2, 3, 4]}, cv=3)
    apart = clone(search).fit(X, y)
    with parallel_config("threading"):
        at_once = clone(search).set_params(n_jobs=4).fit(X, y)
    for name in ("split0_test_score", "split1_test_score", "split2_test_score"):
        np.testing.assert_array_equal(at_once.cv_results_[name], apart.cv_results_[name])
    assert at_once.best_params_["rank"] > 1


def test_pipelines_and_meta_estimators(make, X, y):
    pipeline = make_pipeline(StandardScaler(), make()).fit(X, y)
    assert pipeline.score(X, y) > 0.95
    assert cross_val_score(pipeline, X, y, cv=3).min() > 0.8
    assert BaggingRegressor(make(), n_estimators=2, random_state=0).fit(X, y).score(X, y) > 0.9
    both = MultiOutputRegressor(make()).fit(X, np.column_stack([y, -y]))
    np.testing.assert_array_equal(both.predict(X)[:, 0], make().fit(X, y).predict(X))
    importance = permutation_importance(make().fit(X, y), X, y, n_repeats=2, random_state=0)
    assert (importance.importances_mean > 0.1).all()


def test_sample_weights_pass_through_a_pipeline(make, X, y):
    weight = np.arange(len(y)) % 3
    pipeline = make_pipeline(StandardScaler(), make()).fit(
        X, y, qtkmregressor__sample_weight=weight
    )
    assert pipeline.score(X[weight > 0], y[weight > 0]) > 0.95


def test_a_transformer_for_some_of_the_columns(make, X, y):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(kind=np.where(X[:, 0] > 0, "u", "v"))
    transformer = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["kind"]), remainder="passthrough"
    ).set_output(transform="pandas")
    pipeline = make_pipeline(transformer, make()).fit(frame, y)
    assert list(pipeline[-1].feature_names_in_[:2]) == [
        "onehotencoder__kind_u",
        "onehotencoder__kind_v",
    ]
    assert pipeline.score(frame, y) > 0.95


def test_a_classifier_in_pipelines_and_meta_estimators(X, y):
    labels = np.where(y > 0.5, "high", "low")
    model = QTKMClassifier(
        n_basis=8, period=2.0, rank=3, max_iter=4, random_state=0, penalty="ridge"
    )
    assert cross_val_score(make_pipeline(StandardScaler(), model), X, labels).min() > 0.7
    calibrated = CalibratedClassifierCV(clone(model).set_params(loss="hinge"), cv=2)
    assert calibrated.fit(X, labels).predict_proba(X).shape == (len(X), 2)
    vote = BaggingClassifier(model, n_estimators=2, random_state=0).fit(X, labels)
    assert vote.score(X, labels) > 0.8
    both = MultiOutputClassifier(model).fit(X, np.column_stack([labels, labels[::-1]]))
    np.testing.assert_array_equal(both.predict(X)[:, 0], clone(model).fit(X, labels).predict(X))


def test_a_search_reaches_inside_of_a_loss(X, y):
    model = QTKMClassifier(loss=Hinge(), rank=2, alpha=1e-3, n_basis=4, max_iter=3, random_state=0)
    search = GridSearchCV(model, {"loss__smoothing": [0.01, 0.5]}, cv=2).fit(X, y > 0)
    assert search.best_estimator_.loss_.smoothing == search.best_params_["loss__smoothing"]
