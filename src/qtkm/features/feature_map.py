"""What every feature map of one column offers to the layers above.

A feature map turns values in the unit box into *factors*, one small matrix a level.
It knows nothing of networks, losses or data.  The column's basis is the Kronecker
product of its factors, times a common `phase` where the map has one.
"""

import math
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

Array = NDArray[Any]


class FeatureMap(BaseEstimator):
    """Interface of a column's basis; parameters are those of the constructor.

    A map of levels with radices Q_1, …, Q_K gives `sum(radices)` factor entries a value:
    level k owns the slice `slices[k]`.  Products of two entries of one level often
    coincide (Fourier factors are unimodular, powers add their exponents), so a map
    also names the *distinct* products, and which of them a pair (q, q') takes.
    """

    is_complex: ClassVar[bool] = False
    #: the map reads category codes instead of numbers in the unit box
    is_categorical: ClassVar[bool] = False

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
        """Where each level stands among the factor entries."""
        stops = np.cumsum((0, *self.radices))
        return tuple(slice(int(a), int(b)) for a, b in pairwise(stops))

    def factors(self, values: Array) -> Array:
        """Factor entries of all levels, shape (n, sum(radices))."""
        raise NotImplementedError(f"{type(self).__name__} has no factors.")

    def phase(self, values: Array) -> Array | None:
        """Return the common phase of the column's basis, shape (n,), or None where it has none."""
        return None

    def turns(self, values: Array) -> Array | None:
        """Return t where function m is exp(2πi·t·(m - ⌊M/2⌋)), shape (n,), or None elsewhere.

        Products of a function and the conjugate of another then depend on the difference of
        their numbers alone, the lag.
        """
        return None

    def fill_lines(self, values: Array, planes: Array, phase: Array) -> None:
        """Write factor entries as real planes (sum(radices), 2, n); multiply `phase` by the phase.

        The same numbers as `factors` and `phase`, laid out for evaluation.
        """
        factors = self.factors(values).T
        planes[:, 0], planes[:, 1] = factors.real, factors.imag
        turn = self.phase(values)
        if turn is not None:
            phase *= turn

    def features(self, values: Array) -> Array:
        """All M basis functions, shape (n, M), the lowest digit running fastest."""
        factors = self.factors(values)
        result = np.ones((len(factors), 1), dtype=factors.dtype)
        for level in self.slices:
            product = factors[:, level, None] * result[:, None, :]
            result = product.reshape(len(factors), -1)
        phase = self.phase(values)
        return result if phase is None else result * phase[:, None]

    def products(self, level: int, conjugate: bool = True) -> tuple[Array, Array]:
        """Name the distinct products of two entries of a level.

        Parameters
        ----------
        level : int
            The level k.
        conjugate : bool
            Whether the first of the two is conjugated.

        Returns
        -------
        pairs : int array of shape (n_distinct, 2)
            A pair (q, q') that takes each distinct product.
        index : int array of shape (Q, Q)
            The distinct product of each pair (q, q') with q <= q'; -1 below the diagonal.
        """
        radix = self.radices[level]
        q, p = np.triu_indices(radix)
        index = np.full((radix, radix), -1, dtype=np.int64)
        index[q, p] = np.arange(len(q))
        return np.column_stack([q, p]).astype(np.int64), index

    def merged(self, level: int) -> "FeatureMap":
        """The same basis with a level and the next one joined to one level."""
        radices = list(self.radices)
        radices[level : level + 2] = [radices[level] * radices[level + 1]]
        merged = clone(self)
        merged.quantization = radices
        return merged

    def constant(self) -> list[Array]:
        """Give weights of the levels' entries whose product is the constant function 1."""
        return [np.eye(radix)[0] for radix in self.radices]

    def for_one_value(self) -> "FeatureMap":
        """Give the map that a column of one value gets instead: its functions all say the same."""
        return self

    def bin_error(self, width: float) -> float:
        """Worst relative error of the basis when values move by half of `width`."""
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


def sums_of_digits(radix: int) -> tuple[Array, Array]:
    """Distinct products where exponents add: they depend on q + q' alone (Hankel)."""
    total = np.arange(2 * radix - 1)
    high = np.minimum(total, radix - 1)
    q = np.arange(radix)
    index = q[:, None] + q[None, :]
    return np.column_stack([total - high, high]).astype(np.int64), np.triu(index) + _below(radix)


def differences_of_digits(radix: int) -> tuple[Array, Array]:
    """Distinct products where exponents subtract: they depend on q' - q alone (Toeplitz)."""
    lag = np.arange(radix)
    index = lag[None, :] - lag[:, None]
    return np.column_stack([0 * lag, lag]).astype(np.int64), np.triu(index) + _below(radix)


def _below(radix: int) -> Array:
    return -np.tril(np.ones((radix, radix), dtype=np.int64), -1)
