"""Means over the rows of what columns contribute, and partial dependence from them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algebra import environments, partial_products
from .response import Response, Rows


def mean_environments(response: Response, rows: Rows) -> tuple[list[NDArray], float]:
    """Weighted mean of what all other columns contribute, for every column; mean response."""
    totals: list[Any] = [0.0] * response.n_columns
    mean = response.offset
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        outer = environments(response.algebra, tables, response.closing)
        for d, table in enumerate(tables):
            totals[d] = totals[d] + np.tensordot(weight, np.broadcast_to(outer[d], table.shape), 1)
        own = (tables[0] * outer[0]).reshape(len(weight), -1).sum(axis=1)
        mean += float(weight @ own.real)
    return totals, mean


def mean_pairs(
    response: Response, rows: Rows, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], NDArray]:
    """Weighted mean of what all but two columns contribute, for pairs (d, e) with d < e."""
    algebra, wanted = response.algebra, set(pairs)
    totals: dict[tuple[int, int], Any] = dict.fromkeys(pairs, 0.0)
    for part, tables in response.blocks(rows):
        before, after = partial_products(algebra, tables, response.closing)
        for d in {d for d, _ in pairs}:
            # one of the element's kind, so that the middle of neighbours is the identity
            middle = algebra.first(tables[d + 1])
            for e in range(d + 1, response.n_columns):
                if (d, e) in wanted:
                    outer = algebra.multiply(after[e], before[d])
                    totals[d, e] = totals[d, e] + algebra.sum_pair(middle, outer, rows.weight[part])
                middle = algebra.multiply(middle, tables[e])
    return totals


def one_way(response: Response, d: int, values: NDArray, mean: NDArray) -> NDArray[np.float64]:
    """Partial dependence on one column, from its mean environment."""
    table = response.table(d, values)
    return response.offset + (table.reshape(len(table), -1) @ mean.ravel()).real


def two_way(
    response: Response, rows: Rows, pair: tuple[int, int], values: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Partial dependence on two columns at all pairs of their values."""
    first, second = pair
    if first > second:
        return two_way(response, rows, (second, first), values[::-1]).T
    mean = mean_pairs(response, rows, [pair])[pair]
    reach = response.algebra.bridge(response.table(first, values[0]), mean)
    table = response.table(second, values[1])
    product = reach.reshape(len(reach), -1) @ table.reshape(len(table), -1).T
    return response.offset + product.real
