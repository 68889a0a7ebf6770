"""The kernel of the features: a product over columns, each in closed form.

A Fourier kernel is complex, but mostly by a phase of either argument alone.  What is left is then
real and symmetric, which makes solving with it four times as cheap.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..features import FeatureMap, Fourier, Power
from .baseline import blocks

Array = NDArray[np.float64]
#: most basis functions that are summed one by one, by a product of two matrices: of 500 and 2,000
#: rows that took less time than the sines of the closed form up to about this number
MOST_SUMMED = 256


@dataclass(frozen=True)
class ProductKernel:
    """Kernel of all products of the columns' features.

    Parameters
    ----------
    maps : sequence of Fourier or Power
        One per column.
    variances : sequence of (M,) arrays or None, optional
        Prior variances s of every column's weights; None stands for 1, the paper's penalty.

    Notes
    -----
    With v the features of a column,

        k(x, x') = Π_d Σ_m s_dm conj(v_dm(x_d)) v_dm(x'_d) = conj(p(x)) κ S(x, x') p(x'),

    where κ is the product of the M_d of columns without variances, p is `phase` and S is
    `scaled`.  For a Fourier column without variances the sum is
    exp(2πi·s·Δ)·sin(πMΔ)/sin(πΔ) with Δ = (x'_d - x_d)/L and the mean frequency s of
    -⌊M/2⌋ … ⌈M/2⌉-1, which is -1/2 if M is even and 0 if it is odd.  It depends on
    differences alone, so it is the same where the box is [-1/2, 1/2].  For a power column it
    is the geometric sum of x_d·x'_d.  S stays near 1 whatever the number of columns, where k
    may overflow.  It is real, but for variances of an even number of frequencies, one of which
    has no counterpart.
    """

    maps: Sequence[FeatureMap]
    variances: Sequence[Array | None] | None = None

    def __post_init__(self) -> None:
        for feature_map in self.maps:
            if type(feature_map) not in CLOSED_FORMS:
                known = ", ".join(cls.__name__ for cls in CLOSED_FORMS)
                raise ValueError(
                    f"basis={feature_map!r} has no kernel in closed form; use one of {known}."
                )

    @property
    def priors(self) -> list[Array | None]:
        """Variances of every column, or None."""
        return list(self.variances or [None] * len(self.maps))

    @property
    def log_size(self) -> float:
        """Logarithm of κ, the number of features where no column has variances."""
        pairs = zip(self.maps, self.priors, strict=True)
        return float(sum(np.log(each.n_features) for each, prior in pairs if prior is None))

    @property
    def is_complex(self) -> bool:
        """Whether S is complex."""
        return any(map(_is_unpaired, self.maps, self.priors))

    def relative(self, ridge: float) -> float:
        """Return the diagonal term of S that corresponds to adding `ridge` to that of k."""
        return float(np.exp(np.log(ridge) - self.log_size)) if ridge > 0 else 0.0

    def phase(self, values: Array) -> NDArray:
        """Phase p of rows (n, n_columns) in the unit box: (n, 1); real ones if all are powers."""
        turns = np.zeros(len(values))
        for feature_map, prior, column in zip(self.maps, self.priors, values.T, strict=True):
            even = isinstance(feature_map, Fourier) and feature_map.n_basis % 2 == 0
            if even and prior is None:
                turns -= column / (2 * feature_map.period)
        if not any(feature_map.is_complex for feature_map in self.maps):
            return np.ones((len(values), 1))
        return np.exp(2j * np.pi * turns)[:, None]

    def scaled(self, first: Array, second: Array) -> NDArray:
        """Kernel S between rows (n, n_columns) and (m, n_columns): (n, m)."""
        kernel = np.ones((len(first), len(second)), dtype=complex if self.is_complex else float)
        columns = zip(self.maps, self.priors, first.T, second.T, strict=True)
        for feature_map, prior, a, b in columns:
            if prior is not None or feature_map.n_features <= MOST_SUMMED:
                _multiply_by_sum(kernel, feature_map, prior, a, b)
            else:
                closed_form = CLOSED_FORMS[type(feature_map)]
                for part in blocks(len(a), len(b)):
                    kernel[part] *= closed_form(feature_map, a[part], b)
        return kernel


def _multiply_by_sum(
    kernel: NDArray, feature_map: FeatureMap, prior: Array | None, a: Array, b: Array
) -> None:
    """Multiply by a column's kernel, summed over its basis."""
    left, right = (_features(feature_map, prior, values) for values in (a, b))
    left = left.conj()
    for part in blocks(len(a), len(b)):
        kernel[part] *= left[part] @ right.T


def _features(feature_map: FeatureMap, prior: Array | None, values: Array) -> NDArray:
    """Features whose inner products are a column of S: (n, M or 2M), real where S is."""
    features = feature_map.features(values)
    if feature_map.is_complex and not _is_unpaired(feature_map, prior):
        # frequencies around zero: the imaginary parts of their products cancel
        phase = ProductKernel([feature_map], [prior]).phase(values[:, None])
        features = features * phase.conj()
        features = np.hstack([features.real, features.imag])
        prior = None if prior is None else np.tile(prior, 2)
    return features * np.sqrt(1 / feature_map.n_features if prior is None else prior)


def _is_unpaired(feature_map: FeatureMap, prior: Array | None) -> bool:
    """Whether some frequency of a column has no counterpart of the same variance."""
    if prior is None or not isinstance(feature_map, Fourier):
        return False
    return feature_map.n_basis % 2 == 0 or not np.allclose(prior, prior[::-1], rtol=1e-12, atol=0)


def _dirichlet(feature_map: Any, a: Array, b: Array) -> Array:
    """sin(πMΔ) / (M sin(πΔ)) at the differences Δ of values in periods: (len(a), len(b))."""
    n_basis = int(feature_map.n_basis)
    turns = (b - a[:, None]) / feature_map.period
    whole = np.rint(turns)
    turns -= whole
    near = np.abs(turns) * n_basis < 1e-9  # 1 to double precision, where 0 / 0 may be
    turns[near] = 0.25
    kernel = np.sin(np.pi * n_basis * turns) / (n_basis * np.sin(np.pi * turns))
    kernel[near] = 1.0
    if n_basis % 2 == 0:  # frequencies at halves: another sign after every period
        kernel *= 1 - 2 * (whole % 2)
    return kernel


def _geometric(feature_map: Any, a: Array, b: Array) -> Array:
    """(1 + t + … + t^(M-1)) / M at the products t of values: (len(a), len(b)).

    By the digits of M, as 1 + … + t^(2k-1) = (1 + … + t^(k-1))(1 + t^k): no difference is
    taken, so nothing is lost near t = 1.
    """
    n_basis = int(feature_map.n_basis)
    base = a[:, None] * b
    total, power = np.ones_like(base), base.copy()
    for digit in bin(n_basis)[3:]:
        total *= 1 + power
        power *= power
        if digit == "1":
            total = 1 + base * total
            power *= base
    return total / n_basis


#: feature map -> its kernel, for any number of basis functions
CLOSED_FORMS: dict[type[FeatureMap], Callable[[Any, Array, Array], Array]] = {
    Fourier: _dirichlet,
    Power: _geometric,
}
