"""Kernel ridge regression with the kernel of the library's features."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators import parts
from ..parameters import check_number
from . import dual
from .baseline import Baseline, Rows
from .kernel import ProductKernel


class KernelRidge(Baseline):
    """What kernel ridge regressions share, however `alpha` and `period` are chosen."""

    def _check(self) -> None:
        check_number("max_rows", self.max_rows, Integral, 1)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Return all rows, if a kernel matrix of them is allowed."""
        rows = super()._read(X, y, sample_weight)
        if len(rows) > self.max_rows:
            size = 8 * len(rows) ** 2 / 1e9
            raise ValueError(
                f"X has {len(rows)} rows, and a kernel matrix of them takes {size:.3g} GB, several "
                f"times that to solve; fit fewer rows, raise max_rows={self.max_rows} if there is "
                "enough memory, or use QTKMRegressor, which needs no kernel matrix."
            )
        return rows

    def _solve(
        self, rows: Rows, maps: list[Any], alpha: float, penalties: list[Any] | None = None
    ) -> None:
        """Find the coefficients of rows; those of weight zero play no part."""
        rows = rows.take(np.flatnonzero(rows.weight > 0))
        self._kernel, root = ProductKernel(maps, _variances(maps, penalties)), rows.roots()
        matrix = make_matrix(self._kernel, rows)
        matrix *= root
        matrix *= root.T
        phase = self._kernel.phase(rows.values)
        ridge = self._kernel.relative(len(rows) * alpha)
        self._coefficients = root * dual.solve(matrix, ridge, root * phase * rows.target)
        self._values = rows.values
        self.dual_coef_ = phase.conj() * self._coefficients
        self.alpha_ = alpha
        self.columns_ = self._describe_columns(maps)

    def _describe_columns(self, maps: list[Any]) -> list[dict[str, Any]]:
        names = getattr(self, "feature_names_in_", None)
        return [
            {
                "name": f"x{d}" if names is None else names[d],
                "basis": feature_map,
                "bounds": (box.low, box.high),
            }
            for d, (feature_map, box) in enumerate(zip(maps, self._boxes, strict=True))
        ]

    def _width(self) -> int:
        return len(self._values)

    def _respond(self, values: NDArray) -> NDArray:
        with np.errstate(over="ignore", invalid="ignore"):  # far outside; `predict` says so
            kernel = self._kernel.scaled(values, self._values)
            response = dual.times(kernel, self._coefficients)
            return (self._kernel.phase(values).conj() * response).real


def _variances(maps: list[Any], penalties: list[Any] | None) -> list[NDArray | None] | None:
    """Prior variances of every column's weights, None for 1."""
    if penalties is None:
        return None
    precisions = [own.precision(each) for own, each in zip(penalties, maps, strict=True)]
    return [None if precision is None else 1 / precision for precision in precisions]


def make_matrix(kernel: ProductKernel, rows: Rows) -> NDArray:
    """Scaled kernel matrix of all rows: (n_rows, n_rows)."""
    with np.errstate(over="ignore", invalid="ignore"):
        matrix = kernel.scaled(rows.values, rows.values)
    if not np.isfinite(matrix.diagonal()).all():  # which no other entry exceeds
        raise ValueError(
            "The kernel overflows: values of X lie too far outside of their bounds for the basis; "
            "widen the bounds or use extrapolation='clip'."
        )
    return matrix


class ProductKernelRidge(KernelRidge):
    """Kernel ridge regression with the kernel of the features of `QTKMRegressor`.

    The same objective with weights that are free instead of a tensor network: what the
    network's fit would come to as its rank grows, if every fit found the minimum.

    Parameters
    ----------
    basis : {"fourier", "power"}, Fourier, Power, or a sequence of these, default="fourier"
        Basis of the columns, as in `QTKMRegressor`. How it is quantized makes no difference.
    n_basis : int, "auto" or a sequence of these, default=16
        Number M of basis functions of a column.
    period : float, "auto" or a sequence of these, default="auto"
        Period L ≥ 1 of the Fourier basis where the box of a column has length 1. Not used by
        the power basis.
    alpha : float or "auto", default="auto"
        Penalty on the squared norm of the weights, relative to the mean loss of scaled
        targets. "auto" is 1 over the number of rows.
    penalty : {"ridge", "matern", "rbf"}, Penalty, or a sequence of these, default="ridge"
        Prior of the weights of all columns, or of each of them: "ridge" is the norm of the
        paper, others have variances s that depend on the frequency, see `qtkm.penalties`.
    bounds : (low, high), a sequence of pairs or None, default=None
        Range of the columns, or of each of them, that is mapped to the box [0, 1]. None
        takes the least and the greatest value in the training rows.
    extrapolation : {"clip", "continue", "error"}, default="clip"
        How to treat values outside of the range: clip them to the nearest end, continue the
        basis outside of the box, or raise a ValueError.
    normalize_y : bool, default=True
        Scale y to mean 0 and variance 1 for the fit, each output by itself.
    max_rows : int, default=10000
        Largest number of rows: the kernel matrix takes 8·n² bytes, solving up to four times
        that.

    Attributes
    ----------
    dual_coef_ : array of shape (n_rows, n_outputs)
        Coefficients of the kernel divided by the product of M_d over the columns whose penalty is
        "ridge", for the scaled targets and the training rows of positive weight. Complex if any
        basis is.
    alpha_ : float
        The penalty that was used.
    columns_ : list of dict
        What was learned about each column: ``name``; ``basis``, the feature map with all its
        parameters; ``bounds``.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns; only if X is a frame whose names are all text.

    See Also
    --------
    ProductKernelRidgeCV : The same with `alpha` and `period` chosen by cross-validation.

    Notes
    -----
    With N rows the coefficients solve (K + N·alpha·I) c = y, and a prediction is
    Re Σ_n k(x, x_n) c_n; the kernel itself is complex for Fourier features.  With weights ω of
    the rows, N·alpha becomes Σω·alpha over ω.  The fit minimises

        (1/Σω) Σ_n ω_n·|f(x_n) - y_n|² + alpha·Σ_m |w_m|² / Π_d s_d[m_d],

    which is alpha·‖w‖² where the penalty is "ridge".

    A kernel matrix is often singular but for rounding.  Then directions whose eigenvalues are
    no more than rounding are left out, and alpha = 0 means the solution of least norm.

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
        self.basis = basis
        self.n_basis = n_basis
        self.period = period
        self.alpha = alpha
        self.penalty = penalty
        self.bounds = bounds
        self.extrapolation = extrapolation
        self.normalize_y = normalize_y
        self.max_rows = max_rows

    def _fit(self, rows: Rows) -> None:
        priors = parts.make_penalties(self, self._inputs().labels)
        self._solve(rows, self._make_maps(self.basis, self.period), self._alpha(), priors)
