"""Importances are variances over all combinations of the columns' values."""

from itertools import product

import numpy as np
import pytest

from qtkm.inspection import importances, interaction_strengths, main_effects
from tests.inspection.conftest import fit, make_frame, make_target
from tests.inspection.oracles import dependence

NAMES = ["a", "b", "kind"]


@pytest.fixture(scope="module")
def few():
    """Rows of few distinct values, with weights."""
    X = make_frame(9)
    return X, np.random.default_rng(0).uniform(0.5, 2, len(X))


def cube(model, X, weight):
    """Responses at all combinations of the rows' values, and each column's weights."""
    n = len(X)
    rows = np.array(list(product(range(n), repeat=3)))
    columns = {name: X[name].to_numpy()[rows[:, d]] for d, name in enumerate(NAMES)}
    response = model.predict(X.__class__(columns)).reshape(n, n, n)
    return response, weight / weight.sum()


def closed(response, p, kept):
    """Variance of the mean response given some of the columns."""
    mean = response
    for axis in sorted(set(range(3)) - set(kept), reverse=True):
        mean = np.tensordot(mean, p, (axis, 0))
    joint = np.ones(())
    for _ in kept:
        joint = np.multiply.outer(joint, p)
    centre = np.sum(joint * mean)
    return np.sum(joint * (mean - centre) ** 2)


def test_sobol_indices_are_those_of_all_combinations(each, few):
    X, weight = few
    response, p = cube(each, X, weight)
    found = importances(each, X, sample_weight=weight)
    variance = closed(response, p, (0, 1, 2))
    assert found.variance == pytest.approx(variance, rel=1e-8)
    for d in range(3):
        others = tuple(e for e in range(3) if e != d)
        first = closed(response, p, (d,))
        assert found.first_order[d] == pytest.approx(first / variance, rel=1e-8)
        total = 1 - closed(response, p, others) / variance
        assert found.total[d] == pytest.approx(total, abs=1e-8)
        for e in others:
            second = closed(response, p, (d, e)) - first - closed(response, p, (e,))
            assert found.second_order[d, e] == pytest.approx(second / variance, abs=1e-8)


def test_main_variance_is_that_of_the_main_effect_over_the_rows(each, X, weight):
    found = importances(each, X, sample_weight=weight)
    for d, name in enumerate(NAMES):
        values = X[name].to_numpy()
        (effect,) = main_effects(each, X, name, grid={name: values}, sample_weight=weight)
        mean = np.average(effect.effect, weights=weight)
        expected = np.average((effect.effect - mean) ** 2, weights=weight)
        assert found.main_variance[d] == pytest.approx(expected, rel=1e-8)


def test_shares_of_an_additive_model_add_up_to_one(X):
    model = fit(X[["a", "b"]], X["a"] + X["b"] ** 2, rank=4, max_iter=40, alpha=1e-7)
    found = importances(model, X[["a", "b"]])
    assert found.first_order.sum() == pytest.approx(1, abs=0.02)
    np.testing.assert_allclose(found.total, found.first_order, atol=0.02)
    assert found.second_order[0, 1] < 0.02


def test_a_constant_response_has_no_shares(X):
    found = importances(fit(X, np.full(len(X), 3.0)), X)
    assert found.variance == 0
    assert not found.total.any()
    strengths = interaction_strengths(fit(X, np.full(len(X), 3.0)), X)
    assert not strengths.h.any()


def test_friedmans_h_is_that_of_brute_partial_dependence(each, few):
    X, weight = few
    found = interaction_strengths(each, X, sample_weight=weight)

    def centred(*names):
        values = [
            dependence(each, X, {name: X[name].iloc[n] for name in names}, weight)
            for n in range(len(X))
        ]
        return values - np.average(values, weights=weight)

    for d, e in [(0, 1), (0, 2), (1, 2)]:
        both = centred(NAMES[d], NAMES[e])
        beyond = both - centred(NAMES[d]) - centred(NAMES[e])
        expected = np.sqrt(weight @ beyond**2 / (weight @ both**2))
        assert found.h[d, e] == found.h[e, d] == pytest.approx(expected, abs=1e-8)
        rms = np.sqrt(np.average(beyond**2, weights=weight))
        assert found.size[d, e] == pytest.approx(rms, abs=1e-8)


def test_outputs_have_shares_of_their_own(outputs, X):
    first, second = (importances(outputs, X, output=k) for k in (0, 1))
    # the second output is a function of b alone, the first one is not
    assert second.total[1] > 0.9
    assert first.total[1] < second.total[1]
    assert second.response == "response of output 1"


def test_the_target_of_these_tests_has_interactions(cpd, X):
    # or the oracles above would compare zeros
    assert np.ptp(make_target(X)) > 1
    assert importances(cpd, X).second_order.max() > 0.05


def test_shares_of_many_terms_are_averages_near_the_exact_ones(cpd, X, monkeypatch):
    exact = importances(cpd, X)
    monkeypatch.setattr("qtkm.inspection.importance.MOST_TERMS", 2)
    monkeypatch.setattr("qtkm.inspection.importance.SAMPLES", 4000)
    found = importances(cpd, X)
    for name in ("first_order", "total", "second_order"):
        np.testing.assert_allclose(getattr(found, name), getattr(exact, name), atol=0.08)
    assert found.variance == pytest.approx(exact.variance, rel=0.08)
