"""Ridge regression on random Fourier features equals its definition."""

import numpy as np
import pytest

from qtkm.baselines import RandomFourierRidge, baseline
from tests.baselines.oracles import ridge_prediction, unit
from tests.covering import covered

each_kind = pytest.mark.parametrize("kind", ["complex", "real"])


def features_of(model, values):
    """Features by their definition, from what was drawn."""
    angles = values @ model.frequencies_ + model.offsets_
    n_components = len(model.offsets_)
    if model.kind == "real":
        return np.sqrt(2 / n_components) * np.cos(angles)
    return np.sqrt(1 / n_components) * np.exp(1j * angles)


@covered
@each_kind
@pytest.mark.parametrize("n_components", [1, 20, 60, 200], ids="P={}".format)
@pytest.mark.parametrize("alpha", [1e-4, 1.0, 1e-9])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("block", [10, 2**22], ids=["in blocks", "at once"])
def test_it_equals_ridge_regression_on_its_features(
    X, y, new, kind, n_components, alpha, weighted, block, monkeypatch
):
    monkeypatch.setattr(baseline, "BLOCK_SIZE", block)
    weight = np.random.default_rng(3).uniform(0.1, 3, size=len(y)) if weighted else None
    model = RandomFourierRidge(n_components, kind=kind, period=2.0, alpha=alpha, random_state=0)
    model.fit(X, y, sample_weight=weight)
    found = model.predict(new)
    features, new_features = (features_of(model, unit(part, X)) for part in (X, new))
    expected = ridge_prediction(features, new_features, y, alpha, weight)
    np.testing.assert_allclose(found, expected, atol=1e-8 * np.abs(expected).max())


@covered
@each_kind
@pytest.mark.parametrize("n_components", [1, 20, 60, 200], ids="P={}".format)
@pytest.mark.parametrize("block", [10, 2**22], ids=["in blocks", "at once"])
def test_without_penalty_it_is_the_least_squares_of_least_norm(
    X, y, new, kind, n_components, block, monkeypatch
):
    monkeypatch.setattr(baseline, "BLOCK_SIZE", block)
    model = RandomFourierRidge(n_components, kind=kind, period=1.25, alpha=0, random_state=0)
    found = model.fit(X, y).predict(new)
    features, new_features = (features_of(model, unit(part, X)) for part in (X, new))
    weights = np.linalg.lstsq(features, y - y.mean(), rcond=None)[0]
    expected = y.mean() + (new_features @ weights).real
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())


@each_kind
def test_the_draws_are_uniform_on_the_band(kind):
    X = np.random.default_rng(0).uniform(size=(5, 2))
    model = RandomFourierRidge(
        20_000, kind=kind, n_basis=[16, 8], period=[2.0, 4.0], random_state=0
    ).fit(X, X[:, 0])
    edge = np.array([8.0, 2.0]) * np.pi / (2 if kind == "real" else 1)
    assert (np.abs(model.frequencies_).max(axis=1) <= edge).all()
    for drawn, low, high in [
        (model.frequencies_[0], -edge[0], edge[0]),
        (model.frequencies_[1], -edge[1], edge[1]),
        (model.offsets_, 0.0, 2 * np.pi),
    ]:
        shares = np.histogram((drawn - low) / (high - low), bins=8, range=(0, 1))[0] / 20_000
        np.testing.assert_allclose(shares, 1 / 8, atol=0.01)


@each_kind
def test_the_first_features_of_a_seed_do_not_depend_on_their_number(X, y, kind):
    few, many = (RandomFourierRidge(n, kind=kind, random_state=0).fit(X, y) for n in (5, 12))
    np.testing.assert_array_equal(few.frequencies_, many.frequencies_[:, :5])
    np.testing.assert_array_equal(few.offsets_, many.offsets_[:5])
    other = RandomFourierRidge(5, kind=kind, random_state=1).fit(X, y)
    assert not np.array_equal(few.frequencies_, other.frequencies_)


def test_several_outputs_are_fitted_each_by_itself(X, y, new):
    model = RandomFourierRidge(20, random_state=0)
    both = model.fit(X, np.column_stack([y, X[:, 0]])).predict(new)
    np.testing.assert_allclose(both[:, 0], model.fit(X, y).predict(new))
    np.testing.assert_allclose(both[:, 1], model.fit(X, X[:, 0]).predict(new))


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("n_components", 0, "n_components=0 must be an integer >= 1"),
        ("kind", "sine", "kind='sine' is unknown; use one of 'complex', 'real'"),
        ("n_basis", 0, "n_basis=0 must be an integer >= 1"),
        ("period", 0.5, "period=0.5 of column 0 is shorter"),
        ("alpha", -1, "alpha=-1 must be a finite number >= 0"),
        ("random_state", "seed", "random_state='seed' must be None, an integer"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(X, y, parameter, value, message):
    with pytest.raises(ValueError, match=message):
        RandomFourierRidge(**{parameter: value}).fit(X, y)
