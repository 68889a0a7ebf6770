"""Pure powers 1, x, …, x^(M-1), quantized or not."""

import numpy as np
from sklearn.base import clone

from . import radices
from .feature_map import Array, FeatureMap


class Power(FeatureMap):
    """Polynomial features of one column.

    Parameters
    ----------
    n_basis : int or "auto"
        Number M of powers; the degree is M - 1.
    quantization : int, "prime", sequence of int, None or "auto"
        How M splits into levels, see `qtkm.features.radices.split`.

    Notes
    -----
    Entry q of level k is x^(q·B_k) with B_k = Q_1⋯Q_{k-1}: the Vandermonde vector
    of x is the Kronecker product of the levels' [1]_.

    References
    ----------
    .. [1] Wesel, Batselier, "Quantized Fourier and Polynomial Features for more Expressive
       Tensor Network Models", AISTATS 2024, Theorem 3.4.
    """

    def __init__(self, n_basis="auto", quantization="auto"):
        self.n_basis = n_basis
        self.quantization = quantization

    @property
    def radices(self) -> tuple[int, ...]:
        return radices.split(self.n_basis, self.quantization)

    def factors(self, values: Array) -> Array:
        base = np.asarray(values, dtype=np.float64)
        found = []
        for radix in self.radices:
            found.append(base[:, None] ** np.arange(radix))
            base = base**radix
        return np.concatenate(found, axis=1)

    def kind(self, conjugate: bool) -> str:
        return "sums"

    @property
    def frequencies(self) -> Array:
        return np.arange(self.n_basis, dtype=np.float64)  # slope of x^m at the end of the box

    def for_one_value(self) -> "Power":
        return clone(self).set_params(n_basis=1, quantization="auto")

    def bin_error(self, width: float) -> float:
        return (self.n_basis - 1) * width / 2
