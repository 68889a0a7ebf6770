"""What a fitted classifier holds, and what it predicts."""

import pickle

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from qtkm import Hinge, Logistic, QTKMClassifier, Softmax, Squared, SquaredHinge

LOSSES = ["logistic", "softmax", "squared_hinge", "hinge", "squared"]
every_loss = pytest.mark.parametrize("loss", LOSSES)


@every_loss
def test_two_classes_are_told_apart_by_a_sign(classify, X, two, loss):
    model = classify(loss=loss).fit(X, two)
    decision = model.decision_function(X)
    assert decision.shape == (len(X),)
    np.testing.assert_array_equal(model.classes_, [0, 1])
    np.testing.assert_array_equal(model.predict(X), (decision > 0).astype(int))
    assert model.score(X, two) > 0.9


@every_loss
def test_of_many_classes_the_largest_response_wins(classify, X, three, loss):
    model = classify(loss=loss).fit(X, three)
    decision = model.decision_function(X)
    assert decision.shape == (len(X), 3)
    assert model.cores_[-1].shape == (3, 3)
    np.testing.assert_array_equal(model.classes_, ["a", "b", "c"])
    np.testing.assert_array_equal(model.predict(X), model.classes_[decision.argmax(axis=1)])
    assert model.score(X, three) > 0.85


def test_of_many_classes_logistic_means_softmax_and_an_object_is_taken_as_it_is(
    classify, X, two, three
):
    assert isinstance(classify(loss="logistic").fit(X, two).loss_, Logistic)
    assert isinstance(classify(loss="logistic").fit(X, three).loss_, Softmax)
    one_vs_rest = classify(loss=Logistic()).fit(X, three)
    assert isinstance(one_vs_rest.loss_, Logistic)
    np.testing.assert_allclose(one_vs_rest.predict_proba(X).sum(axis=1), 1)


def test_softmax_of_two_classes_has_two_outputs_whose_difference_decides(classify, X, two):
    model = classify(loss="softmax").fit(X, two)
    assert model.cores_[-1].shape == (2, 3)
    odds = np.diff(model.predict_log_proba(X), axis=1)[:, 0]
    np.testing.assert_allclose(model.decision_function(X), odds, atol=1e-8)


def test_many_columns_may_be_categories(classify, X, two):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"kind": np.where(two, "u", "v"), "x": X[:, 0]})
    model = classify(categorical_features=["kind"]).fit(frame, two)
    assert model.score(frame, two) == 1
    assert list(model.feature_names_in_) == ["kind", "x"]


@pytest.mark.filterwarnings("ignore:Constant columns", "ignore:X has one row")
def test_the_rank_grows_with_the_number_of_classes():
    X, y = load_digits(return_X_y=True)
    model = QTKMClassifier(max_iter=2, penalty="ridge", posterior=False, random_state=0)
    model.fit(X[::4], y[::4])
    assert model.rank_ == 20
    assert model.score(X[1::4], y[1::4]) > 0.85


# -- probabilities ----------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "softmax", Logistic()])
def test_probabilities_add_up_to_one_and_agree_with_the_prediction(classify, X, two, three, loss):
    for y in (two, three):
        model = classify(loss=loss).fit(X, y)
        probabilities = model.predict_proba(X)
        assert probabilities.shape == (len(X), len(np.unique(y)))
        assert (probabilities >= 0).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
        np.testing.assert_array_equal(model.classes_[probabilities.argmax(1)], model.predict(X))
        np.testing.assert_allclose(model.predict_log_proba(X), np.log(probabilities))


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "squared", Hinge(0.1)])
def test_losses_without_probabilities_have_no_method_for_them(classify, X, two, loss):
    model = classify(loss=loss).fit(X, two)
    for method in ("predict_proba", "predict_log_proba"):
        assert not hasattr(model, method)
        with pytest.raises(AttributeError) as caught:
            getattr(model, method)
        assert "has no probabilities; use one of 'logistic', 'softmax'" in str(
            caught.value.__cause__
        )


def test_a_probability_too_small_for_a_number_has_a_logarithm_without_a_warning(classify, X, two):
    model = classify().fit(X, two)
    model.cores_[0][0] *= 1e4
    assert (model.predict_log_proba(X) == -np.inf).any()


# -- validation rows --------------------------------------------------------------------------


def test_every_class_keeps_rows_to_train_on_and_gives_rows_to_validate(classify, X):
    y = np.array(["common"] * 117 + ["rare"] * 2 + ["single"])
    settings = {"early_stopping": True, "max_iter": 1}
    for seed in range(5):
        model = classify(**settings, random_state=seed, validation_fraction=0.5).fit(X, y)
        assert len(model.history_["validation_score"]) == 1
        np.testing.assert_array_equal(model.classes_, ["common", "rare", "single"])


def test_the_validation_score_is_minus_the_mean_loss_of_rows_the_fit_has_not_seen(classify, X, two):
    settings = {
        "loss": Logistic("real"),
        "early_stopping": True,
        "validation_fraction": 0.25,
        "max_iter": 1,
    }
    weight = np.random.default_rng(0).uniform(0.5, 2, size=len(X))
    order = np.random.RandomState(0).permutation(len(X))
    members = [order[two[order] == label] for label in (0, 1)]
    aside = np.concatenate([rows[: int(np.ceil(0.25 * len(rows)))] for rows in members])
    model = classify(**settings).fit(X, two, weight)
    expected = -log_loss(two[aside], model.predict_proba(X[aside]), sample_weight=weight[aside])
    assert model.history_["validation_score"][0] == pytest.approx(expected)
    weight[aside] *= 2
    np.testing.assert_array_equal(
        classify(**settings).fit(X, two, weight).predict_proba(X), model.predict_proba(X)
    )


def test_early_stopping_keeps_the_best_epoch(classify):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(400, 3))
    y = X[:, 0] + rng.normal(scale=0.5, size=400) > 0.5
    settings = {"early_stopping": True, "alpha": 1e-9, "rank": 6, "tol": 0}
    model = classify(**settings, max_iter=50).fit(X, y)
    scores = model.history_["validation_score"]
    best = int(np.argmax(scores)) + 1
    assert model.status_ == "stopped early"
    assert model.n_iter_ == len(scores) == best + 10
    shorter = classify(**settings, max_iter=best).fit(X, y)
    np.testing.assert_array_equal(shorter.predict_proba(X), model.predict_proba(X))


def test_early_stopping_needs_two_rows_of_some_class(classify):
    with pytest.raises(ValueError, match="leaves none of the 2 rows to validate on; use more rows"):
        classify(early_stopping=True).fit([[0.0], [1.0]], [0, 1])


# -- going on ---------------------------------------------------------------------------------


def test_a_warm_start_goes_on(classify, X, three):
    whole = classify(max_iter=6, tol=0).fit(X, three)
    halves = classify(max_iter=3, tol=0, warm_start=True).fit(X, three).fit(X, three)
    np.testing.assert_allclose(halves.predict_proba(X), whole.predict_proba(X), atol=1e-6)


def test_a_warm_start_may_lack_a_class_and_not_have_a_new_one(classify, X, three):
    model = classify(warm_start=True).fit(X, three)
    rest = three != "b"
    model.fit(X[rest], three[rest])
    np.testing.assert_array_equal(model.classes_, ["a", "b", "c"])
    assert model.predict_proba(X).shape == (len(X), 3)
    with pytest.raises(ValueError, match="y has the new labels 'd'; the classes of the fit"):
        model.fit(X, np.where(three == "b", "d", three))
    balanced = model.set_params(class_weight="balanced").fit(X[rest], three[rest])
    assert np.isfinite(balanced.decision_function(X)).all()


def test_a_model_survives_pickling(classify, X, three):
    model = classify().fit(X, three)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_score_is_the_weighted_share_of_rows(classify, X, three):
    model = classify(max_iter=1, rank=1).fit(X, three)
    weight = np.random.default_rng(0).uniform(size=len(X))
    hits = model.predict(X) == three
    assert model.score(X, three) == pytest.approx(hits.mean())
    assert model.score(X, three, weight) == pytest.approx(np.average(hits, weights=weight))


@pytest.mark.parametrize("method", ["predict", "predict_proba", "decision_function"])
def test_an_unfitted_model_says_so(classify, X, method):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        getattr(classify(), method)(X)


def test_a_failed_fit_leaves_the_fitted_model_as_it_was(classify, X, two, three):
    model = classify().fit(X, two)
    before = model.predict(X)
    with pytest.raises(ValueError, match="bounds"):
        model.set_params(bounds=(1, 0)).fit(X, three)
    np.testing.assert_array_equal(model.predict(X), before)


def test_objects_are_the_same_as_their_names(classify, X, two):
    for loss in (Hinge(), SquaredHinge(), Squared()):
        name = {Hinge: "hinge", SquaredHinge: "squared_hinge"}.get(type(loss), "squared")
        a, b = classify(loss=name).fit(X, two), classify(loss=loss).fit(X, two)
        np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X))


@pytest.mark.parametrize("wrong", ["rnk", "residual", "prediction_margin", "normalize_y"])
def test_a_parameter_that_it_does_not_have_is_a_type_error(wrong):
    with pytest.raises(TypeError, match=rf"QTKMClassifier.*unexpected keyword argument '{wrong}'"):
        QTKMClassifier(**{wrong: 1})
    with pytest.raises(TypeError, match=r"QTKMClassifier.*too many positional arguments"):
        QTKMClassifier("power", 4)
