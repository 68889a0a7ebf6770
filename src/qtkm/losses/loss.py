"""Interface of a loss, which compares responses with targets row by row.

Responses are real or complex arrays (n, k) of n rows and k outputs; targets are real arrays of the
same shape.
"""

from collections.abc import Callable
from functools import reduce
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import r2_score

Array = NDArray[Any]


class Loss(BaseEstimator):
    """Interface of a pointwise loss; parameters are those of the constructor.

    Alternating least squares minimizes one of two parabolas instead of the loss,

        ℓ(f₀) + ℓ'(f₀)·(f - f₀) + ½ c |f - f₀|²,

    whose c is `curvature` (close to the loss near f₀) or `bound` (above the loss everywhere, so
    that its minimum never raises the loss).  Both have one c per row, which gives a least-squares
    problem with weights c and targets f₀ - ℓ'(f₀)/c.
    """

    #: the loss is quadratic in f, so one local system gives the exact minimum
    is_quadratic: ClassVar[bool] = False
    #: targets are signs: +1 in the column of the row's class, -1 elsewhere; with two classes a
    #: single column, +1 for the second
    is_margin: ClassVar[bool] = False
    #: a classifier may use it, with signs as targets
    for_classes: ClassVar[bool] = False
    #: a regressor may scale targets by `center_and_scale` before the loss sees them
    normalizes_target: ClassVar[bool] = True
    #: the response is the logarithm of the predicted mean
    has_log_link: ClassVar[bool] = False
    #: targets are scaled by their median and median deviation
    is_robust: ClassVar[bool] = False
    #: `link` gives probabilities
    has_probabilities: ClassVar[bool] = False
    #: the largest curvature at any response and target; None if there is none
    steepest: ClassVar[float | None] = None

    @property
    def sees_complex(self) -> bool:
        """Whether the imaginary part of the response matters."""
        return False

    @property
    def has_constant_bound(self) -> bool:
        """Whether the bound is the same at all responses and targets."""
        return False

    @property
    def has_bound(self) -> bool:
        """Whether `bound` is implemented; if not, alternating least squares may need damping."""
        return type(self).bound is not Loss.bound

    def check(self) -> None:
        """Raise a ValueError for invalid parameters."""

    def check_range(self, low: Array, high: Array) -> None:
        """Raise a ValueError for invalid targets; `low` and `high` (n_outputs,) are their range."""

    def center_and_scale(self, mean: Array, variance: Array) -> tuple[Array, Array]:
        """Return center and scale of targets with the given moments."""
        return mean, np.sqrt(variance)

    def informative(self, target: Array) -> Array | None:
        """Return a mask (n,) of the rows that carry information on the mean; None for all.

        Defaults that depend on the number of rows ignore the others.
        """
        return None

    def for_outputs(self, n_outputs: int) -> "Loss":
        """Return the loss to use for `n_outputs` outputs, by default the same."""
        return self

    def describe(self) -> str:
        """Name the loss with its parameters, in a few words."""
        parameters = {k: v for k, v in self.get_params().items() if k != "residual"}
        numbers = ", ".join(f"{name} {value}" for name, value in parameters.items())
        link = ["logarithmic link"] if self.has_log_link else []
        return ", ".join([type(self).__name__, *([numbers] if numbers else []), *link])

    def value(self, response: Array, target: Array) -> Array:
        """Return the loss of every row, summed over its outputs, shape (n,)."""
        raise NotImplementedError(f"{type(self).__name__} has no value.")

    def gradient(self, response: Array, target: Array) -> Array:
        """Return ∂ℓ/∂Re f, shape (n, k), or ∂ℓ/∂Re f + i ∂ℓ/∂Im f if the loss sees complex f."""
        raise NotImplementedError(f"{type(self).__name__} has no gradient.")

    def curvature(self, response: Array, target: Array) -> Array:
        """Return the curvature c >= 0 of every row at this response, shape (n,).

        c·I is the (generalized) Hessian or an upper bound of it; by default the largest entry of a
        diagonal one.  Without a `bound`, c = 0 means that the gradient of the row is 0; with one,
        c is raised to a small share of it.
        """
        ones = np.ones_like(response.real)
        return largest_output(self.curvature_product(response, target, ones).real)

    def bound(self, response: Array, target: Array) -> Array:
        """Return the curvature of a parabola that touches the loss here and bounds it, shape (n,).

        Optional: without it, steps by `curvature` that raise the objective are repeated with a
        larger curvature.
        """
        raise NotImplementedError(f"{type(self).__name__} has no bound.")

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        """Multiply the exact (generalised) Hessian by a direction (n, k), shape (n, k).

        The Hessian is with respect to Re f, and only the real part of the direction is used; a
        loss that sees complex f maps complex directions to complex products.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no curvature_product, which alternating least squares and "
            "Gauss-Newton need; implement it, or use a solver that only needs gradients, such as "
            "'lbfgs'."
        )

    def prediction(self, response: Array) -> Array:
        """Return predicted targets: Re f, or its exponential, shape (n, k)."""
        return response.real

    def keep_inside(self, prediction: Array) -> Array:
        """Clip predictions in units of y to where the loss is defined."""
        return prediction

    def take_offset(
        self, target: Array, weight: Array | None, offset: Array
    ) -> tuple[Array, Array | None]:
        """Return targets (n, k) and weights (n,) whose loss at f is the given one at f + offset.

        `offset` (n, 1) is the known part of the response.
        """
        return target - offset, weight

    def add_offset(self, prediction: Array, offset: Array) -> Array:
        """Return predictions (n, k) of f + offset, from those of f and offsets (n, 1)."""
        return prediction + offset

    def score(self, target: Array, prediction: Array, weight: Array | None = None) -> float:
        """Return the relative reduction of the best constant's loss; R² here."""
        return float(r2_score(target, prediction, sample_weight=weight))

    def link(self, response: Array) -> Array | None:
        """Return class probabilities, shape (n, n_classes), or None if the loss has none."""
        return None


class WithResidual(Loss):
    """Loss of the complex response, which pushes Im f to 0, or of its real part.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        Which of the two; "auto" means `default_residual`.
    """

    default_residual: ClassVar[str] = "complex"

    def __init__(self, residual="auto"):
        self.residual = residual

    @property
    def sees_complex(self) -> bool:
        return (self.default_residual if self.residual == "auto" else self.residual) == "complex"

    def for_outputs(self, n_outputs: int) -> Loss:
        # all outputs of a row share one curvature, and Im f needs that of its own output
        if n_outputs == 1 or not self.sees_complex or self.steepest is not None:
            return self
        return clone(self).set_params(residual="real")

    def check(self) -> None:
        if not isinstance(self.residual, str) or self.residual not in ("complex", "real", "auto"):
            raise ValueError(
                f"residual={self.residual!r} is unknown; use 'complex' for a loss that also "
                "pushes the imaginary part of the response to 0, 'real' for a loss of the real "
                "part only, or 'auto'."
            )

    def _seen(self, response: Array) -> Array:
        return response if self.sees_complex else response.real


class ResidualLoss(WithResidual):
    """ℓ(Re f), or ℓ(Re f) + ½κ(Im f)² with the curvature κ of a parabola above ℓ.

    A subclass implements ℓ for real responses by `_value`, `_gradient` and `_product`, which are
    like the methods of these names, and κ by `_pull`.

    With the penalty, κ is the curvature of a row: the parabola ½κ|f - z|² that touches the loss
    at f₀ then has a real z = Re f₀ - ℓ'(Re f₀)/κ, so that it is the squared loss of a complex
    residual with real targets.  See docs/decisions/0007-losses-of-complex-responses.md.

    Parameters
    ----------
    residual : {"complex", "real"} or "auto"
        With the penalty on Im f, or without; "auto" means "real" for classes, but "complex" in a
        classifier.
    """

    _value: Callable[[Array, Array], Array]
    _gradient: Callable[[Array, Array], Array]
    _product: Callable[[Array, Array, Array], Array]

    def _pull(self, response: Array, target: Array) -> tuple[Array, Array | float]:
        """Return κ (n, k), and its derivative by Re f divided by κ."""
        raise NotImplementedError

    def value(self, response: Array, target: Array) -> Array:
        result = self._value(response.real, target)
        if self.sees_complex and np.iscomplexobj(response):
            pull, _ = self._pull(response.real, target)
            result += add_outputs(pull * np.square(response.imag)) / 2
        return result

    def gradient(self, response: Array, target: Array) -> Array:
        slope = self._gradient(response.real, target)
        if not (self.sees_complex and np.iscomplexobj(response)):
            return slope
        pull, rate = self._pull(response.real, target)
        slope += rate * pull * np.square(response.imag) / 2
        return slope + 1j * pull * response.imag

    def curvature(self, response: Array, target: Array) -> Array:
        if not self.sees_complex:
            return super().curvature(response, target)
        return largest_output(self._pull(response.real, target)[0])

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        product = self._product(response.real, target, direction.real)
        if not (self.sees_complex and np.iscomplexobj(response + direction)):
            return product
        pull, rate = self._pull(response.real, target)
        mixed = rate * response.imag
        product += pull * mixed * (mixed / 2 * direction.real + direction.imag)
        return product + 1j * pull * (mixed * direction.real + direction.imag)


def add_outputs(values: Array) -> Array:
    """Sum over outputs, (n, k) -> (n,); for few of them four times as fast as `sum`."""
    return np.einsum("...k->...", values)


def largest_output(values: Array) -> Array:
    """Return the maximum over outputs, (n, k) -> (n,).

    Columns are compared, as a reduction over a short last axis is slow (3 outputs, a million rows:
    40 ms against 4 ms).
    """
    if values.shape[-1] > 8:
        return values.max(axis=-1)
    return reduce(np.maximum, np.moveaxis(values, -1, 0))
