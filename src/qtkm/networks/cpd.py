"""Canonical polyadic decomposition: cores (Q, R) that share one index of size R.

     s₁ ─[W₁]─┐
     s₂ ─[W₂]─┼─ r        f = Σ_r Π_sites (sᵀW)_r   (· V_kr for output k)
     s₃ ─[W₃]─┘

A column's table is the R-vector of the products of its levels' responses; the environment
of a column is the product of the other columns' tables.
"""

from collections.abc import Callable, Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import cpd as kernels
from ..kernels import levels as level_kernels
from . import cpd_gradient
from .chain import Chain, ChainProblem
from .cpd_column import CategoricalProblem, OutputProblem, StatisticsProblem, can_compile
from .cpd_lags import LagsProblem
from .cpd_paths import choose_paths, refuse_lags, why_no_lags
from .cpd_rows import RowsProblem
from .evaluate import Evaluator
from .lags import Lags
from .network import Cores, Network, Run, flatten
from .planes import aligned, complex_numbers, to_planes
from .structure import Edge, Structure

_NOTHING = np.empty(0)


class CPD(Network):
    """Canonical polyadic decomposition of the weights.

    Parameters
    ----------
    rank : int or "auto"
        Number R of rank-one terms.
    """

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

    def iterate(self, columns: Sequence[Any], cores: Cores, dtype: Any, run: Run) -> "CPDIterate":
        """Cores with their tables, ready to be updated."""
        return CPDIterate(columns, cores, dtype, run)

    def numbers_held(
        self, sizes: Sequence[int], radices: Sequence[Sequence[int]], n_outputs: int, planes: int
    ) -> tuple[int, int]:
        """Numbers that a fit from sums over shards holds; see `Network.numbers_held`."""
        square = planes**2 * self.rank * (self.rank + 1) // 2
        return planes * self.rank * sum(sizes), max(sizes) * (square + planes * self.rank)

    def dense(self, cores: Cores, radices: Sequence[Sequence[int]]) -> NDArray:
        """The whole weight tensor, (ΠM, n_outputs)."""
        terms = np.ones((1, flatten(cores)[0].shape[1]))
        for levels in cores[: len(radices)]:
            column = np.ones_like(terms[:1])
            for core in levels:
                column = _row_products(core, column)
            terms = _row_products(terms, column)
        output = cores[-1] if len(cores) > len(radices) else np.ones_like(terms[:1])
        return terms @ output.T

    def evaluator(self, cores: Cores, frequencies: Sequence[NDArray | None]) -> Evaluator:
        """Cores made ready for values that lie on no grid."""
        return Evaluator(cores, frequencies)


#: size of the noise of a smooth start, measured in docs/decisions/0004-defaults.md
SMOOTH_NOISE = 0.1


class CPDIterate:
    """Cores of a CPD and what follows from them: tables and Gram matrices.

    Parameters
    ----------
    columns : sequence
        Columns with `factors`, `phase`, `turns`, `radices`, `products` and `is_categorical`.
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
        self._table = aligned((int(self.offsets[-1]), self.width), dtype)
        self._stale = set(range(len(columns)))
        self.token = object()

    @property
    def table_type(self) -> np.dtype:
        """Type of the tables."""
        return self._table.dtype

    @property
    def n_blocks(self) -> int:
        """Blocks of cores: the columns, then the output core."""
        return len(self.cores)

    @property
    def n_outputs(self) -> int:
        """Number of outputs."""
        core = self.output_core
        return 1 if core is None else len(core)

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

    def restore(self, cores: Cores) -> None:
        """Put a snapshot back."""
        for block, entry in enumerate(cores):
            if entry is not self.cores[block]:
                self.put(block, entry)

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
        return self.response_pass()(shard, run=self.run)

    def response_pass(self) -> "_ResponsePass":
        """Pass that gives the responses of a shard's rows."""
        return _ResponsePass(self.table, self.offsets, self.mixing, self.rank)

    def environments(self, shard: Any, d: int) -> NDArray:
        """Environments of a shard's rows outside of column d, scaled by the root weights."""
        table = self.table
        out = np.empty((len(shard), self.width), dtype=table.dtype)
        others = _without(shard.column_order, d)
        weight = _NOTHING if shard.weight is None else np.sqrt(shard.weight)

        def fill(bounds):
            kernels.environments(
                *bounds, shard.codes, others, table, self.offsets, weight, self.rank, out
            )

        self.run(fill, shard.blocks())
        return out

    # -- derivatives -------------------------------------------------------------------------

    def gradient_pass(self) -> cpd_gradient.GradientPass:
        """Pass that sums slopes times environments of all columns."""
        return cpd_gradient.GradientPass(self.table, self.offsets, self.mixing, self.rank)

    def gradient(self, sums: Any) -> Cores:
        """Gradient with respect to the cores from the sums of the pass."""
        return cpd_gradient.chain_rule(self, *sums)

    def tangent(self, direction: Cores) -> cpd_gradient.TangentPass:
        """Pass that gives the change of the responses in a direction."""
        return cpd_gradient.tangent_pass(self, direction)

    def norm_gradient(self) -> Cores:
        """Gradient of ‖w‖² with respect to the cores."""
        return self.norm_product(self.cores)

    def norm_product(self, direction: Cores) -> Cores:
        """Product of a direction with the Hessian of ‖w‖², one core at a time."""
        return cpd_gradient.norm_product(self, direction)

    # -- local problems ---------------------------------------------------------------------

    def paths(self, setting: Any) -> list[str]:
        """How each block's local problem best meets the rows."""
        if not setting.rows_are_here:
            return ["statistics"] * self.n_blocks
        output = ["statistics"] * (self.n_blocks - len(self.columns))
        if setting.path == "lags":
            refuse_lags(self, setting)
        if setting.path != "auto":
            paths = ["statistics" if c.is_categorical else setting.path for c in self.columns]
            return paths + output
        chain = (
            setting.is_exact
            and len(setting.shards) == 1
            and setting.n_outputs == 1
            and setting.alpha > 0
            and self.table_type == np.float64
            and not (setting.real_part and self.is_complex)
        )
        paths = choose_paths(
            self.columns, setting.n_rows, self.rank, self.is_complex, setting.alpha, chain,
            lags=why_no_lags(self, setting) is None, compiled=can_compile(self, setting),
        )  # fmt: skip
        return paths + output

    def problem(self, block: int, setting: Any, path: str) -> Any:
        """Local problem of a column or of the output core."""
        if path == "chain":
            return self.chain_problem(block, setting)
        if path == "lags":
            return self.lags_problem(setting)
        if path == "rows":
            return RowsProblem(self, block, setting)
        both = setting.real_part and self.is_complex
        sums = setting.sum(self.statistics(block, both))
        if block == len(self.columns):
            return OutputProblem(self, sums, setting)
        if self.columns[block].is_categorical:
            return CategoricalProblem(self, block, sums, setting)
        return StatisticsProblem(self, block, sums, setting)

    def chain_problem(self, block: int, setting: Any) -> ChainProblem:
        """Local problem of a column within a chain of all columns."""
        name = f"chain of rank {self.rank}"
        if name not in setting.kept:
            setting.kept[name] = Chain(self.columns, setting.shards[0], self.rank)
        return ChainProblem(setting.kept[name], self, block, setting)

    def lags_problem(self, setting: Any) -> LagsProblem:
        """Local problem of the only column from its lags, which are computed once a fit."""
        refuse_lags(self, setting)
        if "lags" not in setting.kept:
            setting.kept["lags"] = Lags(self.columns[0], setting, self.run)
        return LagsProblem(self, setting.kept["lags"], setting)

    def put(self, block: int, cores: list[NDArray]) -> None:
        """Put in the cores of a block as they are."""
        self.token = object()
        self.cores[block] = cores
        if block < len(self.columns):
            self._grams[block] = None
            self._stale.add(block)

    def place(
        self,
        block: int,
        cores: list[NDArray],
        table: NDArray | None,
        scale: NDArray,
        gram: NDArray | None = None,
    ) -> None:
        """Put updated cores of a block in place; `scale` goes to the next block.

        A column's table and the product of its cores' Gram matrices may come with them.
        """
        self.token = object()
        if block == len(self.columns):
            self.cores[block] = cores[0] * scale
            return
        self.cores[block] = cores
        self._grams[block] = gram
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
        gram = self._grams[block]
        if gram is not None:
            self._grams[block] = gram * np.multiply.outer(scale, scale)
        if block not in self._stale:
            planes = np.concatenate([scale] * (self.width // self.rank))
            self._table[self.offsets[block] : self.offsets[block + 1]] *= planes.astype(
                self._table.dtype
            )


class _ResponsePass:
    """Responses of the rows; carries only tables."""

    def __init__(self, table, offsets, mixing, rank):
        self.table, self.offsets, self.mixing, self.rank = table, offsets, mixing, rank

    def __call__(self, shard: Any, run: Run) -> NDArray:
        planes = self.table.shape[1] // self.rank
        out = np.empty((len(shard), max(1, len(self.mixing)), planes))
        columns = shard.column_order

        def respond(bounds):
            kernels.responses(
                *bounds, shard.codes, columns, self.table, self.offsets, self.rank, self.mixing,
                out,
            )  # fmt: skip

        run(respond, shard.blocks())
        return complex_numbers(out)


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


def _row_products(slow: NDArray, fast: NDArray) -> NDArray:
    """Products of all pairs of rows, those of the second running fastest."""
    return (slow[:, None, :] * fast[None, :, :]).reshape(-1, slow.shape[1])


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


def site_legs(
    radices: Sequence[Sequence[int]], n_outputs: int
) -> tuple[tuple[Edge, ...], tuple[str, ...]]:
    """Legs of a network with one core a site, and the names of the cores."""
    sites = [(d, k, q) for d, column in enumerate(radices) for k, q in enumerate(column)]
    names = [f"column {d}, level {k}" for d, k, _ in sites]
    if n_outputs > 1:
        sites.append((len(radices), 0, n_outputs))
        names.append("outputs")
    legs = tuple(Edge(f"leg of {names[v]}", q, (v,), (d, k)) for v, (d, k, q) in enumerate(sites))
    return legs, tuple(names)
