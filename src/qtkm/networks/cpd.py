"""Canonical polyadic decomposition: cores (Q, R) that share one index of size R.

     s₁ ─[W₁]─┐
     s₂ ─[W₂]─┼─ r        f = Σ_r Π_sites (sᵀW)_r   (· V_kr for output k)
     s₃ ─[W₃]─┘

A column's table is the R-vector of the products of its levels' responses; the environment
of a column is the product of the other columns' tables.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..protocols import Run, Shard
from ..structure import Edge, Structure
from .algebra import Diagonal
from .chain import SMOOTH_NOISE, ChainNetwork, site_legs
from .column_tables import (
    Change,
    Tables,
    aligned,
    as_planes,
    complex_numbers,
    finished_grams,
    is_large,
    new_grams,
)
from .network import Cores

#: a shard's gradient is summed in this many parts, whatever the number of threads
PARTS = 4


class CPDTables(Tables):
    """Tables (n_grid, R) of all columns; `closing` is the output core, or one row of ones."""

    _stacked = np.empty((0, 0))

    @property
    def mixing(self) -> NDArray | None:
        """Output core by whose squares statistics are still to be multiplied."""
        return self.closing if len(self.closing) > 1 else None

    # -- NumPy, for few rows ----------------------------------------------------------------

    def respond(self, product: NDArray, closing: NDArray | None = None) -> NDArray:
        """Close products (n, R) of all columns by these or other elements: (n, n_outputs)."""
        return product @ (self.closing if closing is None else closing).T

    def row_factors(self, d: int, places: NDArray) -> NDArray:
        """Return the elements (n, 1, R) of a column that rows read."""
        return np.take(self.elements[d], places, axis=0)[:, None]

    def row_ends(self) -> Any:
        """Nothing stands around the product of all columns."""

    def environments(self, shard: Shard, first: int, last: int, run: Run) -> NDArray:
        """Return the environments (n_rows, 1, R) outside of columns first … last-1."""
        if len(self.elements) > last - first:
            return super().environments(shard, first, last, run)
        root = shard.scaled[0]
        alone = root if len(root) else np.ones(len(shard))
        return alone.astype(self.kind)[:, None, None]

    def goals(self, target: NDArray) -> NDArray:
        """Return what multiplies environments in right-hand sides, (n_rows, 1, 1 or R)."""
        return (target if self.mixing is None else target @ self.closing)[:, None]

    def seed(self, slopes: NDArray) -> NDArray:
        """Return Σ_k slope_k·closing_k of every row."""
        return slopes @ self.closing

    def close_gradient(self, slopes: NDArray, product: NDArray) -> NDArray:
        """Return Σ over rows of slope_k times the product of all columns: (n_outputs, R)."""
        return slopes.T[: len(slopes.T) * (self.mixing is not None)] @ product

    def states(self, shard: Shard, run: Run) -> NDArray:
        """Return the products (n_rows, R) of all columns."""
        if not is_large(shard):
            return self._product(self.rows(shard.codes)).astype(self._double)
        from ..kernels import entrywise as kernels

        out = np.empty((len(shard), self.stacked.shape[1]), dtype=self.dtype)
        columns, offsets, nothing = shard.column_order, self.offsets, np.empty(0)
        table, is_complex = self.stacked, self.is_complex

        def fill(bounds):
            kernels.environments(
                *bounds, shard.codes, columns, table, offsets, nothing, is_complex, out
            )

        run(fill, shard.blocks())
        return self._from_planes(out.astype(np.float64))

    # -- compiled loops, for many -------------------------------------------------------------

    @property
    def rank(self) -> int:
        """Number of terms."""
        return self.closing.shape[1]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """Where each column's table begins among the stacked ones, and the end."""
        return np.cumsum([0, *(len(elements) for elements in self.elements)])

    @property
    def _half(self) -> int:
        """Length of a padded half of a line."""
        from ..kernels.grams import padded

        return int(padded(self.rank))

    def _to_planes(self, elements: NDArray) -> NDArray:
        """Lines [Re | Im] of elements (n, R), both halves padded."""
        half, rank = self._half, self.rank
        planes = np.zeros((len(elements), half * (2 if self.is_complex else 1)))
        planes[:, :rank] = elements.real
        if self.is_complex:
            planes[:, half : half + rank] = elements.imag
        return planes

    def _from_planes(self, planes: NDArray) -> NDArray:
        """Undo `_to_planes`."""
        half, rank = self._half, self.rank
        if not self.is_complex:
            return planes[:, :rank]
        return planes[:, :rank] + 1j * planes[:, half : half + rank]

    @property
    def stacked(self) -> NDArray:
        """Tables one below the other, as padded planes."""
        offsets = self.offsets
        shape = (int(offsets[-1]), self._half * (2 if self.is_complex else 1))
        if self._stacked.shape != shape:
            self._stacked, self.stale = aligned(shape, self.dtype), set(range(len(self.elements)))
        for d in self.stale:
            self._stacked[offsets[d] : offsets[d + 1]] = self._to_planes(self.elements[d])
        self.stale.clear()
        return self._stacked

    @property
    def _mixing_planes(self) -> NDArray:
        """Planes of the output core; no rows for one output."""
        return self._to_planes(self.closing[: len(self.closing) * (self.mixing is not None)])

    def responses(self, shard: Shard, run: Run) -> NDArray:
        if not is_large(shard):
            return super().responses(shard, run)
        from ..kernels import entrywise as kernels

        out = np.empty((len(shard), len(self.closing), 2 if self.is_complex else 1))
        table, offsets, mixing = self.stacked, self.offsets, self._mixing_planes
        columns = shard.column_order

        def respond(bounds):
            kernels.responses(*bounds, shard.codes, columns, table, offsets, mixing, out)

        run(respond, shard.blocks())
        return complex_numbers(out)

    def statistics(self, shard: Shard, column: int, both: bool, run: Run) -> tuple[NDArray, ...]:
        if not is_large(shard) or len(self.elements) == 1:
            return super().statistics(shard, column, both, run)
        from ..kernels import entrywise as kernels

        groups, rank, is_complex = shard.groups(column), self.rank, self.is_complex
        n_slots = groups.n_codes + len(groups.owners)
        table, offsets, mixing = self.stacked, self.offsets, self._mixing_planes
        grams = new_grams(n_slots, rank, is_complex, both)
        rhs = np.empty((n_slots, 1, table.shape[1]))
        columns = shard.column_order
        others = columns[columns != column]
        weight, target = shard.scaled

        def task(segments):
            kernels.statistics(
                segments, shard.codes, groups.order, others, table, offsets, weight, target,
                mixing, rank, is_complex, *grams, rhs,
            )  # fmt: skip

        run(task, groups.tasks)
        groups.add_pieces(*grams, rhs)
        right = self._from_planes(rhs[: groups.n_codes, 0])
        return *finished_grams(grams, groups.n_codes, is_complex), right

    def gradient(
        self, shard: Shard, slopes: NDArray, later: Sequence[NDArray] | None, run: Run
    ) -> tuple[NDArray, ...]:
        if not is_large(shard):
            return super().gradient(shard, slopes, later, run)
        from ..kernels import entrywise_gradient as kernels

        slopes, half = as_planes(slopes, self.is_complex), self._half
        table, offsets, mixing = self.stacked, self.offsets, self._mixing_planes
        columns = shard.column_order

        def part(bounds: tuple[int, int]) -> tuple[NDArray, NDArray]:
            out, out_mixing = aligned(table.shape), np.zeros(mixing.shape)
            kernels.gradient(
                *bounds, shard.codes, columns, table, offsets, mixing, slopes, half, out, out_mixing
            )
            return out, out_mixing

        parts = run(part, shard.parts(PARTS))
        total, total_mixing = parts[0]
        for out, out_mixing in parts[1:]:
            total += out
            total_mixing += out_mixing
        whole = self._from_planes(total)
        return *np.split(whole, offsets[1:-1]), self._from_planes(total_mixing)

    def tangents(self, shard: Shard, change: Change, run: Run) -> NDArray:
        if not is_large(shard):
            return super().tangents(shard, change, run)
        from ..kernels import entrywise_gradient as kernels

        table, offsets, mixing = self.stacked, self.offsets, self._mixing_planes
        moved = self._to_planes(np.concatenate(change.elements)).astype(self.dtype)
        mixing_change = self._to_planes(change.closing) if len(mixing) else mixing
        out = np.empty((len(shard), len(self.closing), 2 if self.is_complex else 1))
        columns, half = shard.column_order, self._half

        def part(bounds: tuple[int, int]) -> None:
            kernels.tangents(
                *bounds, shard.codes, columns, table, moved, offsets, mixing, mixing_change,
                half, out,
            )  # fmt: skip

        run(part, shard.blocks())
        return complex_numbers(out)


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
        """Raise a ValueError for parameters that make no sense."""
        whole = isinstance(self.rank, Integral) and not isinstance(self.rank, bool)
        if not whole or self.rank < 1:
            raise ValueError(f"rank={self.rank!r} must be a whole number >= 1.")

    def rank_of(self, cores: Any) -> int | None:
        """Rank of cores that a user gives, or None where it cannot be seen."""
        try:
            return int(np.shape(cores[0][0])[1])
        except (IndexError, KeyError, TypeError, ValueError):
            return None

    def structure(self, radices: Sequence[Sequence[int]], n_outputs: int) -> Structure:
        """Vertices and edges for the sites of a fit."""
        legs, names = site_legs(radices, n_outputs)
        rank = Edge("rank", int(self.rank), tuple(range(len(names))))
        return Structure(names, (*legs, rank))

    def start(
        self,
        constants: Sequence[Sequence[NDArray]],
        n_outputs: int,
        is_complex: bool,
        kind: str,
        rng: np.random.RandomState,
    ) -> Cores:
        """Cores to start from, their columns of unit norm; see `Network.start`."""
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
        """Return a core with columns of unit norm, and their norms."""
        norm = np.sqrt((core.real**2 + core.imag**2).sum(axis=0))
        norm[norm == 0] = 1
        return core / norm, norm

    def push_right(self, factor: NDArray, core: NDArray) -> NDArray:
        """Multiply the columns of a core by norms."""
        return core * factor

    def push_left(self, core: NDArray, factor: NDArray) -> NDArray:
        """Multiply the columns of a core by norms."""
        return core * factor

    def numbers_held(
        self, sizes: Sequence[int], radices: Sequence[Sequence[int]], n_outputs: int, planes: int
    ) -> tuple[int, int]:
        """Numbers that a fit from sums over shards holds; see `Network.numbers_held`."""
        square = planes**2 * self.rank * (self.rank + 1) // 2
        return planes * self.rank * sum(sizes), max(sizes) * (square + planes * self.rank)
