"""Boxes, grids and codes of a column.

A box maps raw values to [0, 1]. A grid has a column's distinct (or binned) values, and codes are
rows as indices into it.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.unsignedinteger]
EXTRAPOLATIONS = ("clip", "continue", "error")
#: values up to which they are sorted and searched; more are hashed by compiled loops
FEW_VALUES = 10_000
#: distinct values that a first hash table has room for: 4 MB, where one for all rows may be 100
MANY_VALUES = 1 << 16
#: part of a sample of distinct values that one equal-width bin may hold, and size of the sample
CROWDED, SAMPLE_VALUES = 1 / 32, 4096


@dataclass(frozen=True)
class Box:
    """Range of one column that is mapped to [0, 1]; `extrapolation` says what values outside do.

    Those that are clipped keep their distance up to `reach` times the width of the range.
    """

    low: float
    high: float
    extrapolation: str
    name: str
    reach: float = 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """Where values are clipped."""
        more = self.reach * self.high - self.reach * self.low
        return self.low - more, self.high + more

    @property
    def is_point(self) -> bool:
        return self.low == self.high

    def contain(self, raw: NDArray) -> Floats:
        """Apply the rule for values outside."""
        values = np.asarray(raw, dtype=np.float64)
        if self.extrapolation == "clip":
            return np.clip(values, *self.ends)
        if self.extrapolation == "error":
            outside = values[(values < self.low) | (values > self.high)]
            if len(outside):
                # halves: differences may overflow
                distance = np.maximum(outside / 2 - self.high / 2, self.low / 2 - outside / 2)
                raise ValueError(
                    f"{self.name} has the value {outside[np.argmax(distance)]:g}, outside of its "
                    f"range [{self.low:g}, {self.high:g}]; use extrapolation='clip' to take the "
                    "nearest end instead, or widen the range with `bounds`."
                )
        return values

    def to_unit(self, raw: NDArray) -> Floats:
        """Map raw values to the unit box; a column of one value goes to 0."""
        values = np.asarray(raw, dtype=np.float64)
        if self.is_point:
            return np.where(np.isnan(values), values, 0.0)
        if self.low == 0.0 and self.high == 1.0:
            return values
        # the difference of two large numbers may overflow, half of a tiny one vanishes
        half = 0.5 if max(-self.low, self.high) > 1e300 else 1.0
        with np.errstate(over="ignore"):  # of values far outside, where the basis continues
            return (values * half - self.low * half) / (self.high * half - self.low * half)


@dataclass(frozen=True)
class Grid:
    """Values a column takes in the fit: all distinct ones, or the centres of bins.

    They ascend; the last is NaN if values are missing. Bins have equal widths between `ends`, or
    are those between `edges`.
    """

    values: Floats
    ends: tuple[float, float] | None = None
    edges: Floats | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def is_binned(self) -> bool:
        return self.ends is not None or self.edges is not None

    @property
    def has_gaps(self) -> bool:
        return bool(np.isnan(self.values[-1]))

    def with_gaps(self) -> "Grid":
        return replace(self, values=np.append(self.values, np.nan))

    def codes(self, column: NDArray) -> Codes:
        """Return the codes of values; an exact grid must have all of them, NaN included."""
        column = contiguous(column)
        if not self.has_gaps:
            return self._codes(column, self.values)
        there, values = ~np.isnan(column), self.values[:-1]
        codes = np.full(len(column), len(values), dtype=code_type(len(self)))
        if len(values):
            codes[there] = self._codes(column[there], values)
        return codes

    def _codes(self, column: Floats, values: Floats) -> Codes:
        kind, n_codes = code_type(len(values)), len(values)
        if self.edges is not None:
            return np.searchsorted(self.edges[1:-1], column, side="right").astype(kind)
        if self.ends is not None:
            return np.clip(_places(column, *self.ends) * n_codes, 0, n_codes - 1).astype(kind)
        if len(column) <= FEW_VALUES:
            return np.searchsorted(values, column).astype(kind)
        from ..kernels import grids as kernels

        codes = np.empty(len(column), dtype=kind)
        keys, used = _hash_table(n_codes)
        kernels.distinct(values.view(np.uint64), n_codes, keys, used)
        kernels.look_up(column.view(np.uint64), keys, used, codes)
        return codes


def _places(column: Floats, low: float, high: float) -> Floats:
    """Return the places of values between `low` and `high`, which are 0 and 1."""
    largest = max(-low, high)
    if not 1e-280 < largest < 1e280:  # by a power of two away from over- and underflow
        exponent = -int(np.frexp(largest)[1])
        column = np.ldexp(column, exponent)
        low, high = float(np.ldexp(low, exponent)), float(np.ldexp(high, exponent))
    return (column / 2 - low / 2) / ((high - low) / 2)


def contiguous(values: NDArray) -> Floats:
    """Return values as grids have them: contiguous, without -0.0."""
    return np.add(values, 0.0, dtype=np.float64)


def equal_bins(low: float, high: float, n_bins: int) -> Grid:
    """Return the centres of equal-width bins between `low` and `high`."""
    centres = (np.arange(n_bins) + 0.5) / n_bins
    return Grid(low * (1 - centres) + high * centres, (low, high))


def make_bins(low: float, high: float, n_bins: int, sample: Floats) -> Grid:
    """Return `n_bins` bins: of equal width, or half of them by rank where a sample is crowded.

    So a wild value, which makes all equal-width bins wide, does not spoil the resolution of a
    column whose values are scaled by their ranks as well.
    """
    half = max(1, n_bins // 2)
    crowd = np.bincount(equal_bins(low, high, half).codes(sample)).max(initial=0)
    if n_bins < 4 or crowd <= CROWDED * len(sample):
        return equal_bins(low, high, n_bins)
    ranks = np.quantile(sample, np.linspace(0, 1, half))
    share = np.linspace(0, 1, half + 1)
    edges = np.union1d(low * (1 - share) + high * share, np.clip(ranks[1:-1], low, high))
    return Grid(edges[:-1] / 2 + edges[1:] / 2, None, edges)


def draw_values(drawn: Floats, column: Floats) -> Floats:
    """Draw distinct values by their hashes, from what was drawn before and further values.

    The result does not depend on how the values are dealt into columns, which are contiguous,
    without -0.0 and without gaps.
    """
    for first in range(0, len(column), 1 << 16):
        part, keys = column[first : first + (1 << 16)], mix(drawn.view(np.uint64))
        new = mix(part.view(np.uint64))
        if len(keys) == SAMPLE_VALUES:
            part, new = part[new < keys[-1]], new[new < keys[-1]]
        _, index = np.unique(np.concatenate([keys, new]), return_index=True)
        drawn = np.concatenate([drawn, part])[index[:SAMPLE_VALUES]]
    return drawn


def mix(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Hash numbers; every bit of the result depends on every bit of the number (SplitMix64)."""
    mixed = numbers + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))


def find_distinct(column: Floats, limit: int) -> Floats | None:
    """Return the distinct values of a column, ascending; None if there are more than `limit`."""
    if len(column) <= FEW_VALUES:
        values = np.unique(column)
        return values if len(values) <= limit else None
    from ..kernels import grids as kernels

    limit = min(limit, len(column))
    # most columns need no table for as many values as rows
    for most in sorted({min(MANY_VALUES, limit), limit}):
        keys, used = _hash_table(most)
        if kernels.distinct(column.view(np.uint64), most, keys, used) <= most:
            return np.sort(keys[used >= 0].view(np.float64))
    return None


def _hash_table(n_values: int) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    size = 1 << int(np.ceil(np.log2(4 * n_values + 4)))
    return np.zeros(size, dtype=np.uint64), np.full(size, -1, dtype=np.int64)


def code_type(n_codes: int) -> type[np.unsignedinteger]:
    """Return the smallest unsigned type that holds codes below `n_codes`."""
    return np.uint8 if n_codes <= 1 << 8 else np.uint16 if n_codes <= 1 << 16 else np.uint32
