"""A search finds what a grid search finds, with the same scores, and says what it did."""

import threading
import time

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring, make_scorer, mean_absolute_error
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from tqdm.auto import tqdm

import qtkm
from qtkm import CPD, Fourier, QTKMClassifierCV, QTKMRegressor, QTKMRegressorCV
from qtkm.engines import Threads
from qtkm.limits import LIMITS
from qtkm.penalties import Matern
from qtkm.selection.race import GivenRows, Race
from tests.selection.conftest import GRID, PARAMETERS, SETTINGS

FOLDS = KFold(3, shuffle=True, random_state=0)


@pytest.fixture(scope="module")
def searched(X, y):
    """A search over the grid, to be read only."""
    return QTKMRegressorCV(QTKMRegressor(**SETTINGS), **GRID, cv=FOLDS, n_jobs=1).fit(X, y)


def splits(search):
    """Scores of all candidates on all folds."""
    results = search.cv_results_
    return np.array([results[f"split{k}_test_score"] for k in range(search.n_splits_)]).T


@pytest.mark.parametrize(
    ("changes", "alpha"),
    [({}, 1e-1), ({"early_stopping": True}, 1e-4), ({"solver": "lbfgs"}, 1e-1),
     ({"network": "train"}, 1e-4), ({"max_bins": 20}, 1e-4)],
)  # fmt: skip
def test_one_candidate_has_the_scores_of_cross_validation(regressor, changes, alpha, X, y):
    model = regressor.set_params(rank=2, n_basis=8, period=2.0, alpha=alpha, **changes)
    search = QTKMRegressorCV(model, cv=FOLDS).fit(X, y)
    np.testing.assert_array_equal(splits(search)[0], cross_val_score(model, X, y, cv=FOLDS))
    np.testing.assert_array_equal(search.predict(X), clone(model).fit(X, y).predict(X))
    assert search.best_params_ == {}


def test_a_fit_that_was_paused_has_the_scores_of_cross_validation(searched, regressor, X, y):
    finished = np.flatnonzero(searched.cv_results_["finished"])
    assert 0 < len(finished) < len(searched.cv_results_["params"])
    for number in finished:
        model = clone(regressor).set_params(**searched.cv_results_["params"][number])
        expected = cross_val_score(model, X, y, cv=FOLDS)
        np.testing.assert_array_equal(splits(searched)[number], expected)
        assert searched.cv_results_["mean_test_score"][number] == pytest.approx(expected.mean())


def test_with_all_candidates_to_the_end_it_is_a_grid_search(regressor, monkeypatch, X, y):
    monkeypatch.setattr(LIMITS, "fewest_candidates", 100)
    lists = GRID | {"n_basis": [8], "periods": [2.0]}
    search = QTKMRegressorCV(regressor, **lists, cv=FOLDS).fit(X, y)
    grid = {PARAMETERS[name]: values for name, values in lists.items()}
    plain = GridSearchCV(regressor, grid, cv=FOLDS).fit(X, y)
    assert search.cv_results_["params"] == plain.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score", "rank_test_score", "split1_test_score"):
        np.testing.assert_array_equal(search.cv_results_[name], plain.cv_results_[name])
    assert search.best_params_ == plain.best_params_
    assert search.best_index_ == plain.best_index_
    np.testing.assert_array_equal(search.predict(X), plain.predict(X))


def test_the_chosen_candidate_is_among_the_best(searched, X, y):
    assert searched.best_params_["rank"] == 3
    assert searched.best_params_["alpha"] == 1e-3
    assert searched.best_score_ == searched.cv_results_["mean_test_score"][searched.best_index_]
    assert searched.cv_results_["rank_test_score"][searched.best_index_] == 1
    assert searched.score(X, y) > 0.9


def test_the_table_tells_how_far_each_candidate_came(searched):
    results = searched.cv_results_
    assert {len(values) for values in results.values()} == {16}
    early = np.isnan(results["split1_test_score"])
    assert 4 <= early.sum() <= 14
    assert np.isfinite(results["split0_test_score"]).all()
    assert (results["n_epochs"][early] == 1).all()
    later = results["rank_test_score"][~early]
    assert later.max() < results["rank_test_score"][early].min()
    assert sorted(results["rank_test_score"])[0] == 1
    np.testing.assert_array_equal(results["n_rows"], 100)
    assert results["finished"].sum() == 2
    assert results["rank_test_score"][results["finished"]].max() == 2


def test_of_large_folds_one_is_enough_until_the_last_round(searched, regressor, X, y, monkeypatch):
    usual = searched
    monkeypatch.setattr(LIMITS, "large_fold", len(X) // 3)
    search = QTKMRegressorCV(regressor, **GRID, cv=FOLDS).fit(X, y)
    results, finished = search.cv_results_, search.cv_results_["finished"]
    assert finished[search.best_index_]
    assert np.isfinite(splits(search)[finished]).all()
    assert np.isfinite(results["split0_test_score"]).all()
    assert np.isnan(splits(search)[~finished][:, 1:]).all()
    assert np.isfinite(splits(usual)[~usual.cv_results_["finished"]][:, 1]).any()
    both = finished & usual.cv_results_["finished"]
    assert both.any()
    np.testing.assert_array_equal(splits(search)[both], splits(usual)[both])


def test_the_seed_serves_an_estimator_without_one(X, y):
    lists = {"ranks": [2], "n_basis": [4], "periods": [2.0], "alphas": [1e-3, 1e-2]}
    model = QTKMRegressor(max_iter=4, penalty="ridge")
    one, two = (QTKMRegressorCV(model, **lists, cv=FOLDS, random_state=3).fit(X, y) for _ in "12")
    np.testing.assert_array_equal(splits(one), splits(two))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))
    seeded = QTKMRegressor(max_iter=4, random_state=5, penalty="ridge")
    search = QTKMRegressorCV(seeded, **lists, cv=FOLDS, random_state=3).fit(X, y)
    assert search.best_estimator_.random_state == 5


def test_threads_do_not_change_the_result(searched, regressor, X, y):
    one, two = searched, QTKMRegressorCV(regressor, **GRID, cv=FOLDS, n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(splits(one), splits(two))
    np.testing.assert_array_equal(one.predict(X), two.predict(X))


def test_a_generator_of_random_numbers_is_the_same_for_all_candidates(regressor, X, y):
    model = regressor.set_params(random_state=np.random.RandomState(3))
    lists = {"ranks": [2], "n_basis": [4], "periods": [2.0], "alphas": [1e-3, 1e-2]}
    search, again = (QTKMRegressorCV(model, **lists, cv=FOLDS).fit(X, y) for _ in "12")
    np.testing.assert_array_equal(splits(search), splits(again))


def test_classes_are_tuned_like_numbers(classifier, X, labels):
    search = QTKMClassifierCV(classifier, **GRID, scoring="neg_log_loss").fit(X, labels)
    model = clone(classifier).set_params(**search.best_params_)
    expected = cross_val_score(model, X, labels, cv=3, scoring="neg_log_loss")
    np.testing.assert_allclose(splits(search)[search.best_index_], expected, rtol=1e-12)
    best = search.best_estimator_
    np.testing.assert_array_equal(search.classes_, ["high", "low"])
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    np.testing.assert_array_equal(search.predict_log_proba(X), best.predict_log_proba(X))
    np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))


def test_probabilities_are_there_if_the_loss_gives_some(classifier, X, labels):
    search = QTKMClassifierCV(classifier.set_params(loss="hinge"), ranks=[1])
    assert not hasattr(search, "predict_proba")
    assert hasattr(QTKMClassifierCV(), "predict_proba")


def test_other_scores_and_weights(regressor, X, y):
    weight = np.arange(len(y)) % 3
    scoring = make_scorer(mean_absolute_error, greater_is_better=False)
    lists = {"ranks": [2], "alphas": [1e-3], "n_basis": [4], "periods": [2.0]}
    search = QTKMRegressorCV(regressor, **lists, cv=FOLDS, scoring=scoring).fit(X, y, weight)
    train, test = next(FOLDS.split(X))
    model = clone(regressor).set_params(**search.best_params_)
    model.fit(X[train], y[train], weight[train])
    error = mean_absolute_error(y[test], model.predict(X[test]), sample_weight=weight[test])
    assert search.cv_results_["split0_test_score"][0] == pytest.approx(-error, rel=1e-12)
    assert search.score(X, y) == pytest.approx(-mean_absolute_error(y, search.predict(X)))


def test_several_outputs(regressor, X, y):
    both = np.column_stack([y, -2 * y])
    search = QTKMRegressorCV(regressor, ranks=[1, 3], n_basis=[8], periods=[2.0], alphas=[1e-3])
    assert search.fit(X, both).predict(X).shape == (150, 2)


def test_a_frame_with_categories(regressor, X, y):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    frame["kind"] = np.where(X[:, 0] > 0.5, "u", "v")
    model = regressor.set_params(categorical_features=["kind"])
    search = QTKMRegressorCV(model, **GRID, cv=FOLDS).fit(frame, y)
    expected = cross_val_score(clone(model).set_params(**search.best_params_), frame, y, cv=FOLDS)
    np.testing.assert_array_equal(splits(search)[search.best_index_], expected)
    assert list(search.feature_names_in_) == ["a", "b", "c", "kind"]


def test_columns_of_many_values_are_binned_as_in_a_fit_of_its_own(regressor, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    y = np.sin(9 * X[:, 0]) * X[:, 1]
    # 16 basis functions of period 1 ask for more bins than 4 of period 2
    lists = {"n_basis": [4, 16], "periods": [1.0, 2.0], "ranks": [2], "alphas": [1e-3]}
    monkeypatch.setattr(LIMITS, "fewest_candidates", 100)
    search = QTKMRegressorCV(regressor, **lists, cv=FOLDS).fit(X, y)
    for number, params in enumerate(search.cv_results_["params"]):
        expected = cross_val_score(clone(regressor).set_params(**params), X, y, cv=FOLDS)
        np.testing.assert_array_equal(splits(search)[number], expected)


def test_the_search_sees_a_sample_and_the_last_fit_all_rows(searched, regressor, X, y):
    search = QTKMRegressorCV(regressor, **GRID, sample_rows=60, random_state=0).fit(X, y)
    assert search.n_splits_ == 1  # a hold-out, where there are so many rows
    results = search.cv_results_
    assert (np.abs(results["n_rows"] - 48) < 12).all()
    expected = clone(regressor).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), expected.predict(X))
    np.testing.assert_array_equal(searched.cv_results_["n_rows"], 100)


def test_without_a_refit_there_are_parameters_but_no_model(regressor, X, y):
    lists = {"ranks": [1, 3], "n_basis": [8], "periods": [2.0], "alphas": [1e-3]}
    search = QTKMRegressorCV(regressor, **lists, refit=False).fit(X, y)
    assert search.best_params_["rank"] == 3
    assert not hasattr(search, "best_estimator_")
    with pytest.raises(AttributeError, match="no attribute 'predict'") as refused:
        search.predict(X)
    assert "refit=False, so it cannot predict" in str(refused.value.__cause__)


def test_the_best_model_is_saved(regressor, X, y, tmp_path):
    lists = {"ranks": [1, 2], "n_basis": [4], "periods": [2.0], "alphas": [1e-3]}
    search = QTKMRegressorCV(regressor, **lists).fit(X, y)
    search.save(tmp_path / "best.qtkm")
    loaded = qtkm.load(tmp_path / "best.qtkm")
    np.testing.assert_array_equal(loaded.predict(X), search.predict(X))


class Interrupting:
    """A callback that presses Ctrl-C after so many epochs."""

    def __init__(self, n_epochs):
        self.left = n_epochs

    def __call__(self, progress):
        self.left -= progress.event == "epoch"
        if self.left == 0:
            self.left = -1  # once
            raise KeyboardInterrupt

    def __deepcopy__(self, memo):
        return self


def test_ctrl_c_keeps_what_was_tried(regressor, X, y):
    search = QTKMRegressorCV(regressor.set_params(callbacks=Interrupting(8)), **GRID, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="Interrupted after 7 of 16 candidates; the"):
        search.fit(X, y)
    assert (search.cv_results_["n_rows"] > 0).sum() == 7
    assert not search.cv_results_["finished"].any()
    scores = search.cv_results_["mean_test_score"]
    assert search.best_score_ == np.nanmax(scores)
    assert search.score(X, y) > 0.5


def test_ctrl_c_in_a_later_round_prefers_those_that_came_far(regressor, X, y):
    search = QTKMRegressorCV(regressor.set_params(callbacks=Interrupting(30)), **GRID, n_jobs=1)
    with pytest.warns(ConvergenceWarning, match="Interrupted after 16 of 16"):
        search.fit(X, y)
    epochs = search.cv_results_["n_epochs"]
    assert epochs[search.best_index_] == epochs.max() > 1


def test_ctrl_c_before_anything_was_tried_is_one(regressor, X, y):
    search = QTKMRegressorCV(regressor.set_params(callbacks=Interrupting(1)), **GRID, n_jobs=1)
    with pytest.raises(KeyboardInterrupt):
        search.fit(X, y)


def test_an_error_ends_the_fits_of_other_threads(regressor, X, y):
    failed, epochs = threading.Event(), []

    def wait(progress):
        if progress.event == "epoch" and progress.cores[0][0].shape[1] == 3:
            failed.wait(5)
            time.sleep(0.01)
            epochs.append(progress.epoch)

    def score(model, X, y):
        failed.set()
        return "good"

    regressor.set_params(callbacks=wait, max_iter=100, tol=0)
    lists = {"ranks": [1, 3], "n_basis": [8], "periods": [2.0], "alphas": [1e-3]}
    with pytest.raises(ValueError, match="one number per fold"):
        QTKMRegressorCV(regressor, **lists, cv=0.3, scoring=score, n_jobs=2).fit(X, y)
    assert len(epochs) < 100


def test_progress_is_shown_if_asked_for(regressor, X, y, capsys):
    lists = {"ranks": [1, 3], "n_basis": [8], "periods": [2.0], "alphas": [1e-3]}
    QTKMRegressorCV(regressor, **lists, verbose=1).fit(X, y)
    shown = capsys.readouterr().err
    assert "tune: 100%" in shown
    assert "best 0." in shown
    QTKMRegressorCV(regressor, **lists).fit(X, y)
    assert capsys.readouterr().err == ""


def test_progress_counts_each_fold_once(regressor, X, y):
    folds = list(FOLDS.split(X))
    bar = tqdm(total=0, disable=True)
    race = Race(regressor, GivenRows(X, y, None), folds, check_scoring(regressor), Threads(1), bar)
    race.run_folds(race.add([{"rank": 1}]))
    assert bar.total == len(folds) * regressor.max_iter


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"ranks": []}, "ranks is empty; give at least one entry, or 'auto'"),
        ({"ranks": 5}, "ranks=5 must be a list of values to try, or 'auto'"),
        ({"ranks": [2, 0]}, "an entry of ranks=0 must be an integer >= 1"),
        ({"ranks": [2.5]}, "an entry of ranks=2.5 must be an integer"),
        ({"alphas": [1, -1]}, "an entry of alphas=-1 must be a finite number >= 0"),
        ({"alphas": "all"}, "alphas='all' must be a list"),
        ({"alphas": [0.1, "auto"]}, "an entry of alphas='auto' must be a finite number"),
        ({"periods": [0.5]}, "an entry of periods=0.5 must be a finite number >= 1"),
        ({"n_basis": [8, 8]}, "n_basis contains 8 twice"),
        ({"n_basis": [(4, 8)]}, "n_basis has 2 entries, but X has 3 columns"),
        ({"cv": "leave-one-out"}, "cv='leave-one-out' is unknown; use a number of folds"),
        ({"cv": 1.5}, "cv=1.5 must be a fraction between 0 and 1"),
        ({"cv": []}, "gives no folds"),
        ({"sample_rows": 1}, "sample_rows=1 must be an integer >= 2, 'auto', or None"),
        ({"sample_rows": "some"}, "sample_rows='some' must be"),
        ({"estimator": Fourier()}, "must be a QTKMRegressor, or None"),
        ({"n_jobs": 0}, "n_jobs=0 must be"),
        ({"scoring": lambda *_: [1, 2]}, "scoring must return one number per fold"),
        ({"scoring": lambda *_: float("nan")}, "All scores are NaN"),
    ],
)
def test_what_cannot_be_used_is_said(changes, message, regressor, X, y):
    with pytest.raises(ValueError, match=message.replace("(", r"\(").replace(")", r"\)")):
        QTKMRegressorCV(**({"estimator": regressor, "ranks": [2]} | changes)).fit(X, y)


def test_a_list_that_contradicts_a_part_is_refused(regressor, X, y):
    model = regressor.set_params(basis=Fourier(n_basis=4))
    with pytest.raises(ValueError, match="n_basis=8 contradicts"):
        QTKMRegressorCV(model, n_basis=[4, 8]).fit(X, y)


def test_a_part_of_fixed_size_is_left_alone(regressor, X, y):
    model = regressor.set_params(basis=Fourier(n_basis=4), network=CPD(2))
    search = QTKMRegressorCV(model, alphas=[1e-3], periods=[2.0, 4.0]).fit(X, y)
    assert set(search.best_params_) == {"alpha", "period"}


def test_without_lists_the_defaults_are_kept_if_nothing_is_clearly_better():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(150, 1))
    y = np.sin(3 * X[:, 0]) + 0.2 * rng.standard_normal(150)
    search = QTKMRegressorCV(random_state=0, cv=FOLDS, refit=False).fit(X, y)
    assert search.message_.startswith("The defaults are kept")
    assert search.best_index_ == 0
    model = QTKMRegressor(random_state=0, posterior=False)
    expected = cross_val_score(model, X, y, cv=FOLDS)
    np.testing.assert_array_equal(splits(search)[0], expected)
    results = search.cv_results_
    assert search.best_params_ == {
        "n_basis": "auto", "penalty": "matern", "period": "auto", "scaling": "auto"
    }  # fmt: skip
    assert set(results["param_scaling"]) == {"auto", "range", "rank"}
    assert set(results["param_n_basis"]) == {"auto", "9", "81"}
    assert {"rbf", "Matern(nu=0.5)"} < set(results["param_penalty"])


def test_without_lists_a_setting_that_is_clearly_better_is_found_and_followed():
    X = np.random.default_rng(0).uniform(size=(220, 1))
    y = np.sin(45 * X[:, 0])  # more waves than 27 functions of period 2 have
    few = QTKMRegressor(n_basis=27, random_state=0, posterior=False)
    search = QTKMRegressorCV(few, cv=FOLDS).fit(X, y)
    default = splits(search)[0]
    assert (splits(search)[search.best_index_] > default).all()
    period = search.best_params_["period"]
    assert period < 2
    assert search.message_.startswith("Better than the defaults on all folds: period 1")
    # a step further in the same direction was tried as well
    tried = [each["period"] for each in search.cv_results_["params"]]
    assert any(value != "auto" and value < period for value in tried)
    best = clone(few).set_params(**search.best_params_).fit(X, y)
    np.testing.assert_array_equal(search.predict(X), best.predict(X))


def test_an_estimator_that_leaves_nothing_open_is_told(X, y):
    own = {"n_basis": 9, "period": 2.0, "scaling": "range", "penalty": Matern(1.5), "max_iter": 2}
    model = QTKMRegressor(**own, random_state=0)
    search = QTKMRegressorCV(model, cv=0.3, sample_rows=40, refit=False, random_state=0).fit(X, y)
    assert search.message_.startswith("There was nothing to vary: the estimator has values of its")
    assert search.best_params_ == {}
