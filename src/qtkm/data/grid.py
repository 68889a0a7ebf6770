"""Grids and codes: the distinct (or binned) values of a column, and rows as indices into them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..kernels import grids as kernels


@dataclass(frozen=True)
class Grid:
    """Values a column takes in the fit.

    Attributes
    ----------
    values : (n_grid,) array
        Raw values, ascending: all distinct ones, or the centres of equal-width bins.
    is_binned : bool
        Whether the values are bin centres.
    """

    values: NDArray[np.float64]
    is_binned: bool

    def __len__(self) -> int:
        return len(self.values)


def encode(
    raw: NDArray[np.generic], low: float, high: float, max_bins: int | None
) -> tuple[Grid, NDArray[np.unsignedinteger]]:
    """Grid of a column and the code of every row.

    Distinct values are kept exactly up to `max_bins` of them (None: always); beyond that
    the column falls into `max_bins` equal-width bins between `low` and `high`, which need
    no more than the ends of the range to be known.

    Parameters
    ----------
    raw : (n_rows,) array
        Finite values.
    low, high : float
        Range of the values.
    max_bins : int or None
        Largest number of grid values.

    Returns
    -------
    grid : Grid
    codes : (n_rows,) unsigned array of the smallest type that fits
    """
    column: NDArray[np.float64] = np.add(
        raw, 0.0, dtype=np.float64
    )  # contiguous, and -0.0 becomes 0.0
    if max_bins is None:
        values, inverse = np.unique(column, return_inverse=True)
        return Grid(values, False), inverse.astype(code_type(len(values)))
    found = _few_distinct(column, max_bins)
    if found is not None:
        return found
    codes = np.empty(len(column), dtype=code_type(max_bins))
    kernels.bin_codes(*_near_one(column, low, high), max_bins, codes)
    centres = (np.arange(max_bins) + 0.5) / max_bins
    return Grid(low * (1 - centres) + high * centres, True), codes


def _near_one(
    column: NDArray[np.float64], low: float, high: float
) -> tuple[NDArray[np.float64], float, float]:
    """Column, low end and width of its range, by a power of two away from over- and underflow."""
    largest = max(-low, high)
    if not 1e-280 < largest < 1e280:
        exponent = -int(np.frexp(largest)[1])
        column = np.ldexp(column, exponent)
        low, high = float(np.ldexp(low, exponent)), float(np.ldexp(high, exponent))
    return column, low, high - low


def _few_distinct(column, limit):
    size = 1 << int(np.ceil(np.log2(4 * min(limit, len(column)) + 4)))
    keys = np.zeros(size, dtype=np.uint64)
    used = np.full(size, -1, dtype=np.int64)
    bits = column.view(np.uint64)
    if kernels.distinct(bits, limit, keys, used) > limit:
        return None
    filled = np.flatnonzero(used >= 0)
    values = keys[filled].view(np.float64)
    order = np.argsort(values)
    used[filled[order]] = np.arange(len(filled))
    codes = np.empty(len(column), dtype=code_type(len(filled)))
    kernels.look_up(bits, keys, used, codes)
    return Grid(values[order], False), codes


def code_type(n_codes: int) -> type[np.unsignedinteger]:
    """Smallest unsigned type that holds codes below `n_codes`."""
    for candidate in (np.uint8, np.uint16):
        if n_codes <= np.iinfo(candidate).max + 1:
            return candidate
    return np.uint32
