"""Local problems of a train or ring from column statistics: no row is touched twice."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import product_levels as kernels
from . import product_levels as levels
from .cpd_column import unpack_both
from .local import LocalSystem, least_squares
from .product_column import ColumnProblem, Problem
from .product_passes import StatisticsPass


class StatisticsProblem(ColumnProblem):
    """Cores of a column from its statistics S[u], b[u]: no row is touched again."""

    def __init__(self, iterate: Any, block: int, setting: Any, known: Any = None):
        super().__init__(iterate, block, setting)
        if known is None:
            packed, sums = setting.sum(StatisticsPass(iterate.tables, block, self.is_split))
            known = packed, levels.from_buffer(sums, *map(int, iterate.bonds[block : block + 2]))
        self.packed, self.sums = known

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        products = levels.pull_back(self.column, level, self.left, self.right[level], self.sums)
        products = products.transpose(1, 0, 2).reshape(1, -1)
        hermitian = self._gram(level, conjugate=True)[None]
        symmetric = self._gram(level, conjugate=False)[None] if self.is_split else None
        return least_squares(
            hermitian, symmetric, products, self.gamma(level), self.setting, self.shape(level)
        )

    def _gram(self, level: int, conjugate: bool) -> NDArray:
        column, is_complex = self.column, self.iterate.is_complex
        pairs, index = column.products(level, conjugate)
        radix, a, b = self.shape(level)
        size = self.sums.shape[1] * self.sums.shape[2]
        shift = 0 if conjugate else size * (size + 1)
        left, right = (
            np.ascontiguousarray(x, dtype=complex) for x in (self.left, self.right[level])
        )
        factors, first = column.factors.astype(complex), column.slices[level].start

        def partial(bounds: tuple[int, int]) -> NDArray:
            out = np.zeros((len(pairs), 2, a * b, a * b))
            kernels.gram(
                *bounds, self.packed, shift, left, right, factors, first, pairs, conjugate, out
            )
            return out

        parts = self.iterate.run(partial, column.blocks())
        sums = sum(parts[1:], start=parts[0])
        blocks = (sums[:, 0] + 1j * sums[:, 1]).transpose(0, 2, 1)
        matrix = np.empty((radix, a * b, radix, a * b), dtype=complex)
        for q in range(radix):
            for p in range(q, radix):
                part = blocks[index[q, p]]
                matrix[q, :, p] = part
                matrix[p, :, q] = part.conj().T if conjugate else part.T
        square = matrix.reshape(radix * a * b, -1)
        return square if is_complex else np.ascontiguousarray(square.real)


class CategoricalProblem(Problem):
    """Core of a categorical column: one small system a category."""

    #: categories that are solved at a time, which bounds the memory of their matrices
    chunk = 256

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.packed, sums = setting.sum(StatisticsPass(iterate.tables, block, self.is_split))
        left, _, right = self.cores[0].shape
        self.size = left * right
        self.products = levels.from_buffer(sums, left, right).reshape(len(sums), -1)

    def system(self, level: int, part: slice = slice(None)) -> LocalSystem:
        """Local system of the core, or of some of its categories."""
        matrices = unpack_both(self.packed[part], self.size, self.iterate.is_complex)
        products = self.products[part]
        shape = (len(products), self.cores[0].shape[0], self.cores[0].shape[2])
        return least_squares(*matrices, products, self.gamma(0), self.setting, shape)

    def solve(self, level: int) -> tuple[NDArray, float]:
        """Best core, some categories at a time, and the objective there."""
        start = self.cores[0].transpose(1, 0, 2)
        best, value = np.empty_like(start), self.setting.constant
        for first in range(0, len(start), self.chunk):
            part = slice(first, first + self.chunk)
            best[part], least = self.system(0, part).minimize(start[part])
            value += least - self.setting.constant
        return np.ascontiguousarray(best.transpose(1, 0, 2)), value
