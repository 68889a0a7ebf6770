"""What a fitted regressor holds, and what it predicts."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from qtkm.networks import flatten


def test_cores_have_the_layout_that_is_documented(make, X, y):
    model = make(n_basis=[8, 24, 5], rank=4).fit(X, y)
    shapes = [[core.shape for core in column] for column in model.cores_]
    assert shapes == [[(2, 4)] * 3, [(2, 4)] * 3 + [(3, 4)], [(5, 4)]]
    assert all(core.dtype == np.complex128 for core in flatten(model.cores_))


def test_parameters_are_counted_as_the_paper_does(make, X, y):
    model = make(n_basis=8, rank=4).fit(X, y)
    n_cores = 9
    assert model.n_parameters_ == n_cores * 2 * 4
    assert model.n_real_parameters_ == 2 * model.n_parameters_
    assert model.vc_bound_ == pytest.approx(2 * model.n_parameters_ * np.log2(12 * n_cores))


def test_real_features_have_real_cores(make, X, y):
    model = make(basis="power").fit(X, y)
    assert all(core.dtype == np.float64 for core in flatten(model.cores_))
    assert model.n_real_parameters_ == model.n_parameters_


def test_one_complex_column_makes_all_cores_complex(make, X, y):
    model = make(basis=["power", "fourier", "power"]).fit(X, y)
    assert all(np.iscomplexobj(core) for core in flatten(model.cores_))
    assert model.score(X, y) > 0.9


def test_the_history_has_every_update_and_every_epoch(make, X, y):
    model = make(tol=0, max_iter=5).fit(X, y)
    history, n_cores = model.history_, 9
    assert set(history) == {"objective_updates", "objective", "seconds", "validation_score"}
    assert model.n_iter_ == 5
    assert len(history["objective_updates"]) == 5 * n_cores
    assert history["objective"] == history["objective_updates"][n_cores - 1 :: n_cores]
    assert np.all(np.diff(history["seconds"]) > 0)
    assert history["validation_score"] == []


@pytest.mark.parametrize("residual", ["complex", "real"])
@pytest.mark.parametrize("basis", ["fourier", "power"])
def test_the_objective_never_rises(make, X, y, basis, residual):
    model = make(basis=basis, residual=residual, tol=0).fit(X, y)
    updates = np.array(model.history_["objective_updates"])
    assert np.all(np.diff(updates) <= 1e-12 * updates[0])


def test_predictions_are_the_real_part_of_the_documented_formula(make, X, y):
    model = make(n_basis=6, period=1.5, rank=2).fit(X, y)
    low, high = X.min(axis=0), X.max(axis=0)
    terms = 1
    for d, unit in enumerate(((X - low) / (high - low)).T):
        terms = terms * np.exp(-2j * np.pi * unit * 3 / 1.5)[:, None]
        weight = 1
        for core in model.cores_[d]:
            digits = np.arange(len(core)) * weight
            terms = terms * (np.exp(2j * np.pi * unit[:, None] * digits / 1.5) @ core)
            weight *= len(core)
    expected = y.mean() + y.std() * terms.sum(axis=1).real
    np.testing.assert_allclose(model.predict(X), expected, atol=1e-10)


def test_the_final_objective_is_that_of_the_cores(make, X, y):
    model = make(residual="real").fit(X, y)
    gram = 1
    for core in flatten(model.cores_):
        gram = gram * (core.conj().T @ core)
    error = (model.predict(X) - y) / y.std()
    objective = np.mean(error**2) + model.alpha_ * gram.sum().real
    assert objective == pytest.approx(model.history_["objective"][-1], rel=1e-8)


def test_several_outputs_share_a_model(make, X, y):
    Y = np.column_stack([y, X[:, 0] ** 2, np.full(len(y), 3.0)])
    model = make(rank=6, max_iter=20).fit(X, Y)
    assert model.cores_[-1].shape == (3, 6)
    assert len(model.cores_) == 4
    prediction = model.predict(X)
    assert prediction.shape == Y.shape
    assert model.score(X, Y) > 0.95
    np.testing.assert_allclose(prediction[:, 2], 3.0)
    assert model.n_parameters_ == 9 * 2 * 6 + 3 * 6


def test_a_matrix_of_one_column_is_the_vector(make, X, y):
    vector, matrix = make().fit(X, y), make().fit(X, y[:, None])
    assert vector.predict(X).shape == (len(y),)
    assert matrix.predict(X).shape == (len(y), 1)
    np.testing.assert_array_equal(vector.predict(X), matrix.predict(X)[:, 0])


def test_targets_are_scaled_back(make, X, y):
    plain, scaled = make().fit(X, y), make().fit(X, 1024 * y)
    np.testing.assert_array_equal(1024 * plain.predict(X), scaled.predict(X))


def test_without_normalization_targets_are_used_as_given(make, X, y):
    scaled = make(normalize_y=True).fit(X, (y - y.mean()) / y.std())
    given = make(normalize_y=False).fit(X, (y - y.mean()) / y.std())
    np.testing.assert_allclose(given.predict(X), scaled.predict(X), atol=1e-8)
    shrunk = make(normalize_y=False, alpha=1e3).fit(X, y + 100)
    assert np.abs(shrunk.predict(X)).max() < 50


def test_repeated_rows_equal_integer_weights_to_the_last_bit(make, X, y):
    weight = np.random.default_rng(0).integers(0, 4, size=len(y))
    order = np.random.default_rng(1).permutation(weight.sum())
    repeated = [np.repeat(a, weight, axis=0)[order] for a in (X, y)]
    by_weight, by_rows = make().fit(X, y, weight), make().fit(*repeated)
    np.testing.assert_array_equal(by_weight.predict(X), by_rows.predict(X))


def test_rows_of_no_weight_are_not_there(make, X, y):
    weight = np.ones(len(y))
    X_more, y_more = np.vstack([X, [[99, -99, 0]]]), np.append(y, 1e6)
    with_them = make().fit(X_more, y_more, np.append(weight, 0))
    np.testing.assert_array_equal(with_them.predict(X), make().fit(X, y).predict(X))
    assert with_them.columns_[0]["bounds"] == (X[:, 0].min(), X[:, 0].max())


@pytest.mark.parametrize("scale", [2.0**-40, 4.0, 1e300, 1e-310])
def test_the_scale_of_the_weights_does_not_matter(make, X, y, scale):
    weight = np.random.default_rng(0).uniform(1, 2, size=len(y))
    plain, scaled = make().fit(X, y, weight), make().fit(X, y, weight * scale)
    np.testing.assert_allclose(plain.predict(X), scaled.predict(X), atol=1e-4)


def test_a_heavy_row_is_fitted_more_closely(make, X, y):
    y = np.where(np.arange(len(y)) == 7, y + 3, y)
    weight = np.where(np.arange(len(y)) == 7, 1000.0, 1.0)
    light, heavy = make(rank=1).fit(X, y), make(rank=1).fit(X, y, weight)
    assert abs(heavy.predict(X)[7] - y[7]) < 0.1 * abs(light.predict(X)[7] - y[7])


def test_an_unfitted_model_says_so(model, X):
    with pytest.raises(NotFittedError, match="not fitted yet"):
        model.predict(X)


def test_settings_of_the_paper_use_data_as_given(make, X, y):
    unit = (X + 1) / 3
    settings = {"bounds": (0, 1), "extrapolation": "continue", "normalize_y": False}
    model = make(**settings, init="random", basis="power", quantization=None).fit(unit, y)
    terms = 1
    for d in range(3):
        terms = terms * (unit[:, [d]] ** np.arange(8) @ model.cores_[d][0])
    np.testing.assert_allclose(model.predict(unit), terms.sum(axis=1), atol=1e-10)
