"""Losses of Re f that may also push Im f to 0, as the squared loss of a complex f does.

The weights of a complex model have two real numbers an entry, and a loss that reads Re f alone
leaves half of that freedom to fit noise.  On spambase (2,760 rows, 57 columns) the logistic
loss of unseen rows was 2.4 without the penalty below and 0.19 with it; on magic (11,412 rows, 10
columns) 0.336 and 0.316.
"""

from typing import ClassVar

import numpy as np

from .loss import Array, Loss, add_outputs

RESIDUALS = ("complex", "real", "auto")


class ResidualLoss(Loss):
    """ℓ(Re f), or ℓ(Re f) + ½κ(Im f)², where κ bounds the curvature of ℓ everywhere.

    To be mixed into a loss of Re f, before it.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        With the penalty on Im f, or without; "auto" stands for "real" here, and for "complex"
        in a classifier.

    Notes
    -----
    With the penalty, curvature and bound are κ for every row: the quadratic that touches the
    loss at f₀ and lies above it, ½κ|f - z|², then has a real z = Re f₀ - ℓ'(Re f₀)/κ, so
    that it is the squared loss of a complex residual with real targets.
    """

    #: κ, the largest curvature of the loss
    steepest: ClassVar[float]

    def __init__(self, residual="auto"):
        self.residual = residual

    @property
    def sees_complex(self) -> bool:
        return self.residual == "complex"

    def check(self) -> None:
        if not isinstance(self.residual, str) or self.residual not in RESIDUALS:
            raise ValueError(
                f"residual={self.residual!r} is not known; use 'complex' for a loss that also "
                "pushes the imaginary part of the response to 0, 'real' for one of the real part "
                "alone, or 'auto'."
            )

    def value(self, response: Array, target: Array) -> Array:
        result = super().value(response, target)
        if self.sees_complex and np.iscomplexobj(response):
            result += self.steepest / 2 * add_outputs(np.square(response.imag))
        return result

    def gradient(self, response: Array, target: Array) -> Array:
        slope = super().gradient(response, target)
        return self._with_imaginary(slope, response)

    def curvature(self, response: Array, target: Array) -> Array:
        if self.sees_complex:
            return self.bound(response, target)
        return super().curvature(response, target)

    def bound(self, response: Array, target: Array) -> Array:
        if self.sees_complex:
            return np.full(response.shape[:-1], self.steepest, dtype=response.real.dtype)
        return super().bound(response, target)

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        product = super().curvature_product(response, target, direction)
        return self._with_imaginary(product, direction)

    def _with_imaginary(self, real: Array, values: Array) -> Array:
        """Add the derivative of the penalty, κ·Im, as an imaginary part."""
        if self.sees_complex and np.iscomplexobj(values):
            return real + values.real.dtype.type(self.steepest) * 1j * values.imag
        return real
