"""Quantile loss: the pinball loss, with its corner rounded."""

from numbers import Real

import numpy as np
from sklearn.metrics import d2_pinball_score

from .loss import Array, add_outputs
from .radial_loss import RadialLoss


class Quantile(RadialLoss):
    """½|f - y| - (level - ½)(Re f - y), rounded to a parabola around f = y.

    Its minimum over many rows is the quantile of y at this level: the median at 0.5.

    Parameters
    ----------
    level : float, default=0.5
        Share of targets that are to lie below the prediction, > 0 and < 1.
    smoothing : float, default=0.01
        Half-width ε > 0 of the rounded corner, in units of the spread of y (1.4826 times the
        median distance from the median) unless ``normalize_y=False``.
    residual : {"complex", "real"} or "auto"
        Whether |f - y| or |Re f - y| is meant; "auto" stands for "complex".
    """

    is_robust = True

    def __init__(self, level=0.5, smoothing=0.01, residual="auto"):
        self.level = level
        self.smoothing = smoothing
        self.residual = residual

    def check(self) -> None:
        super().check()
        for name, high, hint in (("level", 1, "0.5 for the median"), ("smoothing", np.inf, "0.01")):
            value = getattr(self, name)
            is_number = isinstance(value, Real) and not isinstance(value, bool)
            if not is_number or not 0 < float(value) < high:
                below = f" and < {high}" if high == 1 else ""
                raise ValueError(f"{name}={value!r} must be a number > 0{below}; try {hint}.")

    @property
    def _slope(self) -> float:
        return 0.5

    @property
    def _width(self) -> float:
        return float(self.smoothing)

    @property
    def _tilt(self) -> float:
        return float(self.level) - 0.5

    def value(self, response: Array, target: Array) -> Array:
        result = super().value(response, target)
        result += target.shape[-1] * self._width / 4
        result -= self._tilt * add_outputs(response.real - target)
        return np.maximum(result, 0, out=result)

    def gradient(self, response: Array, target: Array) -> Array:
        slope = super().gradient(response, target)
        slope -= self._tilt
        return slope

    def score(self, target: Array, prediction: Array, weight: Array | None = None) -> float:
        level = float(self.level)
        return float(d2_pinball_score(target, prediction, sample_weight=weight, alpha=level))
