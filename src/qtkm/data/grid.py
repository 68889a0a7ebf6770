"""Grids and codes: the distinct (or binned) values of a column, and rows as indices into them."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: values up to which they are sorted and searched; more are hashed by compiled loops
FEW_VALUES = 10_000
#: distinct values that a first hash table has room for: 4 MB, where one for all rows may be 100
MANY_VALUES = 1 << 16


@dataclass(frozen=True)
class Grid:
    """Values a column takes in the fit.

    Attributes
    ----------
    values : (n_grid,) array
        Raw values, ascending: all distinct ones, or the centres of equal-width bins. The last is
        NaN if values are missing.
    is_binned : bool
        Whether the values are bin centres.
    """

    values: NDArray[np.float64]
    is_binned: bool

    def __len__(self) -> int:
        return len(self.values)

    @property
    def has_gaps(self) -> bool:
        """Whether values are missing."""
        return bool(np.isnan(self.values[-1]))

    def with_gaps(self) -> "Grid":
        """Return the same grid with one more entry, for missing values."""
        return Grid(np.append(self.values, np.nan), self.is_binned)


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
        Finite values, or NaN for missing ones.
    low, high : float
        Range of the values.
    max_bins : int or None
        Largest number of grid values.

    Returns
    -------
    grid : Grid
    codes : (n_rows,) unsigned array of the smallest type that fits
    """
    column = contiguous(raw)
    there = column[~np.isnan(column)]
    distinct = find_distinct(there, len(column) if max_bins is None else max_bins)
    if distinct is not None:
        grid = Grid(distinct, False)
    else:
        assert max_bins is not None
        grid = equal_bins(low, high, max_bins)
    grid = grid if len(there) == len(column) else grid.with_gaps()
    return grid, Coder(grid, low, high).codes(column)


def contiguous(values: NDArray[np.generic]) -> NDArray[np.float64]:
    """Values as grids know them: contiguous, without -0.0."""
    return np.add(values, 0.0, dtype=np.float64)


def equal_bins(low: float, high: float, n_bins: int) -> Grid:
    """Centres of equal-width bins.

    Parameters
    ----------
    low, high : float
        Ends of the range that is divided.
    n_bins : int
        Number of bins.
    """
    centres = (np.arange(n_bins) + 0.5) / n_bins
    return Grid(low * (1 - centres) + high * centres, True)


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


def find_distinct(column: NDArray[np.float64], limit: int) -> NDArray[np.float64] | None:
    """Distinct values of a column, ascending; None where there are more than `limit`."""
    if len(column) <= FEW_VALUES:
        values = np.unique(column)
        return values if len(values) <= limit else None
    from ..kernels import grids as kernels

    limit = min(limit, len(column))
    for most in (MANY_VALUES, limit):  # most columns need no table for as many values as rows
        keys, used = _hash_table(min(most, limit))
        if kernels.distinct(column.view(np.uint64), min(most, limit), keys, used) <= most:
            return np.sort(keys[used >= 0].view(np.float64))
        if most >= limit:
            break
    return None


def _hash_table(n_values: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    size = 1 << int(np.ceil(np.log2(4 * n_values + 4)))
    return np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int64)


class Coder:
    """From the values of a column to their codes on a grid.

    Parameters
    ----------
    grid : Grid
    low, high : float
        Range of the values, of which a binned grid is made.
    """

    def __init__(self, grid: Grid, low: float, high: float):
        self.grid, self.low, self.high = grid, low, high

    def codes(self, column: NDArray[np.float64]) -> NDArray[np.unsignedinteger]:
        """Codes of values; those of an exact grid must be among its values.

        The column is contiguous, without -0.0.
        """
        if self.grid.has_gaps:
            missing = np.isnan(column)
            own = Coder(Grid(self.grid.values[:-1], self.grid.is_binned), self.low, self.high)
            there = own.codes(column[~missing]) if len(own.grid) else np.empty(0)
            codes = np.full(len(column), len(own.grid), dtype=code_type(len(self.grid)))
            codes[~missing] = there
            return codes
        kind, n_bins = code_type(len(self.grid)), len(self.grid)
        if self.grid.is_binned:
            near, low, width = _near_one(column, self.low, self.high)
            # halves first: high - low may overflow
            places = (near / 2 - low / 2) / (width / 2) * n_bins
            return np.clip(places, 0, n_bins - 1).astype(kind)
        if len(column) <= FEW_VALUES:
            return np.searchsorted(self.grid.values, column).astype(kind)
        return self._look_up(column, np.empty(len(column), dtype=kind))

    def _look_up(self, column: NDArray[np.float64], codes: NDArray) -> NDArray:
        from ..kernels import grids as kernels

        keys, used = _hash_table(len(self.grid))
        kernels.distinct(self.grid.values.view(np.uint64), len(self.grid), keys, used)
        kernels.look_up(column.view(np.uint64), keys, used, codes)
        return codes


def code_type(n_codes: int) -> type[np.unsignedinteger]:
    """Smallest unsigned type that holds codes below `n_codes`."""
    for candidate in (np.uint8, np.uint16):
        if n_codes <= np.iinfo(candidate).max + 1:
            return candidate
    return np.uint32
