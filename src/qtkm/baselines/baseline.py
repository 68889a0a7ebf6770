"""Base class of the baselines: scales X to the unit box, and responses back to units of y."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils import gen_batches
from sklearn.utils.validation import check_is_fitted, validate_data

from ..estimators import defaults, parts
from ..estimators.inputs import Inputs
from ..estimators.rows import as_given, count_distinct, standardize
from ..estimators.targets import check_weight

#: numbers in a block of features or of a kernel, 32 MB of doubles
BLOCK_SIZE = 2**22


@dataclass(frozen=True)
class ScaledRows:
    """Values in the unit box, scaled targets (n_rows, n_outputs), and weights."""

    values: NDArray[np.float64]
    target: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray) -> "ScaledRows":
        """Return the selected rows."""
        return ScaledRows(self.values[rows], self.target[rows], self.weight[rows])

    def roots(self) -> NDArray[np.float64]:
        """Return the square roots of the weights, scaled to weights of mean 1: (n_rows, 1)."""
        return np.sqrt(self.weight / self.weight.mean())[:, None]


class Baseline(RegressorMixin, BaseEstimator):
    """Regressor that scales columns and targets as `QTKMRegressor` does.

    A baseline implements `_fit(rows)`, which also gets rows of zero weight, `_respond(values)`,
    which returns Re f for scaled targets, and `_width()`, the size of one row of a block. What
    follows is part of the docstrings of all baselines.

    Parameters
    ----------
    n_basis : int, "auto" or a sequence of these, default=16
        Number M of basis functions per column.
    period : float, "auto" or a sequence of these, default="auto"
        Period L ≥ 1 of the Fourier basis, in units of the column's box. Not used by the power
        basis.
    alpha : float or "auto", default="auto"
        Penalty on the squared norm of the weights, relative to the mean loss of scaled
        targets. "auto" is 1 over the number of rows; 0 is minimum-norm least squares.
    bounds : (low, high), a sequence of pairs or None, default=None
        Range of all columns, or of each, that is mapped to the box [0, 1]. None uses the minimum
        and maximum of the training rows.
    extrapolation : {"clip", "continue", "error"}, default="clip"
        Treatment of values outside the range: clip them to the nearest end, evaluate the basis
        outside the box, or raise a ValueError.
    normalize_y : bool, default=True
        Scale each output of y to mean 0 and variance 1 for the fit.

    Attributes
    ----------
    alpha_ : float
        Penalty used.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns; only if X is a frame whose column names are all strings.
    """

    _fit: Any
    _respond: Any
    _width: Any

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit to data.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array of shape (n_rows,), optional
            Rows with zero weight are ignored.

        Returns
        -------
        self
        """
        self._fit(self._read(X, y, sample_weight))
        return self

    def _read(self, X: Any, y: Any, sample_weight: Any) -> ScaledRows:
        """Return all rows; boxes and the scale of y are learned from those of positive weight."""
        defaults.check_parameters(self)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        target = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        weight = np.ones(len(X)) if sample_weight is None else check_weight(sample_weight, len(X))
        keep = weight > 0
        arrays, inputs = list(X[keep].T), self._inputs()
        for column, values in zip(inputs.columns, arrays, strict=True):
            summary = column.summary("auto")
            summary.add(values)
            column.learn(summary)
        self._boxes = [column.box for column in inputs.columns]
        self._scale = as_given(target.shape[1])
        if self.normalize_y:
            scaler = StandardScaler().fit(target[keep], None, weight[keep])
            self._scale = standardize(scaler.mean_, scaler.var_)
        self._shape = count_distinct(arrays), len(arrays)
        self._y_ndim = np.ndim(y)
        return ScaledRows(self._to_unit(X), self._scale.apply(target), weight)

    def _inputs(self) -> Inputs:
        names = getattr(self, "feature_names_in_", None)
        return Inputs(range(self.n_features_in_), names, None, self.bounds, self.extrapolation)

    def _make_maps(self, basis: Any, period: Any) -> list[Any]:
        """Return the feature map of every column, as for an estimator with these parameters."""
        # digits have no meaning here, so a map may have any
        given = SimpleNamespace(
            basis=basis, n_basis=self.n_basis, period=period, quantization="auto"
        )
        return parts.make_maps(given, self._inputs(), self._shape)

    def _alpha(self) -> float:
        return defaults.alpha(*self._shape) if isinstance(self.alpha, str) else float(self.alpha)

    def _to_unit(self, X: NDArray) -> NDArray[np.float64]:
        pairs = zip(self._boxes, X.T, strict=True)
        return np.stack([box.to_unit(box.contain(column)) for box, column in pairs], axis=1)

    def predict(self, X: Any) -> NDArray:
        """Predict Re f(x).

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs)
        """
        check_is_fitted(self)
        values = self._to_unit(validate_data(self, X, dtype=np.float64, reset=False))
        response = np.empty((len(values), len(self._scale.mean)))
        for part in blocks(len(values), self._width()):
            response[part] = self._respond(values[part])
        response = self._scale.undo(response)
        if not np.isfinite(response).all():
            raise ValueError(
                f"The response overflows in {np.sum(~np.isfinite(response))} places; values far "
                "outside the training range cause this with extrapolation='continue'; use 'clip'."
            )
        return response[:, 0] if self._y_ndim == 1 else response

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def blocks(n_rows: int, width: int, least: int = 1) -> Iterator[slice]:
    """Yield blocks of rows with `width` numbers each, of at most about `BLOCK_SIZE` numbers."""
    return gen_batches(n_rows, max(least, BLOCK_SIZE // width, 1))
