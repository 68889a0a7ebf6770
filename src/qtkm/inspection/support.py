"""Where the rows are: the range of most of them, and how many there are near some values.

Far from all rows a model is free, and its effects mean nothing.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: part of the rows on either side that counts as outermost, unless values are as few as these
TAIL, FEW = 0.01, 12
#: a column has heavy tails if its range is so many times that of the inner rows
HEAVY = 3.0
#: rows are near a value within this part of the column's range, or of the inner rows
NEAR = 0.05
#: margin around the inner rows of heavy tails, as a part of their range
MARGIN = 0.1

Range = tuple[float, float]


def inner_range(values: NDArray, weight: NDArray | None = None) -> Range:
    """Give the numbers between which all rows but the outermost ones on either side lie.

    Of few distinct numbers each stands for itself, be it rare, and none is outermost.
    """
    if weight is not None:
        values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values)
    ascending = values[order]
    if np.count_nonzero(ascending[1:] > ascending[:-1]) < FEW:
        return float(ascending[0]), float(ascending[-1])
    total = np.arange(1.0, len(values) + 1) if weight is None else np.cumsum(weight[order])
    # a margin for rounding, so that a hundredth of a hundred rows is one row
    shares = np.array([TAIL, 1 - TAIL]) * total[-1] * (1 - 1e-9)
    low, high = ascending[np.searchsorted(total, shares)]
    return float(low), float(high)


def shown_range(values: NDArray, inner: Range | None, margin: float = MARGIN) -> Range:
    """Part of an axis to look at: all of it, or that of the inner rows if its tails are heavy."""
    low, high = float(np.nanmin(values)), float(np.nanmax(values))
    if inner is None or not high - low > HEAVY * (inner[1] - inner[0]) > 0:
        return low, high
    room = margin * (inner[1] - inner[0])
    return max(low, inner[0] - room), min(high, inner[1] + room)


def steps(values: NDArray, inner: Range | None, n_steps: int) -> NDArray[np.float64]:
    """Return steps over the range of values; half among the inner rows if tails are heavy."""
    whole, shown = shown_range(values, None), shown_range(values, inner, 0.0)
    if shown == whole:
        return np.linspace(*whole, n_steps)
    outer = np.linspace(*whole, n_steps - n_steps // 2)
    return np.unique(np.concatenate([outer, np.linspace(*shown, n_steps // 2)]))


def edges(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Edges of the cells around ascending numbers: half-way between them."""
    if len(values) == 1:
        return values[0] + np.array([-0.5, 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


def count_near(
    axes: Sequence[tuple[NDArray, NDArray, Range | None]], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the rows near every value of one column, or every pair of values of two.

    Every column has values to count at, those of the rows, and the range of the inner rows; or
    codes of categories, and None.
    """
    cells, nearby = zip(*(_cells(*axis) for axis in axes), strict=True)
    shape = [near.shape[0] + 1 for near in nearby]
    places = np.ravel_multi_index(cells, shape)
    counts = np.bincount(places, weight, minlength=int(np.prod(shape))).reshape(shape)
    counts = counts[(slice(-1),) * len(shape)].astype(np.float64)
    for dimension, near in enumerate(nearby):
        counts = np.moveaxis(np.tensordot(near, counts, (1, dimension)), 0, dimension)
    return counts


def _cells(
    grid: NDArray, rows: NDArray, inner: Range | None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Return in which value's cell each row is, and which values are near each other."""
    size, order = len(grid), np.argsort(grid, kind="stable")
    ascending = grid[order]
    if inner is None:
        reach, place = 0.0, np.searchsorted(ascending, rows)
        known = ascending[np.minimum(place, size - 1)] == rows
    else:
        reach = NEAR * np.ptp(shown_range(rows, inner, 0.0))
        # one value stands for all rows
        bounds = edges(ascending) if size > 1 else np.array([-np.inf, np.inf])
        # the last cell has its upper edge
        place = np.searchsorted(bounds[:-1], rows, side="right") - 1
        known = (place >= 0) & (rows <= bounds[-1])
    cells = np.where(known, order[np.clip(place, 0, size - 1)], size)
    return cells, (np.abs(grid[:, None] - grid) <= reach).astype(np.float64)
