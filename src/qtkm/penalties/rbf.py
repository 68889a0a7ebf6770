"""RBF prior: the variance of a weight falls like a Gaussian of its frequency."""

import numpy as np
from numpy.typing import NDArray

from .base import SpectralPenalty


class RBF(SpectralPenalty):
    """Spectral density of the squared-exponential kernel.

    Parameters
    ----------
    length_scale : float or "auto"
        Distance over which the function changes, in units of the box; "auto" learns it.
    share : float or "auto"
        Part of the variance that is not constant, > 0 and <= 1; "auto" learns it.

    Notes
    -----
    s(ω) ∝ exp(-ω²ℓ²/2).
    """

    def __init__(self, length_scale="auto", share="auto"):
        self.length_scale = length_scale
        self.share = share

    def density(self, frequencies: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-0.5 * (self.length_scale * frequencies) ** 2)
