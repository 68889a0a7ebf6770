"""Tables of all columns, and the passes over rows that need nothing else.

A column's table holds its element at every grid value; a row's response is a product of as many
look-ups as there are columns, whatever the number of basis functions.  A pass carries tables,
no rows and no threads, so that it can be sent to where the rows are.

Here passes are written in NumPy, for any network and up to some thousand rows, where nothing
has to be compiled.  Networks bring compiled loops for more (`is_large`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..limits import LIMITS
from .algebra import Algebra, partial_products
from .moments import triangle, unpack

Run = Callable[..., list[Any]]


def is_large(shard: Any) -> bool:
    """Return True if a pass over a shard is worth compiled loops."""
    return len(shard) > LIMITS.few_rows


@dataclass
class Statistics:
    """Sums over the rows of each grid value of a column.

    Attributes
    ----------
    grams : list of (n_grid, n) arrays
        Upper triangles, row by row, of Σ ω·ḡgᵀ; then of Σ ω·ggᵀ where the loss sees only the real
        part of a complex response.
    rhs : (n_grid, n) array
        Σ ω·g·y, not conjugated.
    mixing : (n_outputs, R) array or None
        Output core of a CPD, by whose squares all matrices are to be multiplied.
    """

    grams: list[NDArray]
    rhs: NDArray
    mixing: NDArray | None = None

    @property
    def size(self) -> int:
        """Entries of a flat environment g; 1 where all of them see the same."""
        return (math.isqrt(8 * self.grams[0].shape[1] + 1) - 1) // 2

    def mix(self, matrices: NDArray, conjugate: bool) -> NDArray:
        """Multiply matrices by the square of the output core, where there is one."""
        if self.mixing is None:
            return matrices
        return matrices * ((self.mixing.conj() if conjugate else self.mixing).T @ self.mixing)

    def matrices(self, part: slice) -> list[NDArray]:
        """Return the matrices Σ ω·ḡgᵀ (and Σ ω·ggᵀ) of some grid values."""
        found = []
        for packed, conjugate in zip(self.grams, (True, False), strict=False):
            upper = packed[part]
            whole = unpack(upper, upper.conj() if conjugate else upper, self.size)
            found.append(self.mix(whole, conjugate))
        return found


def new_grams(n_slots: int, size: int, is_complex: bool, both: bool) -> tuple[NDArray, NDArray]:
    """Memory for triangles of ḡgᵀ, and of ggᵀ where both are wanted, as compiled loops see it."""
    width = (2 if is_complex else 1) * size * (size + 1) // 2
    return np.empty((n_slots, width)), np.empty((n_slots if both else 0, width))


def finished_grams(grams: Sequence[NDArray], n_codes: int, is_complex: bool) -> list[NDArray]:
    """Triangles of all grid values as complex numbers, where the model is complex."""
    found = [gram[:n_codes] for gram in grams if len(gram)]
    return [gram.view(np.complex128) for gram in found] if is_complex else found


class Tables:
    """Elements of all columns at their grid values, and what closes their product.

    Parameters
    ----------
    algebra : Algebra
    n_columns : int
    is_complex : bool
    dtype : dtype
        Precision of the tables, float32 or float64.
    """

    def __init__(self, algebra: Algebra, n_columns: int, is_complex: bool, dtype: Any):
        self.algebra, self.is_complex, self.dtype = algebra, is_complex, np.dtype(dtype)
        self.elements: list[NDArray] = [np.empty(0)] * n_columns
        self.closing: NDArray = np.empty(0)
        self.stale = set(range(n_columns))

    @cached_property
    def kind(self) -> Any:
        """Type of the elements."""
        return np.result_type(self.dtype, np.complex64) if self.is_complex else self.dtype

    def put(self, d: int, elements: NDArray) -> None:
        """Put in the elements of a column."""
        self.elements[d] = elements.astype(self.kind, copy=False)
        self.stale.add(d)

    def close(self, closing: NDArray) -> None:
        """Put in the elements that close the product, (n_outputs, …)."""
        self.closing = closing.astype(self.kind, copy=False)

    def closed_by(self, closing: NDArray) -> "Tables":
        """Return the same tables with another closing."""
        other = type(self)(self.algebra, len(self.elements), self.is_complex, self.dtype)
        other.elements = self.elements
        other.close(closing)
        return other

    @property
    def mixing(self) -> NDArray | None:
        """Output core by whose squares statistics are still to be multiplied."""
        return None

    # -- NumPy, for few rows ----------------------------------------------------------------

    def rows(self, codes: NDArray, tables: Sequence[NDArray] | None = None) -> list[NDArray]:
        """Return the elements of coded rows, (n, …) for every column."""
        tables = self.elements if tables is None else tables
        return [np.take(table, codes[:, d], axis=0) for d, table in enumerate(tables)]

    def responses(self, shard: Any, run: Run) -> NDArray:
        """Return the responses (n_rows, n_outputs)."""
        rows = self.rows(shard.codes)
        return self.respond(self._product(rows))

    def _product(self, rows: Sequence[NDArray]) -> NDArray:
        product = rows[0]
        for elements in rows[1:]:
            product = self.algebra.multiply(product, elements)
        return product

    def respond(self, product: NDArray, closing: NDArray | None = None) -> NDArray:
        """Close products (n, …) of all columns by these or other elements: (n, n_outputs)."""
        raise NotImplementedError

    def states(self, shard: Any, run: Run) -> NDArray:
        """Return the environments (n_rows, …) of the closing element."""
        raise NotImplementedError

    def environments(self, shard: Any, first: int, last: int, order: Any) -> NDArray:
        """Return the environments outside of columns first … last-1 of rows in some order.

        Shape (n_rows, n_outputs or 1, …), scaled by the root weights.
        """
        raise NotImplementedError

    def goals(self, target: NDArray) -> NDArray:
        """Return what multiplies environments in right-hand sides, like `environments`."""
        raise NotImplementedError

    def statistics(self, shard: Any, column: int, both: bool, run: Run) -> tuple[NDArray, ...]:
        """Return the sums `grams` and `rhs` of `Statistics` over the rows of a shard."""
        groups = shard.groups(column)
        inside = self.environments(shard, column, column + 1, groups.order)
        rhs = (inside * self.goals(shard.scaled[1][groups.order])).sum(axis=1)
        n_rows, n_each = inside.shape[:2]
        flat = inside.reshape(n_rows * n_each, -1).astype(self._double, copy=False)
        rows, columns = triangle(flat.shape[1])
        first, second = np.take(flat, rows, axis=1), np.take(flat, columns, axis=1)
        grams = [groups.sum(first.conj() * second, n_each)]
        if both:
            grams.append(groups.sum(first * second, n_each))
        rhs = rhs.reshape(n_rows, -1).astype(self._double, copy=False)
        return *grams, groups.sum(rhs, 1)

    @cached_property
    def _double(self) -> Any:
        return np.complex128 if self.is_complex else np.float64

    def gradient(
        self, shard: Any, slopes: NDArray, later: Sequence[NDArray] | None, run: Run
    ) -> tuple[NDArray, ...]:
        """Return Σ conj(slope)·environment at all columns' grid values, then of the closing.

        Environments are made of these tables before a column and of `later` behind it.
        """
        rows = self.rows(shard.codes)
        behind = rows if later is None else self.rows(shard.codes, later)
        slopes = slopes.conj()
        seed = self.seed(slopes)
        before, _ = partial_products(self.algebra, rows, seed)
        _, after = partial_products(self.algebra, behind, seed)
        sums = []
        for d in range(len(rows)):
            inside = self.algebra.join(after[d], before[d])
            inside = np.broadcast_to(inside, (len(shard), *self.elements[d].shape[1:]))
            flat = inside.reshape(len(shard), -1).astype(self._double, copy=False)
            groups = shard.groups(d)
            whole = groups.sum(flat[groups.order], 1)
            sums.append(whole.reshape(-1, *self.elements[d].shape[1:]))
        product = self.algebra.multiply(before[-1], rows[-1])
        return *sums, self.close_gradient(slopes, product)

    def seed(self, slopes: NDArray) -> NDArray:
        """Return Σ_k slope_k·closing_k of every row."""
        raise NotImplementedError

    def close_gradient(self, slopes: NDArray, product: NDArray) -> NDArray:
        """Return Σ over rows of slope_k times the environment of the closing: (n_outputs, …)."""
        raise NotImplementedError

    def tangents(self, shard: Any, change: "Change", run: Run) -> NDArray:
        """Return the change of the responses when tables and closing change."""
        rows = self.rows(shard.codes)
        later = rows if change.later is None else self.rows(shard.codes, change.later)
        moves = self.rows(shard.codes, change.elements)
        value, moved = rows[0], moves[0]
        for d in range(1, len(rows)):
            moved = self.algebra.multiply(moved, later[d])
            moved = moved + self.algebra.multiply(value, moves[d])
            value = self.algebra.multiply(value, rows[d])
        closing = change.later_closing
        out = self.respond(moved, closing)
        return out + self.respond(value, change.closing)


@dataclass
class Change:
    """Change of tables: elements of all columns, the closing, and what stands behind a change."""

    elements: list[NDArray]
    closing: NDArray
    later: list[NDArray] | None = None
    later_closing: NDArray | None = None


# -- passes: what is sent to the rows ---------------------------------------------------------


@dataclass
class ResponsePass:
    """Responses of the rows, (n_rows, n_outputs)."""

    tables: Tables

    def __call__(self, shard: Any, run: Run) -> NDArray:
        return self.tables.responses(shard, run)


@dataclass
class StatisticsPass:
    """Sums over the rows of each grid value of ḡgᵀ and g·y."""

    tables: Tables
    column: int
    both: bool

    def __call__(self, shard: Any, run: Run) -> tuple[NDArray, ...]:
        return self.tables.statistics(shard, self.column, self.both, run)


@dataclass
class OutputPass:
    """Σ z̄zᵀ, Σ y·z and, where asked for, Σ zzᵀ over the environments z of the output core."""

    tables: Tables
    both: bool

    def __call__(self, shard: Any, run: Run) -> tuple[NDArray, ...]:
        states = self.tables.states(shard, run).reshape(len(shard), -1)
        root, target = shard.scaled
        if len(root):
            states = states * root[:, None]
        sums = (states.conj().T @ states, target.T @ states)
        return (*sums, states.T @ states) if self.both else sums


@dataclass
class GradientPass:
    """Σ conj(slope)·environment at the grid values of all columns, then of the closing."""

    tables: Tables
    later: list[NDArray] | None = None

    def __call__(self, shard: Any, slopes: NDArray, run: Run) -> tuple[NDArray, ...]:
        return self.tables.gradient(shard, slopes, self.later, run)


@dataclass
class TangentPass:
    """Change of the responses when tables and closing change."""

    tables: Tables
    change: Change

    def __call__(self, shard: Any, run: Run) -> NDArray:
        return self.tables.tangents(shard, self.change, run)


#: bytes of a cache line
LINE = 64


def as_planes(values: NDArray, is_complex: bool) -> NDArray[np.float64]:
    """Numbers (n, k) as planes (n, k, 2) of a complex model, or (n, k, 1) of a real one."""
    planes = np.zeros((*values.shape, 2 if is_complex else 1))
    planes[..., 0] = values.real
    if is_complex and np.iscomplexobj(values):
        planes[..., 1] = values.imag
    return planes


def complex_numbers(planes: NDArray) -> NDArray:
    """Undo `as_planes`: complex numbers of two planes, real ones of one."""
    if planes.shape[-1] == 1:
        return planes[..., 0]
    return np.ascontiguousarray(planes).view(np.complex128)[..., 0]


def aligned(shape: tuple[int, ...], dtype: Any = np.float64) -> NDArray:
    """Zeros that begin at a cache line, so that no vector of a table lies across two."""
    kind = np.dtype(dtype)
    count = int(np.prod(shape))
    raw = np.zeros(count + LINE // kind.itemsize, dtype=kind)
    first = -raw.ctypes.data % LINE // kind.itemsize
    return raw[first : first + count].reshape(shape)
