"""What a fitted classifier holds, and what it predicts."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, log_loss

from qtkm import Hinge, Logistic, Power, QTKMClassifier, Softmax, Squared, SquaredHinge
from qtkm.networks import flatten

SETTINGS = {"n_basis": 8, "period": 2.0, "rank": 3, "alpha": 1e-3, "max_iter": 6, "random_state": 0}
LOSSES = ["logistic", "softmax", "squared_hinge", "hinge", "squared"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


def make(**changes):
    return QTKMClassifier(**{**SETTINGS, **changes})


@pytest.fixture(scope="module")
def two(X):
    return (np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] > 0.3).astype(int)


@pytest.fixture(scope="module")
def three(X):
    return np.array(["a", "b", "c"])[np.digitize(X[:, 0] + X[:, 1], [0.3, 1.8])]


# -- classes ----------------------------------------------------------------------------------


@every_loss
def test_two_classes_are_told_apart_by_a_sign(X, two, loss):
    model = make(loss=loss).fit(X, two)
    decision = model.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))
    assert model.score(X, two) > 0.9


@every_loss
def test_of_many_classes_the_largest_response_wins(X, three, loss):
    model = make(loss=loss).fit(X, three)
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    assert model.cores_[-1].shape == (3, 3)
    np.testing.assert_array_equal(model.classes_, ["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    assert model.score(X, three) > 0.9


def test_of_many_classes_logistic_means_softmax_and_an_object_is_taken_as_it_is(X, two, three):
    assert isinstance(make(loss="logistic").fit(X, two).loss_, Logistic)
    assert isinstance(make(loss="logistic").fit(X, three).loss_, Softmax)
    one_vs_rest = make(loss=Logistic()).fit(X, three)
    assert isinstance(one_vs_rest.loss_, Logistic)
    np.testing.assert_allclose(one_vs_rest.predict_proba(X).sum(axis=1), 1)


def test_softmax_of_two_classes_has_two_outputs_whose_difference_decides(X, two):
    model = make(loss="softmax").fit(X, two)
    assert model.cores_[-1].shape == (2, 3)
    odds = np.diff(model.predict_log_proba(X), axis=1)[:, 0]
    np.testing.assert_allclose(model.decision_function(X), odds, atol=1e-8)


@pytest.mark.parametrize(
    "names",
    [
        ["no", "yes"],
        [False, True],
        [-1, 1],
        [3.0, 7.0],
        np.array(["no", "yes"], dtype=object),
        np.array([0, 1], dtype=object),
        [b"no", b"yes"],
    ],
)
def test_labels_are_of_any_type_and_come_back_as_they_were(X, two, names):
    names = np.asarray(names)
    model = make().fit(X, names[two])
    np.testing.assert_array_equal(model.classes_, names)
    predicted = model.predict(X)
    assert set(predicted.tolist()) == set(names.tolist())
    assert model.score(X, names[two]) == accuracy_score(two, make().fit(X, two).predict(X))


def test_labels_may_be_a_list_or_a_series(X, two):
    pd = pytest.importorskip("pandas")
    expected = make().fit(X, np.where(two, "b", "a")).predict(X)
    names = ["b" if label else "a" for label in two]
    kinds = (
        names,
        pd.Series(names),
        pd.Series(names, dtype="category"),
        pd.Series(names, dtype=object),
    )
    for labels in kinds:
        np.testing.assert_array_equal(make().fit(X, labels).predict(X), expected)
    numbers = make().fit(X, pd.Series(two, dtype="Int64"))
    assert numbers.classes_.dtype.kind == "i"


def test_names_of_the_classes_do_not_change_the_model(X, two):
    plain, named = make().fit(X, two), make().fit(X, np.where(two, 70, -5))
    np.testing.assert_array_equal(plain.decision_function(X), named.decision_function(X))


def test_many_columns_may_be_categories(X, two):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"kind": np.where(two, "u", "v"), "x": X[:, 0]})
    model = make(categorical_features=["kind"]).fit(frame, two)
    assert model.score(frame, two) == 1
    assert list(model.feature_names_in_) == ["kind", "x"]


# -- probabilities ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "softmax", Logistic()])
def test_probabilities_add_up_to_one_and_agree_with_the_prediction(X, two, three, loss):
    for y in (two, three):
        model = make(loss=loss).fit(X, y)
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (len(X), len(np.unique(y)))
        assert (probabilities >= 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(1)], model.predict(X))
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared", Hinge(0.1)])
def test_losses_without_probabilities_have_no_method_for_them(X, two, loss):
    model = make(loss=loss).fit(X, two)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as caught:
            getattr(model, method)
        assert "gives no probabilities; use one of 'logistic', 'softmax'" in str(
            caught.value.__cause__
        )


def test_a_probability_too_small_for_a_number_has_a_logarithm_without_a_warning(X, two):
    model = make().fit(X, two)
    model.cores_[0][0] *= 1e4
    assert (model.predict_log_proba(X) == -np.inf).any()


# -- the objective ----------------------------------------------------------------------------


@pytest.mark.parametrize("basis", ["fourier", "power"])
@pytest.mark.parametrize("loss", [*LOSSES, Hinge(0), Hinge(0.5), Squared("real"), Logistic()])
def test_the_objective_never_rises(X, two, three, loss, basis):
    for y in (two, three):
        model = make(loss=loss, basis=basis, tol=0, max_iter=8, alpha=1e-5).fit(X, y)
        objective = np.array(model.history_["objective"])
        assert len(objective) == 8
        assert np.all(np.diff(objective) <= 1e-12 * objective[0])
        assert objective[-1] < 0.9 * objective[0]


@pytest.mark.parametrize("loss", ["logistic", "softmax", "squared_hinge", "hinge"])
def test_the_objective_is_mean_loss_plus_penalty(X, two, loss):
    model = make(loss=loss).fit(X, two)
    margin = np.where(two, 1, -1) * model.decision_function(X)
    short = np.maximum(0, 1 - margin)
    values = {"squared_hinge": short**2, "hinge": short}.get(loss, np.logaddexp(0, -margin))
    gram = 1
    for core in flatten(model.cores_):
        gram = gram * (core.conj().T @ core)
    expected = values.mean() + model.alpha_ * gram.sum().real
    tolerance = 3e-3 if loss == "hinge" else 1e-8  # the hinge's corner is rounded
    assert model.history_["objective"][-1] == pytest.approx(expected, rel=tolerance)


def explicit_optimum(features, y, alpha):
    """Minimum of the mean logistic loss plus alpha‖w‖² over real weights of given features."""

    def objective(w):
        margin = y * (features @ w)
        slope = -y / (1 + np.exp(margin)) / len(y)
        value = np.logaddexp(0, -margin).mean() + alpha * w @ w
        return value, features.T @ slope + 2 * alpha * w

    start = np.zeros(features.shape[1])
    return minimize(objective, start, jac=True, method="BFGS", options={"gtol": 1e-10})


def test_at_full_rank_the_logistic_fit_is_logistic_regression_on_powers():
    rng = np.random.default_rng(0)
    x = rng.uniform(size=(200, 1))
    y = np.where(np.sin(6 * x[:, 0]) + rng.normal(scale=0.4, size=200) > 0, 1, -1)
    alpha = 1e-3
    basis = Power(n_basis=4, quantization=None)
    settings = {"basis": basis, "rank": 1, "alpha": alpha, "bounds": (0, 1)}
    model = QTKMClassifier(**settings, max_iter=100, tol=1e-13, random_state=0).fit(x, y)
    features = x ** np.arange(4)
    best = explicit_optimum(features, y, alpha)
    assert model.history_["objective"][-1] == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(x), features @ best.x, atol=1e-4)
    theirs = LogisticRegression(
        C=1 / (2 * alpha * len(y)), fit_intercept=False, tol=1e-10, max_iter=1000
    ).fit(features, y)
    np.testing.assert_allclose(model.predict_proba(x), theirs.predict_proba(features), atol=1e-4)


def test_at_full_rank_the_logistic_fit_is_logistic_regression_on_sines_and_cosines():
    rng = np.random.default_rng(1)
    x = rng.uniform(size=(150, 1))
    y = np.where(np.cos(5 * x[:, 0]) + rng.normal(scale=0.4, size=150) > 0, 1, -1)
    alpha, period = 1e-3, 2.0
    settings = {"n_basis": 5, "period": period, "quantization": None, "rank": 1, "alpha": alpha}
    model = QTKMClassifier(**settings, bounds=(0, 1), max_iter=200, tol=1e-13, random_state=0)
    model.fit(x, y)
    phases = 2 * np.pi * x * np.arange(-2, 3) / period
    features = np.hstack([np.cos(phases), -np.sin(phases)])  # Re exp(i p)(u + iv)
    best = explicit_optimum(features, y, alpha)
    assert model.history_["objective"][-1] == pytest.approx(best.fun, rel=1e-8)
    np.testing.assert_allclose(model.decision_function(x), features @ best.x, atol=1e-4)


def test_at_full_rank_the_softmax_fit_is_multinomial_regression_on_powers():
    rng = np.random.default_rng(2)
    x = rng.uniform(size=(200, 1))
    y = np.digitize(x[:, 0] + rng.normal(scale=0.2, size=200), [0.3, 0.7])
    alpha = 1e-3
    basis = Power(n_basis=4, quantization=None)
    settings = {"basis": basis, "rank": 4, "alpha": alpha, "bounds": (0, 1), "init": "random"}
    model = QTKMClassifier(**settings, max_iter=2000, tol=1e-10, random_state=0).fit(x, y)
    theirs = LogisticRegression(
        C=1 / (2 * alpha * len(y)), fit_intercept=False, tol=1e-10, max_iter=5000
    ).fit(x ** np.arange(4), y)
    np.testing.assert_allclose(
        model.predict_proba(x), theirs.predict_proba(x ** np.arange(4)), atol=1e-3
    )


# -- weights ----------------------------------------------------------------------------------


@every_loss
def test_repeated_rows_equal_integer_weights_to_the_last_bit(X, three, loss):
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    order = np.random.default_rng(1).permutation(weight.sum())
    repeated = [np.repeat(a, weight, axis=0)[order] for a in (X, three)]
    by_weight, by_rows = make(loss=loss).fit(X, three, weight), make(loss=loss).fit(*repeated)
    np.testing.assert_array_equal(by_weight.decision_function(X), by_rows.decision_function(X))


@every_loss
def test_equal_rows_of_different_classes_both_count(loss):
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.array([0] * 40 + [1] * 10 + [0] * 5 + [1] * 45)
    model = QTKMClassifier(loss=loss, n_basis=2, rank=2, alpha=0, max_iter=50, random_state=0)
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict([[0.0], [1.0]]), [0, 1])
    if loss in ("logistic", "softmax"):
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.9], atol=0.01)


def test_weights_of_classes_are_weights_of_their_rows(X, three):
    by_class = {"a": 3.0, "c": 0.5}
    weight = np.array([by_class.get(label, 1.0) for label in three])
    own = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    for sample_weight, expected in ((None, weight), (own, own * weight)):
        a = make(class_weight=by_class).fit(X, three, sample_weight)
        b = make().fit(X, three, expected)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_balanced_weights_make_all_classes_equally_heavy(X, three):
    counts = {label: int((three == label).sum()) for label in "abc"}
    weights = {label: len(X) / (3 * count) for label, count in counts.items()}
    a = make(class_weight="balanced").fit(X, three)
    b = make(class_weight=weights).fit(X, three)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_balanced_weights_count_sample_weights(X, two):
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = [np.repeat(a, weight, axis=0) for a in (X, two)]
    a = make(class_weight="balanced").fit(X, two, weight)
    b = make(class_weight="balanced").fit(*repeated)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)


def test_balance_helps_the_rare_class():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + rng.normal(size=400) > 1.8).astype(int)
    plain = make(rank=2, n_basis=4).fit(X, y)
    balanced = make(rank=2, n_basis=4, class_weight="balanced").fit(X, y)
    assert balanced.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean() + 0.2


def test_a_class_without_weight_is_not_there(X, three):
    weight = (three != "b").astype(float)
    model = make().fit(X, three, weight)
    np.testing.assert_array_equal(model.classes_, ["a", "c"])
    rest = weight > 0
    expected = make().fit(X[rest], three[rest])
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


# -- validation rows --------------------------------------------------------------------------


def test_every_class_keeps_rows_to_train_on_and_gives_rows_to_validate(X):
    y = np.array(["common"] * 117 + ["rare"] * 2 + ["single"])
    settings = {"early_stopping": True, "max_iter": 1}
    for seed in range(5):
        model = make(**settings, random_state=seed, validation_fraction=0.5).fit(X, y)
        assert len(model.history_["validation_score"]) == 1
        np.testing.assert_array_equal(model.classes_, ["common", "rare", "single"])


def test_the_validation_score_is_minus_the_mean_loss_of_rows_the_fit_has_not_seen(X, two):
    settings = {"early_stopping": True, "validation_fraction": 0.25, "max_iter": 1}
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    order = np.random.RandomState(0).permutation(len(X))
    members = [order[two[order] == label] for label in (0, 1)]
    aside = np.concatenate([rows[: int(np.ceil(0.25 * len(rows)))] for rows in members])
    model = make(**settings).fit(X, two, weight)
    expected = -log_loss(two[aside], model.predict_proba(X[aside]), sample_weight=weight[aside])
    assert model.history_["validation_score"][0] == pytest.approx(expected)
    moved = two.copy()
    moved[aside[0]] = 1 - moved[aside[0]]
    assert not np.array_equal(
        make(**settings).fit(X, moved, weight).predict_proba(X), model.predict_proba(X)
    )


def test_early_stopping_keeps_the_best_epoch():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    y = X[:, 0] + rng.normal(scale=0.5, size=400) > 0.5
    settings = {"early_stopping": True, "alpha": 1e-9, "rank": 6, "tol": 0}
    model = make(**settings, max_iter=50).fit(X, y)
    scores = model.history_["validation_score"]
    best = int(np.argmax(scores)) + 1
    assert model.status_ == "stopped early"
    assert model.n_iter_ == len(scores) == best + 10
    shorter = make(**settings, max_iter=best).fit(X, y)
    np.testing.assert_array_equal(shorter.predict_proba(X), model.predict_proba(X))


def test_early_stopping_needs_two_rows_of_some_class():
    with pytest.raises(ValueError, match="leaves none of the 2 rows to validate on; use more rows"):
        make(early_stopping=True).fit([[0.0], [1.0]], [0, 1])


# -- going on ---------------------------------------------------------------------------------


def test_a_warm_start_goes_on(X, three):
    whole = make(max_iter=6, tol=0).fit(X, three)
    halves = make(max_iter=3, tol=0, warm_start=True).fit(X, three).fit(X, three)
    np.testing.assert_allclose(halves.predict_proba(X), whole.predict_proba(X), atol=1e-6)


def test_a_warm_start_may_lack_a_class_and_not_have_a_new_one(X, three):
    model = make(warm_start=True).fit(X, three)
    rest = three != "b"
    model.fit(X[rest], three[rest])
    np.testing.assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.predict_proba(X).shape == (len(X), 3)
    with pytest.raises(
        ValueError, match="cannot go on: y has the new labels 'd'; the fit has seen"
    ):
        model.fit(X, np.where(three == "b", "d", three))
    balanced = model.set_params(class_weight="balanced").fit(X[rest], three[rest])
    assert np.isfinite(balanced.decision_function(X)).all()


def test_a_model_survives_pickling(X, three):
    model = make().fit(X, three)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


# -- errors -----------------------------------------------------------------------------------

A = np.arange(12.0)


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (None, "requires y to be passed, but the target y is None"),
        (["a"] * 12, "y has one class, 'a', and QTKMClassifier needs at least two classes"),
        (A / 7, "Unknown label type: continuous"),
        (np.where(A > 5, np.nan, A), "Input y contains NaN: 6 of 12 labels are missing; leave out"),
        ([None, "b"] * 6, "Input y contains NaN: 6 of 12 labels are missing"),
        (np.where(A > 5, np.inf, 1), "Input y contains infinity"),
        ([1, "b"] * 6, "y holds int and str; make all labels text or all numbers"),
        ([(1,), (2,)] * 6, None),
        (
            np.column_stack([A > 5, A > 6]),
            r"y has the shape \(12, 2\), and QTKMClassifier takes one",
        ),
        (np.column_stack([A, A]), "one label a row; for several labels a row, fit one model a col"),
        ([["a", "b"]] * 12, "sklearn.multioutput.MultiOutputClassifier"),
        (A[:5] > 2, "X and y have inconsistent numbers of rows: 12 and 5"),
        (np.zeros((12, 1, 1)), "y should be a 1d array"),
    ],
)
def test_labels_that_make_no_sense_are_refused(y, message):
    if message is None:
        pytest.skip("a column of labels, see the test of scikit-learn")
    with pytest.raises(ValueError, match=message):
        make().fit(A[:, None], y)


def test_sparse_labels_are_refused():
    sparse = pytest.importorskip("scipy.sparse")
    with pytest.raises(ValueError, match="takes one label a row"):
        make().fit(A[:, None], sparse.csr_array(np.eye(12)))


def test_weights_that_leave_one_class_are_refused(X, two):
    with pytest.raises(ValueError, match="sample_weight leaves y one class, 1, and QTKMClassifier"):
        make().fit(X, two, two)


def test_labels_that_the_fit_has_not_seen_have_no_score(X, three):
    model = make().fit(X, three)
    with pytest.raises(
        ValueError, match="y has the labels 'z'; the fit has seen the classes 'a', "
    ):
        model.score(X, np.where(three == "a", "z", three))
    with pytest.raises(ValueError, match="y has the labels 1; the fit has seen the classes 'a', "):
        model.score(X, np.ones(len(X), dtype=int))


def test_the_score_is_the_weighted_share_of_rows(X, three):
    model = make(max_iter=1, rank=1).fit(X, three)
    weight = np.random.default_rng(0).uniform(size=len(X))
    hits = model.predict(X) == three
    assert model.score(X, three) == pytest.approx(hits.mean())
    assert model.score(X, three, weight) == pytest.approx(np.average(hits, weights=weight))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_an_unfitted_model_says_so(X, method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(make(), method)(X)


def test_a_failed_fit_leaves_the_fitted_model_as_it_was(X, two, three):
    model = make().fit(X, two)
    before = model.predict(X)
    with pytest.raises(ValueError, match="bounds"):
        model.set_params(bounds=(1, 0)).fit(X, three)
    np.testing.assert_array_equal(model.predict(X), before)


def test_objects_are_the_same_as_their_names(X, two):
    for name, loss in (
        ("hinge", Hinge()),
        ("squared_hinge", SquaredHinge()),
        ("squared", Squared()),
    ):
        a, b = make(loss=name).fit(X, two), make(loss=loss).fit(X, two)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))
