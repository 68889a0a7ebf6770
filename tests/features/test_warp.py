"""Warps: where values are moved to, and models that have them."""

import numpy as np
import pytest

import qtkm
from qtkm import Fourier, QTKMRegressor
from qtkm.features.feature_map import make_warp, moved


def heavy(n_rows=400):
    """A column with a long tail that matters by its logarithm."""
    rng = np.random.default_rng(0)
    X = np.exp(2 * rng.standard_normal((n_rows, 1)))
    return X, np.sin(2 * np.log(X[:, 0]))


def test_ranks_spread_values_evenly_and_half_lies_between():
    values = np.linspace(0, 1, 50) ** 3
    counts = np.ones(50)
    by_rank = moved(values, make_warp(values, counts, "rank"))
    np.testing.assert_allclose(by_rank, np.linspace(0, 1, 50), atol=1e-12)
    half = moved(values, make_warp(values, counts, "half"))
    np.testing.assert_allclose(half, 0.5 * (by_rank + values), atol=1e-12)
    assert make_warp(values, counts, "range") is None


def test_weights_count_rows():
    values = np.array([0.0, 0.1, 0.2, 1.0])
    warp = make_warp(values, np.array([1.0, 2.0, 0.0, 1.0]), "rank")
    np.testing.assert_allclose(warp, [[0.0, 0.1, 1.0], [0.0, 0.5, 1.0]])


def test_even_columns_are_left_alone():
    assert make_warp(np.linspace(0, 1, 100), np.ones(100), "half") is None


def test_a_repr_does_not_list_all_places():
    shown = repr(Fourier(27, warp=np.linspace([0, 0], [1, 1], 200).T))
    assert "warp=array([[0., ..., 1.]" in shown
    assert len(shown) < 120


def test_many_values_keep_few_places():
    values = np.sort(np.random.default_rng(0).uniform(size=5000)) ** 4
    warp = make_warp(values, np.ones(5000), "half")
    assert warp.shape[1] <= 257
    assert (np.diff(warp, axis=1) > 0).all()


def test_a_long_tail_is_learned_by_half_scaling_and_saved(tmp_path):
    X, y = heavy()
    parameters = {"n_basis": 27, "period": 2.0, "quantization": None, "rank": 1, "alpha": 1e-6}
    plain, half = (
        QTKMRegressor(**parameters, scaling=scaling).fit(X, y) for scaling in ("range", "half")
    )
    assert 1 - half.score(X, y) < 0.2 * (1 - plain.score(X, y))
    half.save(tmp_path / "model.qtkm")
    loaded = qtkm.load(tmp_path / "model.qtkm")
    np.testing.assert_array_equal(loaded.predict(X), half.predict(X))
    assert loaded.columns_[0]["basis"].warp is not None


@pytest.mark.parametrize("warp", [np.zeros((2, 3)), np.ones(3), [[0, 1], [1, 0]]], ids=str)
def test_what_is_no_warp_is_refused(warp):
    with pytest.raises(ValueError, match="warp of column 0 must be a"):
        Fourier(8, 2.0, 2, warp).check("column 0")
