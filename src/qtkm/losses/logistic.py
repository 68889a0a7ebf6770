"""Logistic loss: log(1 + exp(-m)), one-vs-rest with several outputs."""

from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, softmax

from .loss import FLOOR, Array
from .margin_loss import MarginLoss
from .residual import ResidualLoss


class Logistic(ResidualLoss, MarginLoss):
    """log(1 + exp(-m)) of the margin m = y·Re f, the negative log-likelihood of a sign.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Whether to add ⅛(Im f)², see `ResidualLoss`.

    Notes
    -----
    The majoriser is that of Jaakkola and Jordan [1]_: the parabola of curvature
    tanh(m/2)/(2m) touches the loss at m and at -m.  Curvature at 0 is ¼, the largest of all.

    References
    ----------
    .. [1] Jaakkola, Jordan, "Bayesian parameter estimation via variational methods",
       Statistics and Computing 10, 2000.
    """

    has_constant_bound: ClassVar[bool] = True
    has_probabilities: ClassVar[bool] = True
    steepest: ClassVar[float] = 0.25

    def link(self, response: Array) -> Array:
        """Probabilities; of two classes with one output, else one-vs-rest, scaled to sum to 1."""
        response = response.real
        if response.shape[-1] == 1:
            return expit(np.concatenate([-response, response], axis=-1))
        # through logarithms, as all of a row's probabilities may be too small for a number
        return softmax(log_expit(response), axis=-1)

    def _value(self, margin: Array) -> Array:
        log_expit(margin, out=margin)
        return np.negative(margin, out=margin)

    def _slope(self, margin: Array) -> Array:
        np.negative(margin, out=margin)
        expit(margin, out=margin)
        return np.negative(margin, out=margin)

    def _second(self, margin: Array) -> Array:
        result = expit(margin)
        np.negative(margin, out=margin)
        result *= expit(margin, out=margin)
        return result

    def _curvature(self, margin: Array) -> Array:
        half, tanh = _half_and_tanh(margin)
        bound = np.divide(tanh, half, out=half)  # four times the bound
        bound *= FLOOR
        tanh *= tanh
        second = np.subtract(1, tanh, out=tanh)  # four times φ''
        np.maximum(second, bound, out=second)
        second /= 4
        return second

    def _bound(self, margin: Array) -> Array:
        half, tanh = _half_and_tanh(margin)
        tanh /= half
        tanh /= 4
        return tanh


def _half_and_tanh(margin: Array) -> tuple[Array, Array]:
    """|m|/2, kept from 0 where tanh(x)/x is 1 to rounding anyway, and its tanh."""
    half = np.abs(margin, out=margin)
    half /= 2
    np.maximum(half, 1e-8, out=half)
    return half, np.tanh(half)
