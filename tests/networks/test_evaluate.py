"""Responses at values that lie on no grid."""

import numpy as np
import pytest

from qtkm.features import FeatureMap
from qtkm.limits import LIMITS
from qtkm.networks import CPD
from qtkm.networks.evaluate import BLOCK_WIDTH
from tests import dense
from tests.problems import make_cores, make_maps, make_objective

MIXED = [("fourier", 6, "prime"), ("categorical", 3, None), ("power", 4, 2)]
MODELS = {
    "complex": MIXED,
    "real": [("power", 6, 2), ("power", 4, None)],
    "one column": [("fourier", 8, 2)],
}


def make(columns, n_outputs=1):
    maps = make_maps(columns)
    objective = make_objective(maps, n_outputs=n_outputs, rank=3)
    cores = make_cores(objective)
    shares = [np.array([0.5, 0.3, 0.2]) if m.is_categorical else None for m in maps]
    return objective, maps, cores, objective.network.evaluator(cores, shares), shares


@pytest.mark.parametrize("columns", MODELS.values(), ids=MODELS)
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_on_grid_values_it_agrees_with_the_tables(columns, n_outputs):
    objective, maps, cores, evaluator, _ = make(columns, n_outputs)
    (shard,) = objective.shards
    values = []
    for d, column in enumerate(objective.columns):
        codes = shard.codes[:, d]
        values.append(codes if column.is_categorical else column.values[codes])
    expected = objective.at(cores).responses(shard)
    np.testing.assert_allclose(evaluator.responses(maps, values), expected, atol=1e-11)


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_off_the_grid_it_agrees_with_the_dense_weights(n_outputs):
    _, maps, cores, evaluator, _ = make(MIXED, n_outputs)
    rng = np.random.default_rng(5)
    values = [rng.uniform(-0.1, 1.1, 30), rng.integers(3, size=30), rng.uniform(-0.1, 1.1, 30)]
    phi = np.ones((30, 1))
    for feature_map, column in zip(maps, values, strict=True):
        features = dense.features(feature_map, column)
        phi = (phi[:, :, None] * features[:, None, :]).reshape(30, -1)
    expected = phi @ dense.weights(cores)
    np.testing.assert_allclose(evaluator.responses(maps, values), expected, atol=1e-11)


def test_an_unknown_category_contributes_the_mean_row_of_the_core():
    _, maps, cores, evaluator, shares = make(MIXED)
    x, z = np.array([0.3, 0.3]), np.array([0.8, 0.8])
    unknown, known = evaluator.responses(maps, [x, np.array([-1, 2]), z])[:, 0]
    with_neutral = dense.replace(cores, 1, 0, np.vstack([cores[1][0][:2], shares[1] @ cores[1][0]]))
    expected = CPD().evaluator(with_neutral, shares).responses(maps, [x, np.array([2, 2]), z])[0, 0]
    assert unknown == pytest.approx(expected, rel=1e-13)
    assert abs(known - unknown) > 1e-3


def test_an_unknown_category_has_the_mean_of_the_responses_by_the_shares():
    _, maps, _, evaluator, _ = make(MIXED, n_outputs=2)
    ones = np.ones(4)
    responses = evaluator.responses(maps, [0.4 * ones, np.array([0, 1, 2, -1]), 0.7 * ones])
    np.testing.assert_allclose(responses[3], [0.5, 0.3, 0.2] @ responses[:3], rtol=1e-12)


def test_no_rows_have_no_responses():
    _, maps, _, evaluator, _ = make(MIXED, n_outputs=2)
    empty = [np.empty(0), np.empty(0, dtype=np.int64), np.empty(0)]
    assert evaluator.responses(maps, empty).shape == (0, 2)


class Steps(FeatureMap):
    """A user's own functions, which have frequencies and jumps."""

    is_complex = True
    radices = (2, 2)
    frequencies = np.arange(4.0)

    def factors(self, values):
        return np.exp(1j * np.floor(np.multiply.outer(values, [1, 3, 5, 7])))


@pytest.mark.parametrize("columns", [MIXED, MODELS["one column"], [Steps(), ("fourier", 9, 3)]])
@pytest.mark.parametrize("n_outputs", [1, 3])
def test_many_rows_have_the_responses_of_few(columns, n_outputs, monkeypatch):
    _, maps, _, evaluator, _ = make(columns, n_outputs)
    rng = np.random.default_rng(5)
    values = [
        rng.integers(-1, 3, 500) if m.is_categorical else rng.uniform(-0.05, 1.05, 500)
        for m in maps
    ]
    for column in values:  # the ends of the box, and what lies beyond them
        column[:4] = [0, 1, 0, 1]
    expected = evaluator.responses(maps, values)
    monkeypatch.setattr(LIMITS, "predict_rows", 100)
    found = evaluator.responses(maps, values)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())


@pytest.mark.parametrize("n_outputs", [1, 2])
def test_components_of_real_functions_are_evaluated_as_such(n_outputs, monkeypatch):
    maps = make_maps([("fourier", 9, None), ("fourier", 27, None), ("categorical", 3, None)])
    rng = np.random.default_rng(6)
    n_real, n_complex = BLOCK_WIDTH + 10, 5  # more than one block of sections of a kernel

    def drawn(*shape):
        return rng.standard_normal(shape) + 1j * rng.standard_normal(shape)

    cores = []
    for size, m in zip((9, 27, 3), maps, strict=True):
        values = rng.integers(0, 3, n_real) if m.is_categorical else rng.uniform(size=n_real)
        sections = m.features(values).conj().T
        cores.append([np.concatenate([sections, drawn(size, n_complex)], axis=1)])
    if n_outputs > 1:
        cores.append(drawn(n_outputs, n_real + n_complex))
    shares = [None, None, np.array([0.5, 0.3, 0.2])]
    evaluator = CPD(n_real + n_complex).evaluator(cores, shares)
    values = [rng.uniform(size=400), rng.uniform(size=400), rng.integers(-1, 3, 400)]
    expected = evaluator.responses(maps, values)
    monkeypatch.setattr(LIMITS, "predict_rows", 100)
    found = evaluator.responses(maps, values)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-9 * np.abs(expected).max())
    assert [is_real for *_, is_real in evaluator._known[-1]] == [False, True, True]
