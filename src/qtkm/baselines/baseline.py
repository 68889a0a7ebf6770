"""What all baselines share: from X and y to rows in the unit box, and back to units of y."""

from collections.abc import Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from ..engines.remote import serial
from ..estimators import defaults, parts
from ..estimators.checks import check_parameters
from ..estimators.coding import Scan
from ..estimators.inputs import Inputs
from ..estimators.rows import count_distinct
from ..estimators.targets import TargetScale, as_given, check_weight, standardize

#: numbers in a block of features or of a kernel, 32 MB of doubles
BLOCK_SIZE = 2**22


@dataclass(frozen=True)
class Rows:
    """Rows as a baseline sees them.

    Attributes
    ----------
    values : (n_rows, n_columns) array
        In the unit box.
    target : (n_rows, n_outputs) array
        Scaled.
    weight : (n_rows,) array
    """

    values: NDArray[np.float64]
    target: NDArray[np.float64]
    weight: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.values)

    def take(self, rows: NDArray) -> "Rows":
        """Return the selected rows."""
        return Rows(self.values[rows], self.target[rows], self.weight[rows])

    def roots(self) -> NDArray[np.float64]:
        """Square roots of the weights, scaled to weights of mean 1: (n_rows, 1)."""
        return np.sqrt(self.weight / self.weight.mean())[:, None]


class Baseline(RegressorMixin, BaseEstimator):
    """A regressor that scales columns and targets as `QTKMRegressor` does.

    All baselines are linear in the targets, so that their scale changes no prediction; their
    mean does.
    """

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
        self._check()
        self._fit(self._read(X, y, sample_weight))
        return self

    def _check(self) -> None:
        """Check the parameters that the other baselines do not have."""

    def _fit(self, rows: Rows) -> None:
        """Fit to all rows, those of weight zero included."""
        raise NotImplementedError

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Return all rows; boxes and the scale of y are learned from those of positive weight."""
        check_parameters(self)
        X, y = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        target = np.asarray(y, dtype=np.float64).reshape(len(X), -1)
        weight = np.ones(len(X))
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(X))
        keep = weight > 0
        arrays, inputs = list(X[keep].T), self._inputs()
        scan = Scan(inputs, "auto")
        scan.add_whole(arrays, len(arrays[0]), serial)
        scan.settle()
        self._boxes = [column.box for column in inputs.columns]
        self._scale = self._scale_of(target[keep], weight[keep])
        self._shape = count_distinct(arrays), len(arrays)
        self._y_ndim = np.ndim(y)
        return Rows(self._to_unit(X), self._scale.apply(target), weight)

    def _scale_of(self, target: NDArray, weight: NDArray) -> TargetScale:
        n_outputs = target.shape[1]
        if not self.normalize_y:
            return as_given(n_outputs)
        mean = np.average(target, axis=0, weights=weight)
        return standardize(mean, np.average((target - mean) ** 2, axis=0, weights=weight))

    def _inputs(self) -> Inputs:
        """Return the input columns, before any row is read."""
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
        if isinstance(self.alpha, str):
            return defaults.alpha(*self._shape)
        return float(self.alpha)

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
        X = validate_data(self, X, dtype=np.float64, reset=False)
        values = self._to_unit(X)
        response = np.empty((len(X), len(self._scale.mean)))
        for part in blocks(len(X), self._width()):
            response[part] = self._respond(values[part])
        response = self._scale.undo(response)
        if not np.isfinite(response).all():
            raise ValueError(
                f"The response overflows in {np.sum(~np.isfinite(response))} places; with "
                "extrapolation='continue' values far outside of the training range do this, and "
                "extrapolation='clip' does not."
            )
        return response[:, 0] if self._y_ndim == 1 else response

    def _width(self) -> int:
        """Return the size of one row of a block."""
        raise NotImplementedError

    def _respond(self, values: NDArray) -> NDArray:
        """Return Re f at values in the unit box, for scaled targets: (n, n_outputs)."""
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def blocks(n_rows: int, width: int, least: int = 1) -> Iterator[slice]:
    """Yield blocks of rows with `width` numbers each, of at most about `BLOCK_SIZE` numbers."""
    step = max(least, BLOCK_SIZE // width, 1)
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))
