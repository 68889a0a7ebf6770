"""Kernel ridge regression with the kernel of the library's features, and its cross-validation."""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.model_selection import check_cv

from ..estimators import parts
from ..estimators.model import filled_from
from ..estimators.working import threads
from ..parameters import check_folds, check_number, keep_parameters
from ..penalties import Ridge
from .baseline import Baseline, ScaledRows
from .kernel import Eigenpairs, ProductKernel, solve, times

ALPHAS = tuple(10.0**exponent for exponent in range(-5, 6))
PERIODS = tuple(1 + 2.0**exponent for exponent in range(-2, 7))
#: scores that differ by less, relatively, are told apart by rounding alone
TIE = 1e-9

Fold = tuple[NDArray[np.integer], NDArray[np.integer]]


class KernelRidge(Baseline):
    """Base of kernel ridge regression with and without cross-validation."""

    max_rows: int

    def _read(self, X: Any, y: Any, sample_weight: Any) -> ScaledRows:
        """Return all rows, or raise a ValueError if there are more than `max_rows`."""
        check_number("max_rows", self.max_rows, Integral, 1)
        rows = super()._read(X, y, sample_weight)
        if len(rows) > self.max_rows:
            raise ValueError(
                f"X has {len(rows)} rows, whose kernel matrix takes {8e-9 * len(rows) ** 2:.3g} "
                "GB, and solving several times that; fit fewer rows, raise "
                f"max_rows={self.max_rows} if there is enough memory, or use QTKMRegressor, which "
                "needs no kernel matrix."
            )
        return rows

    def _solve(self, rows: ScaledRows, maps: list[Any], alpha: float, variances: list[Any]) -> None:
        """Solve for the coefficients of rows, ignoring those of zero weight."""
        rows = rows.take(np.flatnonzero(rows.weight > 0))
        self._kernel, root = ProductKernel(maps, variances), rows.roots()
        matrix = make_matrix(self._kernel, rows)
        matrix *= root
        matrix *= root.T
        phase = self._kernel.phase(rows.values)
        ridge = self._kernel.relative(len(rows) * alpha)
        self._coefficients = root * solve(matrix, ridge, root * phase * rows.target)
        self._values = rows.values
        self.dual_coef_ = phase.conj() * self._coefficients
        self.alpha_ = alpha
        self.columns_ = [
            {"name": name, "basis": feature_map, "bounds": (box.low, box.high)}
            for name, feature_map, box in zip(self._inputs().names, maps, self._boxes, strict=True)
        ]

    def _width(self) -> int:
        return len(self._values)

    def _respond(self, values: NDArray) -> NDArray:
        with np.errstate(over="ignore", invalid="ignore"):  # far outside; `predict` says so
            response = times(self._kernel.scaled(values, self._values), self._coefficients)
            return (self._kernel.phase(values).conj() * response).real


@filled_from(Baseline)
class ProductKernelRidge(KernelRidge):
    """Kernel ridge regression with the kernel of the features of `QTKMRegressor`.

    Minimizes the same objective over unconstrained weights: the limit of the network's fit as its
    rank grows, if every fit found the minimum.

    Parameters
    ----------
    basis : {"fourier", "power"}, Fourier, Power, or a sequence of these, default="fourier"
        Basis of the columns, as in `QTKMRegressor`. Its quantization has no effect.
    penalty : {"ridge", "matern", "rbf"}, Penalty, or a sequence of these, default="ridge"
        Prior of the weights of all columns, or of each: "ridge" is the norm of the paper, others
        have variances s that depend on the frequency, see `qtkm.penalties`.
    max_rows : int, default=10000
        Most rows to fit: more raise an error instead of exhausting memory.

    Attributes
    ----------
    dual_coef_ : array of shape (n_rows, n_outputs)
        Coefficients of the kernel divided by the product of M_d over the columns whose penalty is
        "ridge", for the scaled targets and the training rows of positive weight. Complex if any
        basis is.
    columns_ : list of dict
        One dict per column: ``name``; ``basis``, the feature map with all its parameters;
        ``bounds``.

    Notes
    -----
    With N rows the coefficients solve (K + N·alpha·I) c = y, and a prediction is
    Re Σ_n k(x, x_n) c_n; the kernel itself is complex for Fourier features.  With weights ω of
    the rows, N·alpha becomes Σω·alpha over ω.  The fit minimizes

        (1/Σω) Σ_n ω_n·|f(x_n) - y_n|² + alpha·Σ_m |w_m|² / Π_d s_d[m_d],

    which is alpha·‖w‖² if the penalty is "ridge".

    The kernel matrix takes 8·n² bytes, solving up to four times that.  It is often numerically
    singular: directions whose eigenvalues are rounding errors are then ignored, and alpha = 0
    means the minimum-norm solution.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm.baselines import ProductKernelRidge
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> ProductKernelRidge(period=9.0).fit(X[:200], y[:200]).score(X[200:], y[200:]) > 0.99
    True
    """

    def __init__(
        self,
        basis="fourier",
        *,
        n_basis=16,
        period="auto",
        alpha="auto",
        penalty="ridge",
        bounds=None,
        extrapolation="clip",
        normalize_y=True,
        max_rows=10_000,
    ):
        keep_parameters(self, locals())

    def _fit(self, rows: ScaledRows) -> None:
        labels = self._inputs().labels
        priors = parts.make_penalties(self, labels) or [Ridge()] * len(labels)
        maps = self._make_maps(self.basis, self.period)
        variances = [own.variances_of(each) for own, each in zip(priors, maps, strict=True)]
        self._solve(rows, maps, self._alpha(), variances)


def make_matrix(kernel: ProductKernel, rows: ScaledRows) -> NDArray:
    """Return the scaled kernel matrix of all rows: (n_rows, n_rows)."""
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = kernel.scaled(rows.values, rows.values)
    if not np.isfinite(matrix.diagonal()).all():  # which no other entry exceeds
        raise ValueError(
            "The kernel overflows: values of X are too far outside their bounds; widen the bounds, "
            "or use extrapolation='clip'."
        )
    return matrix


@filled_from(
    ProductKernelRidge,
    without=("period", "alpha", "penalty"),
    alphas=ALPHAS,
    periods=PERIODS,
    cv=3,
    n_jobs=None,
)
class ProductKernelRidgeCV(KernelRidge):
    """`ProductKernelRidge` with `alpha` and `period` chosen by cross-validation.

    Parameters
    ----------
    basis : {"fourier", "power"}, Fourier, Power, or a sequence of these, default="fourier"
        Basis of the columns, without a period of its own.
    alphas : sequence of float, default=(1e-5, 1e-4, …, 1e5)
        Penalties to choose from.
    periods : sequence of float, default=(1 + 2**-2, 1 + 2**-1, …, 1 + 2**6)
        Periods to choose from, the same for all columns. Not used if no column has a Fourier
        basis.
    cv : int, splitter or iterable of (train, test), default=3
        Folds, as in scikit-learn: an integer splits the rows without shuffling, so shuffle sorted
        ones or pass ``KFold(3, shuffle=True)``.
    n_jobs : int or None, default=None
        Number of threads, as in joblib, except that None means all cores; each tries another
        period.

    Attributes
    ----------
    cv_results_ : dict of arrays
        One entry per pair of a period and an alpha: ``param_period``, ``param_alpha``,
        ``params``, ``split0_test_mse`` … , ``mean_test_mse``, ``std_test_mse`` and
        ``rank_test_mse``. Errors are mean squares of Re f - y in units of y, over all outputs.
    best_index_ : int
        Index of the chosen pair, that of the smallest mean error; of pairs that differ only by
        rounding, the one with the largest alpha.
    best_params_ : dict
        Its ``alpha`` and ``period``, parameters of `ProductKernelRidge`. The period is "auto" if
        no column has a Fourier basis.
    best_score_ : float
        Its mean error.

    Notes
    -----
    Ranges and the scale of y are those of all training rows, in every fold. Fitted attributes are
    those of the last fit, to all rows.

    The kernel matrix of a period is formed once, and one eigendecomposition per fold is used for
    all alphas.  That matrix is real: the phases of a Fourier kernel can be moved to the right side.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm.baselines import ProductKernelRidgeCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> model = ProductKernelRidgeCV(alphas=[1e-4, 1e4], periods=[1.25, 9]).fit(X, y)
    >>> model.best_params_
    {'alpha': 0.0001, 'period': 9.0}
    """

    def _fit(self, rows: ScaledRows) -> None:
        """Choose alpha and period by weighted errors, and fit to all rows."""
        _check_list("alphas", self.alphas, 0.0)
        _check_list("periods", self.periods, 1.0)
        alphas, periods = ([float(v) for v in given] for given in (self.alphas, self.periods))
        pairs = check_cv(self.cv, rows.target[:, 0]).split(rows.values, rows.target)
        folds = check_folds(self.cv, pairs, rows.weight > 0)
        tried: list[Any] = periods
        if not any(hasattr(each, "period") for each in self._make_maps(self.basis, periods[0])):
            tried = ["auto"]

        def score(period: Any) -> NDArray[np.float64]:
            maps = self._make_maps(self.basis, period)
            kernel = ProductKernel(maps, [None] * len(maps))
            matrix = make_matrix(kernel, rows)
            errors = [_errors(kernel, matrix, rows, fold, alphas) for fold in folds]
            return np.stack(errors, axis=1) @ self._scale.scale**2 / len(self._scale.scale)

        with threads(self.n_jobs) as engine:
            scores = np.concatenate(engine.run(score, tried))  # (n_pairs, n_folds)
        mean = scores.mean(axis=1)
        pairs = [{"alpha": alpha, "period": period} for period in tried for alpha in alphas]
        self.cv_results_ = {
            **{f"param_{n}": np.array([pair[n] for pair in pairs]) for n in ("period", "alpha")},
            "params": np.array(pairs),
            **{f"split{fold}_test_mse": scores[:, fold] for fold in range(len(folds))},
            "mean_test_mse": mean,
            "std_test_mse": scores.std(axis=1),
            "rank_test_mse": rankdata(mean, method="min").astype(np.int32),
        }
        best = np.flatnonzero(mean <= mean.min() * (1 + TIE))
        self.best_index_ = int(best[np.argmax(self.cv_results_["param_alpha"][best])])
        self.best_params_ = pairs[self.best_index_]
        self.best_score_ = float(mean[self.best_index_])
        maps = self._make_maps(self.basis, self.best_params_["period"])
        self._solve(rows, maps, self.best_params_["alpha"], [None] * len(maps))


def _errors(
    kernel: ProductKernel, matrix: NDArray, rows: ScaledRows, fold: Fold, alphas: Sequence[float]
) -> NDArray[np.float64]:
    """Return mean squared errors (n_alphas, n_outputs) on a fold, of the scaled targets."""
    train, test = rows.take(fold[0]), rows.take(fold[1])
    root = train.roots()
    part = matrix[np.ix_(fold[0], fold[0])]
    part *= root
    part *= root.T
    spectrum = Eigenpairs(part)
    turned = spectrum.turn(root * kernel.phase(train.values) * train.target)
    solutions = [spectrum.scale(kernel.relative(len(train) * alpha), turned) for alpha in alphas]
    across = matrix[np.ix_(fold[1], fold[0])]
    response = times(across, root * np.hstack(solutions))
    response = (kernel.phase(test.values).conj() * response).real
    residual = response.reshape(len(test), len(alphas), -1) - test.target[:, None]
    return np.tensordot(test.weight / test.weight.sum(), residual**2, axes=1)


def _check_list(name: str, given: Any, least: float) -> None:
    if isinstance(given, str) or np.ndim(given) != 1 or len(given) == 0:
        raise ValueError(f"{name}={given!r} must be a list of at least one number.")
    for value in given:
        check_number(f"an entry of {name}", value, Real, least)
