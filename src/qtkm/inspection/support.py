"""Rows of a table as a response reads them: where they are, and means of what columns contribute.

Far from all rows a model is free, and its effects mean nothing.
"""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.inputs import read_columns
from ..estimators.targets import check_weight
from ..networks.algebra import Algebra, environments, partial_products
from .response import Block, Response

#: part of the rows on either side that counts as outermost, unless values are as few as these
TAIL, FEW = 0.01, 12
#: a column has heavy tails if its range is so many times that of the inner rows
HEAVY = 3.0
#: rows are near a value within this part of the column's range, or of the inner rows
NEAR = 0.05
#: margin around the inner rows of heavy tails, as a part of their range
MARGIN = 0.1

Range = tuple[float, float]


class Rows:
    """Rows of X with weights that add up to 1.

    `arrays` hold numbers as they were given, `values` those in the unit box, both the codes of
    categories; `total` is the sum of the weights as they were given, or the number of rows.
    """

    def __init__(self, response: Response, X: Any, sample_weight: Any = None):
        self.response = response
        self.arrays = response.inputs.plain(read_columns(response.model, X, reset=False))
        self.values = response.inputs.values(self.arrays)
        n_rows = len(self.values[0])
        weight = np.ones(n_rows) if sample_weight is None else check_weight(sample_weight, n_rows)
        self.total = float(weight.sum())
        self.weight = weight / self.total
        mains = (response.main(d, values) for d, values in enumerate(self.values))
        self.main_means = np.array([self.weight @ main for main in mains])

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of rows with the tables of all columns at them."""
        return self.response.blocks(self.values)

    def distinct(self, d: int) -> tuple[NDArray, NDArray]:
        """Return the distinct values of a column and the weight of each."""
        distinct, inverse = np.unique(self.values[d], return_inverse=True)
        return distinct, np.bincount(inverse, weights=self.weight)

    def known(self, d: int) -> tuple[NDArray, NDArray]:
        """Return the numbers of a column that are not missing, and weights; one zero if all are."""
        there = ~np.isnan(self.arrays[d])
        if not there.any():
            return np.zeros(1), np.ones(1)
        return self.arrays[d][there], self.weight[there]

    def column_means(self) -> list[NDArray]:
        """Return the mean of every column's table."""
        means = []
        for d in range(self.response.n_columns):
            distinct, weight = self.distinct(d)
            # from the first entry on, so that a column of one value does not vary at all
            mean = first = self.response.table(d, distinct[:1])[0]
            for part, table in self.response.tables(d, distinct):
                mean = mean + np.tensordot(weight[part], table - first, 1)
            means.append(mean)
        return means

    def environments(self) -> tuple[list[NDArray], float]:
        """Return the mean of what all others contribute to each column, and the mean response."""
        response = self.response
        totals: list[Any] = [0.0] * response.n_columns
        mean = response.offset + float(self.main_means.sum())
        for part, tables in self.blocks():
            weight = self.weight[part]
            outer = environments(response.algebra, tables, response.closing)
            for d, (own, table) in enumerate(zip(outer, tables, strict=True)):
                totals[d] = totals[d] + np.tensordot(weight, np.broadcast_to(own, table.shape), 1)
            own = (tables[0] * outer[0]).reshape(len(weight), -1).sum(axis=1)
            mean += float(weight @ own.real)
        return totals, mean

    def one_way(self, d: int, values: NDArray, mean: NDArray) -> NDArray[np.float64]:
        """Return the partial dependence on one column, from its mean environment."""
        others = self.response.offset + self.main_means.sum() - self.main_means[d]
        return self.response.alone(d, values, mean) + others

    def two_way(self, pair: Sequence[int], values: Sequence[NDArray]) -> NDArray[np.float64]:
        """Return the partial dependence on two columns at all pairs of their values."""
        d, e = pair
        if d > e:
            return self.two_way((e, d), values[::-1]).T
        response, algebra, means = self.response, self.response.algebra, self.main_means
        first, second = (response.table(c, v) for c, v in zip(pair, values, strict=True))
        # matrices of a product d · between · e · around: rows n, values i and j
        average, product = "nbc,nda->bcda", "iab,bcda,jcd->ij"
        if first.ndim == 2:
            average, product = "nr,nr->r", "ir,r,jr->ij"
        mean: Any = 0.0
        for part, tables in self.blocks():
            before, after = partial_products(algebra, tables, response.closing)
            between = reduce(algebra.multiply, tables[d + 1 : e], algebra.first(tables[d + 1]))
            around = algebra.multiply(after[e], before[d])
            weight = self.weight[part].reshape(-1, *((1,) * (first.ndim - 1)))
            # neither needs to depend on the rows
            between, around = (weight * between, np.ones_like(weight) * around)
            mean = mean + np.einsum(average, between, around, optimize=True)
        own = [response.main(c, v) - means[c] for c, v in zip(pair, values, strict=True)]
        network = np.einsum(product, first, mean, second, optimize=True).real
        return own[0][:, None] + own[1] + (response.offset + means.sum()) + network


def square(
    algebra: Algebra, elements: NDArray, weight: NDArray | None = None, conjugate: bool = True
) -> NDArray:
    """Return the weighted sum over the leading axis of (conjugate) element ⊗ element."""
    flat = elements.reshape(len(elements), -1)
    other = flat.conj() if conjugate else flat
    other = other if weight is None else weight[:, None] * other
    return algebra.environment(other.T @ flat, elements.shape[1:])


def inner_range(values: NDArray, weight: NDArray) -> Range:
    """Give the numbers between which all rows but the outermost ones on either side lie.

    Of few distinct numbers each stands for itself, be it rare, and none is outermost.
    """
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values)
    ascending = values[order]
    if np.count_nonzero(ascending[1:] > ascending[:-1]) < FEW:
        return float(ascending[0]), float(ascending[-1])
    total = np.cumsum(weight[order])
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


def edges(values: NDArray) -> NDArray[np.float64]:
    """Edges of the cells around ascending numbers: half-way between them."""
    if len(values) == 1:
        return values[0] + np.array([-0.5, 0.5])
    middle = (values[1:] + values[:-1]) / 2
    return np.concatenate([[2 * values[0] - middle[0]], middle, [2 * values[-1] - middle[-1]]])


def count_near(
    axes: Sequence[tuple[NDArray, NDArray, float]], weight: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the weight of the rows near every value of one column, or every pair of values of two.

    Each column has values to count at, those of the rows, and how far apart near ones are, which
    is 0 for the codes of categories.  A row counts at the values near the one it is closest to,
    and nowhere if that is too far away.
    """
    cells, nearby = [], []
    for grid, rows, reach in axes:
        order = np.argsort(grid, kind="stable")
        gaps = np.diff(grid[order])
        closest = order[np.searchsorted(grid[order][:-1] + gaps / 2, rows)]
        far = max(reach, gaps.max(initial=0.0) / 2) if reach else 0.0
        weight = weight * (np.abs(grid[closest] - rows) <= far)
        cells.append(closest)
        nearby.append(np.abs(grid[:, None] - grid) <= reach if reach else None)
    counts = np.zeros([len(grid) for grid, _, _ in axes])
    np.add.at(counts, tuple(cells), weight)
    for dimension, near in enumerate(nearby):
        if near is not None:  # of categories, there may be too many for a square
            counts = np.moveaxis(np.tensordot(near * 1.0, counts, (1, dimension)), 0, dimension)
    return counts
