"""Complex exponentials of frequencies -⌊M/2⌋ … ⌈M/2⌉-1, quantized or not."""

from typing import ClassVar

import numpy as np

from .feature_map import Array, NumberMap, moved

#: frequencies of a column's main effect, whose problem is a dense one
MOST_HARMONICS = 364


class Fourier(NumberMap):
    """Fourier features of one column.

    Parameters
    ----------
    n_basis : int or "auto"
        Number M of frequencies.
    period : float or "auto"
        Period L in units of the box: a column scaled to [0, 1] repeats after L >= 1.
    quantization : int, "prime", sequence of int, None or "auto"
        How M splits into levels, see `qtkm.features.radices.split`.
    warp : (2, n) array or None
        Places in the box, and where values there are moved to before all else; a fit with
        another `scaling` than "range" fills it in.

    Notes
    -----
    Entry q of level k is exp(2πi·x·q·B_k/L) with B_k = Q_1⋯Q_{k-1}; the phase
    exp(-2πi·x·⌊M/2⌋/L), once per column, centres the frequencies [1]_.

    References
    ----------
    .. [1] Wesel, Batselier, "Quantized Fourier and Polynomial Features for more Expressive
       Tensor Network Models", AISTATS 2024, Definition 3.2 and Corollary 3.6.
    """

    is_complex: ClassVar[bool] = True

    def __init__(self, n_basis="auto", period="auto", quantization="auto", warp=None):
        self.n_basis = n_basis
        self.period = period
        self.quantization = quantization
        self.warp = warp

    def factors(self, values: Array) -> Array:
        turns = moved(values, self.warp) / float(self.period)
        found = []
        for radix in self.radices:
            angle = 2j * np.pi * (turns - np.floor(turns))  # digits of large frequencies stay exact
            found.append(np.exp(np.multiply.outer(angle, np.arange(radix))))
            turns = turns * radix
        return np.concatenate(found, axis=1)

    def phase(self, values: Array) -> Array:
        turns = moved(values, self.warp) / float(self.period) * (self.n_basis // 2)
        return np.exp(-2j * np.pi * (turns - np.floor(turns)))

    def kind(self, conjugate: bool) -> str:
        return "lags" if conjugate else "sums"

    @property
    def frequencies(self) -> Array:
        numbers = np.arange(self.n_basis) - self.n_basis // 2
        return 2 * np.pi * numbers / float(self.period)

    @property
    def n_main(self) -> int:
        return 1 + 2 * len(self._harmonics)

    @property
    def _harmonics(self) -> Array:
        """Numbers of the positive frequencies of main effects."""
        return np.arange(1, 1 + min((self.n_basis - 1) // 2, MOST_HARMONICS))

    def main_functions(self, values: Array) -> Array:
        # functions of period 1 join the ends of the box, which a slope would not
        plain = np.asarray(values, dtype=np.float64) * (self.period > 1)
        places = moved(values, self.warp)
        angles = 2 * np.pi / float(self.period) * np.multiply.outer(places, self._harmonics)
        waves = np.sqrt(2) * np.stack([np.cos(angles), np.sin(angles)], axis=2)
        return np.concatenate([plain[:, None], waves.reshape(len(plain), -1)], axis=1)

    @property
    def main_frequencies(self) -> Array:
        return 2 * np.pi / float(self.period) * np.repeat(self._harmonics, 2)

    def first_functions(self, values: Array) -> Array:
        return self.main_functions(values)[:, 1:3]

    def combine(self, coefficients: Array, constant: float) -> Array:
        weights, zero = np.zeros(self.n_basis, dtype=np.complex128), self.n_basis // 2
        weights[zero] = constant
        if len(coefficients):
            cosine, sine = coefficients
            pair = np.array([cosine + 1j * sine, cosine - 1j * sine])
            weights[[zero - 1, zero + 1]] = pair / np.sqrt(2)
        return weights

    def constant(self) -> list[Array]:
        zero_frequency, levels = self.n_basis // 2, []
        for radix in self.radices:
            zero_frequency, digit = divmod(zero_frequency, radix)
            levels.append(np.eye(radix)[digit])
        return levels

    def bin_error(self, width: float) -> float:
        return np.pi * self.n_basis * width / (2 * float(self.period))

    def check(self, name: str) -> None:
        super().check(name)
        if not np.isfinite(self.period):
            raise ValueError(f"period={self.period} of {name} must be a finite number >= 1.")
        if self.period < 1:
            raise ValueError(
                f"period={self.period} of {name} is shorter than the input range 1.0 of the unit "
                "box, so the features repeat inside the data; use period >= 1."
            )
