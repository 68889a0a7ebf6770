"""The posterior against Gaussian processes, and what must hold of any posterior."""

import numpy as np
import pytest

from qtkm import QTKMClassifier, QTKMRegressor, features, networks
from qtkm.networks.tangents import ChainTangents
from qtkm.objective import posterior
from qtkm.penalties import Matern

PRIOR = Matern(1.5, 0.4, 0.9)


def data(n_rows=50, n_columns=1, seed=0):
    rng = np.random.RandomState(seed)
    X = rng.uniform(size=(n_rows, n_columns))
    return X, np.sin(5 * X[:, 0]) * X[:, -1] + 0.1 * rng.standard_normal(n_rows)


def fitted(X, y, sample_weight=None, **parameters):
    given = {
        "n_basis": 5, "period": 2.0, "quantization": None, "alpha": 1e-3, "max_iter": 200,
        "tol": 0, "max_bins": None, "penalty": PRIOR, "random_state": 0, "scaling": "range",
        "main_effects": False, "prediction_margin": None,
    }  # fmt: skip
    return QTKMRegressor(**(given | parameters)).fit(X, y, sample_weight)


def weighted_features(model, X):
    """All products of the columns' functions times the roots of their prior variances."""
    whole = np.ones((len(X), 1))
    for d, column in enumerate(model.columns_):
        low, high = column["bounds"]
        found = column["basis"].features((X[:, d] - low) / (high - low))
        found = found * np.sqrt(PRIOR.variances(column["basis"].frequencies))
        whole = (whole[:, :, None] * found[:, None]).reshape(len(X), -1)
    return whole


@pytest.mark.parametrize(
    ("network", "rank", "n_columns", "residual"),
    [("cpd", 1, 1, "complex"), ("cpd", 1, 1, "real"), ("cpd", 9, 2, "complex"),
     ("train", 5, 2, "complex"), ("ring", 3, 2, "complex")],
)  # fmt: skip
def test_full_rank_is_a_gaussian_process(network, rank, n_columns, residual):
    X, y = data(50, n_columns)
    model = fitted(X, y, network=network, rank=rank, residual=residual)
    new = 0.1 + 0.8 * np.random.RandomState(1).uniform(size=(6, n_columns))
    rows, others = weighted_features(model, X), weighted_features(model, new)
    noise = model.alpha_ * len(y)  # in units of the signal
    known = (rows @ rows.conj().T).real
    inverse = np.linalg.inv(known + noise * np.eye(len(y)))
    cross, own = (others @ rows.conj().T).real, (others @ others.conj().T).real
    mean, size = y.mean(), y.std()
    freedom = np.trace(known @ inverse)
    sigma = np.sum((y - model.predict(X)) ** 2) / (len(y) - freedom)
    covariance = sigma / noise * (own - cross @ inverse @ cross.T) + sigma * np.eye(len(new))
    prediction, found = model.predict(new, return_cov=True)
    np.testing.assert_allclose(prediction, mean + cross @ inverse @ (y - mean), atol=1e-8 * size)
    np.testing.assert_allclose(found, covariance, atol=1e-8 * sigma)
    np.testing.assert_allclose(model.predict(new, return_std=True)[1] ** 2, np.diag(found))
    np.testing.assert_allclose(model.effective_parameters_, freedom, atol=1e-6)


@pytest.mark.parametrize("n_outputs", [1, 2])
@pytest.mark.parametrize(
    "network", [networks.CPD(3), networks.TensorTrain(3), networks.TensorRing(2)]
)
def test_tangents_are_derivatives_of_the_weights(network, n_outputs):
    rng = np.random.RandomState(0)
    maps = [features.Fourier(6, 2.0, [3, 2]), features.Fourier(3, 2.0, None)]
    maps.append(features.Categorical(3))
    radices = [feature_map.radices for feature_map in maps]
    shapes = network.shapes(radices, n_outputs)

    def draw(shape):
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    cores = [[draw(s) for s in e] if isinstance(e, list) else draw(e) for e in shapes]
    precisions = [rng.uniform(1, 2, 6), None, rng.uniform(1, 2, 3)]
    prior = np.einsum("a,c,e->ace", precisions[0], np.ones(3), precisions[2]).ravel()
    gram = ChainTangents(network, cores, precisions, [False] * 3).gram()
    moves, place = [], 0
    flat = networks.flatten(cores)
    base = network.dense(cores, radices)
    for place, core in enumerate(flat):
        elements = network.algebra.elements(core)
        for index in np.ndindex(*elements.shape):
            unit = np.zeros_like(elements)
            unit[index] = 1
            moved = [*flat[:place], core + network.algebra.core(unit), *flat[place + 1 :]]
            moves.append(network.dense(networks.unflatten(cores, moved), radices) - base)
    jacobian = np.array(moves)
    expected = np.einsum("pmk,m,qmk->pq", jacobian.conj(), prior, jacobian)
    np.testing.assert_allclose(gram, expected, atol=1e-10 * np.abs(expected).max())


DEFAULTS = {
    "main_effects": True, "penalty": "matern", "scaling": "half", "n_basis": 9,
    "quantization": [3, 3], "period": 2.0, "random_state": 0, "rank": 2, "alpha": 1e-4,
    "max_iter": 10,
}  # fmt: skip


def test_scale_of_the_target_scales_deviations():
    X, y = data(80, 3)
    first, second = (QTKMRegressor(**DEFAULTS).fit(X, c * y) for c in (1.0, -1000.0))
    _, one = first.predict(X, return_std=True)
    _, other = second.predict(X, return_std=True)
    np.testing.assert_allclose(other, 1000 * one, rtol=1e-6)


def test_rows_repeated_are_rows_of_weight_two():
    X, y = data(60, 2)
    once = fitted(X, y, rank=3, max_iter=100)
    twice = fitted(np.repeat(X, 2, axis=0), np.repeat(y, 2), rank=3, max_iter=100)
    weighted = fitted(X, y, np.full(60, 2.0), rank=3, max_iter=100)
    results = [model.predict(X, return_std=True)[1] for model in (twice, weighted)]
    np.testing.assert_allclose(*results, rtol=1e-10)

    def part(model):
        return (model.predict(X, return_std=True)[1] / model.noise_) ** 2 - 1

    # alpha is relative to the mean loss, so that the prior counts twice as well
    np.testing.assert_allclose(part(twice), part(once) / 2, rtol=1e-6)


@pytest.mark.parametrize("n_columns", [1, 2])
def test_a_hole_in_the_data_is_seen(n_columns):
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(300, n_columns))
    X = X[(np.abs(X - 0.5) > 0.2).any(axis=1)]
    y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, -1]) + 0.05 * rng.standard_normal(len(X))
    more = {"rank": 8, "n_basis": 27, "quantization": [9, 3], "main_effects": n_columns == 1}
    model = QTKMRegressor(**DEFAULTS | more).fit(X, y)
    at = np.vstack([np.full((1, n_columns), 0.5), X[(np.abs(X - 0.5) < 0.4).all(axis=1)]])
    deviation = model.predict(at, return_std=True)[1] ** 2 - model.noise_**2
    assert deviation[0] > 4 * np.median(deviation[1:])


def test_deviations_grow_up_to_those_of_the_prior():
    X, y = data(40)
    X = X / 4  # a quarter of the box holds data
    model = fitted(X, y, rank=1, bounds=(0, 1), n_basis=9)
    new = np.linspace(0, 1, 30)[:, None]
    part = model.predict(new, return_std=True)[1] ** 2 - model.noise_**2
    prior = model.noise_**2 / (model.alpha_ * len(y))  # times k(x, x) = 1
    assert part[new[:, 0] < 0.2].max() < 0.1 * part.max() < part.max() <= prior * (1 + 1e-8)


def test_deviations_are_positive_and_finite_whatever_the_columns():
    rng = np.random.RandomState(0)
    X = np.column_stack([rng.uniform(size=60), rng.randint(3, size=60)])
    y = np.column_stack([X[:, 0] + X[:, 1], X[:, 0] * X[:, 1]]) + 0.1 * rng.standard_normal((60, 2))
    new = np.array([[0.5, 1], [40.0, 2], [-40.0, 7]])  # outside of the box, an unknown category
    for more in ({}, {"basis": "power", "alpha": 0.0}, {"network": "train"}, {"rank": 0}):
        model = QTKMRegressor(**DEFAULTS | {"categorical_features": [1]} | more).fit(X, y)
        prediction, deviation = model.predict(new, return_std=True)
        assert prediction.shape == deviation.shape == (3, 2)
        assert np.isfinite(deviation).all()
        assert (deviation > 0).all()
        drawn = model.sample_y(new, 400, random_state=0)
        assert drawn.shape == (3, 2, 400)
        np.testing.assert_allclose(drawn.std(axis=2), deviation, rtol=0.2)
        assert model.predict_interval(new).shape == (3, 2, 2)


def test_many_parameters_are_close_to_all():
    """Thin factors and few terms change variances by no more than chance."""
    X, y = data(300, 4)
    many = DEFAULTS | {"n_basis": 27, "quantization": [9, 3], "rank": 16, "max_iter": 4}
    model = QTKMRegressor(**many).fit(X, y)
    exact = model._uncertainty.posterior
    assert exact.chain.shape[1] < exact.chain.shape[0]
    thin = model.predict(X, return_cov=True)[1]
    deviation = model.predict(X, return_std=True)[1]
    np.testing.assert_allclose(np.sqrt(np.diag(thin)), deviation, rtol=1e-4)


def test_rows_left_out_one_by_one_are_groups_of_one():
    rng = np.random.RandomState(0)
    features, weight = rng.standard_normal((30, 5)), rng.uniform(0.5, 2, 30)
    whole = np.eye(5) + (features * weight[:, None]).T @ features
    half = np.linalg.solve(np.linalg.cholesky(whole), features.T).T
    alone = [
        f @ np.linalg.solve(whole - w * np.outer(f, f), f)
        for f, w in zip(features, weight, strict=True)
    ]
    assert posterior._ratio(half, weight, np.array(alone)[:, None]) == pytest.approx(1)


def test_classes_are_less_sure_where_there_are_no_rows():
    rng = np.random.RandomState(0)
    X = np.concatenate([rng.normal(size=(60, 2)) + 3, rng.normal(size=(60, 2)) - 3])
    y = np.repeat(["a", "b"], 60)
    model = QTKMClassifier(rank=2, alpha=1e-2, random_state=0, n_basis=5, period=2.0).fit(X, y)
    plain, averaged = (model.predict_proba(X, average=flag) for flag in (False, True))
    np.testing.assert_allclose(averaged.sum(axis=1), 1)
    assert (np.abs(averaged - 0.5) <= np.abs(plain - 0.5) + 1e-12).all()
    ends = model.predict_interval(X, 0.8)
    assert ends.shape == (120, 2, 2)
    assert (ends[..., 0] <= plain).all()
    assert (plain <= ends[..., 1]).all()
    y = np.digitize(X[:, 0], [-3, 3])
    model = QTKMClassifier(rank=3, alpha=1e-2, random_state=0, n_basis=5, period=2.0).fit(X, y)
    averaged = model.predict_proba(X, average=True)
    np.testing.assert_allclose(averaged.sum(axis=1), 1)
    assert model.predict_interval(X).shape == (120, 3, 2)


def test_what_has_no_posterior_says_why():
    X, y = data(40, 2)
    model = QTKMRegressor(**DEFAULTS | {"posterior": False}).fit(X, y)
    with pytest.raises(ValueError, match="posterior=False"):
        model.predict(X, return_std=True)
    assert not hasattr(model, "noise_")
    model = QTKMRegressor(loss="huber", rank=1, alpha=1e-2, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="huber"):
        model.predict_interval(X)
    model = QTKMRegressor(network="tucker", rank=2, alpha=1e-2, max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="tucker"):
        model.sample_y(X)
    model = QTKMRegressor(**DEFAULTS).fit(X, y)
    with pytest.raises(ValueError, match="held-out rows"):
        model.predict_interval(X, method="conformal")
    with pytest.raises(ValueError, match="between 0 and 1"):
        model.predict_interval(X, 95)
    with pytest.raises(ValueError, match="cannot both be True"):
        model.predict(X, return_std=True, return_cov=True)
