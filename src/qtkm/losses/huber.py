"""Huber loss: squares of small residuals, absolute values of large ones."""

from numbers import Real

import numpy as np
from sklearn.metrics import d2_absolute_error_score

from .loss import Array
from .radial_loss import RadialLoss


class Huber(RadialLoss):
    """|f - y|² up to a distance δ, 2δ|f - y| - δ² beyond it.

    Parameters
    ----------
    delta : float, default=0.5
        Residual δ > 0 from which on a row pulls no harder than any other; in units of the spread of
        y (1.4826 times the median distance from the median) unless ``normalize_y=False``.
        Residuals are usually a fraction of that spread. Smaller is more robust, and slower.
    residual : {"complex", "real"} or "auto"
        Whether the residual is f - y or Re f - y; "auto" stands for "complex".
    """

    is_robust = True

    def __init__(self, delta=0.5, residual="auto"):
        self.delta = delta
        self.residual = residual

    def check(self) -> None:
        super().check()
        value = self.delta
        is_number = isinstance(value, Real) and not isinstance(value, bool)
        if not is_number or not 0 < float(value) < np.inf:
            raise ValueError(f"delta={value!r} must be a finite number > 0; try 0.5.")

    @property
    def _slope(self) -> float:
        return 2 * float(self.delta)

    @property
    def _width(self) -> float:
        return float(self.delta)

    def score(self, target: Array, prediction: Array, weight: Array | None = None) -> float:
        return float(d2_absolute_error_score(target, prediction, sample_weight=weight))
