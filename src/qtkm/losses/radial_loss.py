"""Losses of the distance |f - y| that are a parabola near 0 and a straight line beyond it."""

import numpy as np

from .loss import Array, add_outputs, largest_output
from .regression_loss import RegressionLoss


class RadialLoss(RegressionLoss):
    """g(|f - y|) or g(|Re f - y|); a subclass gives the slope and where it sets in.

    Notes
    -----
    g(ρ) = s·ρ²/(2h) up to ρ = h, and s·(ρ - h/2) beyond it.  g is concave as a function of ρ², so
    the parabola of curvature g'(ρ)/ρ = s/max(ρ, h) that touches it lies above it [1]_.  That
    parabola has its minimum at y.

    References
    ----------
    .. [1] De Leeuw, Lange, "Sharp quadratic majorization in one dimension", Computational
       Statistics & Data Analysis 53, 2009.
    """

    @property
    def _slope(self) -> float:
        """Slope s of the straight line."""
        raise NotImplementedError

    @property
    def _width(self) -> float:
        """Distance h at which the straight line sets in."""
        raise NotImplementedError

    def value(self, response: Array, target: Array) -> Array:
        distance = np.abs(self._seen(response) - target)
        inside = np.minimum(distance, self._width)
        distance -= inside
        inside *= inside
        inside /= 2 * self._width
        distance += inside
        distance *= self._slope
        return add_outputs(distance)

    def gradient(self, response: Array, target: Array) -> Array:
        difference = self._seen(response) - target
        difference *= self._touching(difference)
        return difference

    def curvature(self, response: Array, target: Array) -> Array:
        return self.bound(response, target)

    def bound(self, response: Array, target: Array) -> Array:
        return largest_output(self._touching(self._seen(response) - target))

    def curvature_product(self, response: Array, target: Array, direction: Array) -> Array:
        difference, direction = self._seen(response) - target, self._seen(direction)
        distance = np.abs(difference)
        # beyond the width there is no curvature along the difference, only across it
        beyond = distance > self._width
        along = (difference.conj() * direction).real
        along /= np.where(beyond, distance, 1) ** 2
        along *= beyond
        return self._touching(difference) * (direction - along * difference)

    def _touching(self, difference: Array) -> Array:
        """Curvature of the parabola that touches the loss here and lies above it."""
        distance = np.abs(difference)
        np.maximum(distance, self._width, out=distance)
        return np.divide(self._slope, distance, out=distance)
