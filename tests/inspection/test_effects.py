"""Effects are means of predictions."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.inspection import partial_dependence

from qtkm import QTKMRegressor
from qtkm.inspection import interaction, main_effects
from tests.inspection.oracles import decide, dependence

NEAR = {"rtol": 1e-8, "atol": 1e-8}


def test_main_effects_are_means_of_predictions(each, X):
    for effect in main_effects(each, X, n_grid=7):
        expected = [dependence(each, X, {effect.name: v}) for v in effect.values]
        np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)
        assert effect.mean == pytest.approx(each.predict(X).mean(), rel=1e-10)
        np.testing.assert_allclose(effect.effect, expected - each.predict(X).mean(), **NEAR)


def test_scikit_learn_finds_the_same_by_brute_force(cpd, X):
    brute = partial_dependence(cpd, X, ["b"], method="brute", grid_resolution=9)
    values = brute["grid_values"][0]
    (effect,) = main_effects(cpd, X, "b", grid={"b": values})
    np.testing.assert_allclose(effect.partial_dependence, brute["average"][0], **NEAR)


def test_weights_count_rows(each, X, weight):
    (effect,) = main_effects(each, X, "a", n_grid=4, sample_weight=weight)
    expected = [dependence(each, X, {"a": v}, weight) for v in effect.values]
    np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)


@pytest.mark.parametrize("pair", [("a", "b"), ("b", "kind"), ("kind", "a")])
def test_interactions_are_what_main_effects_leave(each, X, weight, pair):
    found = interaction(each, X, pair, n_grid=4, sample_weight=weight)
    both = np.array([
        [dependence(each, X, {pair[0]: u, pair[1]: v}, weight) for v in found.values[1]]
        for u in found.values[0]
    ])  # fmt: skip
    np.testing.assert_allclose(found.partial_dependence, both, **NEAR)
    alone = [
        np.array([dependence(each, X, {name: v}, weight) for v in values])
        for name, values in zip(pair, found.values, strict=True)
    ]
    mean = np.average(each.predict(X), weights=weight)
    expected = both - alone[0][:, None] - alone[1][None, :] + mean
    np.testing.assert_allclose(found.effect, expected, **NEAR)


def test_two_columns_have_nothing_around_them(model, X, y):
    from tests.inspection.conftest import fit

    pair = X[["a", "b"]]
    network = getattr(model.network_, "network", model.network_)
    two = fit(pair, y, type(network)(rank=2), rank="auto")
    found = interaction(two, pair, (1, 0), n_grid=3)
    expected = [[dependence(two, pair, {"b": u, "a": v}) for v in found.values[1]]
                for u in found.values[0]]  # fmt: skip
    np.testing.assert_allclose(found.partial_dependence, expected, **NEAR)


def test_outputs_are_inspected_one_by_one(outputs, X):
    for output in (0, 1):
        (effect,) = main_effects(outputs, X, ["kind"], output=output)
        expected = [
            dependence(outputs, X, {"kind": v}, respond=lambda m, Z, k=output: m.predict(Z)[:, k])
            for v in effect.values
        ]
        np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)


def test_effects_of_two_classes_are_of_the_decision_function(two_classes, X):
    (effect,) = main_effects(two_classes, X, ["a"], n_grid=4)
    expected = [dependence(two_classes, X, {"a": v}) for v in effect.values]
    np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)
    assert "yes" in effect.response


def test_the_first_of_two_classes_turns_the_sign(two_classes, X):
    (effect,) = main_effects(two_classes, X, ["a"], n_grid=4)
    (turned,) = main_effects(two_classes, X, ["a"], n_grid=4, output="no")
    (named,) = main_effects(two_classes, X, ["a"], n_grid=4, output="yes")
    np.testing.assert_allclose(turned.effect, -effect.effect, rtol=1e-12, atol=1e-12)
    assert turned.mean == pytest.approx(-effect.mean)
    assert "no" in turned.response
    np.testing.assert_array_equal(named.effect, effect.effect)


def test_effects_of_a_class_are_log_odds_against_the_rest(three_classes, X):
    (effect,) = main_effects(three_classes, X, ["a"], n_grid=4, output=2)
    column = three_classes.classes_.tolist().index(2)

    def log_odds(model, Z):
        decisions = decide(model, Z)
        others = np.delete(decisions, column, axis=1)
        return decisions[:, column] - others.mean(axis=1)

    expected = [dependence(three_classes, X, {"a": v}, respond=log_odds) for v in effect.values]
    np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)
    assert effect.response == "log-odds of 2 against the rest"


def test_blocks_of_rows_make_no_difference(cpd, X, monkeypatch):
    whole = main_effects(cpd, X, "a", n_grid=5)[0]
    monkeypatch.setattr("qtkm.inspection.response.BLOCK_NUMBERS", 1)
    np.testing.assert_allclose(
        main_effects(cpd, X, "a", n_grid=5)[0].partial_dependence,
        whole.partial_dependence,
        rtol=1e-12,
    )


def test_a_power_basis_is_served(power, X):
    (effect,) = main_effects(power, X, "a", n_grid=5)
    expected = [dependence(power, X, {"a": v}) for v in effect.values]
    np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)


def test_few_numbers_are_looked_at_as_they_are(cpd, X):
    rows = X.assign(a=np.resize([0.5, -0.5, 1.0], len(X)))
    assert main_effects(cpd, rows, "a")[0].values.tolist() == [-0.5, 0.5, 1.0]
    assert main_effects(cpd, X, "kind")[0].values.tolist() == ["long", "mid", "short"]


def test_a_category_that_was_never_seen_is_neutral(cpd, X):
    (effect,) = main_effects(cpd, X, "kind", grid={"kind": ["mid", "never seen"]})
    expected = [dependence(cpd, X, {"kind": v}) for v in effect.values]
    np.testing.assert_allclose(effect.partial_dependence, expected, **NEAR)


# -- errors -----------------------------------------------------------------------------------


def test_unknown_columns_are_named(cpd, X):
    with pytest.raises(ValueError, match=r"no column 'c'; use one of 'a', 'b', 'kind'"):
        main_effects(cpd, X, ["c"])
    with pytest.raises(ValueError, match="no column 3"):
        interaction(cpd, X, (0, 3))
    with pytest.raises(ValueError, match="two different columns"):
        interaction(cpd, X, ("a", "a"))


def test_a_model_must_be_fitted(X):
    with pytest.raises(NotFittedError):
        main_effects(QTKMRegressor(), X)


def test_other_networks_are_refused_by_name(tucker, X):
    with pytest.raises(ValueError, match="Tucker, but inspection supports only CPD, TensorTrain"):
        main_effects(tucker, X[["a", "b"]])


def test_an_output_must_be_chosen_among_several(outputs, three_classes, two_classes, X):
    with pytest.raises(
        ValueError, match=r"output=None is not an output of the model; use one of 0, 1"
    ):
        main_effects(outputs, X)
    with pytest.raises(
        ValueError, match=r"output=7 is not a class of the model; use one of 0, 1, 2"
    ):
        main_effects(three_classes, X, output=7)
    with pytest.raises(ValueError, match="output='maybe' is not a class of the model; use one of"):
        main_effects(two_classes, X, output="maybe")
