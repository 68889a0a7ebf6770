"""Means over rows of what columns contribute, and of the squares of it.

`qtkm.networks.algebra` has the products of elements; here are sums of them over rows.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..networks.algebra import Algebra, environments, partial_products

if TYPE_CHECKING:
    from .response import ReadRows, Response


def square(
    algebra: Algebra, elements: NDArray, weight: NDArray | None = None, conjugate: bool = True
) -> NDArray:
    """Return the weighted sum over the leading axis of (conjugate) element ⊗ element."""
    flat = elements.reshape(len(elements), -1)
    other = flat.conj() if conjugate else flat
    other = other if weight is None else weight[:, None] * other
    return algebra.environment(other.T @ flat, elements.shape[1:])


def mean_environments(response: "Response", rows: "ReadRows") -> tuple[list[NDArray], float]:
    """Return the mean of what all others contribute to each column, and the mean response."""
    totals: list[Any] = [0.0] * response.n_columns
    mean = response.offset + float(rows.main_means.sum())
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        outer = environments(response.algebra, tables, response.closing)
        for d, table in enumerate(tables):
            totals[d] = totals[d] + np.tensordot(weight, np.broadcast_to(outer[d], table.shape), 1)
        own = (tables[0] * outer[0]).reshape(len(weight), -1).sum(axis=1)
        mean += float(weight @ own.real)
    return totals, mean


def column_means(response: "Response", rows: "ReadRows") -> list[NDArray]:
    """Return the mean over rows of every column's table."""
    means = []
    for d in range(response.n_columns):
        distinct, weight = rows.distinct(d)
        parts = [np.tensordot(weight[part], table, 1)
                 for part, table in response.tables(d, distinct)]  # fmt: skip
        means.append(np.sum(parts, axis=0))
    return means


def mean_pairs(
    response: "Response", rows: "ReadRows", pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], NDArray]:
    """Return the mean of what all but two columns contribute, for pairs (d, e) with d < e.

    Of vectors it is one (R,); of matrices it is (b, c, f, a), from b to c between the two columns
    and from f to a around them.
    """
    algebra, wanted = response.algebra, set(pairs)
    totals: dict[tuple[int, int], Any] = dict.fromkeys(pairs, 0.0)
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        before, after = partial_products(algebra, tables, response.closing)
        for d in {d for d, _ in pairs}:
            middle = algebra.first(tables[d + 1])
            for e in range(d + 1, response.n_columns):
                if (d, e) in wanted:
                    outer = algebra.multiply(after[e], before[d])
                    totals[d, e] = totals[d, e] + _sum_pair(middle, outer, weight, tables[d].ndim)
                middle = algebra.multiply(middle, tables[e])
    return totals


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


def one_way(
    response: "Response", rows: "ReadRows", d: int, values: NDArray, mean: NDArray
) -> NDArray[np.float64]:
    """Return the partial dependence on one column, from its mean environment."""
    others = response.offset + rows.main_means.sum() - rows.main_means[d]
    return response.alone(d, values, mean) + others


def two_way(
    response: "Response", rows: "ReadRows", pair: tuple[int, int], values: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Return the partial dependence on two columns at all pairs of their values."""
    first, second = pair
    if first > second:
        return two_way(response, rows, (second, first), values[::-1]).T
    mean, means = mean_pairs(response, rows, [pair])[pair], rows.main_means
    table = response.table(second, values[1])
    product = bridge(response.table(first, values[0]), mean) @ table.reshape(len(table), -1).T
    own = [response.main(d, v) - means[d] for d, v in zip(pair, values, strict=True)]
    return own[0][:, None] + own[1] + (response.offset + means.sum()) + product.real
