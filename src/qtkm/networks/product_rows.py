"""Local problems of a train or ring from the rows: where rows are few, and the output core."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import product_cores as algebra
from .local import LocalSystem, least_squares
from .product_column import ColumnProblem, Problem
from .product_passes import OutputPass, environments


class RowsProblem(ColumnProblem):
    """Cores of a column from the environments of the rows themselves."""

    #: least squares by QR up to this many entries of the design matrix
    qr_entries = 4_000_000

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.rows = []
        for shard in setting.shards:
            whole = environments(iterate.tables, shard, block, block + 1, iterate.run)
            self.rows.append((shard.codes[:, block], whole, shard.scaled[1], shard.blocks()))

    def _design(self, level: int, rows: Any, part: slice) -> tuple[NDArray, NDArray]:
        """Design rows (n·n_outputs, Q·left·right) and targets of some rows."""
        codes, environment, target, _ = rows
        codes = codes[part]
        left, right = self.left[codes], self.right[level][codes]
        inner = (
            left.transpose(0, 2, 1)[:, None] @ environment[part] @ right.transpose(0, 2, 1)[:, None]
        )
        factors = self.column.factors[codes][:, self.column.slices[level]]
        design = factors[:, None, :, None] * inner.reshape(*inner.shape[:2], 1, -1)
        return design.reshape(inner.shape[0] * inner.shape[1], -1), target[part].reshape(-1)

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        total: Any = None
        for rows in self.rows:

            def task(bounds: tuple[int, int], rows: Any = rows) -> list[Any]:
                design, target = self._design(level, rows, slice(*bounds))
                symmetric = design.T @ design if self.is_split else None
                return [design.conj().T @ design, symmetric, target @ design]

            for part in self.iterate.run(task, rows[3]):
                total = (
                    part
                    if total is None
                    else [_plus(a, b) for a, b in zip(total, part, strict=True)]
                )
        hermitian, symmetric, products = total
        return least_squares(
            hermitian[None], None if symmetric is None else symmetric[None], products[None],
            self.gamma(level), self.setting, self.shape(level), self._least_squares_rows(level),
        )  # fmt: skip

    def _least_squares_rows(self, level: int) -> tuple[NDArray, NDArray, float] | None:
        entries = sum(rows[1].shape[0] * rows[1].shape[1] for rows in self.rows)
        if self.setting.alpha > 0 or self.is_split:
            return None
        if entries * self.cores[level].size > self.qr_entries:
            return None
        parts = [self._design(level, rows, slice(None)) for rows in self.rows]
        design, target = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return design, target, self.setting.total_weight


def _plus(a: Any, b: Any) -> Any:
    return None if a is None else a + b


class OutputProblem(Problem):
    """The output core: one regression of all outputs on the states before it."""

    def __init__(self, iterate: Any, setting: Any):
        super().__init__(iterate, len(iterate.columns), setting)

    def system(self, level: int) -> LocalSystem:
        """Local system of the core: the same matrix for every output."""
        left, n_outputs, right = self.cores[0].shape
        sums = self.setting.sum(OutputPass(self.iterate.tables, self.is_split))
        hermitian, products = sums[:2]
        parts = np.repeat(hermitian[None], n_outputs, axis=0)
        both = np.repeat(sums[2][None], n_outputs, axis=0) if self.is_split else None
        return least_squares(
            parts, both, products, self.gamma(0), self.setting, (n_outputs, left, right)
        )

    def finish(self) -> None:
        """Hand the core back."""
        self.iterate.put(self.block, algebra.push_left(self.cores[0], self.factor))
