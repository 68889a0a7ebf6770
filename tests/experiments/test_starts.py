"""Starts: drawn as the estimator draws them, and the same function quantized or not."""

import numpy as np

from qtkm import QTKMRegressor
from qtkm.experiments.runs import quantized_start, unquantized
from qtkm.networks import CPD

RADICES = [(2, 2, 3), (3, 2), (4,)]
SIZES = [(12,), (6,), (4,)]


def test_both_starts_have_the_same_weights():
    start = quantized_start(RADICES, rank=3, seed=1)
    merged = unquantized(start)
    assert [[core.shape for core in levels] for levels in merged] == [[(12, 3)], [(6, 3)], [(4, 3)]]
    np.testing.assert_allclose(
        CPD(3).dense(merged, SIZES), CPD(3).dense(start, RADICES), atol=1e-15
    )


def test_both_starts_have_the_same_responses():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    start = quantized_start([(2, 2, 2)] * 2, 4, seed=3)

    def responses(init, quantization):
        # a fit always updates, so the cores of a fitted model are put back to the start
        model = QTKMRegressor(
            n_basis=8, quantization=quantization, init=init, rank=4, normalize_y=False, max_iter=1
        )
        model.fit(X, X[:, 0])
        model.cores_ = init
        return model.predict(X)

    np.testing.assert_allclose(responses(start, 2), responses(unquantized(start), None), atol=1e-12)


def test_a_fit_from_the_start_is_that_of_a_random_start_of_the_same_seed():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(size=(60, 2)), rng.normal(size=60)
    settings = {
        "penalty": "ridge",
        "n_basis": 8,
        "period": 3.0,
        "rank": 2,
        "max_iter": 2,
        "random_state": 5,
    }
    given = QTKMRegressor(init=quantized_start([(2, 2, 2)] * 2, 2, seed=5), **settings).fit(X, y)
    drawn = QTKMRegressor(init="random", **settings).fit(X, y)
    np.testing.assert_array_equal(given.predict(X), drawn.predict(X))


def test_columns_have_unit_norm_and_seeds_differ():
    for levels in quantized_start(RADICES, rank=3, seed=0):
        for core in levels:
            np.testing.assert_allclose(np.linalg.norm(core, axis=0), 1)
    one, other = (quantized_start(RADICES, rank=3, seed=seed)[0][0] for seed in (0, 1))
    assert not np.allclose(one, other)
