"""Squared loss, of the complex response or of its real part."""

from typing import ClassVar

import numpy as np

from .loss import Array, add_outputs
from .regression_loss import RegressionLoss


class Squared(RegressionLoss):
    """|f - y|² with complex f (the paper's, which also pushes Im f to 0), or (Re f - y)².

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Which of the two; "auto" stands for "complex".
    """

    is_quadratic: ClassVar[bool] = True
    for_classes: ClassVar[bool] = True

    def for_outputs(self, n_outputs: int) -> "Squared":
        return self  # all outputs have the same curvature

    def value(self, response: Array, target: Array) -> Array:
        difference = self._seen(response) - target
        squares = np.square(difference.real)
        if np.iscomplexobj(difference):
            squares += np.square(difference.imag)
        return add_outputs(squares)

    def gradient(self, response: Array, target: Array) -> Array:
        difference = self._seen(response) - target
        difference *= 2
        return difference

    def curvature(self, response: Array, target: Array) -> Array:
        return self.bound(response, target)

    def bound(self, response: Array, target: Array) -> Array:
        return np.full(response.shape[:-1], 2, dtype=response.real.dtype)

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        return 2 * self._seen(direction)
