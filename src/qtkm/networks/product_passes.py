"""Passes over a shard for trains and rings; each carries only tables.

`Tables` is what a worker needs of a network: the flat buffer of all columns' matrices, where
each column begins, the bonds between columns and the matrices that close the chain, one an
output.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import products as kernels
from .network import Run
from .planes import as_planes, complex_numbers

#: a shard's gradient sums are made in this many parts, whatever the number of threads
PARTS = 8
_NOTHING = np.empty(0)


@dataclass
class Tables:
    """Tables of all columns.

    Attributes
    ----------
    buffer, turned : (total,) arrays
        All columns' matrices, and the same transposed; see `qtkm.kernels.products`.
    offsets, turned_offsets : (n_columns + 1,) int arrays
    bonds : (n_columns + 1,) int array
    closing : (n_outputs, planes, bonds[-1]·bonds[0]) array
    """

    buffer: NDArray
    turned: NDArray
    offsets: NDArray
    turned_offsets: NDArray
    bonds: NDArray
    closing: NDArray

    @property
    def is_complex(self) -> bool:
        """Whether there are two planes."""
        return self.closing.shape[1] == 2

    def size(self, d: int) -> int:
        """Entries of a column's matrix."""
        return int(self.bonds[d] * self.bonds[d + 1])


def respond(tables: Tables, shard: Any, run: Run, closing: NDArray | None = None) -> NDArray:
    """Responses (n_rows, n_outputs), complex where the model is."""
    closing = tables.closing if closing is None else closing
    out = np.empty((len(shard), len(closing), closing.shape[1]))

    def task(bounds: tuple[int, int]) -> None:
        kernels.responses(
            *bounds, shard.codes, tables.offsets, tables.bonds, tables.buffer, closing, out
        )

    run(task, shard.blocks())
    return complex_numbers(out)


@dataclass
class ResponsePass:
    """Responses of the rows."""

    tables: Tables

    def __call__(self, shard: Any, run: Run) -> NDArray:
        return respond(self.tables, shard, run)


@dataclass
class OutputPass:
    """Σ z̄zᵀ, Σ y·z and, where asked for, Σ zzᵀ over the states z before the output core."""

    tables: Tables
    both: bool

    def __call__(self, shard: Any, run: Run) -> tuple[NDArray, ...]:
        states = last_states(self.tables, shard, run)
        root, target = shard.scaled
        if len(root):
            states = states * root[:, None]
        sums = (states.conj().T @ states, target.T @ states)
        return (*sums, states.T @ states) if self.both else sums


def last_states(tables: Tables, shard: Any, run: Run) -> NDArray:
    """The product of all columns' matrices, (n_rows, bonds[-1]·bonds[0]), transposed."""
    size = tables.closing.shape[2]
    units = np.zeros((size, tables.closing.shape[1], size))
    units[:, 0] = np.eye(size)
    return respond(tables, shard, run, units)


def environments(tables: Tables, shard: Any, first: int, last: int, run: Run) -> NDArray:
    """Environments outside of columns first … last-1, scaled by the root weights.

    Shape (n_rows, n_outputs, bonds[first], bonds[last]), complex where the model is.
    """
    left, right = int(tables.bonds[first]), int(tables.bonds[last])
    n_outputs, planes, _ = tables.closing.shape
    out = np.empty((len(shard) * n_outputs, planes * left * right))
    weight = shard.scaled[0]

    def task(bounds: tuple[int, int]) -> None:
        kernels.environments(
            *bounds, shard.codes, first, last, tables.offsets, tables.turned_offsets,
            tables.bonds, tables.buffer, tables.turned, tables.closing, weight, out,
        )  # fmt: skip

    run(task, shard.blocks())
    if planes == 2:
        half = left * right
        out = out[..., :half] + 1j * out[..., half:]
    return out.reshape(len(shard), n_outputs, left, right)


@dataclass
class StatisticsPass:
    """Σ over the rows of each grid value of ḡgᵀ and g·y."""

    tables: Tables
    column: int
    both: bool

    def __call__(self, shard: Any, run: Run) -> tuple[NDArray, NDArray]:
        tables, groups = self.tables, shard.groups(self.column)
        size = tables.size(self.column)
        planes = (4 if self.both else 2) if tables.is_complex else 1
        n_slots = groups.n_codes + len(groups.owners)
        gram = np.empty((n_slots, planes * size * (size + 1) // 2))
        rhs = np.empty((n_slots, 1, size * tables.closing.shape[1]))
        weight, target = shard.scaled

        def task(segments: NDArray) -> None:
            kernels.statistics(
                segments, shard.codes, groups.order, self.column, tables.offsets,
                tables.turned_offsets, tables.bonds, tables.buffer, tables.turned, tables.closing,
                weight, target, gram, rhs,
            )  # fmt: skip

        run(task, groups.tasks)
        for extra, owner in enumerate(groups.owners, start=groups.n_codes):
            gram[owner] += gram[extra]
            rhs[owner] += rhs[extra]
        return gram[: groups.n_codes], rhs[: groups.n_codes, 0]


@dataclass
class ApplyPass:
    """Σ ω·conj(g·δT)·g at the grid values of a column; without a change, Σ ω·y·g."""

    tables: Tables
    column: int
    real_part: bool
    change: NDArray | None

    def __call__(self, shard: Any, run: Run) -> NDArray:
        tables, groups = self.tables, shard.groups(self.column)
        width = tables.size(self.column) * tables.closing.shape[1]
        out = np.empty((groups.n_codes + len(groups.owners), width))
        weight, target = shard.scaled
        change = self.change
        if change is None:
            change = np.empty((0, width))
        else:
            target = np.empty((0, 0))

        def task(segments: NDArray) -> None:
            kernels.apply(
                segments, shard.codes, groups.order, self.column, tables.offsets,
                tables.turned_offsets, tables.bonds, tables.buffer, tables.turned, change,
                tables.closing, weight, target, self.real_part, out,
            )  # fmt: skip

        run(task, groups.tasks)
        for extra, owner in enumerate(groups.owners, start=groups.n_codes):
            out[owner] += out[extra]
        return out[: groups.n_codes]


@dataclass
class GradientPass:
    """Σ conj(slope)·environment at the grid values of all columns.

    Environments are made of `tables` before a column and of `turned` after it.
    """

    tables: Tables
    turned: NDArray

    def __call__(self, shard: Any, slopes: NDArray, run: Run) -> tuple[NDArray, NDArray]:
        tables = self.tables
        slopes = as_planes(slopes, tables.is_complex)

        def part(bounds: tuple[int, int]) -> tuple[NDArray, NDArray]:
            out, closing = np.zeros(len(tables.buffer)), np.zeros(tables.closing.shape)
            kernels.gradient(
                *bounds, shard.codes, tables.offsets, tables.turned_offsets, tables.bonds,
                tables.buffer, self.turned, tables.closing, slopes, out, closing,
            )  # fmt: skip
            return out, closing

        parts = run(part, shard.parts(PARTS))
        total, total_closing = parts[0]
        for out, closing in parts[1:]:
            total += out
            total_closing += closing
        return total, total_closing


@dataclass
class TangentPass:
    """Change of the responses when tables and closing matrices change.

    Columns after a change stand as in `later`, a buffer like that of `tables`.
    """

    tables: Tables
    change: NDArray
    closing_change: NDArray
    later: NDArray

    def __call__(self, shard: Any, run: Run) -> NDArray:
        tables = self.tables
        out = np.empty((len(shard), *tables.closing.shape[:2]))

        def task(bounds: tuple[int, int]) -> None:
            kernels.tangents(
                *bounds, shard.codes, tables.offsets, tables.bonds, tables.buffer, self.later,
                self.change, tables.closing, self.closing_change, out,
            )  # fmt: skip

        run(task, shard.blocks())
        return complex_numbers(out)
