"""The summary of a fitted model fits on one screen and tells what was learned."""

import copy

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from qtkm import QTKMRegressor
from tests.inspection.conftest import fit


def test_a_summary_tells_columns_network_and_fit(model):
    text = model.summary()
    assert text.startswith("QTKMRegressor: 3 columns, 1 output\n")
    network = getattr(model.network_, "network", model.network_)
    assert f"{type(network).__name__}: " in text
    assert ("main effects of 3 columns" in text) == model.network_.has_main_effects
    n_main = sum(core.size for core in model.cores_[-1]) if model.network_.has_main_effects else 0
    assert f"P = {model.n_parameters_ - n_main:,} parameters" in text
    assert f"alpha {model.alpha_:.3g}" in text
    assert "6 Fourier functions, period 2" in text
    assert "kind  3 categories" in text
    assert f"{model.n_iter_} epochs in " in text
    assert model.status_ in text


def test_a_summary_of_a_classifier_names_its_classes(three_classes):
    assert "3 classes (0, 1, 2)" in three_classes.summary()


def test_a_summary_serves_every_network(tucker):
    assert "Tucker: " in tucker.summary()


def test_a_summary_tells_the_best_validation_score(X, y):
    model = fit(X, y, early_stopping=True)
    scores = model.history_["validation_score"]
    best = f"best score {max(scores):.4g} after epoch {np.argmax(scores) + 1}"
    assert best in model.summary()


@pytest.mark.parametrize("network", ["cpd", "train"])
def test_many_columns_still_fit_on_a_screen(network, X):
    many = np.random.default_rng(0).uniform(size=(50, 40))
    names = {d: f"a rather long name of a column, number {d}" for d in range(40)}
    frame = X.__class__(many).rename(columns=names)
    lines = fit(frame, many[:, 0], network, n_basis=64, max_iter=1).summary().splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 88


def test_only_a_fitted_model_has_a_summary():
    with pytest.raises(NotFittedError):
        QTKMRegressor().summary()


def test_a_model_without_a_history_has_a_summary(cpd):
    bare = copy.copy(cpd)
    bare.history_ = {}
    assert "after the first epoch" not in bare.summary()
    assert "after the first epoch" in cpd.summary()
    assert bare.status_ in bare.summary()
