"""Squared hinge loss: max(0, 1 - m)²."""

from typing import ClassVar

import numpy as np

from .loss import Array
from .margin_loss import MarginLoss
from .residual import ResidualLoss


class SquaredHinge(ResidualLoss, MarginLoss):
    """max(0, 1 - m)² of the margin m = y·Re f.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Whether to add (Im f)², see `ResidualLoss`.

    Notes
    -----
    The slope is continuous and the generalised Hessian 2 where m < 1, 0 elsewhere.  Rows
    beyond their margin thus have no curvature and no slope: a step by `curvature` is free to
    move them, a step by `bound` is not.
    """

    steepest: ClassVar[float] = 2.0

    def _value(self, margin: Array) -> Array:
        short = _shortfall(margin)
        short *= short
        return short

    def _slope(self, margin: Array) -> Array:
        short = _shortfall(margin)
        short *= -2
        return short

    def _second(self, margin: Array) -> Array:
        return np.multiply(margin < 1, 2, out=margin)

    def _curvature(self, margin: Array) -> Array:
        return self._second(margin)

    def _bound(self, margin: Array) -> Array:
        margin[...] = 2
        return margin


def _shortfall(margin: Array) -> Array:
    """max(0, 1 - m), in the memory of m."""
    np.subtract(1, margin, out=margin)
    return np.maximum(margin, 0, out=margin)
