"""The interface of a column's feature map: values in the unit box → factors of its levels.

The column's basis is the Kronecker product of the factors, one small matrix per level.
"""

import math
from functools import reduce
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

Array = NDArray[Any]

#: most functions of a group of levels that are multiplied out
MOST_IN_GROUP = 128
#: smooth functions of a column's main effect
MOST_MAIN = 26
#: how columns are scaled: by their range, their ranks, or half of both
SCALINGS = ("range", "rank", "half", "auto")
#: most places that a warp keeps
MOST_KNOTS = 257
#: a warp that moves no value further than this is left out
LEAST_MOVE = 0.02


class FeatureMap(BaseEstimator):
    """Interface of a column's basis; parameters are those of the constructor.

    A map of levels with radices Q_1, …, Q_K gives `sum(radices)` factor entries per value:
    level k owns the slice `slices[k]`.  Products of two basis functions often coincide
    (exponentials are unimodular, powers add their exponents): `kind` says which do.
    """

    is_complex: ClassVar[bool] = False
    #: the map reads category codes instead of numbers in the unit box
    is_categorical: ClassVar[bool] = False
    #: missing values, given as NaN, have a level of their own, the highest
    has_gaps: ClassVar[bool] = False

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        with np.printoptions(threshold=4, edgeitems=1, precision=3):  # a warp is long
            return super().__repr__(N_CHAR_MAX)

    @property
    def radices(self) -> tuple[int, ...]:
        """Radix of each level, lowest digit first."""
        raise NotImplementedError(f"{type(self).__name__} has no radices.")

    @property
    def n_features(self) -> int:
        """Number M of basis functions."""
        return math.prod(self.radices)

    @property
    def slices(self) -> tuple[slice, ...]:
        """Slice of each level among the factor entries."""
        stops = np.cumsum((0, *self.radices))
        return tuple(slice(int(a), int(b)) for a, b in pairwise(stops))

    def factors(self, values: Array) -> Array:
        """Return the factor entries of all levels, shape (n, sum(radices))."""
        raise NotImplementedError(f"{type(self).__name__} has no factors.")

    @property
    def groups(self) -> tuple[slice, ...]:
        """Consecutive levels whose functions are multiplied out together."""
        groups, first, size = [], 0, 1
        for level, radix in enumerate(self.radices):
            if level > first and size * radix > MOST_IN_GROUP:
                groups.append(slice(first, level))
                first, size = level, 1
            size *= radix
        return (*groups, slice(first, len(self.radices)))

    def group_features(self, values: Array) -> list[Array]:
        """Return the functions of every group of levels, (n, M_g)."""
        factors, expected = self.factors(values), (len(values), sum(self.radices))
        if np.shape(factors) != expected:
            raise ValueError(
                f"The factors of {self!r} have shape {np.shape(factors)}; {expected} were "
                f"expected, one row per value and one entry for each of the radices "
                f"{self.radices}."
            )
        if np.iscomplexobj(factors) and not self.is_complex:
            raise ValueError(
                f"The factors of {self!r} are complex, but its class does not say "
                "is_complex = True."
            )
        levels = [factors[:, part] for part in self.slices]
        return [reduce(multiply, levels[group]) for group in self.groups]

    def features(self, values: Array) -> Array:
        """Return all M basis functions, shape (n, M), the lowest digit running fastest."""
        return reduce(multiply, self.group_features(values))

    def kind(self, conjugate: bool) -> str:
        """Return what the products of two functions m and m' depend on, m conjugated or not.

        "lags" if on m' - m alone, "sums" if on m' + m alone, "pairs" if they all may differ.
        """
        return "pairs"

    @property
    def frequencies(self) -> Array | None:
        """Angular frequency of every function; None if penalties treat all of them alike."""
        return None

    @property
    def n_main(self) -> int:
        """Number of real functions that the main effect of the column is made of."""
        return 1 + min(self.n_features, MOST_MAIN)

    def main_functions(self, values: Array) -> Array:
        """Return the functions of the main effect, (n, n_main): the value, then smooth ones."""
        smooth = self.features(values)[:, : self.n_main - 1].real
        return np.concatenate([np.asarray(values, dtype=np.float64)[:, None], smooth], axis=1)

    @property
    def main_frequencies(self) -> Array | None:
        """Angular frequencies of the smooth ones, or None where they have none."""
        frequencies = self.frequencies
        return None if frequencies is None else np.abs(frequencies[: self.n_main - 1])

    @property
    def first(self) -> Array:
        """Numbers of the smoothest functions, whose products interactions start from."""
        return np.arange(min(2, self.n_features))

    def take_learned(self, known: Any) -> None:
        """Take over what a fit has learned of the column's values: its warp, if it has one."""
        if hasattr(self, "warp"):
            self.warp = getattr(known, "warp", None)

    def unwarped(self, values: Array) -> "tuple[Array, FeatureMap]":
        """Return values where a warp moves them, and the map that reads them there."""
        warp = getattr(self, "warp", None)
        if warp is None:
            return values, self
        return moved(values, warp), clone(self).set_params(warp=None)

    @property
    def is_one_hot(self) -> bool:
        """Whether every value has one function, which no other value has."""
        return self.is_categorical and not getattr(self, "pooled", False)

    def merged(self, level: int) -> "FeatureMap":
        """Return the same basis with a level and the next one merged."""
        radices = list(self.radices)
        radices[level : level + 2] = [radices[level] * radices[level + 1]]
        merged = clone(self)
        merged.quantization = radices
        return merged

    def constant(self) -> list[Array]:
        """Return weights of the levels' entries whose product is the constant function 1."""
        return [np.eye(radix)[0] for radix in self.radices]

    def for_one_value(self) -> "FeatureMap":
        """Return the map to use for a column of one value, at which all functions are constant."""
        return self

    def bin_error(self, width: float) -> float:
        """Return the worst relative error of the basis when values move by half of `width`."""
        raise NotImplementedError(
            f"{type(self).__name__} has no bin_error, and a column has more values than are kept; "
            "write one, or use max_bins=None."
        )

    def check(self, name: str) -> None:
        """Raise a ValueError for parameters that make no sense; `name` is the column's."""
        try:
            self.radices  # noqa: B018
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None


def multiply(low: Array, high: Array) -> Array:
    """Return all products of two sets of functions (n, M), the first running fastest."""
    product = high[:, :, None] * low[:, None, :]
    return product.reshape(len(low), product.shape[1] * product.shape[2])


# -- warps: where values of the box are moved before a basis reads them, which a long tail would
# -- waste; piecewise linear and increasing, so that they can be undone, and equal at the ends


def moved(values: Any, warp: Any) -> NDArray[np.float64]:
    """Return values of the box, moved by a warp if there is one."""
    values = np.asarray(values, dtype=np.float64)
    return values if warp is None else np.interp(values, warp[0], warp[1])


def make_warp(
    values: NDArray[np.float64], counts: NDArray[np.float64], scaling: str
) -> NDArray[np.float64] | None:
    """Return the warp of a column, (2, n): places in the box, and where they are moved to.

    `values` are distinct and ascending, `counts` the weights of their rows.  The scaling "rank"
    moves a value to the share of rows below it, half of its own counted; "half" and "auto" move it
    halfway there.
    """
    there = counts > 0
    values, counts = values[there], counts[there]
    if scaling == "range" or len(values) < 3:
        return None
    ranks = np.cumsum(counts) - 0.5 * counts
    ranks = (ranks - ranks[0]) / (ranks[-1] - ranks[0])
    ends = values[0] + (values[-1] - values[0]) * ranks
    places = ends if scaling == "rank" else 0.5 * (ends + values)
    if np.abs(places - values).max() < LEAST_MOVE:
        return None
    if len(values) > MOST_KNOTS:
        steps = np.linspace(places[0], places[-1], MOST_KNOTS)
        chosen = np.unique(np.clip(np.searchsorted(places, steps), 0, len(values) - 1))
        values, places = values[chosen], places[chosen]
    return np.array([values, places])


def check_warp(warp: Any, name: str) -> None:
    """Raise a ValueError if this is not a warp; `name` is the column's."""
    if warp is None:
        return
    found = np.asarray(warp)
    fits = found.ndim == 2 and len(found) == 2 and found.shape[1] > 1 and found.dtype.kind == "f"
    if not fits or not np.isfinite(found).all() or (np.diff(found, axis=1) <= 0).any():
        raise ValueError(
            f"warp of {name} must be a (2, n) array of places in the box and of where they are "
            "moved to, both ascending, or None."
        )
