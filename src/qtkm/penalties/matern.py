"""Matérn prior: the variance of a weight falls as a power of its frequency."""

from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .base import SpectralPenalty, check_positive


class Matern(SpectralPenalty):
    """Spectral density of the Matérn kernel in one dimension.

    Parameters
    ----------
    nu : float or "auto"
        Smoothness: functions drawn from the prior have about `nu` derivatives. 0.5 suits rough
        data, 1.5 and 2.5 smooth data; "auto" learns which.
    length_scale : float or "auto"
        Distance over which the function changes, in units of the box; "auto" learns it.
    share : float or "auto"
        Part of the variance that is not constant, > 0 and <= 1; "auto" learns it.

    Notes
    -----
    s(ω) ∝ (2ν/ℓ² + ω²)^-(ν + 1/2) [1]_.

    References
    ----------
    .. [1] Rasmussen, Williams, "Gaussian Processes for Machine Learning", MIT Press, 2006,
       Section 4.2.
    """

    choices: ClassVar[dict[str, tuple[float, tuple[float, ...]]]] = {
        **SpectralPenalty.choices,
        "nu": (1.5, (0.5, 1.5, 2.5)),
    }

    def __init__(self, nu="auto", length_scale="auto", share="auto"):
        self.nu = nu
        self.length_scale = length_scale
        self.share = share

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        inverse = 2 * self.nu / self.length_scale**2
        return (1 + frequencies**2 / inverse) ** -(self.nu + 0.5)

    def check(self, name: str) -> None:
        super().check(name)
        check_positive("nu", self.nu, name, "such as 0.5, 1.5 or 2.5")
