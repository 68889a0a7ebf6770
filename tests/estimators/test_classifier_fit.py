"""What the fit of a classifier minimises, and how weights take part."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from qtkm import Hinge, Logistic, Power, QTKMClassifier, Softmax, Squared, SquaredHinge
from qtkm.networks import flatten
from tests.covering import covered

LOSSES = ["logistic", "softmax", "squared_hinge", "hinge", "squared"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


@covered
@pytest.mark.parametrize("labels", ["two", "three"])
@pytest.mark.parametrize("basis", ["fourier", "power"])
@pytest.mark.parametrize(
    "loss",
    [
        *LOSSES,
        Hinge(0),
        Hinge(0.5),
        Squared("real"),
        Logistic(),
        Logistic("real"),
        Softmax("real"),
        SquaredHinge("real"),
    ],
)
def test_the_objective_never_rises(classify, X, labels, loss, basis, request):
    y = request.getfixturevalue(labels)
    model = classify(loss=loss, basis=basis, tol=0, max_iter=8, alpha=1e-5).fit(X, y)
    objective = np.array(model.history_["objective"])
    assert len(objective) == 8
    assert np.all(np.diff(objective) <= 1e-12 * objective[0])
    assert objective[-1] < 0.9 * objective[0]


def response(model, X):
    """Complex response from the documented formula, for n_basis=8 and period=2."""
    low, high = X.min(axis=0), X.max(axis=0)
    terms = 1
    for cores, unit in zip(model.cores_, ((X - low) / (high - low)).T, strict=False):
        terms = terms * np.exp(-2j * np.pi * unit * 4 / 2)[:, None]
        for weight, core in zip((1, 2, 4), cores, strict=True):
            terms = terms * (np.exp(np.pi * 1j * unit[:, None] * [0, weight]) @ core)
    outputs = model.cores_[3:] or [np.ones((1, model.rank_))]
    return terms @ outputs[0].T


@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize(("kind", "half"), [(Logistic, 1 / 8), (Softmax, 1 / 4), (SquaredHinge, 1)])
def test_the_objective_is_mean_loss_plus_penalties(classify, X, two, kind, half, residual):
    model = classify(loss=kind(residual)).fit(X, two)
    margin = np.where(two, 1, -1) * model.decision_function(X)
    values = np.logaddexp(0, -margin)
    if kind is SquaredHinge:
        values = np.maximum(0, 1 - margin) ** 2
    if residual == "complex":
        values += half * (response(model, X).imag ** 2).sum(axis=1)
    gram = 1
    for core in flatten(model.cores_):
        gram = gram * (core.conj().T @ core)
    expected = values.mean() + model.alpha_ * gram.sum().real
    assert model.history_["objective"][-1] == pytest.approx(expected, rel=1e-8)


def test_a_name_stands_for_the_loss_of_the_complex_response(classify, X, two):
    by_name, by_object = classify().fit(X, two), classify(loss=Logistic("complex")).fit(X, two)
    np.testing.assert_array_equal(by_name.decision_function(X), by_object.decision_function(X))
    real = classify(loss=Logistic("real")).fit(X, two)
    assert np.abs(response(real, X).imag).mean() > 3 * np.abs(response(by_name, X).imag).mean()


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
    settings = {"penalty": "ridge", "basis": basis, "rank": 1, "alpha": alpha, "bounds": (0, 1)}
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
    settings = {"penalty": "ridge", "n_basis": 5, "period": period, "quantization": None,
                "rank": 1, "alpha": alpha}  # fmt: skip
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
    settings = {
        "penalty": "ridge",
        "basis": basis,
        "rank": 4,
        "alpha": alpha,
        "bounds": (0, 1),
        "init": "random",
    }
    model = QTKMClassifier(**settings, max_iter=2000, tol=1e-10, random_state=0).fit(x, y)
    theirs = LogisticRegression(
        C=1 / (2 * alpha * len(y)), fit_intercept=False, tol=1e-10, max_iter=5000
    ).fit(x ** np.arange(4), y)
    np.testing.assert_allclose(
        model.predict_proba(x), theirs.predict_proba(x ** np.arange(4)), atol=1e-3
    )


# -- weights ----------------------------------------------------------------------------------


@every_loss
def test_repeated_rows_equal_integer_weights_to_the_last_bit(classify, X, three, loss):
    weight = np.random.default_rng(0).integers(0, 4, size=len(X))
    order = np.random.default_rng(1).permutation(weight.sum())
    repeated = [np.repeat(a, weight, axis=0)[order] for a in (X, three)]
    by_weight, by_rows = (
        classify(loss=loss).fit(X, three, weight),
        classify(loss=loss).fit(*repeated),
    )
    np.testing.assert_array_equal(by_weight.decision_function(X), by_rows.decision_function(X))


@every_loss
def test_equal_rows_of_different_classes_both_count(loss):
    X = np.repeat([[0.0], [1.0]], 50, axis=0)
    y = np.array([0] * 40 + [1] * 10 + [0] * 5 + [1] * 45)
    model = QTKMClassifier(
        loss=loss, n_basis=2, rank=2, alpha=0, max_iter=150, tol=1e-9, random_state=0
    )
    model.fit(X, y)
    np.testing.assert_array_equal(model.predict([[0.0], [1.0]]), [0, 1])
    if loss in ("logistic", "softmax"):
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]])[:, 1], [0.2, 0.9], atol=0.01)


def test_weights_of_classes_are_weights_of_their_rows(classify, X, three):
    by_class = {"a": 3.0, "c": 0.5}
    weight = np.array([by_class.get(label, 1.0) for label in three])
    own = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    for sample_weight, expected in ((None, weight), (own, own * weight)):
        a = classify(class_weight=by_class).fit(X, three, sample_weight)
        b = classify().fit(X, three, expected)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_balanced_weights_make_all_classes_equally_heavy(classify, X, three):
    counts = {label: int((three == label).sum()) for label in "abc"}
    weights = {label: len(X) / (3 * count) for label, count in counts.items()}
    a = classify(class_weight="balanced").fit(X, three)
    b = classify(class_weight=weights).fit(X, three)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


def test_balanced_weights_count_sample_weights(classify, X, two):
    weight = np.random.default_rng(0).integers(0, 3, size=len(X))
    repeated = [np.repeat(a, weight, axis=0) for a in (X, two)]
    a = classify(class_weight="balanced").fit(X, two, weight)
    b = classify(class_weight="balanced").fit(*repeated)
    np.testing.assert_allclose(a.decision_function(X), b.decision_function(X), atol=1e-6)


def test_balance_helps_the_rare_class(classify):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = (X[:, 0] + rng.normal(size=400) > 1.8).astype(int)
    plain = classify(rank=2, n_basis=4).fit(X, y)
    balanced = classify(rank=2, n_basis=4, class_weight="balanced").fit(X, y)
    assert balanced.predict(X)[y == 1].mean() > plain.predict(X)[y == 1].mean() + 0.2


def test_a_class_without_weight_is_not_there(classify, X, three):
    weight = (three != "b").astype(float)
    model = classify().fit(X, three, weight)
    np.testing.assert_array_equal(model.classes_, ["a", "c"])
    rest = weight > 0
    expected = classify().fit(X[rest], three[rest])
    np.testing.assert_array_equal(model.decision_function(X), expected.decision_function(X))


def test_main_effects_converge_with_either_residual():
    rng = np.random.RandomState(0)
    X = rng.rand(400, 3)
    y = np.sin(6 * X[:, 0]) + X[:, 1] + 0.3 * rng.randn(400) > 0.8
    losses = []
    for residual in ("complex", "real"):  # responses are real, so both losses are the same
        model = QTKMClassifier(loss=Logistic(residual), rank=0, posterior=False).fit(X, y)
        losses.append(log_loss(y, model.predict_proba(X)))
    assert losses[1] < 1.05 * losses[0] < 0.25
