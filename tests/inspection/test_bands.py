"""Bands of effects, and displays of how sure predictions are."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from qtkm import QTKMRegressor
from qtkm.inspection import CoverageDisplay, MainEffectDisplay, ResidualsDisplay, effects
from qtkm.inspection import interaction as find_interaction
from qtkm.inspection import main_effects as find_main_effects
from qtkm.objective.posterior import Posterior


@pytest.fixture(scope="module")
def rows():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(200, 3))
    X[:, 0] **= 3  # few rows at the upper end
    return X, np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(200)


@pytest.fixture(scope="module")
def model(rows):
    return QTKMRegressor(
        main_effects=True, penalty="matern", n_basis=9, quantization=[3, 3], period=2.0, rank=2,
        alpha=1e-4, random_state=0, max_iter=8,
    ).fit(*rows)  # fmt: skip


def test_bands_are_those_of_samples_of_the_model(model, rows):
    """The deviation of partial dependence is that of means of samples of the posterior."""
    X, _ = rows
    X = X[:30]
    (effect,) = find_main_effects(model, X, [0], grid={0: [0.1, 0.9]}, std=True)
    moved = np.concatenate([np.column_stack([np.full(30, v), X[:, 1:]]) for v in (0.1, 0.9)] + [X])
    factors = model._directions(moved)[:, 0].reshape(3, 30, -1).mean(axis=1)
    expected = np.linalg.norm(factors[:2] - factors[2], axis=1)
    np.testing.assert_allclose(effect.std, expected, rtol=1e-6)
    assert effect.std[1] > effect.std[0]
    assert "std" in effect._table()


def test_interactions_have_deviations_that_vanish_at_means(model, rows):
    found = find_interaction(model, rows[0], (1, 2), n_grid=5, std=True)
    assert found.std.shape == found.effect.shape
    assert np.isfinite(found.std).all()
    assert found.std[2, 2] < found.std[0, 0]


def test_bands_of_many_values_take_little_memory(model, rows, monkeypatch):
    seen, directions = [], Posterior.directions

    def count(self, maps, values):
        seen.append(len(values[0]))
        return directions(self, maps, values)

    monkeypatch.setattr(Posterior, "directions", count)
    grid = np.linspace(0, 1, 600)
    (effect,) = find_main_effects(model, rows[0], [0], grid={0: grid}, std=True)
    assert max(seen) <= effects.VALUES * effects.ROWS
    (part,) = find_main_effects(model, rows[0], [0], grid={0: grid[::7]}, std=True)
    np.testing.assert_allclose(effect.std[::7], part.std, rtol=1e-9)


def test_displays_draw_bands_intervals_and_calibration(model, rows):
    X, y = rows
    display = MainEffectDisplay.from_estimator(model, X, 0)
    assert display.ax_.collections
    assert "band: 2 standard deviations" in display.notes
    display = ResidualsDisplay.from_estimator(model, X, y, interval=0.9)
    assert display.interval.shape == (200, 2)
    display = CoverageDisplay.from_estimator(model, X, y)
    assert (np.diff(display.covered) >= 0).all()
    assert 0.8 < display.covered[-2] <= 1  # training rows within intervals of 90 %
    plt.close("all")
