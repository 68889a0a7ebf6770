"""Derivatives of a CPD: one pass over the rows, then a chain rule from tables to cores.

The pass sums, for all columns together, slopes times environments: O(N·D·R), whatever the
number of basis functions is.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import cpd_gradient as kernels
from ..kernels import levels as level_kernels
from .network import Cores, Run
from .planes import aligned, as_planes, complex_numbers, from_planes, to_planes

#: a shard's sums are made in this many parts, whatever the number of threads
PARTS = 4


class GradientPass:
    """Σ conj(slope)·environment at the grid values of all columns; carries only tables."""

    def __init__(self, table: NDArray, offsets: NDArray, mixing: NDArray, rank: int):
        self.table, self.offsets, self.mixing, self.rank = table, offsets, mixing, rank

    def __call__(self, shard: Any, slopes: NDArray, run: Run) -> tuple[NDArray, NDArray]:
        is_complex = self.table.shape[1] == 2 * self.rank
        slopes = as_planes(slopes, is_complex)

        def part(bounds: tuple[int, int]) -> tuple[NDArray, NDArray]:
            out, out_mixing = aligned(self.table.shape), np.zeros(self.mixing.shape)
            kernels.gradient(
                *bounds, shard.codes, shard.column_order, self.table, self.offsets, self.mixing,
                slopes, self.rank, out, out_mixing,
            )  # fmt: skip
            return out, out_mixing

        parts = run(part, shard.parts(PARTS))
        total, total_mixing = parts[0]
        for out, out_mixing in parts[1:]:
            total += out
            total_mixing += out_mixing
        return total, total_mixing


class TangentPass:
    """Change of the responses when tables and output core change."""

    def __init__(self, table, change, offsets, mixing, mixing_change, rank):
        self.table, self.change, self.offsets = table, change, offsets
        self.mixing, self.mixing_change, self.rank = mixing, mixing_change, rank

    def __call__(self, shard: Any, run: Run) -> NDArray:
        is_complex = self.table.shape[1] == 2 * self.rank
        out = np.empty((len(shard), max(1, len(self.mixing)), 2 if is_complex else 1))

        def part(bounds: tuple[int, int]) -> None:
            kernels.tangents(
                *bounds, shard.codes, shard.column_order, self.table, self.change, self.offsets,
                self.mixing, self.mixing_change, self.rank, out,
            )  # fmt: skip

        run(part, shard.blocks())
        return complex_numbers(out)


def chain_rule(iterate: Any, sums: NDArray, sums_mixing: NDArray) -> Cores:
    """Gradient with respect to the cores from the sums of the pass."""

    def one_column(d: int) -> list[NDArray]:
        column, part = iterate.columns[d], sums[iterate.offsets[d] : iterate.offsets[d + 1]]
        if column.is_categorical:
            return [from_planes(part, iterate.rank).conj()]
        slopes = level_kernels.slopes(
            part, column.factors, column.phase, *_levels(column, iterate.cores[d], iterate),
            iterate.rank,
        )  # fmt: skip
        slopes = from_planes(slopes, iterate.rank).conj()
        return [slopes[levels] for levels in column.slices]

    gradient: Cores = iterate.run(one_column, range(len(iterate.columns)))
    if len(sums_mixing):
        gradient.append(from_planes(sums_mixing, iterate.rank).conj())
    return gradient


def tangent_pass(iterate: Any, direction: Cores) -> TangentPass:
    """Pass that gives the change of the responses in a direction."""
    rank, width = iterate.rank, iterate.width
    change = np.zeros(iterate.table.shape)
    for d, column in enumerate(iterate.columns):
        part = change[iterate.offsets[d] : iterate.offsets[d + 1]]
        if column.is_categorical:
            part[:] = to_planes(direction[d][0], width)
            continue
        radices, core = _levels(column, iterate.cores[d], iterate)
        moved = to_planes(np.concatenate(direction[d]), width)
        level_kernels.changes(column.factors, column.phase, radices, core, moved, rank, part)
    mixing_change = iterate.mixing
    if len(mixing_change):
        mixing_change = to_planes(direction[-1], width)
    change = change.astype(iterate.table.dtype)
    return TangentPass(iterate.table, change, iterate.offsets, iterate.mixing, mixing_change, rank)


def norm_product(iterate: Any, direction: Cores) -> Cores:
    """2·(direction of a core)·(product of the Gram matrices of all other cores)."""
    result: Cores = []
    for block, entry in enumerate(iterate.cores):
        outer = iterate.outer_gram(block)
        if not isinstance(entry, list):
            result.append(2 * direction[block] @ outer.T)
            continue
        grams = [core.conj().T @ core for core in entry]
        levels = []
        for level in range(len(entry)):
            gram = outer
            for k, other in enumerate(grams):
                gram = gram * other if k != level else gram
            levels.append(2 * direction[block][level] @ gram.T)
        result.append(levels)
    return result


def _levels(column: Any, cores: list[NDArray], iterate: Any) -> tuple[NDArray, NDArray]:
    """Radices of a column and its cores one below the other, as planes."""
    radices = np.asarray(column.radices, dtype=np.int64)
    return radices, to_planes(np.concatenate(cores), iterate.width)
