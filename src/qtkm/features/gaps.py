"""A column with missing values: one more level says whether the value is there.

The level has two functions, (1, 1) where the value is present and (1, -1) where it is missing, and
a missing value is read at `place` by all other levels.  So the column's table has one more entry,
with weights of its own.  The prior k = (1 - a) + a·δ of two categories is diagonal in these
functions: the entry is shrunk towards that of a typical value.
"""

from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from ..parameters import keep_parameters
from .feature_map import Array, FeatureMap


class WithGaps(FeatureMap):
    """A feature map whose column has missing values, given as NaN.

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

    # what the inner map has
    is_complex: ClassVar[Any] = property(attrgetter("inner.is_complex"))
    kind: Any = property(attrgetter("inner.kind"))
    bin_error: Any = property(attrgetter("inner.bin_error"))
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

    def phase(self, values: Array) -> Array | None:
        return self.inner.phase(self._filled(values)[0])

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

    def first_functions(self, values: Array) -> Array:
        return self.inner.first_functions(self._filled(values)[0])

    def combine(self, coefficients: Array, constant: float) -> Array:
        weights = self.inner.combine(coefficients, constant)
        return np.concatenate([weights, 0 * weights])

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
        apart = super().factors(values)
        high = self.inner.radices[-1]
        both = (apart[:, -2:, None] * apart[:, None, -2 - high : -2]).reshape(len(apart), 2 * high)
        return np.concatenate([apart[:, : -2 - high], both], axis=1)

    def kind(self, conjugate: bool) -> str:
        return "pairs"
