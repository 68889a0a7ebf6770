"""Kernel ridge regression is ridge regression on all products of the features."""

import numpy as np
import pytest

from qtkm import CPD, Fourier, Power, QTKMRegressor
from qtkm.baselines import ProductKernelRidge, baseline
from qtkm.penalties import REGISTRY, Matern, Ridge
from tests.baselines.oracles import explicit_features, ridge_prediction, unit
from tests.covering import covered
from tests.problems import make_cores, make_map, make_objective, make_penalty

CASES = [
    # columns, settings, maps
    (1, {"n_basis": 16, "period": 1.25}, [Fourier(16, 1.25)]),
    (1, {"n_basis": 300, "period": 2.0}, [Fourier(300, 2.0)]),
    (2, {"n_basis": 7, "period": 3.0}, [Fourier(7, 3.0)] * 2),
    (2, {"basis": "power", "n_basis": 9}, [Power(9)] * 2),
    (3, {"n_basis": 6, "period": 1.5}, [Fourier(6, 1.5)] * 3),
    (3, {"basis": "power", "n_basis": 5}, [Power(5)] * 3),
    (
        3,
        {"basis": ["fourier", Power(3), "fourier"], "n_basis": "auto", "period": [2, 2, 4]},
        [Fourier(4, 2.0), Power(3), Fourier(4, 4.0)],
    ),
]


@covered
@pytest.mark.parametrize(("n_columns", "settings", "maps"), CASES)
@pytest.mark.parametrize("alpha", [1e-3, 10.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_it_equals_ridge_regression_on_explicit_features(
    X, y, new, n_columns, settings, maps, alpha, weighted
):
    X, new = X[:, :n_columns], new[:, :n_columns]
    weight = np.random.default_rng(3).uniform(0.1, 3, size=len(y)) if weighted else None
    model = ProductKernelRidge(alpha=alpha, **settings).fit(X, y, sample_weight=weight)
    features, new_features = (explicit_features(maps, unit(part, X)) for part in (X, new))
    expected = ridge_prediction(features, new_features, y, alpha, weight)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-8)


def test_the_dual_coefficients_solve_the_complex_system(X, y):
    model = ProductKernelRidge(n_basis=4, period=2.0, alpha=0.01).fit(X, y)
    features = explicit_features([Fourier(4, 2.0)] * 3, unit(X, X)) / 8  # κ = 64
    kernel = features.conj() @ features.T
    scaled = (y - y.mean()) / y.std()
    shifted = kernel + len(y) * 0.01 / 64 * np.eye(len(y))
    np.testing.assert_allclose(shifted @ model.dual_coef_[:, 0], scaled, atol=1e-10)


@covered
@pytest.mark.parametrize(
    ("n_columns", "settings", "maps"),
    [
        (1, {"n_basis": 16, "period": 2.0}, [Fourier(16, 2.0)]),
        (2, {"n_basis": 7, "period": 3.0}, [Fourier(7, 3.0)] * 2),
        (2, {"basis": "power", "n_basis": 9}, [Power(9)] * 2),
        (2, {"basis": ["fourier", "power"], "n_basis": [6, 3], "period": 2.0},
         [Fourier(6, 2.0), Power(3)]),
    ],
)  # fmt: skip
@pytest.mark.parametrize("penalty", [*REGISTRY, "one each"])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_penalty_is_ridge_regression_on_features_times_the_roots_of_their_variances(
    X, y, new, n_columns, settings, maps, penalty, alpha, weighted
):
    X, new = X[:, :n_columns], new[:, :n_columns]
    weight = np.random.default_rng(3).uniform(0.1, 3, size=len(y)) if weighted else None
    given = [Matern(0.5, 0.2, 0.9), Ridge()][:n_columns]
    given = given if penalty == "one each" else make_penalty(penalty)
    model = ProductKernelRidge(alpha=alpha, penalty=given, **settings)
    model.fit(X, y, sample_weight=weight)
    root = np.ones(1)
    for d, each in enumerate(maps):
        own = given[d] if isinstance(given, list) else given
        variances = own.variances(each.frequencies)
        root = np.kron(root, np.ones(each.n_features) if variances is None else np.sqrt(variances))
    features, new_features = (root * explicit_features(maps, unit(part, X)) for part in (X, new))
    expected = ridge_prediction(features, new_features, y, alpha, weight)
    np.testing.assert_allclose(model.predict(new), expected, atol=1e-8)


@pytest.mark.parametrize("penalty", REGISTRY)
@pytest.mark.parametrize("basis", ["fourier", "power"])
@pytest.mark.parametrize("network", ["cpd", "train"])
def test_one_update_of_a_full_rank_network_is_kernel_ridge_with_the_same_prior(
    penalty, basis, network
):
    """Whatever the first core, if it spans everything, the second can be anything."""
    maps, own = [make_map(basis, 3, None), make_map(basis, 4, None)], make_penalty(penalty)
    objective = make_objective(
        maps, penalty=own, network=network, rank=3, alpha=0.05, n_values=[30, 30]
    )
    iterate = objective.at(make_cores(objective))
    objective.update(iterate, 1)
    (shard,) = objective.shards
    X = np.column_stack([c.values[shard.codes[:, d]] for d, c in enumerate(objective.columns)])
    model = ProductKernelRidge(
        maps, alpha=0.05, penalty=own, bounds=(0, 1), normalize_y=False, n_basis="auto"
    ).fit(X, shard.target[:, 0])
    found = iterate.responses(shard)[:, 0].real
    np.testing.assert_allclose(found, model.predict(X), atol=1e-8)


def test_a_network_of_full_rank_comes_to_the_same_predictions(X, y, new):
    X, new = X[:, :2], new[:, :2]
    settings = {"n_basis": 3, "period": 2.0, "alpha": 0.01}
    network = QTKMRegressor(
        network=CPD(3),
        penalty="ridge",
        quantization=None,
        max_iter=300,
        tol=0,
        random_state=0,
        **settings,
    ).fit(X, y)
    model = ProductKernelRidge(**settings).fit(X, y)
    np.testing.assert_allclose(network.predict(new), model.predict(new), atol=1e-5)


def test_without_penalty_it_is_the_least_squares_of_least_norm(X, y, new):
    model = ProductKernelRidge(n_basis=4, period=1.0, alpha=0).fit(X[:, :2], y)
    maps = [Fourier(4, 1.0)] * 2
    features, new_features = (
        explicit_features(maps, unit(part[:, :2], X[:, :2])) for part in (X, new)
    )
    weights = np.linalg.lstsq(features, y - y.mean(), rcond=None)[0]
    expected = y.mean() + (new_features @ weights).real
    np.testing.assert_allclose(model.predict(new[:, :2]), expected, atol=1e-8)


def test_without_penalty_and_with_more_features_than_rows_it_interpolates(X, y):
    model = ProductKernelRidge(n_basis=8, period=1.25, alpha=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-7)


def test_the_scale_of_the_target_makes_no_difference_and_its_mean_does(X, y, new):
    model = ProductKernelRidge(period=3.0, alpha=1.0)
    expected = model.fit(X, y).predict(new)
    np.testing.assert_allclose(model.fit(X, 100 * y).predict(new), 100 * expected)
    np.testing.assert_allclose(model.fit(X, y - 7).predict(new), expected - 7)
    plain = ProductKernelRidge(period=3.0, alpha=1e6, normalize_y=False)
    assert np.abs(plain.fit(X, y).predict(new)).max() < y.min() / 2
    np.testing.assert_allclose(
        plain.fit(X, y - y.mean()).predict(new),
        plain.set_params(normalize_y=True).fit(X, y).predict(new) - y.mean(),
        atol=1e-10,
    )


def test_several_outputs_are_fitted_each_by_itself(X, y, new):
    model = ProductKernelRidge(period=3.0)
    both = model.fit(X, np.column_stack([y, X[:, 0]])).predict(new)
    np.testing.assert_allclose(both[:, 0], model.fit(X, y).predict(new))
    np.testing.assert_allclose(both[:, 1], model.fit(X, X[:, 0]).predict(new))


def test_blocks_change_no_prediction(X, y, new, monkeypatch):
    expected = ProductKernelRidge(period=3.0).fit(X, y).predict(new)
    monkeypatch.setattr(baseline, "BLOCK_SIZE", 7 * len(X))
    found = ProductKernelRidge(period=3.0).fit(X, y).predict(new)
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_more_rows_than_allowed_are_refused(X, y):
    with pytest.raises(ValueError, match=r"X has 60 rows, .*GB.* raise max_rows=50 .* QTKMRegres"):
        ProductKernelRidge(max_rows=50).fit(X, y)


@pytest.mark.parametrize(
    ("parameter", "value", "message"),
    [
        ("max_rows", 0, "max_rows=0 must be an integer >= 1"),
        ("basis", "wavelet", "basis='wavelet' is unknown"),
        ("n_basis", 0, "column 0: n_basis=0 must be an integer >= 1"),
        ("n_basis", [4, 4], "n_basis has 2 entries, but X has 3 columns"),
        ("period", 0.5, "period=0.5 of column 0 is shorter"),
        ("alpha", -1, "alpha=-1 must be a finite number >= 0"),
        ("bounds", (1, 0), r"bounds of column 0 are \(1, 0\); low must be below high"),
        ("extrapolation", "wrap", "extrapolation='wrap' is unknown"),
        ("normalize_y", "yes", "normalize_y='yes' must be True or False"),
        ("penalty", "lasso", "penalty='lasso' is unknown; use a name .*'ridge', 'matern'"),
        ("penalty", ["ridge"], "penalty has 1 entries, but X has 3 columns"),
        ("penalty", Matern(share=2.0), "share=2.0 of column 0 must be a number > 0 and <= 1"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_refused(X, y, parameter, value, message):
    with pytest.raises(ValueError, match=message):
        ProductKernelRidge(**{parameter: value}).fit(X, y)


def test_values_far_outside_of_the_box(X, y):
    far = X.copy()
    far[0] = 1e60
    model = ProductKernelRidge("power", extrapolation="continue", bounds=(-1, 2))
    with pytest.raises(ValueError, match=r"The kernel overflows.*widen the bounds, or use"):
        model.fit(far, y)
    with pytest.raises(ValueError, match=r"overflows in 1 places.*use 'clip'"):
        model.fit(X, y).predict(far)
    assert np.isfinite(model.set_params(extrapolation="clip").fit(X, y).predict(far)).all()
