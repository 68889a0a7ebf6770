"""Tables of a train or ring, with compiled loops for many rows.

The loops read flat buffers of lines, one grid value after the other; see `qtkm.kernels.matrices`.
"""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.lines import from_lines, padded, to_lines
from ...protocols import Pass, Run, Shard
from ..column_tables import Change, Tables, is_large


class ProductTables(Tables):
    """Tables (n_grid, left, right) of all columns; `closing` is (n_outputs, right, left)."""

    def row_ends(self) -> tuple[NDArray, NDArray]:
        return np.eye(self.bonds[0], dtype=self.kind)[None, None], self.closing[None]

    def environments(self, shard: Shard, first: int, last: int, run: Run) -> NDArray:
        if is_large(shard):
            return self._many_environments(shard, first, last, run)
        inside = super().environments(shard, first, last, run)
        return np.broadcast_to(inside, (len(shard), *inside.shape[1:]))

    def goals(self, target: NDArray) -> NDArray:
        return target[:, :, None, None]

    def turn(self, closing: NDArray) -> NDArray:
        return closing.swapaxes(1, 2)

    @property
    def bonds(self) -> NDArray[np.int64]:
        """Bonds before, between and after the columns."""
        shapes = [elements.shape for elements in self.elements]
        return np.array([shapes[0][1], *(shape[2] for shape in shapes)], dtype=np.int64)

    def _buffer(self, tables: Sequence[NDArray]) -> tuple[NDArray, NDArray]:
        """Return lines of all tables as one flat buffer, and where each column begins."""
        parts = [to_lines(table, self.is_complex, self.dtype).ravel() for table in tables]
        return np.concatenate(parts), np.cumsum([0, *(part.size for part in parts)])

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
            self._kept: dict[str, tuple[NDArray, NDArray]] = {}
            self.stale.clear()
        if name not in self._kept:
            self._kept[name] = self._buffer(tables)
        return self._kept[name]

    @property
    def _closings(self) -> NDArray:
        """Lines of the states that walks from the right begin with."""
        return to_lines(self.turn(self.closing), self.is_complex)

    def _many_environments(self, shard: Shard, first: int, last: int, run: Run) -> NDArray:
        from ...kernels import matrices as kernels

        bonds, closing, weight = self.bonds, self._closings, shard.scaled[0]
        left, right = int(bonds[first]), int(bonds[last])
        (buffer, offsets), (turned, turned_offsets) = self._forward, self._backward
        n_outputs = len(closing)
        out = np.empty((len(shard) * n_outputs, len(self.planes) * padded(left * right)))

        def task(bounds: tuple[int, int]) -> None:
            begin, end = bounds
            kernels.environments(
                shard.codes[begin:end], first, last, offsets, turned_offsets, bonds, buffer, turned,
                closing, weight[begin:end], self.planes, out[begin * n_outputs : end * n_outputs],
            )  # fmt: skip

        run(task, shard.blocks())
        elements = from_lines(out, (left * right,), self.is_complex)
        return elements.reshape(len(shard), n_outputs, left, right)

    def lines_of(self) -> Callable[[NDArray], NDArray]:
        from ...kernels import matrices as kernels

        (buffer, offsets), bonds, width = self._forward, self.bonds, self._closings.shape[1]

        def lines(codes: NDArray) -> NDArray:
            out = np.empty((len(codes), width))
            kernels.products(codes, offsets, bonds, buffer, self.planes, out)
            return out

        return lines

    def changed_lines(self, change: Change) -> Callable[[NDArray], tuple[NDArray, NDArray]]:
        from ...kernels import matrices as kernels

        buffer, offsets = self._forward
        moved, _ = self._buffer(change.elements)
        later = buffer if change.later is None else self._buffer(change.later)[0]
        bonds, width = self.bonds, self._closings.shape[1]

        def lines(codes: NDArray) -> tuple[NDArray, NDArray]:
            value, move = np.empty((2, len(codes), width))
            kernels.changes(codes, offsets, bonds, buffer, later, moved, self.planes, value, move)
            return value, move

        return lines

    def sum_gradient(self, later: Sequence[NDArray] | None) -> tuple[NDArray, Pass, Pass]:
        from ...kernels import matrices as kernels

        (buffer, offsets), (turned, turned_offsets) = self._forward, self._backward
        if later is not None:
            turned, _ = self._buffer([table.swapaxes(1, 2) for table in later])
        bonds = self.bonds

        def add(codes: NDArray, seeds: NDArray, out: NDArray) -> None:
            kernels.gradient(
                codes, offsets, turned_offsets, bonds, buffer, turned, seeds, self.planes, out
            )

        def read(total: NDArray) -> list[NDArray]:
            parts = zip(np.split(total, offsets[1:-1]), self.elements, strict=True)
            return [
                from_lines(part.reshape(len(table), -1), table.shape[1:], self.is_complex)
                for part, table in parts
            ]

        return np.zeros(len(buffer)), add, read

    def sum_groups(self, shard: Shard, column: int) -> tuple[int, int, Pass]:
        from ...kernels import matrices as kernels

        bonds, closing = self.bonds, self._closings
        (buffer, offsets), (turned, turned_offsets) = self._forward, self._backward

        def loop(segments, codes, order, weight, target, *rest):
            kernels.statistics(
                segments, codes, order, column, offsets, turned_offsets, bonds, buffer, turned,
                closing, weight, target, *rest,
            )  # fmt: skip

        return int(bonds[column] * bonds[column + 1]), 1, loop
