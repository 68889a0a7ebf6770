"""Squared loss, of the complex response or of its real part."""

from typing import ClassVar

from numpy.typing import NDArray
from sklearn.base import BaseEstimator


class Squared(BaseEstimator):
    """|f - y|² with complex f (the paper's, which also pushes Im f to 0), or (Re f - y)².

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Which of the two; "auto" stands for "complex".
    """

    #: the loss is quadratic in f, so one local system gives the exact minimum
    is_quadratic: ClassVar[bool] = True

    def __init__(self, residual="auto"):
        self.residual = residual

    def value(self, response: NDArray, target: NDArray) -> NDArray:
        """Loss of every row and output."""
        difference = response - target
        if self.residual == "real":
            return difference.real**2
        return difference.real**2 + difference.imag**2
