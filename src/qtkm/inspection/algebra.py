"""How the columns of a network multiply, so that all formulas here are written once.

The response of a CPD, a train or a ring is a product over the columns, closed at its end: of
vectors entry by entry for a CPD, which are summed, and of matrices for a train or ring, whose
trace is taken.  Moments of second order are a product of the same kind, of Kronecker squares.

An *element* is one factor of such a product: what a column, or a level of it, contributes.
Arrays of elements have leading axes for values or rows.
"""

from collections.abc import Sequence
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Algebra(Protocol):
    """Products of elements."""

    def entries(self, core: NDArray) -> NDArray:
        """Elements of the entries of a core: (Q, …)."""

    def closing(self, core: NDArray | None, weight: NDArray, first: NDArray) -> NDArray:
        """Closing of a sum of outputs with given weights; `first` is the first core."""

    def multiply(self, left: NDArray, right: NDArray) -> NDArray:
        """Product of elements, the left one of the earlier column."""

    def join(self, right: NDArray, left: NDArray) -> NDArray:
        """Environment of what stands between `left` and `right`: entry for entry its factor."""

    def first(self, elements: NDArray) -> NDArray:
        """What multiplies the first element by one."""

    def close(self, closed: NDArray) -> NDArray:
        """Response of a product that the closing has been multiplied to."""

    def square(self, elements: NDArray, weight: NDArray, conjugate: bool) -> NDArray:
        """Weighted sum over the leading axis of (conjugate) element ⊗ element."""

    def form(self, squared: NDArray, shape: Sequence[int]) -> NDArray:
        """Environment of a Kronecker square as a quadratic form of flat elements: (P, P)."""

    def suffix_form(self, squared: NDArray, shape: Sequence[int]) -> NDArray:
        """Sum of |prefix · suffix|² as a quadratic form of flat suffixes of a shape: (P, P)."""

    def sum_pair(self, middle: NDArray, outer: NDArray, weight: NDArray) -> NDArray:
        """Weighted sum over rows of what two columns see: between them and around them."""

    def bridge(self, elements: NDArray, pair: NDArray) -> NDArray:
        """Elements of the earlier column to environments of the later one."""


class Diagonal:
    """Elements are vectors (R,) that multiply entry by entry: a CPD."""

    def entries(self, core: NDArray) -> NDArray:
        return core

    def closing(self, core: NDArray | None, weight: NDArray, first: NDArray) -> NDArray:
        return np.full(first.shape[1], weight[0]) if core is None else weight @ core

    def multiply(self, left: NDArray, right: NDArray) -> NDArray:
        return left * right

    def join(self, right: NDArray, left: NDArray) -> NDArray:
        return right * left

    def first(self, elements: NDArray) -> NDArray:
        return np.ones(elements.shape[-1])

    def close(self, closed: NDArray) -> NDArray:
        return closed.sum(axis=-1)

    def square(self, elements: NDArray, weight: NDArray, conjugate: bool) -> NDArray:
        other = elements.conj() if conjugate else elements
        return ((weight[:, None] * other).T @ elements).ravel()

    def form(self, squared: NDArray, shape: Sequence[int]) -> NDArray:
        return squared.reshape(shape[0], shape[0])

    suffix_form = form

    def sum_pair(self, middle: NDArray, outer: NDArray, weight: NDArray) -> NDArray:
        return weight @ np.broadcast_to(middle * outer, (len(weight), outer.shape[-1]))

    def bridge(self, elements: NDArray, pair: NDArray) -> NDArray:
        return elements * pair


class Matrices:
    """Elements are matrices (left, right): a train or ring."""

    def entries(self, core: NDArray) -> NDArray:
        return np.ascontiguousarray(core.transpose(1, 0, 2))

    def closing(self, core: NDArray | None, weight: NDArray, first: NDArray) -> NDArray:
        if core is None:
            return weight[0] * np.eye(first.shape[0])
        return np.einsum("k,ika->ia", weight, core)

    def multiply(self, left: NDArray, right: NDArray) -> NDArray:
        return left @ right

    def join(self, right: NDArray, left: NDArray) -> NDArray:
        return (right @ left).swapaxes(-1, -2)

    def first(self, elements: NDArray) -> NDArray:
        return np.eye(elements.shape[-2])

    def close(self, closed: NDArray) -> NDArray:
        return np.einsum("...aa->...", closed)

    def square(self, elements: NDArray, weight: NDArray, conjugate: bool) -> NDArray:
        n, left, right = elements.shape
        flat = elements.reshape(n, -1)
        other = flat.conj() if conjugate else flat
        product = ((weight[:, None] * other).T @ flat).reshape(left, right, left, right)
        return product.transpose(0, 2, 1, 3).reshape(left**2, right**2)

    def form(self, squared: NDArray, shape: Sequence[int]) -> NDArray:
        left, right = shape
        product = squared.reshape(left, left, right, right).transpose(0, 2, 1, 3)
        return product.reshape(left * right, left * right)

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


def chain(algebra: Algebra, elements: Sequence[NDArray], closing: NDArray) -> NDArray:
    """Response of a product of elements."""
    return algebra.close(reduce(algebra.multiply, [*elements, closing]))


def partial_products(
    algebra: Algebra, elements: Sequence[NDArray], closing: NDArray
) -> tuple[list[NDArray], list[NDArray]]:
    """For every position the product of all before it, and of all after it with the closing."""
    before, after = [algebra.first(elements[0])], [closing]
    for element in elements[:-1]:
        before.append(algebra.multiply(before[-1], element))
    for element in elements[:0:-1]:
        after.append(algebra.multiply(element, after[-1]))
    return before, after[::-1]


def environments(algebra: Algebra, elements: Sequence[NDArray], closing: NDArray) -> list[Any]:
    """What all other elements contribute, for every one: the response is Σ element·environment."""
    before, after = partial_products(algebra, elements, closing)
    return [algebra.join(b, a) for a, b in zip(before, after, strict=True)]
