"""Regression: the estimator most users meet first."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, check_array

from .model import Model


class QTKMRegressor(RegressorMixin, Model):
    """Regression with a (quantized) tensor-network kernel machine.

    f(x) = ⟨φ(x), w⟩ with φ a tensor product of Fourier or polynomial features of the columns
    and w a tensor network, fitted by minimising mean |f - y|² + alpha·‖w‖².
    """

    def __init__(
        self,
        basis="fourier",
        *,
        n_basis="auto",
        period="auto",
        quantization=2,
        network="cpd",
        rank="auto",
        alpha="auto",
        loss="squared",
        residual="complex",
        solver="als",
        max_iter=50,
        tol=1e-4,
        init="smooth",
        max_bins="auto",
        categorical_features=None,
        bounds=None,
        extrapolation="clip",
        normalize_y=True,
        early_stopping="auto",
        validation_fraction=0.1,
        warm_start=False,
        dtype="float64",
        random_state=None,
        n_jobs=None,
        verbose=0,
        callbacks=None,
    ):
        self.basis = basis
        self.n_basis = n_basis
        self.period = period
        self.quantization = quantization
        self.network = network
        self.rank = rank
        self.alpha = alpha
        self.loss = loss
        self.residual = residual
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.init = init
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.bounds = bounds
        self.extrapolation = extrapolation
        self.normalize_y = normalize_y
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.warm_start = warm_start
        self.dtype = dtype
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callbacks = callbacks

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QTKMRegressor":
        """Fit to data.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array of shape (n_rows,), optional
            Rows of weight zero are as if they were not there.

        Returns
        -------
        self
        """
        if y is None:
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None."
            )
        target = check_array(
            y, dtype=np.float64, ensure_2d=False, input_name="y", estimator=self, copy=False
        )
        if target.ndim > 2:
            raise ValueError(f"y has {target.ndim} dimensions; give (n_rows,) or (n_rows, k).")
        check_consistent_length(X, target, sample_weight)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                sample_weight, target, dtype=np.float64, ensure_non_negative=True
            )
            if not weight.any():
                raise ValueError("sample_weight is zero for every row; nothing is left to fit.")
        self._y_ndim = target.ndim
        self._fit(X, target.reshape(len(target), -1), weight)
        return self

    def predict(self, X: Any) -> NDArray:
        """Predict Re f(x).

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_outputs)
        """
        response = self._responses(X)
        return response[:, 0] if self._y_ndim == 1 else response

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        tags.input_tags.categorical = self.categorical_features is not None
        tags.input_tags.allow_nan = self.categorical_features is not None
        return tags
