"""Feature maps: exponentials and powers, quantized or not, categories, and missing values."""

from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from ..parameters import keep_parameters
from . import radices
from .feature_map import MOST_MAIN, Array, FeatureMap, check_warp, moved, multiply

#: frequencies of a column's main effect, whose problem is a dense one
MOST_HARMONICS = 364
#: a column of more categories has no main effect of its own
MOST_CATEGORIES = 2000


class NumberMap(FeatureMap):
    """What maps of numbers with `n_basis`, `quantization` and `warp` share."""

    n_basis: Any
    quantization: Any
    warp: Any

    @property
    def radices(self) -> tuple[int, ...]:
        return radices.split(self.n_basis, self.quantization)

    def for_one_value(self) -> FeatureMap:
        return clone(self).set_params(n_basis=1, quantization="auto")

    def check(self, name: str) -> None:
        super().check(name)
        check_warp(self.warp, name)


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
    exp(-2πi·x·⌊M/2⌋/L), a factor of the first level, centres the frequencies [1]_.

    References
    ----------
    .. [1] Wesel, Batselier, "Quantized Fourier and Polynomial Features for more Expressive
       Tensor Network Models", AISTATS 2024, Definition 3.2 and Corollary 3.6.
    """

    is_complex = True

    def __init__(self, n_basis="auto", period="auto", quantization="auto", warp=None):
        keep_parameters(self, locals())

    def factors(self, values: Array) -> Array:
        turns = moved(values, self.warp) / float(self.period)
        centre, found = turns * (self.n_basis // 2), []
        for radix in self.radices:
            angle = 2j * np.pi * (turns - np.floor(turns))  # digits of large frequencies stay exact
            found.append(np.exp(np.multiply.outer(angle, np.arange(radix))))
            turns = turns * radix
        found[0] *= np.exp(-2j * np.pi * (centre - np.floor(centre)))[:, None]
        return np.concatenate(found, axis=1)

    def kind(self, conjugate: bool) -> str:
        return "lags" if conjugate else "sums"

    @property
    def frequencies(self) -> Array:
        numbers = np.arange(self.n_basis) - self.n_basis // 2
        return 2 * np.pi * numbers / float(self.period)

    @property
    def n_main(self) -> int:
        return 1 + 2 * min((self.n_basis - 1) // 2, MOST_HARMONICS)

    @property
    def main_frequencies(self) -> Array:
        harmonics = np.arange(1, self.n_main // 2 + 1)
        return 2 * np.pi / float(self.period) * np.repeat(harmonics, 2)

    def main_functions(self, values: Array) -> Array:
        # functions of period 1 join the ends of the box, which a slope would not
        plain = np.asarray(values, dtype=np.float64) * (self.period > 1)
        angles = np.multiply.outer(moved(values, self.warp), self.main_frequencies[::2])
        waves = np.sqrt(2) * np.stack([np.cos(angles), np.sin(angles)], axis=2)
        return np.concatenate([plain[:, None], waves.reshape(len(plain), -1)], axis=1)

    @property
    def first(self) -> Array:
        zero = self.n_basis // 2
        return np.array([zero - 1, zero + 1] if self.n_basis > 2 else [], dtype=int)

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


class Power(NumberMap):
    """Polynomial features of one column.

    Parameters
    ----------
    n_basis : int or "auto"
        Number M of powers; the degree is M - 1.
    quantization : int, "prime", sequence of int, None or "auto"
        How M splits into levels, see `qtkm.features.radices.split`.
    warp : (2, n) array or None
        As for `Fourier`.

    Notes
    -----
    Entry q of level k is x^(q·B_k) with B_k = Q_1⋯Q_{k-1}: the Vandermonde vector
    of x is the Kronecker product of the levels' (Theorem 3.4 of the paper named at `Fourier`).
    """

    def __init__(self, n_basis="auto", quantization="auto", warp=None):
        keep_parameters(self, locals())

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

    @property
    def first(self) -> Array:
        return np.arange(1, min(3, self.n_basis))

    def bin_error(self, width: float) -> float:
        return (self.n_basis - 1) * width / 2


class Categorical(FeatureMap):
    """One level with one entry per category.

    Parameters
    ----------
    n_categories : int or "auto"
        Number of categories, a missing value counting as one; "auto" takes those of the data.
    pooled : bool
        Whether there is a constant function beside the categories. Their prior then is
        k = (1 - a) + a·δ: a rare category stays near the mean of all.

    Notes
    -----
    A row selects one row of the core, so the local system of the core falls apart into
    one small system per category, and one of the constant.
    """

    is_categorical = True

    def __init__(self, n_categories="auto", pooled=False):
        keep_parameters(self, locals())

    @property
    def radices(self) -> tuple[int, ...]:
        return (int(self.n_categories) + bool(self.pooled),)

    def factors(self, values: Array) -> Array:
        found = self._one_hot(values)
        if not self.pooled:
            return found
        return np.concatenate([np.ones((len(found), 1)), found], axis=1)

    def kind(self, conjugate: bool) -> str:
        return "pairs" if self.pooled else "each"

    def constant(self) -> list[Array]:
        size = self.radices[0]
        return [np.eye(size)[0] if self.pooled else np.ones(size)]

    def spread(self, weights: Array) -> Array:
        """Return the table (n_categories, …) of weights (M, …)."""
        return weights[:1] + weights[1:] if self.pooled else weights

    def collect(self, sums: Array) -> Array:
        """Return the sums (M, …) over all functions of sums (n_categories, …) over rows."""
        return np.concatenate([sums.sum(axis=0)[None], sums]) if self.pooled else sums

    @property
    def n_main(self) -> int:
        count = int(self.n_categories)
        return count if count <= MOST_CATEGORIES else 0

    def main_functions(self, values: Array) -> Array:
        return self._one_hot(values)[:, : self.n_main]

    @property
    def first(self) -> Array:
        return np.arange(bool(self.pooled), self.n_features)

    def _one_hot(self, values: Array) -> Array:
        codes = np.asarray(values, dtype=np.int64)
        return (codes[:, None] == np.arange(self.n_categories)).astype(np.float64)

    def bin_error(self, width: float) -> float:
        return 0.0


class WithGaps(FeatureMap):
    """A feature map whose column has missing values, given as NaN: one more level tells of them.

    The level has two functions, (1, 1) where the value is present and (1, -1) where it is missing,
    and all other levels read a missing value at `place`.  The prior k = (1 - a) + a·δ of two
    categories is diagonal in these functions: the table's entry for missing values is shrunk
    towards that of a typical one.

    Parameters
    ----------
    inner : FeatureMap
        Map of the values that are present.
    place : float
        Where in the unit box the other levels read a missing value: the median of the column.
    means : (n,) array or None
        Means of the inner main functions, which a missing value takes; None for those at `place`.
    """

    has_gaps = True

    def __init__(self, inner=None, place=0.5, means=None):
        keep_parameters(self, locals())

    def __getattr__(self, name: str) -> Any:
        # parameters of the inner map, such as n_basis and period
        if name.startswith("__") or "inner" not in vars(self):
            raise AttributeError(name)
        return getattr(self.inner, name)

    is_complex: ClassVar[Any] = property(attrgetter("inner.is_complex"))
    kind: Any = property(attrgetter("inner.kind"))
    bin_error: Any = property(attrgetter("inner.bin_error"))
    first: Any = property(attrgetter("inner.first"))
    main_frequencies: Any = property(attrgetter("inner.main_frequencies"))
    warp = property(attrgetter("inner.warp"), lambda self, warp: setattr(self.inner, "warp", warp))

    @property
    def radices(self) -> tuple[int, ...]:
        return (*self.inner.radices, 2)

    def _filled(self, values: Array) -> tuple[Array, Array]:
        """Return values with gaps filled by `place`, and where they are."""
        values = np.asarray(values, dtype=np.float64)
        missing = np.isnan(values)
        return np.where(missing, float(self.place), values), missing

    def unwarped(self, values: Array) -> tuple[Array, FeatureMap]:
        values, inner = self.inner.unwarped(values)
        place, _ = self.inner.unwarped(np.array([self.place]))
        return values, WithGaps(inner, float(place[0]), self.means)

    def factors(self, values: Array) -> Array:
        filled, missing = self._filled(values)
        signs = np.stack([np.ones(len(filled)), np.where(missing, -1.0, 1.0)], axis=1)
        return np.concatenate([self.inner.factors(filled), signs], axis=1)

    @property
    def frequencies(self) -> Array | None:
        return None if self.inner.frequencies is None else np.tile(self.inner.frequencies, 2)

    @property
    def n_main(self) -> int:
        return self.inner.n_main + 1

    def main_functions(self, values: Array) -> Array:
        filled, missing = self._filled(values)
        found = self.inner.main_functions(filled)
        if self.means is not None:
            found = np.where(missing[:, None], self.means, found)
        return np.concatenate([found, missing[:, None]], axis=1)

    def constant(self) -> list[Array]:
        return [*self.inner.constant(), np.array([1.0, 0.0])]

    def merged(self, level: int) -> FeatureMap:
        if level + 1 < len(self.inner.radices):
            return WithGaps(self.inner.merged(level), self.place, self.means)
        return Joined(self.inner, self.place, self.means)

    def check(self, name: str) -> None:
        if not isinstance(self.inner, FeatureMap) or self.inner.is_categorical:
            raise ValueError(f"the map of {name} has gaps beside no map of numbers.")
        self.inner.check(name)
        means = np.zeros(self.inner.n_main) if self.means is None else np.asarray(self.means)
        fits = means.shape == (self.inner.n_main,) and means.dtype.kind == "f"
        if not fits or not np.isfinite([self.place, *means]).all():
            raise ValueError(f"place and means of the gaps of {name} must be finite numbers.")

    def take_learned(self, known: Any) -> None:
        self.inner.take_learned(known.inner)
        self.place = known.place
        fits = known.means is not None and len(known.means) == self.inner.n_main
        self.means = known.means if fits else None

    def __sklearn_clone__(self) -> "WithGaps":
        return type(self)(clone(self.inner, safe=False), self.place, self.means)


class Joined(WithGaps):
    """The same with the highest level and that of the gaps joined to one."""

    @property
    def radices(self) -> tuple[int, ...]:
        *low, high = self.inner.radices
        return (*low, 2 * high)

    def factors(self, values: Array) -> Array:
        ends = [-2 - self.inner.radices[-1], -2]
        low, high, signs = np.split(super().factors(values), ends, axis=1)
        return np.concatenate([low, multiply(high, signs)], axis=1)

    def kind(self, conjugate: bool) -> str:
        return "pairs"
