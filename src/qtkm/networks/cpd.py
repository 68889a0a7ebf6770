"""Canonical polyadic decomposition: cores (Q, R) that share one index of size R.

     s₁ ─[W₁]─┐
     s₂ ─[W₂]─┼─ r        f = Σ_r Π_sites (sᵀW)_r   (· V_kr for output k)
     s₃ ─[W₃]─┘

A column's table is the R-vector of the products of its levels' responses; the environment
of a column is the product of the other columns' tables.
"""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from ..kernels import cpd as kernels
from ..kernels import levels as level_kernels
from .chain import Chain, ChainProblem
from .cpd_column import CategoricalProblem, OutputProblem, StatisticsProblem
from .cpd_rows import RowsProblem
from .planes import from_planes, to_planes

Cores = list[Any]
Run = Callable[..., list[Any]]
_NOTHING = np.empty(0)


class CPD(BaseEstimator):
    """Canonical polyadic decomposition of the weights.

    Parameters
    ----------
    rank : int or "auto"
        Number R of rank-one terms.
    """

    solvers: ClassVar[tuple[str, ...]] = ("als",)

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""
        whole = isinstance(self.rank, Integral) and not isinstance(self.rank, bool)
        if not whole or self.rank < 1:
            raise ValueError(f"rank={self.rank!r} must be a whole number >= 1.")

    def start(
        self,
        constants: Sequence[Sequence[NDArray]],
        n_outputs: int,
        is_complex: bool,
        kind: str,
        rng: np.random.RandomState,
    ) -> Cores:
        """Cores to start from.

        Parameters
        ----------
        constants : list of list of (Q,) arrays
            For every column and level, the weights that make the constant function.
        n_outputs : int
            Number of outputs; an output core is made for more than one.
        is_complex : bool
            Type of the cores.
        kind : {"smooth", "random"}
            "smooth": the constant function plus small noise; "random": Gaussian cores with
            columns of unit norm.
        rng : RandomState
        """
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

    def shapes(self, radices: Sequence[Sequence[int]], n_outputs: int) -> list[Any]:
        """Shapes of the cores, in the layout of the cores."""
        shapes: list[Any] = [[(radix, self.rank) for radix in column] for column in radices]
        return [*shapes, (n_outputs, self.rank)] if n_outputs > 1 else shapes

    def n_parameters(self, cores: Cores) -> int:
        """Number of parameters as the paper counts: a complex number is one."""
        return sum(core.size for core in flatten(cores))

    def iterate(self, columns: Sequence[Any], cores: Cores, dtype: Any, run: Run) -> "Iterate":
        """Cores with their tables, ready to be updated."""
        return Iterate(columns, cores, dtype, run)


#: size of the noise of a smooth start, measured in docs/decisions/0004-defaults.md
SMOOTH_NOISE = 0.1


def flatten(cores: Cores) -> list[NDArray]:
    """All cores in one list: columns, then levels, then the output core."""
    flat: list[NDArray] = []
    for entry in cores:
        flat.extend(entry if isinstance(entry, list) else [entry])
    return flat


class Iterate:
    """Cores of a CPD and what follows from them: tables and Gram matrices.

    Parameters
    ----------
    columns : sequence
        Columns with `factors`, `phase`, `radices`, `products` and `is_categorical`.
    cores : list
        One list of (Q, R) arrays a column; then, for several outputs, a (k, R) array.
    dtype : dtype
        Type of the tables, float32 or float64.
    run : callable
        run(function, tasks), see `qtkm.engines`.
    """

    def __init__(self, columns: Sequence[Any], cores: Cores, dtype: Any, run: Run):
        self.columns = columns
        self.cores: Cores = [list(c) if isinstance(c, list) else c for c in cores]
        first = flatten(cores)[0]
        self.rank = first.shape[1]
        self.is_complex = np.iscomplexobj(first)
        self.width = self.rank * (2 if self.is_complex else 1)
        self.run = run
        sizes = [len(column) for column in columns]
        self.offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self._grams: list[NDArray | None] = [None] * len(columns)
        self._table = np.empty((self.offsets[-1], self.width), dtype=dtype)
        self._stale = set(range(len(columns)))
        self._chain: Chain | None = None

    @property
    def output_core(self) -> NDArray | None:
        """Core that mixes the terms into several outputs, or None for one output."""
        return self.cores[-1] if len(self.cores) > len(self.columns) else None

    @property
    def mixing(self) -> NDArray:
        """Planes of the output core; no rows for one output."""
        core = self.output_core
        return np.empty((0, self.width)) if core is None else to_planes(core, self.width)

    def snapshot(self) -> Cores:
        """Return the cores as they stand; updates put in new lists and leave these alone."""
        return list(self.cores)

    @property
    def table(self) -> NDArray:
        """Tables of all columns, one below the other."""
        for d in sorted(self._stale):
            part = self._table[self.offsets[d] : self.offsets[d + 1]]
            fill_table(part, self.columns[d], self.cores[d], self.rank, self.run)
        self._stale.clear()
        return self._table

    def column_gram(self, d: int) -> NDArray:
        """Product of the Gram matrices of a column's cores."""
        gram = self._grams[d]
        if gram is None:
            gram = np.ones((self.rank, self.rank), dtype=self.cores[d][0].dtype)
            for core in self.cores[d]:
                gram = gram * (core.conj().T @ core)
            self._grams[d] = gram
        return gram

    def outer_gram(self, block: int) -> NDArray:
        """Product of the Gram matrices of all blocks but one (column d, or the output core)."""
        grams = [self.column_gram(d) for d in range(len(self.columns)) if d != block]
        core = self.output_core
        if core is not None and block != len(self.columns):
            grams.append(core.conj().T @ core)
        result = np.ones((self.rank, self.rank), dtype=self.cores[0][0].dtype)
        for gram in grams:
            result = result * gram
        return result

    def squared_norm(self) -> float:
        """‖w‖² of the whole weight tensor."""
        return float(self.outer_gram(-1).sum().real)

    # -- passes over a shard: pure functions of what they are given -----------------------

    def statistics(self, block: int, both: bool) -> Callable[..., Any]:
        """Pass that sums a column's statistics: pass(shard, run=run) -> (gram, rhs)."""
        column = None if block == len(self.columns) else block
        mixing = np.empty((0, self.width)) if column is None else self.mixing
        planes = (4 if both else 2) if self.is_complex else 1
        packed = planes * self.rank * (self.rank + 1) // 2
        return _StatisticsPass(self.table, self.offsets, column, mixing, self.rank, packed)

    def responses(self, shard: Any) -> NDArray:
        """Responses of a shard's rows, (n_rows, n_outputs), complex where the model is."""
        mixing = self.mixing
        shape = (len(shard), max(1, len(mixing)), 2 if self.is_complex else 1)
        out = np.empty(shape, dtype=np.float64)
        columns = shard.column_order

        def respond(bounds):
            kernels.responses(
                *bounds, shard.codes, columns, self.table, self.offsets, self.rank, mixing, out
            )

        self.run(respond, shard.blocks())
        return out[:, :, 0] + 1j * out[:, :, 1] if self.is_complex else out[:, :, 0]

    def environments(self, shard: Any, d: int) -> NDArray:
        """Environments of a shard's rows outside of column d, scaled by the root weights."""
        out = np.empty((len(shard), self.width), dtype=self.table.dtype)
        others = _without(shard.column_order, d)
        weight = _NOTHING if shard.weight is None else np.sqrt(shard.weight)

        def fill(bounds):
            kernels.environments(
                *bounds, shard.codes, others, self.table, self.offsets, weight, self.rank, out
            )

        self.run(fill, shard.blocks())
        return out

    # -- local problems ---------------------------------------------------------------------

    def problem(self, block: int, sums: Any, setting: Any) -> Any:
        """Local problem of a column or of the output core, from its statistics."""
        if block == len(self.columns):
            return OutputProblem(self, sums, setting)
        if self.columns[block].is_categorical:
            return CategoricalProblem(self, block, sums, setting)
        return StatisticsProblem(self, block, sums, setting)

    def row_problem(self, block: int, shards: Sequence[Any], setting: Any) -> Any:
        """Local problem of a column from the rows themselves."""
        return RowsProblem(self, block, shards, setting)

    def chain_problem(self, block: int, shards: Sequence[Any], setting: Any) -> Any:
        """Local problem of a column within a chain of all sites, if columns come in order."""
        if self._chain is None:
            self._chain = Chain(self, shards[0])
        if block == 0:
            self._chain.start()
        if self._chain.next_block != block:
            return None
        return ChainProblem(self._chain, block, setting)

    def put(self, block: int, cores: list[NDArray]) -> None:
        """Put in the cores of a column as they are."""
        self.cores[block] = cores
        self._grams[block] = None
        self._stale.add(block)

    def place(
        self, block: int, cores: list[NDArray], table: NDArray | None, scale: NDArray
    ) -> None:
        """Put updated cores of a block in place; `scale` goes to the next block."""
        if self._chain is not None:
            self._chain.leave()
        if block == len(self.columns):
            self.cores[block] = cores[0] * scale
            return
        self.cores[block] = cores
        self._grams[block] = None
        if table is None:
            self._stale.add(block)
        else:
            self._table[self.offsets[block] : self.offsets[block + 1]] = table
            self._stale.discard(block)
        self._rescale(block, block + 1 if block + 1 < len(self.cores) else block, scale)

    def _rescale(self, last: int, block: int, scale: NDArray) -> None:
        """Multiply the terms by `scale`, in the next block or, at the end, in the last core."""
        if block == len(self.columns):
            self.cores[block] = self.cores[block] * scale
            return
        level = -1 if block == last else 0
        self.cores[block] = list(self.cores[block])
        self.cores[block][level] = self.cores[block][level] * scale
        self._grams[block] = None
        if block not in self._stale:
            planes = np.concatenate([scale] * (self.width // self.rank))
            self._table[self.offsets[block] : self.offsets[block + 1]] *= planes.astype(
                self._table.dtype
            )


class _StatisticsPass:
    """Σ over the rows of each grid value of ḡgᵀ and g·y; carries only tables."""

    def __init__(self, table, offsets, column, mixing, rank, packed):
        self.table, self.offsets, self.column = table, offsets, column
        self.mixing, self.rank, self.packed = mixing, rank, packed

    def __call__(self, shard: Any, run: Run) -> tuple[NDArray, NDArray]:
        groups = shard.groups(self.column)
        n_slots = groups.n_codes + len(groups.owners)
        n_rhs = 1 if len(self.mixing) else shard.target.shape[1]
        gram = np.empty((n_slots, self.packed))
        rhs = np.empty((n_slots, n_rhs, self.table.shape[1]))
        others = _without(shard.column_order, self.column)
        weight, target = shard.scaled

        def task(segments):
            kernels.statistics(
                segments, shard.codes, groups.order, others, self.table, self.offsets,
                weight, target, self.mixing, self.rank, gram, rhs,
            )  # fmt: skip

        run(task, groups.tasks)
        for extra, owner in enumerate(groups.owners, start=groups.n_codes):
            gram[owner] += gram[extra]
            rhs[owner] += rhs[extra]
        return gram[: groups.n_codes], rhs[: groups.n_codes]


def _without(columns: NDArray, d: int | None) -> NDArray:
    return columns if d is None else columns[columns != d]


def fill_table(out: NDArray, column: Any, cores: list[NDArray], rank: int, run: Run) -> None:
    """Table of a column at its grid values: phase times the product of its levels."""
    width = out.shape[1]
    if column.is_categorical:
        out[:] = to_planes(cores[0], width)
        return
    stacked = to_planes(np.concatenate(cores), width)
    radices = np.asarray(column.radices, dtype=np.int64)

    def fill(bounds):
        level_kernels.tables(*bounds, column.factors, column.phase, radices, stacked, rank, out)

    run(fill, column.blocks())


__all__ = ["CPD", "Cores", "Iterate", "fill_table", "flatten", "from_planes"]
