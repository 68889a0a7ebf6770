"""How the columns of a network multiply, so that every formula is written once for all of them.

The response of a CPD, a train or a ring is a product over the columns, closed at its end: of
vectors entry by entry for a CPD, which are summed, and of matrices for a train or ring, whose
trace is taken.  Norms and second moments are products of the same kind, of Kronecker squares.

An *element* is one factor of such a product: what a column, a level or a digit contributes.
Arrays of elements have leading axes for values, rows or digits.  The *square* of two elements
a, b is conj(a) ⊗ b: (R, R) entry by entry, or a matrix of size (left², right²).  What all other
factors of a product contribute to one of them is its *environment*.
"""

import weakref
from collections.abc import Callable, Sequence
from functools import reduce
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..protocols import Arrays, Given

#: products before and behind some factors of a product; None where there is nothing
Inside = tuple[Given, Given]


class Diagonal:
    """Elements are vectors (R,) that multiply entry by entry: a CPD.

    The environment of what stands between `left` and `right` is join(right, left), and pull_left
    and pull_right give the environments, row by row, of what stands behind and before factors.
    """

    def elements(self, core: NDArray) -> NDArray:
        """Return the elements (Q, …) of the entries of a core; `core` undoes it."""
        return core

    core = elements

    def multiply(self, left: NDArray, right: NDArray) -> NDArray:
        """Multiply elements or squares, the left ones of the earlier factor."""
        return left * right

    join = pull_left = pull_right = multiply

    def first(self, elements: NDArray) -> NDArray:
        """Return the unit by which a product of elements or squares begins; `last` ends it.

        The first one also closes the elements of a model of one output.
        """
        return np.ones(elements.shape[-1])

    last = first

    def close(self, closed: NDArray) -> NDArray:
        """Return the response of a product that its closing has been multiplied to."""
        return closed.sum(axis=-1)

    def squares(self, a: NDArray, b: NDArray, conjugate: bool = True) -> NDArray:
        """Return conj(a) ⊗ b (or a ⊗ b) of elements with equal or broadcast leading axes."""
        return (a.conj() if conjugate else a)[..., :, None] * b[..., None, :]

    def sum_squares(self, first: NDArray, windows: NDArray, conjugate: bool) -> NDArray:
        """Sum the squares of elements (Q, …) and of each window (n, Q, …) of others: (n, …)."""
        return (first.conj() if conjugate else first).T @ windows

    def environment(self, matrices: NDArray, shape: Sequence[int]) -> NDArray:
        """Turn matrices (…, P, P) over flat elements of a shape into environments of squares."""
        return matrices

    def form(self, environments: NDArray, shape: Sequence[int]) -> NDArray:
        """Undo `environment`: return matrices (…, P, P) over flat elements of a shape."""
        if environments.shape[-1] == shape[-1]:
            return environments
        return np.broadcast_to(environments, (*environments.shape[:-2], *2 * tuple(shape)))

    def sum_right(self, windows: NDArray, factors: NDArray) -> NDArray:
        """Contract environments (e, l, …) with the factors (l, …) on their right: (e, …)."""
        if windows[0, 0].size == 1:  # one column: every term sees the same environment
            flat = windows.reshape(windows.shape[:2]) @ factors.reshape(len(factors), -1)
            return flat.reshape(-1, *factors.shape[1:])
        return np.add.reduce(windows * factors, axis=1)

    def sum_left(self, factors: NDArray, windows: NDArray) -> NDArray:
        """Contract environments (e, l, …) with the factors (e, …) on their left: (l, …)."""
        return np.add.reduce(factors[:, None] * windows, axis=0)


class Matrices:
    """Elements are matrices (left, right): a train or ring; see `Diagonal`."""

    def elements(self, core: NDArray) -> NDArray:
        return core.transpose(1, 0, 2)

    def core(self, elements: NDArray) -> NDArray:
        return np.ascontiguousarray(elements.transpose(1, 0, 2))

    def multiply(self, left: NDArray, right: NDArray) -> NDArray:
        return left @ right

    def join(self, right: NDArray, left: NDArray) -> NDArray:
        return (right @ left).swapaxes(-1, -2)

    def first(self, elements: NDArray) -> NDArray:
        return np.eye(elements.shape[-2])

    def last(self, elements: NDArray) -> NDArray:
        return np.eye(elements.shape[-1])

    def pull_left(self, factors: NDArray, environments: NDArray) -> NDArray:
        return factors.swapaxes(-1, -2) @ environments

    def pull_right(self, environments: NDArray, factors: NDArray) -> NDArray:
        return environments @ factors.swapaxes(-1, -2)

    def close(self, closed: NDArray) -> NDArray:
        return np.einsum("...aa->...", closed)

    def squares(self, a: NDArray, b: NDArray, conjugate: bool = True) -> NDArray:
        a = a.conj() if conjugate else a
        product = a[..., :, None, :, None] * b[..., None, :, None, :]
        size = (a.shape[-2] * b.shape[-2], a.shape[-1] * b.shape[-1])
        return product.reshape(*product.shape[:-4], *size)

    def sum_squares(self, first: NDArray, windows: NDArray, conjugate: bool) -> NDArray:
        return self.squares(first[None], windows, conjugate).sum(axis=1)

    def environment(self, matrices: NDArray, shape: Sequence[int]) -> NDArray:
        left, right = shape
        apart = matrices.reshape(*matrices.shape[:-2], left, right, left, right)
        return apart.swapaxes(-2, -3).reshape(*matrices.shape[:-2], left**2, right**2)

    def form(self, environments: NDArray, shape: Sequence[int]) -> NDArray:
        left, right = shape
        apart = environments.reshape(*environments.shape[:-2], left, left, right, right)
        size = left * right
        return apart.swapaxes(-2, -3).reshape(*environments.shape[:-2], size, size)

    def sum_right(self, windows: NDArray, factors: NDArray) -> NDArray:
        return np.tensordot(windows, factors, ((1, 3), (0, 2)))

    def sum_left(self, factors: NDArray, windows: NDArray) -> NDArray:
        return np.tensordot(factors, windows, ((0, 1), (0, 2))).swapaxes(0, 1)


#: products of elements and of their squares
Algebra = Diagonal | Matrices
Value = TypeVar("Value")


class KeptRows(Generic[Value]):
    """What is kept of coded rows, in this process and while their codes are there."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[weakref.ref[NDArray], Value]] = {}

    def __getstate__(self) -> dict[str, object]:
        return {"_known": {}}

    def get(self, codes: NDArray) -> Value | None:
        """Return what is kept of rows, or None."""
        known = self._known.get(id(codes))
        return known[1] if known is not None and known[0]() is codes else None

    def put(self, codes: NDArray, value: Value) -> None:
        """Keep something of rows."""
        known, key = self._known, id(codes)
        known[key] = weakref.ref(codes, lambda _: known.pop(key, None)), value

    def clear(self) -> None:
        """Forget all of them."""
        self._known.clear()


class Environments:
    """Environments of neighbouring factors of a product, in a walk over all of them.

    On the way from the whole product down to the factors that are asked for, the half that they
    are not in is multiplied in, and what stands around a half is kept until a factor outside of
    it changes.  So a walk over n factors takes n·log₂(n) products, keeps log₂(n) of them and
    divides by none.

    `stamps` hold for every position what is another one after each change of the factor there, and
    `ends` is what stands before and behind the whole product.
    """

    def __init__(
        self, algebra: Algebra, factor: Callable[[int], NDArray], stamps: list[int], ends: Inside
    ):
        self.algebra, self.factor, self.stamps, self.ends = algebra, factor, stamps, ends
        self.kept: dict[int, tuple[tuple[int, ...], Inside]] = {}

    def around(self, first: int, last: int) -> Given:
        """Return the environment of the factors first … last-1; None if nothing is around them."""
        low, high, inside, depth = 0, len(self.stamps), self.ends, 0
        while high - low > last - first:
            middle = (low + high) // 2
            if last <= middle:
                rest, high, is_behind = range(middle, high), middle, True
            elif first >= middle:
                rest, low, is_behind = range(low, middle), middle, False
            else:
                break
            stamp = (low, high, *self.stamps[:low], *self.stamps[high:])
            if depth not in self.kept or self.kept[depth][0] != stamp:
                self.kept[depth] = stamp, self._extend(inside, rest, is_behind)
            inside, depth = self.kept[depth][1], depth + 1
        inside = self._extend(inside, range(low, first), False)
        before, behind = self._extend(inside, range(last, high), True)
        if before is None or behind is None:
            return behind if before is None else before
        return self.algebra.join(behind, before)

    def _extend(self, inside: Inside, places: range, is_behind: bool) -> Inside:
        """Multiply factors to what stands behind or before them."""
        before, behind = inside
        for factor in map(self.factor, reversed(places) if is_behind else places):
            if is_behind:
                behind = factor if behind is None else self.algebra.multiply(factor, behind)
            else:
                before = factor if before is None else self.algebra.multiply(before, factor)
        return before, behind


def partial_products(
    algebra: Algebra, elements: Arrays, closing: NDArray
) -> tuple[list[NDArray], list[NDArray]]:
    """Return for every position the product before it, and the one after it with the closing."""
    before, after = [algebra.first(elements[0])], [closing]
    for element in elements[:-1]:
        before.append(algebra.multiply(before[-1], element))
    for element in elements[:0:-1]:
        after.append(algebra.multiply(element, after[-1]))
    return before, after[::-1]


def environments(algebra: Algebra, elements: Arrays, closing: NDArray) -> list[NDArray]:
    """Return the environment of every element: the response is Σ element·environment."""
    before, after = partial_products(algebra, elements, closing)
    return [algebra.join(b, a) for a, b in zip(before, after, strict=True)]


def closed_product(algebra: Algebra, elements: Arrays, closing: NDArray) -> NDArray:
    """Return the response of a product of elements."""
    return algebra.close(reduce(algebra.multiply, [*elements, closing]))
