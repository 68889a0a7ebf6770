"""Softmax loss: the negative log-likelihood of the row's class, all outputs together."""

from typing import ClassVar

import numpy as np

from .loss import FLOOR, Array, Loss, add_outputs, largest_output
from .residual import ResidualLoss

#: largest eigenvalue that the Hessian diag(p) - p pᵀ can have
BOUND = 0.5


class RealSoftmax(Loss):
    """log Σ_j exp(Re f_j) - Re f_y, see `Softmax`."""

    has_constant_bound: ClassVar[bool] = True
    is_margin: ClassVar[bool] = True
    for_classes: ClassVar[bool] = True
    has_probabilities: ClassVar[bool] = True

    def value(self, response: Array, target: Array) -> Array:
        scores = _below_largest(response)
        own = np.einsum("...k,...k->...", scores, np.maximum(target, 0))
        result = np.log(add_outputs(np.exp(scores, out=scores)))
        result -= own
        return result

    def gradient(self, response: Array, target: Array) -> Array:
        result = self.link(response)
        result -= target > 0
        return result

    def curvature(self, response: Array, target: Array) -> Array:
        scores = _below_largest(response)
        largest = 1 / add_outputs(np.exp(scores, out=scores))  # max p
        spread = 2 - 2 * largest
        largest *= np.minimum(spread, 1, out=spread)
        return np.maximum(largest, FLOOR * BOUND, out=largest)

    def bound(self, response: Array, target: Array) -> Array:
        return np.full(response.shape[:-1], BOUND, dtype=response.real.dtype)

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        direction, probabilities = direction.real, self.link(response)
        mean = np.einsum("...k,...k->...", probabilities, direction)
        probabilities *= direction - mean[..., None]
        return probabilities

    def link(self, response: Array) -> Array:
        """Probabilities exp(Re f_j) / Σ exp(Re f)."""
        result = _below_largest(response)
        np.exp(result, out=result)
        result /= add_outputs(result)[..., None]
        return result


class Softmax(ResidualLoss, RealSoftmax):
    """log Σ_j exp(Re f_j) - Re f_y, where y is the output whose target is +1.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Whether to add ¼Σ_j(Im f_j)², see `ResidualLoss`.

    Notes
    -----
    With the probabilities p = softmax(Re f) the Hessian is H = diag(p) - p pᵀ, which is never
    above ½ I [1]_: this is `bound`.  At a given p, H is below diag(p) and so below max p; by
    Gershgorin's circles, also below max 2p(1 - p).  The smaller of the two is `curvature`.

    References
    ----------
    .. [1] Böhning, "Multinomial logistic regression algorithm", Annals of the Institute of
       Statistical Mathematics 44, 1992.
    """

    steepest: ClassVar[float] = BOUND


def _below_largest(response: Array) -> Array:
    """Re f minus the row's largest, which leaves the probabilities and cannot overflow."""
    if response.shape[-1] < 2:
        raise ValueError(
            f"softmax was given {response.shape[-1]} output, but needs one for every class; "
            "use the logistic loss with one output for two classes."
        )
    return response.real - largest_output(response.real)[..., None]
