"""Losses of the margin m = y·Re f, with signs y as targets, added over the outputs.

With several outputs this is one-vs-rest: each column tells its class from all others.
"""

from typing import ClassVar

from .loss import Array, Loss, add_outputs, largest_output


class MarginLoss(Loss):
    """Sum of φ(y_j·Re f_j) over the outputs j; a subclass gives φ and its derivatives.

    Every `_function` below takes margins (n, k) that it may overwrite, and returns φ or a
    derivative of it for each of them.
    """

    is_margin: ClassVar[bool] = True
    for_classes: ClassVar[bool] = True

    def value(self, response: Array, target: Array) -> Array:
        return add_outputs(self._value(response.real * target))

    def gradient(self, response: Array, target: Array) -> Array:
        slope = self._slope(response.real * target)
        slope *= target
        return slope

    def curvature(self, response: Array, target: Array) -> Array:
        return largest_output(self._curvature(response.real * target))

    def bound(self, response: Array, target: Array) -> Array:
        # the quadratics of the outputs add up, and raising a curvature keeps each above its loss
        return largest_output(self._bound(response.real * target))

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        second = self._second(response.real * target)
        second *= direction.real
        return second

    def _value(self, margin: Array) -> Array:
        """φ(m)."""
        raise NotImplementedError

    def _slope(self, margin: Array) -> Array:
        """First derivative φ'(m)."""
        raise NotImplementedError

    def _second(self, margin: Array) -> Array:
        """Second derivative φ''(m)."""
        raise NotImplementedError

    def _curvature(self, margin: Array) -> Array:
        """φ''(m), raised where it would be too small for the slope, see `Loss.curvature`."""
        raise NotImplementedError

    def _bound(self, margin: Array) -> Array:
        """Curvature of a parabola in m that touches φ here and lies above it."""
        raise NotImplementedError
