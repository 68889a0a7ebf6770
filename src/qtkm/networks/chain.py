"""Networks whose columns multiply: a CPD, a train or a ring, with cores in place.

`ChainNetwork` is what they share as networks, `ChainIterate` is one with its cores, tables,
passes, penalties and local problems.  Their differences are an algebra (how elements multiply) and
a gauge (how a core is left behind).
"""

import math
from collections.abc import Sequence
from functools import cached_property, partial

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..limits import LIMITS
from ..protocols import Arrays, Columns, Cores, Pass, Precisions, Radices, Run, Setting
from ..structure import Edge
from . import moments
from .algebra import Algebra, Diagonal, Environments
from .column_tables import Statistics, Tables
from .evaluate import Evaluator, column_change, column_gradient, column_table
from .moments import Digits, Moments
from .network import Iterate, Network, flatten, unflatten
from .problem import ColumnProblem, PooledProblem, Problem, SeparateProblem, WideProblem

#: size of the noise of a smooth start, measured in docs/decisions/0004-defaults.md
SMOOTH_NOISE = 0.1
#: rows per grid value from which on their squares are added up before they meet functions
MANY_IN_GROUP = 4


class ChainNetwork(Network):
    """What a CPD, a train and a ring share."""

    algebra: Algebra

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        """Return a core in the gauge in which it is left behind, and the factor of the next."""
        raise NotImplementedError

    def push_right(self, factor: NDArray, core: NDArray, /) -> NDArray:
        """Multiply the core after a factor by it."""
        raise NotImplementedError

    def push_left(self, core: NDArray, factor: NDArray, /) -> NDArray:
        """Multiply the core before a factor by it."""
        raise NotImplementedError

    def settle(self, sites: list[NDArray]) -> list[NDArray]:
        """Return the same sites in the gauge that a sweep over them begins with."""
        return sites

    def closing(self, cores: Cores, n_columns: int) -> NDArray:
        """Return the elements (n_outputs, …) that close the product of all columns."""
        if len(cores) > n_columns:
            return self.algebra.elements(cores[-1])
        return self.algebra.first(self.algebra.elements(cores[0][0]))[None]

    def numbers_held(
        self, sizes: Sequence[int], radices: Radices, n_outputs: int, planes: int
    ) -> tuple[int, int]:
        shapes = flatten(self.shapes(radices, n_outputs))
        size = max(self.algebra.elements(np.empty(shape))[0].size for shape in shapes)
        square = planes**2 * size * (size + 1) // 2
        n_buffers = 1 if isinstance(self.algebra, Diagonal) else 2  # for walks from either end
        return n_buffers * planes * size * sum(sizes), max(sizes) * (square + planes * size)

    def iterate(
        self, columns: Columns, cores: Cores, dtype: DTypeLike, run: Run, precisions: Precisions
    ) -> "ChainIterate":
        return ChainIterate(self, columns, cores, dtype, run, precisions)

    def dense(self, cores: Cores, radices: Radices) -> NDArray:
        whole = moments.weights_of(self.algebra, cores[0])
        for entry in cores[1 : len(radices)]:
            column = moments.weights_of(self.algebra, entry)
            whole = self.algebra.multiply(whole[:, None], column[None])
            whole = whole.reshape(-1, *whole.shape[2:])
        closing = self.closing(cores, len(radices))
        return self.algebra.close(self.algebra.multiply(whole[:, None], closing[None]))

    def evaluator(self, cores: Cores, frequencies: Precisions) -> Evaluator:
        return Evaluator(self, cores, frequencies)


class ChainIterate(Iterate):
    """Cores of a chain and what follows from them; see `networks.network.Iterate`."""

    def __init__(
        self,
        network: ChainNetwork,
        columns: Columns,
        cores: Cores,
        dtype: DTypeLike,
        run: Run,
        precisions: Precisions,
    ):
        self.network, self.columns, self.run, self.dtype = network, columns, run, dtype
        self.precisions = list(precisions)
        self.algebra = network.algebra
        self.cores: Cores = [list(c) if isinstance(c, list) else c for c in cores]
        self.is_complex = np.iscomplexobj(flatten(cores)[0])
        self.token, self.n_blocks = object(), len(cores)
        self._tables = Tables(self.algebra, len(columns), self.is_complex, dtype)
        self._stale = set(range(len(self.cores) + 1))
        self._squares: dict[int, NDArray] = {}
        self._stamps = [0] * (len(columns) + 1)

    @property
    def has_outputs(self) -> bool:
        """Whether there is an output core."""
        return len(self.cores) > len(self.columns)

    @property
    def sites(self) -> list[NDArray]:
        """All cores in one list."""
        return flatten(self.cores)

    def snapshot(self) -> Cores:
        return [list(c) if isinstance(c, list) else c for c in self.cores]

    def restore(self, cores: Cores) -> None:
        for block, entry in enumerate(cores):
            self.put(block, entry)

    def put(self, block: int, entry: list[NDArray] | NDArray) -> None:
        """Put in the cores of a block."""
        if isinstance(entry, list):
            if list(map(id, entry)) == list(map(id, self.cores[block])):
                return
            entry = list(entry)
        self._forget_square(block)
        self.token = object()
        self.cores[block] = entry
        self._stale.add(block)

    def put_sites(self, sites: list[NDArray]) -> None:
        """Put in all cores, given as one list."""
        self.restore(unflatten(self.cores, sites))

    def settle(self) -> None:
        """Bring the cores to the gauge that an epoch begins with; no response changes."""
        self.put_sites(self.network.settle(self.sites))

    def place(self, block: int, cores: list[NDArray], factor: NDArray | None) -> None:
        """Put in updated cores of a block; the next block takes the factor they leave."""
        network, following = self.network, block + 1
        self._tables.following = following % len(self.columns)
        if factor is not None and following == self.n_blocks:
            cores, factor = [*cores[:-1], network.push_left(cores[-1], factor)], None
        self.put(block, cores if block < len(self.columns) else cores[0])
        if factor is None:
            return
        if following == len(self.columns):
            self.put(following, network.push_right(factor, self.cores[following]))
            return
        is_known = following not in self._stale
        first, *others = self.cores[following]
        self.put(following, [network.push_right(factor, first), *others])
        if is_known:  # the table follows from the one that is there
            table = self._tables.elements[following]
            self._tables.put(following, self.algebra.multiply(factor, table))
            self._stale.discard(following)

    @property
    def tables(self) -> Tables:
        """Tables of all columns and the closing, as passes need them."""
        n_columns = len(self.columns)
        for block in sorted(self._stale):
            if block < n_columns:
                column, cores = self.columns[block], self.cores[block]
                self._tables.put(block, column_table(self.algebra, column, cores))
            else:
                self._tables.close(self.network.closing(self.cores, n_columns))
        self._stale.clear()
        return self._tables

    def response_pass(self) -> Pass:
        return self.tables.responses

    def problem(self, block: int, setting: Setting) -> Problem:
        if block == 0:
            self.settle()
        if block == len(self.columns) or self.columns[block].is_categorical:
            is_pooled = block < len(self.columns) and self.columns[block].feature_map.pooled
            return (PooledProblem if is_pooled else SeparateProblem)(self, block, setting)
        return self.column_problem(block, setting, self.moments(block, setting))

    def column_problem(
        self, block: int, setting: Setting, known: Moments | Statistics
    ) -> ColumnProblem:
        """Local problem of a column of numbers whose moments, or statistics, are known."""
        kind = ColumnProblem if isinstance(known, Moments) else WideProblem
        return kind(self, block, setting, known)

    def statistics(self, block: int, setting: Setting) -> Statistics:
        """Sum over the rows of each grid value of a column, in one pass."""
        both = bool(setting.real_part and self.is_complex)
        *grams, rhs = setting.sum(partial(self.tables.statistics, column=block, both=both))
        return Statistics(grams, rhs, self.tables.mixing)

    def moments(self, block: int, setting: Setting) -> Moments | Statistics:
        """All that the functions of a column can see of its statistics; these if too many do."""
        # nothing but the rows has a part in those of a single column
        is_constant = self.n_blocks == 1 and setting.is_exact
        if is_constant and "moments" in setting.kept:
            return setting.kept["moments"]
        tables, column = self.tables, self.columns[block]
        shape = tables.elements[block].shape[1:]
        size = math.prod(shape) if len(self.columns) > 1 else 1
        n_functions = column.feature_map.n_features
        is_wide = n_functions > len(column) and n_functions * size**2 > LIMITS.most_moments
        has_few = setting.n_rows <= min(LIMITS.few_rows, MANY_IN_GROUP * len(column))
        if len(self.columns) > 1 and has_few and not is_wide:
            both = bool(setting.real_part and self.is_complex)
            *sums, right = setting.sum(partial(tables.moments, d=block, column=column, both=both))
            known = Statistics(sums, right, tables.mixing)
            return moments.finish(self.algebra, column, known, shape)
        sums = self.statistics(block, setting)
        if is_wide:
            return sums
        found = moments.column_moments(self.algebra, column, sums, shape, self.run)
        if is_constant:
            setting.kept["moments"] = found
        return found

    def energies(self, d: int) -> NDArray[np.float64]:
        weights = moments.weights_of(self.algebra, self.cores[d])
        form = self.algebra.form(self.penalty_environment(d)[None], weights.shape[1:])[0]
        flat = weights.reshape(len(weights), -1)
        return ((flat.conj() @ form) * flat).sum(axis=1).real

    def put_precision(self, d: int, precision: NDArray) -> None:
        self.precisions[d] = precision
        self._forget_square(d)

    def penalty_places(self, d: int, outside: NDArray) -> tuple[str, NDArray]:
        """Kind of a column's penalty, and its environment at every place."""
        precision = self.precisions[d] if d < len(self.columns) else None
        if precision is None:
            return "uniform", outside[None]
        return "each", precision[:, None, None] * outside

    def _forget_square(self, block: int) -> None:
        self._squares.pop(block, None)
        self._stamps[block] += 1

    def _square(self, block: int) -> NDArray:
        """Σ_m precision[m]·conj(w_m) ⊗ w_m of a column, or that of the closing."""
        if block in self._squares:
            return self._squares[block]
        if block == len(self.columns):
            closing = self.network.closing(self.cores, block)
            square = self.algebra.squares(closing, closing).sum(axis=0)
        else:
            kind, places = self.penalty_places(block, np.ones((1, 1)))
            square = moments.column_square(self.algebra, self.cores[block], kind, places)
        self._squares[block] = square
        return square

    def penalty_factors(self) -> list[NDArray]:
        """Squares of all columns and of the closing: the penalty is their closed product."""
        return [self._square(block) for block in range(len(self.columns) + 1)]

    @cached_property
    def _around(self) -> Environments:
        """Environments of the squares of the penalty."""
        first, last = self._square(0), self._square(len(self.columns))
        ends = self.algebra.first(first), self.algebra.last(last)
        return Environments(self.algebra, self._square, self._stamps, ends)

    def penalty_environment(self, block: int) -> NDArray:
        """Return what all other blocks contribute to the penalty of one."""
        return self._around.around(block, block + 1)

    def penalty(self) -> float:
        block = self._tables.following  # whose environment is asked for next
        value = self._square(block) * self.penalty_environment(block)
        return float(value.sum().real)

    def penalty_product(self, direction: Cores) -> Cores:
        found: list[NDArray] = []
        for block, entry in enumerate(self.cores):
            cores = entry if isinstance(entry, list) else [entry]
            kind, places = self.penalty_places(block, self.penalty_environment(block))
            found += Digits(self.algebra, places, cores, kind).levels(cores)
        return unflatten(direction, list(map(self._apply, found, flatten(direction))))

    def _apply(self, outside: NDArray, change: NDArray) -> NDArray:
        elements = self.algebra.elements(change)
        form = self.algebra.form(outside, elements.shape[1:])
        moved = form @ elements.reshape(len(elements), -1, 1)
        return 2 * self.algebra.core(moved.reshape(elements.shape))

    def gradient_pass(self) -> Pass:
        return self.tables.gradient

    def gradient(self, sums: Arrays) -> Cores:
        return self.chain_rule(sums, self.cores, self.cores)

    def chain_rule(self, sums: Arrays, before: Cores, after: Cores) -> Cores:
        """Gradient where the cores of lower and of higher levels may be of two gauges."""
        *columns, closing = sums
        gradient: Cores = [
            column_gradient(self.algebra, column, part, before[d], after[d])
            for d, (column, part) in enumerate(zip(self.columns, columns, strict=True))
        ]
        if self.has_outputs:
            gradient.append(self.algebra.core(closing.conj()))
        return gradient

    def tangent(self, direction: Cores) -> Pass:
        moves, closing = self.changes(direction, self.cores)
        return partial(self.tables.tangents, moves=moves, closing=closing)

    def changes(self, direction: Cores, later: Cores) -> tuple[list[NDArray], NDArray]:
        """Return changes of tables and closing; levels above a change are those of `later`."""
        tables, cores = self.tables, zip(self.cores, direction, later, strict=True)
        moves = [
            column_change(self.algebra, column, *some).astype(tables.kind)
            for column, some in zip(self.columns, cores, strict=False)
        ]
        closing = self.algebra.elements(direction[-1]) if self.has_outputs else 0 * tables.closing
        return moves, closing


def site_legs(radices: Radices, n_outputs: int) -> tuple[tuple[Edge, ...], tuple[str, ...]]:
    """Legs of a network with one core per site, and the names of the cores."""
    sites = [(d, k, q) for d, column in enumerate(radices) for k, q in enumerate(column)]
    names = [f"column {d}, level {k}" for d, k, _ in sites]
    if n_outputs > 1:
        sites.append((len(radices), 0, n_outputs))
        names.append("outputs")
    legs = tuple(Edge(f"leg of {names[v]}", q, (v,), (d, k)) for v, (d, k, q) in enumerate(sites))
    return legs, tuple(names)
