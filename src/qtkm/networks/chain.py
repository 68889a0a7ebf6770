"""A CPD on few rows: the columns in one chain, with partial products at the rows kept.

The local problem of a column is then updated in one compiled call, from its statistics or from
the rows.  Serves where all columns are numbers, there is one output, the loss sees the complex
response (or the model is real) and the norm is penalised; a local system that is not safely
positive definite is left to the general local problem.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import chain as kernels
from ..kernels import lines as line_kernels
from .cpd_rows import RowsProblem

#: rows a grid value from which on a column is updated from its statistics
GROUPED = 2.5


class Chain:
    """Rows as the compiled updates read them, and the partial products of an epoch.

    Parameters
    ----------
    columns : sequence
    shard : Shard
    rank : int
    """

    def __init__(self, columns: Any, shard: Any, rank: int):
        self.columns = columns
        self.codes = [np.ascontiguousarray(codes) for codes in shard.codes.T]
        self.padded = line_kernels.padded_length(len(shard))
        root, target = shard.scaled
        self.target = line_kernels.to_lines(target * [1.0, 0.0], self.padded)
        self.root = np.zeros((rank, 2, self.padded))
        self.root[:, 0, : len(shard)] = root if root.size else 1.0
        self.later = np.zeros((len(columns), *self.root.shape))
        self.later[-1, :, 0] = 1
        self.links = [self._link(d, shard) for d in range(len(columns))]
        self.token: object = None
        self.next_block = -1

    def _link(self, d: int, shard: Any) -> tuple[Any, ...]:
        """The compiled update of a column, and what it reads that stays the same."""
        column, codes = self.columns[d], self.codes[d]
        if len(shard) < GROUPED * len(column):
            factors, phase, pairs, *rest = column.lines
            at_rows = (_take(lines, codes, self.padded) for lines in (factors, phase, pairs))
            return kernels.update_by_rows, (self.target, *at_rows, *rest)
        starts = np.concatenate([[0], np.cumsum(np.bincount(codes, minlength=len(column)))])
        rows = (self.target, codes, shard.groups(d).order, starts)
        return kernels.update_by_statistics, (*rows, *column.lines)

    def start(self, iterate: Any, block: int) -> None:
        """Begin an epoch, or go on with one, at a column."""
        rank, last, self.is_complex = iterate.rank, len(self.columns) - 1, iterate.is_complex
        self.cores = [np.concatenate(cores).astype(np.complex128) for cores in iterate.cores]
        self.moving, self.gram = self.root.copy(), np.ones((rank, rank), dtype=np.complex128)
        for d in range(block):
            self.gram = self.gram * self._multiply(self.moving, d)
        self.rest = [np.ones_like(self.gram)] * (1 + last)
        for d in range(last, block, -1):
            self.later[d - 1] = self.later[d]
            self.rest[d - 1] = self.rest[d] * self._multiply(self.later[d - 1], d)
        self.next_block, self.token = block, iterate.token

    def _multiply(self, lines: NDArray, d: int) -> NDArray:
        """Multiply lines by a column's table; the product of its cores' Gram matrices."""
        factors, phase, _, _, _, radices = self.columns[d].lines
        return kernels.multiply_column(lines, self.codes[d], factors, phase, radices, self.cores[d])

    def update(self, block: int, setting: Any) -> list[float]:
        """Update the cores of the next column; the objective after each."""
        update, kept = self.links[block]
        values, norm, gram, cores = update(
            self.moving, self.later[block], self.gram * self.rest[block], *kept,
            self.cores[block], setting.alpha, setting.total_weight, setting.constant,
            self.is_complex,
        )  # fmt: skip
        self.gram = self.gram * gram
        self.cores[block] = cores
        if block + 1 < len(self.columns):
            scaled = self.cores[block + 1] = self.cores[block + 1].copy()
            part = self.columns[block + 1].slices[0]
        else:  # the last core of all keeps its norms
            scaled, part = cores, self.columns[block].slices[-1]
        scaled[part] *= norm
        return values.tolist()

    def finish(self, iterate: Any, block: int) -> None:
        """Hand the cores of a column, and those of the next which took its norms, back."""
        for d in range(block, min(block + 2, len(self.columns))):
            stacked = self.cores[d] if iterate.is_complex else self.cores[d].real
            iterate.put(d, [stacked[part] for part in self.columns[d].slices])
        self.next_block, self.token = block + 1, iterate.token


class ChainProblem:
    """Local problem of a column within a chain.

    Where a local system is not safely positive definite the general problem takes over.
    """

    def __init__(self, chain: Chain, iterate: Any, block: int, setting: Any):
        self.chain, self.iterate, self.block, self.setting = chain, iterate, block, setting
        self.n_levels = len(chain.columns[block].radices)
        self.general: Any = None

    def sweep(self) -> list[float]:
        """Update all levels once; returns the objective after each."""
        if self.general is not None:
            return self.general.sweep()
        chain, block = self.chain, self.block
        if chain.next_block != block or chain.token is not self.iterate.token:
            chain.start(self.iterate, block)
        try:
            return chain.update(block, self.setting)
        except np.linalg.LinAlgError:
            self.general = RowsProblem(self.iterate, block, self.setting)
            return self.general.sweep()

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        if self.general is not None:
            self.general.restart()
        else:
            self.finish()

    def finish(self) -> None:
        """Hand the cores back."""
        if self.general is not None:
            self.general.finish()
        else:
            self.chain.finish(self.iterate, self.block)


def _take(lines: NDArray, codes: NDArray, padded: int) -> NDArray:
    """Lines of the grid at the rows."""
    taken = np.zeros((*lines.shape[:-1], padded))
    taken[..., : len(codes)] = lines[..., codes]
    return taken
