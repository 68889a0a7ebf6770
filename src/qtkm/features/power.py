"""Pure powers 1, x, …, x^(M-1), quantized or not."""

import numpy as np

from .feature_map import MOST_MAIN, Array, NumberMap, moved


class Power(NumberMap):
    """Polynomial features of one column.

    Parameters
    ----------
    n_basis : int or "auto"
        Number M of powers; the degree is M - 1.
    quantization : int, "prime", sequence of int, None or "auto"
        How M splits into levels, see `qtkm.features.radices.split`.
    warp : (2, n) array or None
        Places in the box, and where values there are moved to before all else; a fit with
        another `scaling` than "range" fills it in.

    Notes
    -----
    Entry q of level k is x^(q·B_k) with B_k = Q_1⋯Q_{k-1}: the Vandermonde vector
    of x is the Kronecker product of the levels' [1]_.

    References
    ----------
    .. [1] Wesel, Batselier, "Quantized Fourier and Polynomial Features for more Expressive
       Tensor Network Models", AISTATS 2024, Theorem 3.4.
    """

    def __init__(self, n_basis="auto", quantization="auto", warp=None):
        self.n_basis = n_basis
        self.quantization = quantization
        self.warp = warp

    def factors(self, values: Array) -> Array:
        base = moved(values, self.warp)
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

    @property
    def n_main(self) -> int:
        return 1 + min(max(self.n_basis - 2, 0), MOST_MAIN)

    def main_functions(self, values: Array) -> Array:
        plain, places = np.asarray(values, dtype=np.float64), moved(values, self.warp)
        powers = places[:, None] ** np.arange(2, self.n_main + 1)
        return np.concatenate([plain[:, None], powers], axis=1)

    @property
    def main_frequencies(self) -> Array:
        return np.arange(2, self.n_main + 1, dtype=np.float64)

    def first_functions(self, values: Array) -> Array:
        return moved(values, self.warp)[:, None] ** np.arange(1, min(3, self.n_basis))

    def combine(self, coefficients: Array, constant: float) -> Array:
        weights = np.zeros(self.n_basis)
        weights[: 1 + len(coefficients)] = [constant, *coefficients]
        return weights

    def bin_error(self, width: float) -> float:
        return (self.n_basis - 1) * width / 2
