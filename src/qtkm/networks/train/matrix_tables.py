"""Tables of a train or ring, with compiled loops for many rows.

The loops read flat buffers of lines, one grid value after the other; see `qtkm.kernels.matrices`.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...kernels.lines import padded, to_lines
from ...protocols import Given
from ..column_tables import Tables


class ProductTables(Tables):
    """Tables (n_grid, left, right) of all columns; `closing` is (n_outputs, right, left)."""

    def row_ends(self) -> tuple[NDArray, NDArray]:
        return np.eye(self.bonds[0], dtype=self.kind)[None, None], self.closing[None]

    def environments(self, codes: NDArray, root: NDArray, first: int, last: int) -> NDArray:
        inside = super().environments(codes, root, first, last)
        return np.broadcast_to(inside, (len(codes), *inside.shape[1:]))

    def goals(self, target: NDArray) -> NDArray:
        return target[:, :, None, None]

    def turn(self, closing: NDArray) -> NDArray:
        return closing.swapaxes(1, 2)

    @property
    def loops(self) -> Given:
        from ...kernels import matrices

        return matrices

    @property
    def bonds(self) -> NDArray[np.int64]:
        """Bonds before, between and after the columns."""
        shapes = [elements.shape for elements in self.elements]
        return np.array([shapes[0][1], *(shape[2] for shape in shapes)], dtype=np.int64)

    @property
    def offsets(self) -> NDArray[np.int64]:
        return self._offsets(self.elements)

    def _offsets(self, tables: Sequence[NDArray]) -> NDArray[np.int64]:
        sizes = [len(t) * t.shape[1] * padded(t.shape[2]) for t in tables]
        return len(self.planes) * np.cumsum([0, *sizes])

    def buffer(self, tables: Sequence[NDArray] | None = None) -> NDArray:
        if tables is None:
            return self._cached("forward", self.elements)
        parts = [to_lines(table, self.is_complex, self.dtype).ravel() for table in tables]
        return np.concatenate(parts)

    def _cached(self, name: str, tables: Sequence[NDArray]) -> NDArray:
        if self.stale:
            self._kept: dict[str, NDArray] = {}
            self.stale.clear()
        if name not in self._kept:
            self._kept[name] = self.buffer(tables)
        return self._kept[name]

    @property
    def walk(self) -> tuple[NDArray, NDArray]:
        return self.offsets, self.bonds

    def later(self, tables: Sequence[NDArray] | None) -> tuple[NDArray, ...]:
        return (self.buffer(tables),)

    def behind(self, tables: Sequence[NDArray] | None = None) -> tuple[NDArray, ...]:
        turned = [t.swapaxes(1, 2) for t in (self.elements if tables is None else tables)]
        made = self._cached("backward", turned) if tables is None else self.buffer(turned)
        return made, self._offsets(turned)

    def outside(self, column: int) -> tuple[int, int, tuple[Given, ...]]:
        size = int(self.bonds[column] * self.bonds[column + 1])
        closing = to_lines(self.turn(self.closing), self.is_complex)
        return size, 1, (column, *self.walk, self.buffer(), *self.behind(), closing)
