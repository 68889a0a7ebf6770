"""A CPD on few rows: all cores in one chain, with every partial product kept.

The local problem of a column is then updated in one compiled call.  Serves where all columns
are numbers, there is one output, the loss sees the complex response (or the model is real)
and the norm is penalised; anything else, and any local system that is not safely positive
definite, is left to the general local problems.
"""

import itertools
from typing import Any

import numpy as np

from ..kernels import chain as kernels
from ..kernels import rows as row_kernels
from .cpd_rows import RowsProblem


class Chain:
    """Partial products of an epoch that visits the columns in order."""

    def __init__(self, iterate: Any, shard: Any):
        self.iterate, self.shard = iterate, shard
        columns = iterate.columns
        codes = shard.codes
        self.radices = np.concatenate([column.radices for column in columns]).astype(np.int64)
        self.sites = np.cumsum([0, *(len(column.radices) for column in columns)])
        factors = np.concatenate([c.factors.T[:, codes[:, d]] for d, c in enumerate(columns)])
        self.factors = np.ascontiguousarray(np.stack([factors.real, factors.imag], axis=1))
        root, target = shard.scaled
        self.target = np.ascontiguousarray(target.T)
        phase = np.ones(len(shard)) if root.size == 0 else root.copy()
        for d, column in enumerate(columns):
            if len(column.phase):
                phase = phase * column.phase[codes[:, d]]
        self.phase = row_kernels.start_lines(phase, iterate.rank, iterate.is_complex)
        self.later = np.empty((len(self.radices), *self.phase.shape))
        self.next_block = -1

    def start(self) -> None:
        """Begin an epoch."""
        iterate = self.iterate
        self.cores = np.concatenate([core for column in iterate.cores for core in column])
        kernels.later_products(
            self.factors, self.radices, self.cores, iterate.rank, iterate.is_complex, self.later
        )
        self.grams = kernels.later_grams(self.radices, self.cores)
        self.gram = np.ones((iterate.rank, iterate.rank), dtype=self.cores.dtype)
        self.moving = self.phase.copy()
        self.next_block = 0

    def cores_of(self, block: int) -> list[np.ndarray]:
        """Copies of a column's cores."""
        begin, end = self.sites[block : block + 2]
        starts = np.concatenate([[0], np.cumsum(self.radices[begin:end])])
        first = self.radices[:begin].sum()
        column = self.cores[first : first + starts[-1]].copy()
        return [column[a:b] for a, b in itertools.pairwise(starts)]

    def leave(self) -> None:
        """Give up the rest of the epoch: cores were changed by someone else."""
        self.next_block = -1


class ChainProblem:
    """Local problem of a column within a chain.

    Where a local system is not safely positive definite the chain is left for the rest of
    the epoch, and the general problem takes over.
    """

    def __init__(self, chain: Chain, block: int, setting: Any):
        self.chain, self.block, self.setting = chain, block, setting
        self.n_levels = len(chain.iterate.columns[block].radices)
        self.general: Any = None

    def sweep(self) -> list[float]:
        """Update all levels once; returns the objective after each."""
        if self.general is not None:
            return self.general.sweep()
        chain, setting = self.chain, self.setting
        cores, moving, gram = chain.cores.copy(), chain.moving.copy(), chain.gram.copy()
        try:
            values = kernels.sweep(
                *chain.sites[self.block : self.block + 2], moving, gram, chain.later, chain.grams,
                chain.factors, chain.radices, cores, chain.target, setting.alpha,
                setting.total_weight, setting.constant, chain.iterate.is_complex,
            )  # fmt: skip
        except np.linalg.LinAlgError:
            return self._leave().sweep()
        chain.cores, chain.moving, chain.gram = cores, moving, gram
        return values.tolist()

    def _leave(self) -> Any:
        """Go on with the general problem."""
        self.chain.leave()
        self.general = RowsProblem(self.chain.iterate, self.block, self.setting)
        return self.general

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        if self.general is not None:
            self.general.restart()
            return
        self.finish()
        self._leave()

    def finish(self) -> None:
        """Hand the cores back."""
        chain = self.chain
        if self.general is not None:
            self.general.finish()
            return
        # the scale of the last core has gone to the next column
        for block in range(self.block, min(self.block + 2, len(chain.iterate.columns))):
            chain.iterate.put(block, chain.cores_of(block))
        chain.next_block = self.block + 1
