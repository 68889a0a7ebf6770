"""What is run instead: features in blocks are the features, and the Gaussian process learns."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from qtkm.baselines import baseline
from qtkm.experiments.airline_models import KernelFeatureRidge, SparseGaussianProcess, median_gamma


def rows(n_rows=400):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, 3)) * [1, 10, 100]
    return X, np.sin(X[:, 0]) + X[:, 1] / 10 + 0.1 * rng.normal(size=n_rows)


@pytest.mark.parametrize(("sampler", "kind"), [("nystroem", Nystroem), ("fourier", RBFSampler)])
def test_blocks_of_features_give_the_ridge_regression_on_all_of_them(sampler, kind, monkeypatch):
    monkeypatch.setattr(baseline, "BLOCK_SIZE", 1000)
    X, y = rows()
    model = KernelFeatureRidge(sampler, n_components=30, random_state=1).fit(X, y)

    scaled = StandardScaler().fit_transform(X)
    part = scaled[np.random.default_rng(1).permutation(len(y))]
    features = kind(gamma=model.gamma_, n_components=30, random_state=1).fit(part)
    features = features.transform(scaled)
    ridge = Ridge(alpha=model.ridge_, fit_intercept=False).fit(features, y)
    np.testing.assert_allclose(model.predict(X), ridge.predict(features), atol=1e-8)


def test_width_and_penalty_are_chosen_by_the_error_on_rows_set_aside():
    X, y = rows()
    # pure noise asks for the largest penalty, a function without noise for the smallest
    noise = np.random.default_rng(3).normal(size=len(y))
    assert KernelFeatureRidge(n_components=50).fit(X, noise).ridge_ == 10
    assert KernelFeatureRidge(n_components=50).fit(X, np.sin(X[:, 0])).ridge_ == 0.1


def test_the_median_heuristic_is_the_median_distance():
    points = np.array([[0.0], [1.0], [3.0]])  # distances 1, 2 and 3
    assert median_gamma(points) == pytest.approx(1 / 8)


def test_a_sampler_that_is_not_known_is_named():
    with pytest.raises(ValueError, match=r"sampler='trees' is unknown; use one of 'nystroem'"):
        KernelFeatureRidge("trees").fit(*rows())


def test_the_gaussian_process_learns_a_function():
    pytest.importorskip("gpjax")
    X, y = rows()
    model = SparseGaussianProcess(20, max_iter=300, batch_size=100, learning_rate=0.05)
    model.fit(X[:300], y[:300])
    assert model.score(X[300:], y[300:]) > 0.9
    assert model.objective_[-50:].mean() < model.objective_[:50].mean()
