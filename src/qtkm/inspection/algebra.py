"""What inspection adds to the algebra of networks: sums over rows, and moments of second order.

See `qtkm.networks.algebra`; here the square of an element of a CPD is flat, (R²,).
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..networks import algebra
from ..networks.algebra import environments, partial_products

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
