"""What every penalty of one column offers to the layers above.

The penalty of a model is α·Σ_m |w_m|² / Π_d s_d[m_d]: the weight of function m of column d has
the prior variance s_d[m].  A penalty gives these variances from what a feature map says of its
functions.  It knows no rows and no network.
"""

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

#: variances below this fraction of the largest are raised to it, so that weights stay finite
LEAST_VARIANCE = 1e-13


class Penalty(BaseEstimator):
    """Interface of a column's prior; parameters are those of the constructor."""

    def variances(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64] | None:
        """Return the prior variance of the weight of each function; they sum to 1.

        Parameters
        ----------
        frequencies : (M,) array
            Angular frequency of every function, see `FeatureMap.frequencies`.

        Returns
        -------
        (M,) array, or None to treat all functions alike.
        """
        raise NotImplementedError(f"{type(self).__name__} has no variances.")

    def precision(self, feature_map: Any) -> NDArray[np.float64] | None:
        """Return what multiplies the squared weight of each function, or None for 1.

        A map whose functions have no frequencies (categories) is treated alike by all penalties.
        """
        frequencies = feature_map.frequencies
        variances = None if frequencies is None else self.variances(frequencies)
        return None if variances is None else 1 / variances

    def check(self, name: str) -> None:
        """Raise a ValueError for parameters that make no sense; `name` is the column's."""


class SpectralPenalty(Penalty):
    """A prior whose variances are a density over frequencies, mixed with a constant.

    k = (1 - share) + share·k_ℓ is the kernel of a column.  The product over the columns is an
    ANOVA kernel: interactions of order j carry share^j, so small shares pull towards additive
    models.
    """

    length_scale: float
    share: float

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the spectral density up to a factor."""
        raise NotImplementedError

    def variances(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        density = self.density(frequencies)
        variances = self.share * density / density.sum()
        variances[np.abs(frequencies) == np.abs(frequencies).min()] += 1 - self.share
        return np.maximum(variances, LEAST_VARIANCE * variances.max())

    def check(self, name: str) -> None:
        check_positive("length_scale", self.length_scale, name, "in units of the box, such as 0.3")
        if not _is_number(self.share) or not 0 < self.share <= 1:
            raise ValueError(
                f"share={self.share!r} of {name} must be a number > 0 and <= 1: the part of the "
                "variance that is not constant."
            )


def check_positive(what: str, value: Any, name: str, hint: str) -> None:
    """Raise a ValueError unless a parameter of a column's penalty is a finite number > 0."""
    if not _is_number(value) or not 0 < value < np.inf:
        raise ValueError(f"{what}={value!r} of {name} must be a finite number > 0, {hint}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)
