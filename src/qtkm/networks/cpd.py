"""Canonical polyadic decomposition: cores (Q, R) that share one index of size R.

     s₁ ─[W₁]─┐
     s₂ ─[W₂]─┼─ r        f = Σ_r Π_sites (sᵀW)_r   (· V_kr for output k)
     s₃ ─[W₃]─┘

A column's table is the R-vector of the products of its levels' responses; the environment
of a column is the product of the other columns' tables.
"""

from collections.abc import Callable, Sequence
from numbers import Integral

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from ..kernels.lines import from_lines, padded, to_lines
from ..parameters import check_number
from ..protocols import Cores, Given, Levels, Pass, Radices, Run, Shard
from ..structure import Edge, Structure
from .algebra import Diagonal
from .chain import SMOOTH_NOISE, ChainNetwork, site_legs
from .column_tables import Change, Tables


class CPDTables(Tables):
    """Tables (n_grid, R) of all columns; `closing` is the output core, or one row of ones."""

    _stacked = np.empty((0, 0))

    @property
    def mixing(self) -> NDArray | None:
        return self.closing if len(self.closing) > 1 else None

    def environments(self, shard: Shard, first: int, last: int, run: Run) -> NDArray:
        if len(self.elements) > last - first:
            return super().environments(shard, first, last, run)
        root = shard.scaled[0]
        alone = root if len(root) else np.ones(len(shard))
        return alone.astype(self.kind)[:, None, None]

    def goals(self, target: NDArray) -> NDArray:
        return (target if self.mixing is None else target @ self.closing)[:, None]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each column's table begins among the stacked ones, and the end."""
        return np.cumsum([0, *(len(elements) for elements in self.elements)])

    @property
    def stacked(self) -> NDArray:
        """Tables one below the other, as lines."""
        offsets, rank = self.offsets, self.closing.shape[1]
        shape = (int(offsets[-1]), len(self.planes) * padded(rank))
        if self._stacked.shape != shape:
            whole = np.concatenate(self.elements)
            self._stacked = to_lines(whole, self.is_complex, self.dtype)
        else:
            for d in self.stale:
                lines = to_lines(self.elements[d], self.is_complex)
                self._stacked[offsets[d] : offsets[d + 1]] = lines
        self.stale.clear()
        return self._stacked

    @property
    def _columns(self) -> NDArray[np.int64]:
        """Columns, those with the fewest grid values first."""
        return np.argsort([len(elements) for elements in self.elements], kind="stable")

    def lines_of(self) -> Callable[[NDArray], NDArray]:
        from ..kernels import entrywise as kernels

        table, columns, offsets = self.stacked, self._columns, self.offsets

        def lines(codes: NDArray) -> NDArray:
            out = np.empty((len(codes), table.shape[1]), dtype=self.dtype)
            kernels.products(codes, columns, table, offsets, self.planes, out)
            return out.astype(np.float64, copy=False)

        return lines

    def changed_lines(self, change: Change) -> Callable[[NDArray], tuple[NDArray, NDArray]]:
        from ..kernels import entrywise as kernels

        table, columns, offsets = self.stacked, self._columns, self.offsets
        moved = to_lines(np.concatenate(change.elements), self.is_complex, self.dtype)

        def lines(codes: NDArray) -> tuple[NDArray, NDArray]:
            value, move = np.empty((2, len(codes), table.shape[1]))
            kernels.changes(codes, columns, table, moved, offsets, self.planes, value, move)
            return value, move

        return lines

    def sum_gradient(self, later: Sequence[NDArray] | None) -> tuple[NDArray, Pass, Pass]:
        from ..kernels import entrywise as kernels

        table, columns, offsets = self.stacked, self._columns, self.offsets

        def add(codes: NDArray, seeds: NDArray, out: NDArray) -> None:
            kernels.gradient(codes, columns, table, offsets, seeds, self.planes, out)

        def read(total: NDArray) -> list[NDArray]:
            whole = from_lines(total, self.closing.shape[1:], self.is_complex)
            return np.split(whole, offsets[1:-1])

        return np.zeros(table.shape), add, read

    def sum_groups(self, shard: Shard, column: int) -> tuple[int, int, Pass]:
        from ..kernels import entrywise as kernels

        table, offsets, rank = self.stacked, self.offsets, self.closing.shape[1]
        others = self._columns[self._columns != column]

        def loop(segments, codes, order, weight, target, planes, *sums):
            kernels.statistics(
                segments, codes, order, others, table, offsets, weight, target, rank, planes, *sums
            )

        return rank, len(self.closing), loop


class CPD(ChainNetwork):
    """Canonical polyadic decomposition of the weights.

    Parameters
    ----------
    rank : int or "auto"
        Number R of rank-one terms.
    """

    algebra = Diagonal()
    tables = CPDTables

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        check_number("rank", self.rank, Integral, 1)

    def rank_of(self, cores: Given) -> int | None:
        try:
            return int(np.shape(cores[0][0])[1])
        except (IndexError, KeyError, TypeError, ValueError):
            return None

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        legs, names = site_legs(radices, n_outputs)
        rank = Edge("rank", int(self.rank), tuple(range(len(names))))
        return Structure(names, (*legs, rank))

    def start(
        self, constants: Levels, n_outputs: int, is_complex: bool, kind: str, rng: RandomState
    ) -> Cores:
        cores: Cores = [[self._core(c, is_complex, kind, rng) for c in levels]
                        for levels in constants]  # fmt: skip
        if n_outputs > 1:
            cores.append(self._core(np.zeros(n_outputs), is_complex, "random", rng))
        return cores

    def _core(self, constant, is_complex, kind, rng):
        noise = rng.standard_normal((len(constant), self.rank))
        if is_complex and kind == "smooth":
            noise = noise + 1j * rng.standard_normal(noise.shape)
        core = noise if kind == "random" else constant[:, None] + SMOOTH_NOISE * noise
        core = core / np.linalg.norm(core, axis=0)
        return core.astype(np.complex128 if is_complex else np.float64)

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        norm = np.sqrt((core.real**2 + core.imag**2).sum(axis=0))
        norm[norm == 0] = 1
        return core / norm, norm

    def push_right(self, factor: NDArray, core: NDArray) -> NDArray:
        return core * factor

    push_left = push_right

    def numbers_held(
        self, sizes: Sequence[int], radices: Radices, n_outputs: int, planes: int
    ) -> tuple[int, int]:
        square = planes**2 * self.rank * (self.rank + 1) // 2
        return planes * self.rank * sum(sizes), max(sizes) * (square + planes * self.rank)
