"""Squared loss, of the complex response or of its real part."""

from typing import ClassVar

import numpy as np

from .loss import Array, Loss, add_outputs

RESIDUALS = ("complex", "real", "auto")


class Squared(Loss):
    """|f - y|² with complex f (the paper's, which also pushes Im f to 0), or (Re f - y)².

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Which of the two; "auto" stands for "complex".
    """

    is_quadratic: ClassVar[bool] = True
    for_classes: ClassVar[bool] = True

    def __init__(self, residual="auto"):
        self.residual = residual

    @property
    def sees_complex(self) -> bool:
        return self.residual != "real"

    def check(self) -> None:
        if not isinstance(self.residual, str) or self.residual not in RESIDUALS:
            raise ValueError(
                f"residual={self.residual!r} is not known; use 'complex' for |f - y|², 'real' "
                "for (Re f - y)², or 'auto', which stands for 'complex'."
            )

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

    def _seen(self, response: Array) -> Array:
        return response if self.sees_complex else response.real
