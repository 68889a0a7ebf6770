"""Importances are variances over all combinations of the columns' values."""

from itertools import product

import numpy as np
import pytest

from qtkm.inspection import importances
from tests.inspection.conftest import fit, make_frame, make_target

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
    assert not found.interactions.any()


def test_interactions_are_deviations_over_all_combinations(each, few):
    X, weight = few
    found = importances(each, X, sample_weight=weight)
    sizes = [found.interactions[pair] for pair in found.pairs]
    assert sizes == sorted(sizes, reverse=True)
    response, p = cube(each, X, weight)
    for d, e in found.pairs:
        squares = (
            closed(response, p, (d, e)) - closed(response, p, (d,)) - closed(response, p, (e,))
        )
        assert found.interactions[d, e] ** 2 == pytest.approx(squares, abs=1e-8)


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
