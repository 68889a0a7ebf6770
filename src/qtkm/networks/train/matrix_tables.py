"""Tables of a train or ring, with compiled loops for many rows.

The loops read flat buffers: one grid value after the other, Re and then Im, row by row, rows
padded with zeros to whole vectors; see `qtkm.kernels.products`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...protocols import Run, Shard
from ..column_tables import (
    Change,
    Tables,
    as_planes,
    complex_numbers,
    finished_grams,
    is_large,
    new_grams,
)

#: a shard's gradient is summed in this many parts, whatever the number of threads
PARTS = 8


class ProductTables(Tables):
    """Tables (n_grid, left, right) of all columns; `closing` is (n_outputs, right, left)."""

    # -- NumPy, for few rows ----------------------------------------------------------------

    def respond(self, product: NDArray, closing: NDArray | None = None) -> NDArray:
        """Close products (n, left, right) by these or other elements: (n, n_outputs)."""
        closing = self.closing if closing is None else closing
        flat = closing.swapaxes(1, 2).reshape(len(closing), -1)
        return product.reshape(len(product), -1) @ flat.T

    def row_factors(self, d: int, places: NDArray) -> NDArray:
        """Return the elements (n, 1, left, right) of a column that rows read."""
        return np.take(self.elements[d], places, axis=0)[:, None]

    def row_ends(self) -> Any:
        """Return the unit before all columns, and what closes their product."""
        return np.eye(self.bonds[0], dtype=self.kind)[None, None], self.closing[None]

    def environments(self, shard: Shard, first: int, last: int, run: Run) -> NDArray:
        """Return the environments (n_rows, n_outputs, left, right) of columns first … last-1."""
        if is_large(shard):
            return self._many_environments(shard, first, last, run)
        inside = super().environments(shard, first, last, run)
        return np.broadcast_to(inside, (len(shard), *inside.shape[1:]))

    def goals(self, target: NDArray) -> NDArray:
        """Return what multiplies environments in right-hand sides, (n_rows, n_outputs, 1, 1)."""
        return target[:, :, None, None]

    def seed(self, slopes: NDArray) -> NDArray:
        """Return Σ_k slope_k·closing_k of every row."""
        flat = slopes @ self.closing.reshape(len(self.closing), -1)
        return flat.reshape(-1, *self.closing.shape[1:])

    def close_gradient(self, slopes: NDArray, product: NDArray) -> NDArray:
        """Return Σ over rows of slope_k times the transposed product: (n_outputs, right, left)."""
        flat = slopes.T @ product.swapaxes(1, 2).reshape(len(product), -1)
        return flat.reshape(self.closing.shape)

    def states(self, shard: Shard, run: Run) -> NDArray:
        """Return the transposed products (n_rows, right, left) of all columns."""
        if not is_large(shard):
            product = self._product(self.rows(shard.codes))
            return product.swapaxes(1, 2).astype(self._double)
        shape = self.closing.shape[1:]
        units = np.eye(shape[0] * shape[1]).reshape(-1, *shape)
        return self._respond(shard, units, run).reshape(-1, *shape)

    # -- compiled loops, for many -------------------------------------------------------------

    @property
    def bonds(self) -> NDArray[np.int64]:
        """Bonds before, between and after the columns."""
        shapes = [elements.shape for elements in self.elements]
        return np.array([shapes[0][1], *(shape[2] for shape in shapes)], dtype=np.int64)

    def _buffer(self, tables: Sequence[NDArray]) -> tuple[NDArray, NDArray]:
        """Tables as one flat buffer of padded planes, and where each column begins."""
        from ...kernels._simd import LANES

        parts = []
        for table in tables:
            extra = -table.shape[2] % LANES
            padded = np.pad(table, ((0, 0), (0, 0), (0, extra))) if extra else table
            planes = as_planes(padded.reshape(len(padded), -1), self.is_complex)
            parts.append(np.ascontiguousarray(planes.transpose(0, 2, 1)).ravel())
        offsets = np.cumsum([0, *(part.size for part in parts)])
        return np.concatenate(parts).astype(self.dtype), offsets

    @property
    def _forward(self) -> tuple[NDArray, NDArray]:
        """Buffer of the tables, for walks from the left."""
        return self._cached("forward", self.elements)

    @property
    def _backward(self) -> tuple[NDArray, NDArray]:
        """Buffer of the transposed tables, for walks from the right."""
        return self._cached("backward", [table.swapaxes(1, 2) for table in self.elements])

    def _cached(self, name: str, tables: Sequence[NDArray]) -> tuple[NDArray, NDArray]:
        if self.stale:
            self._kept: dict[str, Any] = {}
            self.stale.clear()
        if name not in self._kept:
            self._kept[name] = self._buffer(tables)
        return self._kept[name]

    def _planes(self, closing: NDArray) -> NDArray:
        """Return the closing elements as planes (n_outputs, planes, right·left)."""
        planes = as_planes(closing.reshape(len(closing), -1), self.is_complex)
        return np.ascontiguousarray(planes.transpose(0, 2, 1))

    def _many_environments(self, shard: Shard, first: int, last: int, run: Run) -> NDArray:
        from ...kernels import matrices as kernels

        bonds, closing = self.bonds, self._planes(self.closing)
        left, right = int(bonds[first]), int(bonds[last])
        (buffer, offsets), (turned, turned_offsets) = self._forward, self._backward
        n_outputs, planes, _ = closing.shape
        out = np.empty((len(shard) * n_outputs, planes * left * right))
        weight = shard.scaled[0]

        def task(bounds: tuple[int, int]) -> None:
            kernels.environments(
                *bounds, shard.codes, first, last, offsets, turned_offsets, bonds, buffer, turned,
                closing, weight, out,
            )  # fmt: skip

        run(task, shard.blocks())
        if planes == 2:
            out = out[:, : left * right] + 1j * out[:, left * right :]
        return out.reshape(len(shard), n_outputs, left, right)

    def responses(self, shard: Shard, run: Run) -> NDArray:
        if not is_large(shard):
            return super().responses(shard, run)
        return self._respond(shard, self.closing, run)

    def _respond(self, shard: Shard, closing: NDArray, run: Run) -> NDArray:
        from ...kernels import matrices as kernels

        planes = self._planes(closing)
        buffer, offsets = self._forward
        out = np.empty((len(shard), *planes.shape[:2]))

        def task(bounds: tuple[int, int]) -> None:
            kernels.responses(*bounds, shard.codes, offsets, self.bonds, buffer, planes, out)

        run(task, shard.blocks())
        return complex_numbers(out)

    def statistics(self, shard: Shard, column: int, both: bool, run: Run) -> tuple[NDArray, ...]:
        if not is_large(shard):
            return super().statistics(shard, column, both, run)
        from ...kernels import matrices as kernels
        from ...kernels.grams import padded

        groups, bonds = shard.groups(column), self.bonds
        size = int(bonds[column] * bonds[column + 1])
        closing = self._planes(self.closing)
        (buffer, offsets), (turned, turned_offsets) = self._forward, self._backward
        n_slots = groups.n_codes + len(groups.owners)
        grams = new_grams(n_slots, size, self.is_complex, both)
        half = int(padded(size))
        rhs = np.empty((n_slots, 1, half * closing.shape[1]))
        weight, target = shard.scaled

        def task(segments: NDArray) -> None:
            kernels.statistics(
                segments, shard.codes, groups.order, column, offsets, turned_offsets, bonds,
                buffer, turned, closing, weight, target, *grams, rhs,
            )  # fmt: skip

        run(task, groups.tasks)
        groups.add_pieces(*grams, rhs)
        right = rhs[: groups.n_codes, 0, :size]
        if self.is_complex:
            right = right + 1j * rhs[: groups.n_codes, 0, half : half + size]
        return *finished_grams(grams, groups.n_codes, self.is_complex), right

    def gradient(
        self, shard: Shard, slopes: NDArray, later: Sequence[NDArray] | None, run: Run
    ) -> tuple[NDArray, ...]:
        if not is_large(shard):
            return super().gradient(shard, slopes, later, run)
        from ...kernels import matrices as kernels

        slopes, closing = as_planes(slopes, self.is_complex), self._planes(self.closing)
        (buffer, offsets), (turned, turned_offsets) = self._forward, self._backward
        if later is not None:
            turned, _ = self._buffer([table.swapaxes(1, 2) for table in later])

        def part(bounds: tuple[int, int]) -> tuple[NDArray, NDArray]:
            out, out_closing = np.zeros(len(buffer)), np.zeros(closing.shape)
            kernels.gradient(
                *bounds, shard.codes, offsets, turned_offsets, self.bonds, buffer, turned, closing,
                slopes, out, out_closing,
            )  # fmt: skip
            return out, out_closing

        parts = run(part, shard.parts(PARTS))
        total, total_closing = parts[0]
        for out, out_closing in parts[1:]:
            total += out
            total_closing += out_closing
        sums = [
            self._unpad(some, table.shape)
            for some, table in zip(np.split(total, offsets[1:-1]), self.elements, strict=True)
        ]
        closed = complex_numbers(total_closing.swapaxes(1, 2)).reshape(self.closing.shape)
        return *sums, closed

    def _unpad(self, flat: NDArray, shape: tuple[int, ...]) -> NDArray:
        """Undo `_buffer` for one column."""
        n_grid, left, right = shape
        planes = flat.reshape(n_grid, 2 if self.is_complex else 1, left, -1)[..., :right]
        return planes[:, 0] + 1j * planes[:, 1] if self.is_complex else planes[:, 0]

    def tangents(self, shard: Shard, change: Change, run: Run) -> NDArray:
        if not is_large(shard):
            return super().tangents(shard, change, run)
        from ...kernels import matrices as kernels

        buffer, offsets = self._forward
        moved, _ = self._buffer(change.elements)
        later = buffer if change.later is None else self._buffer(change.later)[0]
        closing = self.closing if change.later_closing is None else change.later_closing
        closing, closing_change = self._planes(closing), self._planes(change.closing)
        out = np.empty((len(shard), *closing.shape[:2]))

        def task(bounds: tuple[int, int]) -> None:
            kernels.tangents(
                *bounds, shard.codes, offsets, self.bonds, buffer, later, moved, closing,
                closing_change, out,
            )  # fmt: skip

        run(task, shard.blocks())
        return complex_numbers(out)
