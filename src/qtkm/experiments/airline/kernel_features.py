"""Ridge regression on features of the Gaussian kernel, in blocks of rows.

What many would try first on millions of rows: landmarks (Nyström) or random Fourier features from
scikit-learn, then a linear model.  The features of all rows are never held at once; only their
normal equations are.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.preprocessing import StandardScaler

from ...baselines.baseline import blocks
from ...baselines.least_squares import Block, ridge_weights

#: widths that are tried, as factors of the median heuristic's
WIDTHS = (0.25, 1.0, 4.0)
#: penalties that are tried: the noise over the variance of the function, about 1 for delays
RIDGES = (0.1, 1.0, 10.0)
MEDIAN_ROWS = 1000


class KernelFeatureRidge(RegressorMixin, BaseEstimator):
    """Ridge regression on Nyström or random Fourier features of the Gaussian kernel.

    The columns are standardized.  Width of the kernel and penalty are chosen together on a part
    of the rows, of which a quarter validates.

    Parameters
    ----------
    sampler : {"nystroem", "fourier"}, default="nystroem"
        Landmarks among the rows, or random frequencies.
    n_components : int, default=1000
        Number of features.
    search_rows : int, default=20_000
        Rows of the search for width and penalty.
    random_state : int, default=0
        Seed of landmarks or frequencies, and of the rows of the search.

    Attributes
    ----------
    gamma_ : float
        Width chosen, of the kernel exp(-gamma·‖x - x'‖²) of standardized columns.
    ridge_ : float
        Penalty chosen: ‖Z w - y‖² + ridge·‖w‖² was minimised.
    coef_ : array of shape (n_components, 1)
        Weights of the features.
    """

    def __init__(self, sampler="nystroem", *, n_components=1000, search_rows=20_000,
                 random_state=0):  # fmt: skip
        self.sampler = sampler
        self.n_components = n_components
        self.search_rows = search_rows
        self.random_state = random_state

    def fit(self, X: NDArray, y: NDArray) -> "KernelFeatureRidge":
        """Choose width and penalty, then fit all rows.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        y : array of shape (n_rows,)

        Returns
        -------
        self
        """
        self._scaler = StandardScaler().fit(X)
        rng = np.random.default_rng(self.random_state)
        rows = rng.permutation(len(y))[: self.search_rows]
        part = self._scaler.transform(X[rows])
        self.gamma_, self.ridge_ = self._search(part, y[rows])
        self._map = self._make_map(part, self.gamma_)
        shape = len(y), self.n_components
        self.coef_ = ridge_weights(self._blocks(X, y), shape, self.ridge_ / len(y))
        return self

    def predict(self, X: NDArray) -> NDArray[np.float64]:
        """Predict, block by block.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,)
        """
        response = np.empty(len(X))
        for part in blocks(len(X), self.n_components):
            response[part] = (self._features(X[part]) @ self.coef_)[:, 0]
        return response

    def _search(self, part: NDArray, target: NDArray) -> tuple[float, float]:
        """Width and penalty of the least error on the last quarter of some rows."""
        cut = 3 * len(target) // 4
        tried: list[tuple[float, float, float]] = []
        for gamma in median_gamma(part[:MEDIAN_ROWS]) * np.array(WIDTHS):
            features = self._make_map(part[:cut], gamma).transform(part)
            block = features[:cut], target[:cut, None]
            for ridge in RIDGES:
                weights = ridge_weights([block], block[0].shape, ridge / cut)
                error = np.mean((features[cut:] @ weights - target[cut:, None]) ** 2)
                tried.append((float(error), float(gamma), ridge))
        _, gamma, ridge = min(tried)
        return gamma, ridge

    def _make_map(self, part: NDArray, gamma: float) -> Any:
        makers = {"nystroem": Nystroem, "fourier": RBFSampler}
        if self.sampler not in makers:
            raise ValueError(
                f"sampler={self.sampler!r} is not known; use one of {', '.join(makers)}"
            )
        maker = makers[self.sampler]
        return maker(
            gamma=gamma, n_components=self.n_components, random_state=self.random_state
        ).fit(part)

    def _blocks(self, X: NDArray, y: NDArray) -> Iterator[Block]:
        for part in blocks(len(y), self.n_components, least=self.n_components):
            yield self._features(X[part]), y[part, None]

    def _features(self, X: NDArray) -> NDArray:
        return self._map.transform(self._scaler.transform(X))


def median_gamma(rows: NDArray) -> float:
    """Width of the median heuristic: 1/(2·m²) with the median distance m of two rows."""
    squares = euclidean_distances(rows, squared=True)
    return float(1 / (2 * np.median(squares[np.triu_indices_from(squares, k=1)])))
