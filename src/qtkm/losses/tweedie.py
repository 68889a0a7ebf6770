"""Deviances of Poisson, gamma and Tweedie distributions with a logarithmic link.

For targets y >= 0 whose mean exp(Re f) is a product of effects: counts, claims, durations, rain.
"""

from numbers import Real

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy
from sklearn.metrics import d2_tweedie_score

from ..parameters import is_number, keep_parameters
from .loss import Array, ResidualLoss, add_outputs, largest_output

#: largest offset
MOST_OFFSET = 100.0
#: share of the largest exponent of a floating-point type up to which exponentials are computed
EXPONENT_SHARE = 0.45


class LogLinkLoss(ResidualLoss):
    """Deviance of a distribution of mean μ = exp(Re f) and variance proportional to μ^power.

    With a = Re f and b = Im f and a power p from 1 to 2, of which both are limits, the loss is
    (Jørgensen, "The Theory of Dispersion Models", Chapman & Hall, 1997)

        2·(μ^(2-p)/(2-p) - y·μ^(1-p)/(1-p) + y^(2-p)/((1-p)(2-p))) + ½κb²,      μ = exp(a),

    with κ = 2·μ^(1-p)·max(μ, y); the last term is left out for ``residual="real"``.  The minimum is
    0, at f = log y, and the slope 2·μ^(1-p)·(μ - y).

    No parabola lies above it everywhere, so there is no `bound`.  `curvature` is κ: the parabola
    at f lies above the deviance from f to its own minimum, which is at most 1 away and never
    beyond log y.  Exponentials above about 1e138 (1e17 in single precision) are continued by their
    tangent, so that no response overflows.
    """

    power: float
    has_log_link = True

    def _value(self, a: Array, target: Array) -> Array:
        p = self.power
        if p == 1:
            half = _exp(a) - target * (a + 1) + xlogy(target, target)
        elif p == 2:
            known = np.log(np.maximum(target, np.finfo(target.dtype).tiny))
            half = target * _exp(-a) - 1 + (a - known)
        else:
            half = _exp((2 - p) * a) / (2 - p) + target * _exp((1 - p) * a) / (p - 1)
            half -= target ** (2 - p) / ((p - 1) * (2 - p))
        return add_outputs(np.maximum(2 * half, 0))

    def _gradient(self, a: Array, target: Array) -> Array:
        high, low = self._powers(a, target)
        return 2 * (high - low)

    def _product(self, a: Array, target: Array, direction: Array) -> Array:
        p = self.power
        high, low = self._powers(a, target)
        return 2 * ((2 - p) * high + (p - 1) * low) * direction

    def _pull(self, a: Array, target: Array) -> tuple[Array, Array]:
        high, low = self._powers(a, target)
        rate = np.where(high >= low, 2 - self.power, 1 - self.power).astype(a.dtype)
        return 2 * np.maximum(high, low), rate

    def curvature(self, response: Array, target: Array) -> Array:
        return largest_output(self._pull(response.real, target)[0])

    def _powers(self, a: Array, target: Array) -> tuple[Array, Array]:
        """Return μ^(2-p) and y·μ^(1-p)."""
        p = self.power
        return _capped_exp((2 - p) * a), target * _capped_exp((1 - p) * a)

    def prediction(self, response: Array) -> Array:
        limit = _limit(response.real)
        return np.exp(np.clip(response.real, -limit, limit))

    def center_and_scale(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        return np.zeros_like(mean), mean

    def take_offset(
        self, target: Array, weight: Array | None, offset: Array
    ) -> tuple[Array, Array | None]:
        # the deviance of (y, μE) is E^(2-p) times that of (y/E, μ)
        _refuse_large(offset)
        factor = np.exp((2 - self.power) * offset[:, 0])
        return target / np.exp(offset), factor if weight is None else weight * factor

    def add_offset(self, prediction: Array, offset: Array) -> Array:
        _refuse_large(offset)
        with np.errstate(over="ignore"):
            return self.keep_inside(prediction * np.exp(offset))

    def keep_inside(self, prediction: Array) -> Array:
        # a mean is neither 0 nor infinite, even in units in which targets are 1e-300
        number = np.finfo(prediction.dtype)
        return np.clip(prediction, number.tiny, number.max)

    def informative(self, target: Array) -> Array:
        return np.any(target > 0, axis=1, keepdims=True)[:, 0]

    def score(self, target: Array, prediction: Array, weight: Array | None = None) -> float:
        power = float(self.power)
        return float(d2_tweedie_score(target, prediction, sample_weight=weight, power=power))

    def check_range(self, low: NDArray[np.float64], high: NDArray[np.float64]) -> None:
        least, sign = low.min(), ">" if self.power == 2 else ">="
        if least < 0 or (self.power == 2 and least == 0):
            zeros = "Tweedie(power=1.5), which allows zeros, or " if self.power == 2 else ""
            raise ValueError(
                f"{type(self).__name__} needs y {sign} 0, but the smallest y is {least:g}; remove "
                f"these rows, or use {zeros}another loss such as 'squared' or 'huber'."
            )
        if high.min() == 0:
            raise ValueError(
                f"{type(self).__name__} fits the logarithm of a mean, which is -inf if y is 0 in "
                "all rows; add rows with y > 0."
            )


class Poisson(LogLinkLoss):
    """Deviance of counts y >= 0 of mean μ = exp(Re f): 2(μ - y + y·log(y/μ)).

    Rates, with exposures as weights, work as well: y need not be integer.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        As in `Tweedie`.
    """

    power: float = 1.0


class Gamma(LogLinkLoss):
    """Deviance of amounts y > 0 of mean μ = exp(Re f): 2(y/μ - 1 - log(y/μ)).

    For a standard deviation proportional to the mean: sizes of claims, durations, prices.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        As in `Tweedie`.
    """

    power: float = 2.0


class Tweedie(LogLinkLoss):
    """Deviance of a distribution with variance proportional to μ^power, μ = exp(Re f).

    Parameters
    ----------
    power : float, default=1.5
        From 1 (Poisson) to 2 (gamma). In between, sums of a random number of positive amounts:
        many rows are exactly 0, all others positive (claims of a year, rain of a day).
    residual : {"complex", "real"} or "auto"
        Whether Im f is pushed to 0; "auto" means "complex".
    """

    def __init__(self, power=1.5, residual="auto"):
        keep_parameters(self, locals())

    def check(self) -> None:
        super().check()
        if not is_number(self.power, Real) or not 1 <= self.power <= 2:
            raise ValueError(
                f"power={self.power!r} must be a number from 1 (Poisson) to 2 (gamma); try 1.5."
            )


def _refuse_large(offset: Array) -> None:
    if (largest := float(np.abs(offset).max())) > MOST_OFFSET:
        raise ValueError(
            f"offset has entries of size {largest:g}, above the limit {MOST_OFFSET:g} of its "
            "exponential; use the logarithm of the exposure, not the exposure."
        )


def _limit(exponent: Array) -> float:
    return EXPONENT_SHARE * float(np.log(np.finfo(exponent.dtype).max))


def _exp(exponent: Array) -> Array:
    """Return the exponential, continued by its tangent above the limit."""
    return _capped_exp(exponent) * (np.maximum(exponent - _limit(exponent), 0) + 1)


def _capped_exp(exponent: Array) -> Array:
    """Return the slope of `_exp`."""
    return np.exp(np.minimum(exponent, _limit(exponent)))
