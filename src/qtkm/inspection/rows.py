"""Rows of a table as a response reads them, and means over them of what columns contribute."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..estimators.inputs import read_columns
from ..estimators.targets import check_weight
from ..networks.algebra import Algebra, closed_product, environments, partial_products
from .response import Block, Response
from .support import Range, inner_range, steps

Pair = tuple[int, int]


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
        self._inner: dict[int, Range] = {}

    def blocks(self) -> Iterator[Block]:
        """Yield blocks of rows with the tables of all columns at them."""
        return self.response.blocks(self.values)

    def distinct(self, d: int) -> tuple[NDArray, NDArray]:
        """Return the distinct values of a column and the weight of each."""
        distinct, inverse = np.unique(self.values[d], return_inverse=True)
        return distinct, np.bincount(inverse, weights=self.weight)

    def known(self, d: int) -> NDArray:
        """Return the numbers of a column that are not missing; one zero where all are."""
        found = self.arrays[d][~np.isnan(self.arrays[d])]
        return found if len(found) else np.zeros(1)

    def inner(self, d: int) -> Range:
        """Return the range of a column of numbers without the outermost rows."""
        if d not in self._inner:
            there = ~np.isnan(self.arrays[d])
            self._inner[d] = inner_range(self.arrays[d][there], self.weight[there])
        return self._inner[d]

    def grid(self, d: int, n_grid: int) -> NDArray[np.float64]:
        """Return all numbers of a column if these are few, and else steps over their range."""
        distinct = np.unique(self.known(d)).astype(np.float64)
        return distinct if len(distinct) <= n_grid else steps(distinct, self.inner(d), n_grid)

    def responses(self) -> NDArray[np.float64]:
        """Return the response of every row."""
        response = self.response
        result = np.full(len(self.weight), response.offset)
        for d, values in enumerate(self.values):
            result += response.main(d, values)
        for part, tables in self.blocks():
            result[part] += closed_product(response.algebra, tables, response.closing).real
        return result

    def column_means(self) -> list[NDArray]:
        """Return the mean of every column's table."""
        means = []
        for d in range(self.response.n_columns):
            distinct, weight = self.distinct(d)
            tables = self.response.tables(d, distinct)
            parts = [np.tensordot(weight[part], table, 1) for part, table in tables]
            means.append(np.sum(parts, axis=0))
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

    def pairs(self, pairs: Sequence[Pair]) -> dict[Pair, NDArray]:
        """Return the mean of what all but two columns contribute, for pairs (d, e) with d < e.

        Of vectors it is one (R,); of matrices it is (b, c, f, a), from b to c between the two
        columns and from f to a around them.
        """
        response, algebra, wanted = self.response, self.response.algebra, set(pairs)
        totals: dict[Pair, Any] = dict.fromkeys(pairs, 0.0)
        for part, tables in self.blocks():
            before, after = partial_products(algebra, tables, response.closing)
            for d in {d for d, _ in pairs}:
                middle = algebra.first(tables[d + 1])
                for e in range(d + 1, response.n_columns):
                    if (d, e) in wanted:
                        outer = algebra.multiply(after[e], before[d])
                        own = _sum_pair(middle, outer, self.weight[part], tables[d].ndim)
                        totals[d, e] = totals[d, e] + own
                    middle = algebra.multiply(middle, tables[e])
        return totals

    def one_way(self, d: int, values: NDArray, mean: NDArray) -> NDArray[np.float64]:
        """Return the partial dependence on one column, from its mean environment."""
        others = self.response.offset + self.main_means.sum() - self.main_means[d]
        return self.response.alone(d, values, mean) + others

    def two_way(self, pair: Pair, values: Sequence[NDArray]) -> NDArray[np.float64]:
        """Return the partial dependence on two columns at all pairs of their values."""
        first, second = pair
        if first > second:
            return self.two_way((second, first), values[::-1]).T
        response, means = self.response, self.main_means
        table = response.table(second, values[1])
        product = bridge(response.table(first, values[0]), self.pairs([pair])[pair])
        product = product @ table.reshape(len(table), -1).T
        own = [response.main(d, v) - means[d] for d, v in zip(pair, values, strict=True)]
        return own[0][:, None] + own[1] + (response.offset + means.sum()) + product.real


def _sum_pair(middle: NDArray, outer: NDArray, weight: NDArray, ndim: int) -> NDArray:
    """Sum over rows the products of what is between two columns and around them."""
    n = len(weight)
    if ndim == 2:
        return weight @ np.broadcast_to(middle * outer, (n, outer.shape[-1]))
    middle, outer = (np.broadcast_to(m, (n, *m.shape[-2:])) for m in (middle, outer))
    total = (weight[:, None] * middle.reshape(n, -1)).T @ outer.reshape(n, -1)
    return total.reshape(*middle.shape[1:], *outer.shape[1:])


def bridge(elements: NDArray, pair: NDArray) -> NDArray:
    """Turn elements of the earlier column of a pair into flat environments of the later one."""
    if elements.ndim == 2:
        return elements * pair
    return np.tensordot(elements, pair, ((1, 2), (3, 0))).reshape(len(elements), -1)


def square(
    algebra: Algebra, elements: NDArray, weight: NDArray | None = None, conjugate: bool = True
) -> NDArray:
    """Return the weighted sum over the leading axis of (conjugate) element ⊗ element."""
    flat = elements.reshape(len(elements), -1)
    other = flat.conj() if conjugate else flat
    other = other if weight is None else weight[:, None] * other
    return algebra.environment(other.T @ flat, elements.shape[1:])
