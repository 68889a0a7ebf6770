"""Losses for classes, with signs y as targets: of margins y·Re f, and softmax.

With several outputs, margin losses are one-vs-rest: each column separates one class from others.
"""

from collections.abc import Callable
from typing import ClassVar

import numpy as np
from scipy.special import expit, log_expit, softmax

from .loss import Array, ResidualLoss, add_outputs, largest_output


class ClassLoss(ResidualLoss):
    """ℓ(Re f) of classes, with κ = `steepest`, which bounds its curvature everywhere."""

    is_margin = True
    for_classes = True
    default_residual = "real"
    steepest: ClassVar[float]

    def _pull(self, response: Array, target: Array) -> tuple[Array, float]:
        return np.full(response.shape, self.steepest, dtype=response.dtype), 0.0

    def bound(self, response: Array, target: Array) -> Array:
        return np.full(response.shape[:-1], self.steepest, dtype=response.real.dtype)


class MarginLoss(ClassLoss):
    """Sum of φ(m_j), m_j = y_j·Re f_j, over the outputs j.

    A subclass implements φ, φ' and φ'' as `_phi`, `_slope` and `_second`.
    """

    _phi: Callable[[Array], Array]
    _slope: Callable[[Array], Array]
    _second: Callable[[Array], Array]

    def _value(self, response: Array, target: Array) -> Array:
        return add_outputs(self._phi(response * target))

    def _gradient(self, response: Array, target: Array) -> Array:
        return target * self._slope(response * target)

    def _product(self, response: Array, target: Array, direction: Array) -> Array:
        return self._second(response * target) * direction


class Logistic(MarginLoss):
    """log(1 + exp(-m)) of the margin m = y·Re f, the negative log-likelihood of a sign.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        As in `ResidualLoss`; "complex" adds ⅛(Im f)².

    Notes
    -----
    The parabola of curvature tanh(m/2)/(2m), at most ¼, touches the loss at m and at -m; see
    Jaakkola, Jordan, "Bayesian parameter estimation via variational methods", Statistics and
    Computing 10, 2000.
    """

    has_probabilities = True
    steepest = 0.25

    @property
    def has_constant_bound(self) -> bool:
        return self.sees_complex

    def link(self, response: Array) -> Array:
        """Return probabilities: of two classes, or one-vs-rest, scaled to sum to 1."""
        response = response.real
        if response.shape[-1] == 1:
            return expit(np.concatenate([-response, response], axis=-1))
        # through logarithms, as all of a row's probabilities may underflow
        return softmax(log_expit(response), axis=-1)

    def _phi(self, margin: Array) -> Array:
        return -log_expit(margin)

    def _slope(self, margin: Array) -> Array:
        return -expit(-margin)

    def _second(self, margin: Array) -> Array:
        small = expit(-np.abs(margin))
        return small * (1 - small)

    def bound(self, response: Array, target: Array) -> Array:
        if self.sees_complex:
            return super().bound(response, target)
        # the quadratics of the outputs add up, and raising a curvature keeps each above its loss
        half = np.maximum(np.abs(response.real * target) / 2, 1e-8)  # tanh(x)/x is 1 below
        return largest_output(np.tanh(half) / half / 4)


class SquaredHinge(MarginLoss):
    """max(0, 1 - m)² of the margin m = y·Re f.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        As in `ResidualLoss`; "complex" adds (Im f)².

    Notes
    -----
    The generalized Hessian is 2 where m < 1, 0 elsewhere: a step by `curvature` may move rows
    beyond their margin freely, a step by `bound` may not.
    """

    steepest = 2.0

    def _phi(self, margin: Array) -> Array:
        return np.square(np.maximum(1 - margin, 0))

    def _slope(self, margin: Array) -> Array:
        return -2 * np.maximum(1 - margin, 0)

    def _second(self, margin: Array) -> Array:
        return 2 * (margin < 1).astype(margin.dtype)


class Softmax(ClassLoss):
    """log Σ_j exp(Re f_j) - Re f_y, where y is the output whose target is +1.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        As in `ResidualLoss`; "complex" adds ¼Σ_j(Im f_j)².

    Notes
    -----
    With the probabilities p = softmax(Re f) the Hessian is H = diag(p) - p pᵀ, which is never
    above ½ I (Böhning, "Multinomial logistic regression algorithm", Annals of the Institute of
    Statistical Mathematics 44, 1992): this is `bound`.  At a given p, H is below diag(p) and so
    below max p; by Gershgorin's circles, also below max 2p(1 - p).  The smaller is `curvature`.
    """

    has_constant_bound = True
    has_probabilities = True
    steepest = 0.5

    def _value(self, response: Array, target: Array) -> Array:
        scores = _below_largest(response)
        own = np.einsum("...k,...k->...", scores, np.maximum(target, 0))
        return np.log(add_outputs(np.exp(scores))) - own

    def _gradient(self, response: Array, target: Array) -> Array:
        return self.link(response) - (target > 0)

    def curvature(self, response: Array, target: Array) -> Array:
        if self.sees_complex:
            return self.bound(response, target)
        largest = 1 / add_outputs(np.exp(_below_largest(response)))  # max p
        return largest * np.minimum(2 - 2 * largest, 1)

    def _product(self, response: Array, target: Array, direction: Array) -> Array:
        probabilities = self.link(response)
        mean = np.einsum("...k,...k->...", probabilities, direction)
        return probabilities * (direction - mean[..., None])

    def link(self, response: Array) -> Array:
        powers = np.exp(_below_largest(response))
        return powers / add_outputs(powers)[..., None]


def _below_largest(response: Array) -> Array:
    """Return Re f minus the row's largest: the same probabilities, without overflow."""
    if response.shape[-1] < 2:
        raise ValueError(
            f"softmax needs one output per class, got {response.shape[-1]}; for two classes and "
            "one output, use the logistic loss."
        )
    return response.real - largest_output(response.real)[..., None]
