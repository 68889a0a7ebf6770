"""Contributions are Shapley values, and add up to the prediction."""

from itertools import permutations

import numpy as np
import pytest

from qtkm.inspection import ExplanationDisplay, explain
from tests.inspection.oracles import decide

pytestmark = pytest.mark.usefixtures("close_figures")
NAMES = ["a", "b", "kind"]


def given(model, row, known, X, weight, respond=decide):
    """Mean response with some columns of a row, all others independent: every combination."""
    grids = [range(len(X)) if name not in known else [None] for name in NAMES]
    places = np.array(np.meshgrid(*[[-1] if g == [None] else g for g in grids], indexing="ij"))
    places = places.reshape(3, -1)
    columns = {
        name: np.where(place < 0, row[name], X[name].to_numpy()[place])
        for name, place in zip(NAMES, places, strict=True)
    }
    p = np.prod([np.where(place < 0, 1.0, weight[place]) for place in places], axis=0)
    frame = X.__class__(columns).astype({"a": float, "b": float})
    return p @ respond(model, frame)


def brute_shapley(model, row, X, weight, respond=decide):
    gains = {name: [] for name in NAMES}
    for order in permutations(NAMES):
        for n, name in enumerate(order):
            after, before = (given(model, row, order[:k], X, weight, respond) for k in (n + 1, n))
            gains[name].append(after - before)
    return np.array([np.mean(gains[name]) for name in NAMES])


def test_contributions_are_shapley_values_and_add_up(each, X):
    background, weight = X[:7], np.arange(1.0, 8) / 28
    found = explain(each, X, background, sample_weight=weight)
    for n in (0, 5):
        expected = brute_shapley(each, X.iloc[n], background, weight)
        np.testing.assert_allclose(found.contributions[n], expected, atol=1e-9)
        base = given(each, X.iloc[n], (), background, weight)
        assert found.base == pytest.approx(base, rel=1e-10)
    total = found.base + found.contributions.sum(axis=1)
    np.testing.assert_allclose(total, each.predict(X), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(found.prediction, total, rtol=1e-10, atol=1e-10)


def test_contributions_of_many_columns_add_up(X):
    from tests.inspection.conftest import fit

    rng = np.random.default_rng(0)
    many = X.__class__(rng.uniform(size=(40, 31))).rename(columns=lambda d: f"x{d}")
    model = fit(many, many["x0"] * many["x1"], n_basis=4, main_effects=True)
    found = explain(model, many, many)
    total = found.base + found.contributions.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(many), rtol=1e-10, atol=1e-10)


def test_contributions_to_a_class_are_in_log_odds(three_classes, two_classes, X):
    found = explain(three_classes, X, X, output=1)
    decisions = three_classes.decision_function(X)
    expected = decisions[:, 1] - decisions[:, [0, 2]].mean(axis=1)
    np.testing.assert_allclose(found.base + found.contributions.sum(axis=1), expected, atol=1e-9)
    found = explain(two_classes, X, X)
    total = found.base + found.contributions.sum(axis=1)
    np.testing.assert_allclose(total, two_classes.decision_function(X), atol=1e-9)
    assert found.response == "log-odds of yes"


def test_an_explanation_is_a_frame_and_a_drawing(cpd, X, monkeypatch):
    frame = explain(cpd, X[:2], X).to_frame()
    assert frame.columns.tolist() == ["row", "column", "value", "contribution"]
    assert frame["value"].tolist()[2] == X["kind"].iloc[0]
    monkeypatch.setattr("qtkm.inspection.displays.MOST_PARTS", 1)
    display = ExplanationDisplay.from_estimator(cpd, X, X, row=4)
    ticks = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert ticks[-1] == "2 others"
    widths = [bar.get_width() for bar in display.ax_.containers[0]]
    found = display.explanation
    assert sum(widths) == pytest.approx(found.prediction[0] - found.base)
    assert found.prediction[0] == pytest.approx(cpd.predict(X)[4])


@pytest.mark.parametrize("main_effects", [False, True])
def test_gaps_and_pooled_categories_are_explained_and_drawn(X, y, main_effects):
    from qtkm.inspection import importances, largest_coefficients
    from qtkm.inspection import main_effects as effects_of
    from tests.inspection.conftest import fit

    gaps = X.assign(b=X["b"].where(X.index % 4 > 0), kind=X["kind"].where(X.index % 5 > 0))
    model = fit(gaps, y, penalty="matern", n_basis=[9, 9, 1], quantization=3,
                main_effects=main_effects)  # fmt: skip
    found = explain(model, gaps, gaps)
    total = found.base + found.contributions.sum(axis=1)
    np.testing.assert_allclose(total, model.predict(gaps), rtol=1e-10, atol=1e-10)
    assert np.isfinite(importances(model, gaps).total).all()
    for effect in effects_of(model, gaps):
        assert np.isfinite(effect.effect).all()
    assert any("b missing or not" in label for label in largest_coefficients(model, 200).labels)
