"""Reference models: what a careful user would try before or instead of qtkm."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, Matern, WhiteKernel
from sklearn.kernel_approximation import Nystroem
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["REFERENCES", "NystroemRidge"]

MOST_ROWS_FOR_EXACT_KERNEL = 4500
MOST_ROWS_FOR_GP = 1500
MOST_ROWS_FOR_EBM = 50_000
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0)  # times 1 / n_columns, inputs standardized
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)


class NystroemRidge(RegressorMixin, BaseEstimator):
    """Ridge regression on Nyström features of an RBF kernel, in blocks of rows.

    The width of the kernel and the ridge are chosen on held-out rows of a subsample.

    Parameters
    ----------
    n_components : int
    n_selection : int
        Rows of the subsample.
    block : int
        Rows whose features are in memory at a time.
    random_state : int or None
    """

    def __init__(self, n_components=1000, n_selection=20_000, block=10_000, random_state=None):
        self.n_components = n_components
        self.n_selection = n_selection
        self.block = block
        self.random_state = random_state

    def fit(self, X, y):
        """Choose the kernel's width and the ridge, then solve the normal equations."""
        self.scaler_ = StandardScaler().fit(X)
        rng = np.random.default_rng(self.random_state)
        chosen = rng.permutation(len(y))[: self.n_selection]
        held_out, kept = np.split(chosen, [len(chosen) // 4])
        trials = []
        for gamma in GAMMAS:
            self._map(X[kept], gamma)
            gram, target = self._normal_equations(X[kept], y[kept])
            for alpha in 1e-4 * np.array(ALPHAS):
                self._solve(gram, target, alpha)
                error = np.mean((self.predict(X[held_out]) - y[held_out]) ** 2)
                trials.append((error, gamma, alpha))
        _, self.gamma_, self.alpha_ = min(trials)
        self._map(X, self.gamma_)
        self._solve(*self._normal_equations(X, y), self.alpha_)
        return self

    def predict(self, X):
        """Predict block by block."""
        parts = [features @ self.coef_ for features in self._features(X)]
        return np.concatenate(parts) + self.mean_

    def _map(self, X, gamma):
        n_components = min(self.n_components, len(X))
        self.nystroem_ = Nystroem(
            gamma=gamma / X.shape[1], n_components=n_components, random_state=self.random_state
        )
        rng = np.random.default_rng(self.random_state)
        sample = rng.permutation(len(X))[: self.n_selection]
        self.nystroem_.fit(self.scaler_.transform(X[sample]))

    def _features(self, X):
        for start in range(0, len(X), self.block):
            yield self.nystroem_.transform(self.scaler_.transform(X[start : start + self.block]))

    def _normal_equations(self, X, y):
        self.mean_ = y.mean()
        gram, target = 0.0, 0.0
        for i, features in enumerate(self._features(X)):
            rows = slice(i * self.block, (i + 1) * self.block)
            gram = gram + features.T @ features
            target = target + features.T @ (y[rows] - self.mean_)
        return gram / len(y), target / len(y)

    def _solve(self, gram, target, alpha):
        self.coef_ = np.linalg.solve(gram + alpha * np.eye(len(gram)), target)


def linear(n_rows, seed):
    """Ridge regression, the ridge chosen by generalized cross-validation."""
    return make_pipeline(StandardScaler(), RidgeCV(alphas=np.logspace(-6, 6, 13)))


def boosting(n_rows, seed):
    """Histogram gradient boosting with its defaults."""
    return HistGradientBoostingRegressor(random_state=seed)


def kernel(n_rows, seed):
    """RBF kernel ridge with 3-fold cross-validation; its Nyström form on many rows."""
    if n_rows > MOST_ROWS_FOR_EXACT_KERNEL:
        return NystroemRidge(random_state=seed)
    model = make_pipeline(StandardScaler(), _ScaledKernelRidge())
    grid = {"_scaledkernelridge__width": GAMMAS, "_scaledkernelridge__alpha": ALPHAS}
    return GridSearchCV(model, grid, cv=KFold(3, shuffle=True, random_state=seed))


class _ScaledKernelRidge(KernelRidge):
    """Kernel ridge whose kernel width is relative to the number of columns."""

    def __init__(self, alpha=1.0, width=1.0):
        super().__init__(alpha=alpha, kernel="rbf")
        self.width = width

    def fit(self, X, y):
        self.gamma = self.width / X.shape[1]
        return super().fit(X, y)


def boosting_500(n_rows, seed):
    """Histogram gradient boosting with 500 trees."""
    return HistGradientBoostingRegressor(max_iter=500, random_state=seed)


def lightgbm(n_rows, seed):
    """LightGBM with its defaults."""
    from lightgbm import LGBMRegressor

    return LGBMRegressor(random_state=seed, verbose=-1, n_jobs=1)


def ebm(n_rows, seed):
    """Explainable boosting machine with its defaults; None where it would take too long."""
    from interpret.glassbox import ExplainableBoostingRegressor

    if n_rows > MOST_ROWS_FOR_EBM:
        return None
    return ExplainableBoostingRegressor(random_state=seed, n_jobs=1)


def gaussian_process(n_rows, seed):
    """Gaussian process, Matérn-3/2 with a scale for each column; None on many rows."""
    if n_rows > MOST_ROWS_FOR_GP:
        return None
    return make_pipeline(StandardScaler(), _MaternARD(seed))


class _MaternARD(RegressorMixin, BaseEstimator):
    def __init__(self, seed=0):
        self.seed = seed

    def fit(self, X, y):
        kernel = ConstantKernel(1.0, (1e-3, 1e4)) * Matern(
            np.ones(X.shape[1]), (1e-2, 1e4), nu=1.5
        ) + WhiteKernel(0.1, (1e-8, 10.0))
        self.model_ = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=1, random_state=self.seed
        ).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)


REFERENCES = {
    "ridge": linear,
    "boosting": boosting,
    "boosting_500": boosting_500,
    "lightgbm": lightgbm,
    "ebm": ebm,
    "kernel": kernel,
    "gp": gaussian_process,
}
