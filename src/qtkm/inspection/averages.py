"""Means over rows of what columns contribute, and the algebra of first and second moments.

`qtkm.networks.algebra` has the products of elements; here are sums over rows of them, and of
their squares.  The square of an element of a CPD is flat here, (R²,).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..networks import algebra
from ..networks.algebra import environments, partial_products

if TYPE_CHECKING:
    from .response import Response, Rows

#: values whose tables are made at a time
MOST_VALUES = 4096

__all__ = ["Algebra", "Diagonal", "Matrices", "environments", "partial_products"]


class Algebra(algebra.Algebra, Protocol):
    """Products of elements, and sums of them."""

    def closing(self, core: NDArray | None, weight: NDArray, first: NDArray) -> NDArray:
        """Return the closing of a weighted sum of outputs; `first` is the first core."""

    def square(self, elements: NDArray, weight: NDArray, conjugate: bool) -> NDArray:
        """Return the weighted sum over the leading axis of (conjugate) element ⊗ element."""

    def suffix_form(self, squared: NDArray, shape: Sequence[int]) -> NDArray:
        """Return Σ |prefix · suffix|² as a quadratic form of flat suffixes of a shape: (P, P)."""

    def sum_pair(self, middle: NDArray, outer: NDArray, weight: NDArray) -> NDArray:
        """Sum over rows what two columns see: between them and around them."""

    def bridge(self, elements: NDArray, pair: NDArray) -> NDArray:
        """Turn elements of the earlier column into environments of the later one."""


class Diagonal(algebra.Diagonal):
    """Elements are vectors (R,) that multiply entry by entry: a CPD."""

    def closing(self, core: NDArray | None, weight: NDArray, first: NDArray) -> NDArray:
        return np.full(first.shape[1], weight[0]) if core is None else weight @ core

    def first(self, elements: NDArray) -> NDArray:
        return np.ones(elements.shape[-1])

    def square(self, elements: NDArray, weight: NDArray, conjugate: bool) -> NDArray:
        other = elements.conj() if conjugate else elements
        return ((weight[:, None] * other).T @ elements).ravel()

    def form(self, environments: NDArray, shape: Sequence[int]) -> NDArray:
        return environments.reshape(shape[0], shape[0])

    suffix_form = form

    def sum_pair(self, middle: NDArray, outer: NDArray, weight: NDArray) -> NDArray:
        return weight @ np.broadcast_to(middle * outer, (len(weight), outer.shape[-1]))

    def bridge(self, elements: NDArray, pair: NDArray) -> NDArray:
        return elements * pair


class Matrices(algebra.Matrices):
    """Elements are matrices (left, right): a train or ring."""

    def closing(self, core: NDArray | None, weight: NDArray, first: NDArray) -> NDArray:
        if core is None:
            return weight[0] * np.eye(first.shape[0])
        return np.einsum("k,ika->ia", weight, core)

    def square(self, elements: NDArray, weight: NDArray, conjugate: bool) -> NDArray:
        flat = elements.reshape(len(elements), -1)
        other = flat.conj() if conjugate else flat
        return self.environment((weight[:, None] * other).T @ flat, elements.shape[1:])

    def suffix_form(self, squared: NDArray, shape: Sequence[int]) -> NDArray:
        left, outer = shape
        product = squared.reshape(outer, outer, left, left).transpose(2, 0, 3, 1)
        return product.reshape(left * outer, left * outer)

    def sum_pair(self, middle: NDArray, outer: NDArray, weight: NDArray) -> NDArray:
        n = len(weight)
        middle = np.broadcast_to(middle, (n, *middle.shape[-2:]))
        outer = np.broadcast_to(outer, (n, *outer.shape[-2:]))
        total = (weight[:, None] * middle.reshape(n, -1)).T @ outer.reshape(n, -1)
        return total.reshape(*middle.shape[1:], *outer.shape[1:])

    def bridge(self, elements: NDArray, pair: NDArray) -> NDArray:
        # elements (n, a, b), pair (b, c, f, a): middle from b to c, outer from f to a
        return np.tensordot(elements, pair, ((1, 2), (3, 0)))


# -- means over rows --------------------------------------------------------------------------


def mean_environments(response: "Response", rows: "Rows") -> tuple[list[NDArray], float]:
    """Return the mean of what all others contribute to each column, and the mean response."""
    totals: list[Any] = [0.0] * response.n_columns
    mean = response.offset + float(response.main_means(rows).sum())
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        outer = environments(response.algebra, tables, response.closing)
        for d, table in enumerate(tables):
            totals[d] = totals[d] + np.tensordot(weight, np.broadcast_to(outer[d], table.shape), 1)
        own = (tables[0] * outer[0]).reshape(len(weight), -1).sum(axis=1)
        mean += float(weight @ own.real)
    return totals, mean


def column_means(response: "Response", rows: "Rows") -> list[NDArray]:
    """Return the mean over rows of every column's table."""
    means = []
    for d, values in enumerate(rows.values):
        distinct, inverse = np.unique(values, return_inverse=True)
        weight = np.bincount(inverse, weights=rows.weight)
        total: Any = 0.0
        for first in range(0, len(distinct), MOST_VALUES):
            part = slice(first, first + MOST_VALUES)
            total = total + np.tensordot(weight[part], response.table(d, distinct[part]), 1)
        means.append(np.asarray(total))
    return means


def mean_pairs(
    response: "Response", rows: "Rows", pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], NDArray]:
    """Return the mean of what all but two columns contribute, for pairs (d, e) with d < e."""
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


def one_way(
    response: "Response", rows: "Rows", d: int, values: NDArray, mean: NDArray
) -> NDArray[np.float64]:
    """Return the partial dependence on one column, from its mean environment."""
    table, means = response.table(d, values), response.main_means(rows)
    own = response.main(d, values) - means[d] + (response.offset + means.sum())
    return own + (table.reshape(len(table), -1) @ mean.ravel()).real


def two_way(
    response: "Response", rows: "Rows", pair: tuple[int, int], values: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Return the partial dependence on two columns at all pairs of their values."""
    first, second = pair
    if first > second:
        return two_way(response, rows, (second, first), values[::-1]).T
    mean = mean_pairs(response, rows, [pair])[pair]
    reach = response.algebra.bridge(response.table(first, values[0]), mean)
    table, means = response.table(second, values[1]), response.main_means(rows)
    product = reach.reshape(len(reach), -1) @ table.reshape(len(table), -1).T
    own = [response.main(d, v) - means[d] for d, v in zip(pair, values, strict=True)]
    return own[0][:, None] + own[1] + (response.offset + means.sum()) + product.real
