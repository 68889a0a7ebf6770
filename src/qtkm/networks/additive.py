"""Main effects beside a network: an intercept and a function of each column are added to it.

    f(x) = c + Σ_d ( β_d·x_d + g_d(x_d) ) + network(x)

A product of columns says a sum of them only with many terms, so that a network is left with what
it is good at, interactions.  Without a network this is a generalized additive model.

The cores are those of the network, then one list: real weights (J_d, n_outputs) of the main
functions of every column (see `FeatureMap.main_functions`; categories have one each), and the
intercept (n_outputs,).  They are one block, updated by `networks.main_effects`; all other blocks
see targets from which the main effects are taken off.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.random import RandomState
from numpy.typing import DTypeLike, NDArray

from ..drawing import plot
from ..protocols import (
    AnyShard,
    Arrays,
    Columns,
    Cores,
    Given,
    Levels,
    Map,
    Pass,
    Precisions,
    Radices,
    Run,
    Setting,
)
from ..structure import Edge, Structure
from .algebra import KeptRows
from .evaluate import with_unknown
from .main_effects import MainProblem, finite_precision, sum_by_code
from .network import Network


class Additive(Network):
    """A network with main effects beside it.

    Parameters
    ----------
    network : Network or None
        None for main effects alone.
    functions : sequence of int
        Number of main functions of every column.
    """

    has_main_effects = True

    def __init__(self, network=None, functions=()):
        self.network = network
        self.functions = functions

    @property
    def rank(self) -> Given:
        """Rank of the network; 0 for main effects alone."""
        return 0 if self.network is None else getattr(self.network, "rank", None)

    def check(self) -> None:
        if self.network is not None:
            self.network.check()

    def rank_of(self, cores: Given) -> Given:
        return None if self.network is None else self.network.rank_of(cores[:-1])

    def fitted_to(self, cores: Cores) -> "Additive":
        if self.network is None:
            return self
        return Additive(self.network.fitted_to(cores[:-1]), self.functions)

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        if self.network is None:
            return Structure((), ())
        return self.network.structure(radices, n_outputs)

    def shapes(self, radices: Radices, n_outputs: int) -> Cores:
        inner = [] if self.network is None else self.network.shapes(radices, n_outputs)
        main: Cores = [(count, n_outputs) for count in self.functions]
        return [*inner, [*main, (n_outputs,)]]

    @property
    def n_real(self) -> int:
        return len(self.functions) + 1

    def describe(self, radices: Radices, n_outputs: int = 1) -> str:
        text = f"main effects of {len(self.functions)} columns: {self._count(n_outputs):,} weights"
        if self.network is None:
            return text
        return f"{text}\n{self.network.describe(radices, n_outputs)}"

    def _count(self, n_outputs: int) -> int:
        return (sum(self.functions) + 1) * n_outputs

    def plot(
        self,
        radices: Radices,
        n_outputs: int = 1,
        ax: Given = None,
        column_names: Sequence[str] | None = None,
    ) -> Given:
        title = f"{self._count(n_outputs):,} weights of main effects"
        if self.network is not None:
            ax, title = self.network.plot(radices, n_outputs, ax, column_names), f"with {title}"
        else:  # cores without bonds: a vector for each column
            edges = tuple(Edge(f"{d}", n, (d,), (d, 0)) for d, n in enumerate(self.functions))
            structure = Structure(tuple(edge.name for edge in edges), edges)
            ax = plot(structure, ax, column_names)
        ax.set_title(title, fontsize=9)
        return ax

    def start(
        self, constants: Levels, n_outputs: int, is_complex: bool, kind: str, rng: RandomState
    ) -> Cores:
        given = constants, n_outputs, is_complex, kind, rng
        inner = [] if self.network is None else self.network.start(*given)
        return [*inner, self.no_effects(n_outputs)]

    def no_effects(self, n_outputs: int) -> list[NDArray[np.float64]]:
        """Return main effects of zero."""
        weights = [np.zeros((count, n_outputs)) for count in self.functions]
        return [*weights, np.zeros(n_outputs)]

    def iterate(
        self, columns: Columns, cores: Cores, dtype: DTypeLike, run: Run, precisions: Precisions
    ) -> Given:
        # precisions of the main functions follow those of the network: (J_d,), or None at first
        own, inner = list(precisions[: len(columns)]), None
        if self.network is not None:
            inner = self.network.iterate(columns, cores[:-1], dtype, run, own)
        return AdditiveIterate(inner, columns, cores[-1], run, precisions)

    def numbers_held(
        self, sizes: Sequence[int], radices: Radices, n_outputs: int, planes: int
    ) -> tuple[int, int]:
        tables, sums = sum(sizes) * n_outputs, (sum(self.functions) + 1) ** 2
        if self.network is None:
            return tables, sums
        inner = self.network.numbers_held(sizes, radices, n_outputs, planes)
        return tables + inner[0], max(sums, inner[1])

    def dense(self, cores: Cores, radices: Radices) -> NDArray:
        if self.network is None:
            raise ValueError("There is no network beside the main effects.")
        return self.network.dense(cores[:-1], radices)

    def evaluator(self, cores: Cores, frequencies: Precisions) -> "AdditiveEvaluator":
        inner = None if self.network is None else self.network.evaluator(cores[:-1], frequencies)
        return AdditiveEvaluator(inner, cores[-1], frequencies)


class AdditiveIterate:
    """Cores and what follows from them; see `networks.network.Iterate`."""

    def __init__(
        self, inner: Given, columns: Columns, main: Arrays, run: Run, precisions: Precisions
    ):
        self.inner, self.columns, self.run = inner, columns, run
        self._unused = list(precisions[: len(columns)])
        self._held: Given = None
        own = list(precisions[len(columns) :])
        self.put_main(list(main), own or [None] * len(columns))

    @property
    def is_complex(self) -> bool:
        return self.inner is not None and self.inner.is_complex

    @property
    def cores(self) -> Cores:
        return [*([] if self.inner is None else self.inner.cores), self.main]

    @property
    def precisions(self) -> list[NDArray | None]:
        inner = self._unused if self.inner is None else self.inner.precisions
        return [*inner, *self.main_precisions]

    @property
    def n_blocks(self) -> int:
        return 1 if self.inner is None else self.inner.n_blocks + 1

    @property
    def token(self) -> tuple[object, object]:
        return getattr(self.inner, "token", None), self._token

    def snapshot(self) -> Cores:
        self._held = self.main, list(self.main_precisions)
        return [*([] if self.inner is None else self.inner.snapshot()), self.main]

    def restore(self, cores: Cores) -> None:
        if self.inner is not None:
            self.inner.restore(cores[:-1])
        if cores[-1] is not self.main:
            is_held = self._held is not None and cores[-1] is self._held[0]
            self.put_main(cores[-1], self._held[1] if is_held else self.main_precisions)

    def put_main(self, main: list[NDArray], precisions: Precisions) -> None:
        """Put in main effects and the precisions they were found at."""
        self.main, self.main_precisions, self._token = main, list(precisions), object()
        self._reduced: Given = (None, None)
        self._effects: Effects | None = None
        #: penalty of the main effects, which has no other factor
        self.main_penalty = sum(
            float((finite_precision(p) * weights**2).sum())
            for p, weights in zip(self.main_precisions, main[:-1], strict=True)
            if p is not None
        )

    @property
    def effects(self) -> "Effects":
        """Main effects at the grid values of every column."""
        if self._effects is None:
            self._effects = self._effects_of(self.main)
        return self._effects

    def _effects_of(self, main: Arrays) -> "Effects":
        parts = zip(self.columns, main[:-1], self.main_precisions, strict=True)
        return Effects([c.main_table(_used(weights, p)) for c, weights, p in parts], main[-1])

    def responses(self, shard: AnyShard) -> NDArray:
        return self.response_pass()(shard, run=self.run)

    def response_pass(self) -> Pass:
        return partial(respond, inner=self.inner_pass(), effects=self.effects)

    def inner_pass(self) -> Pass | None:
        """Pass that gives the responses of the network alone; None where there is none."""
        return None if self.inner is None else self.inner.response_pass()

    def problem(self, block: int, setting: Setting) -> Given:
        if block + 1 == self.n_blocks:
            return MainProblem(self, setting)
        return self.inner.problem(block, self.reduced(setting))

    def reduced(self, setting: Given) -> Given:
        """Return the setting of the network, its targets without main effects."""
        if self._reduced[0] is not setting:
            view = partial(reduce_targets, view=setting.view, effects=self.effects)
            if setting.rows_are_here and setting.view is None:
                shards = [view(shard, run=self.run) for shard in setting.shards]
                other = replace(setting, shards=shards)
            else:
                other = replace(setting, view=view)
            change = setting.sum(partial(add_changes, effects=self.effects))
            other.constant += float(change[0]) / setting.total_weight + self.main_penalty
            self._reduced = setting, other
        return self._reduced[1]

    def energies(self, block: int) -> NDArray | None:
        if self.inner is None or block >= len(self.columns):
            return None
        return self.inner.energies(block)

    def put_precision(self, d: int, precision: NDArray) -> None:
        self.inner.put_precision(d, precision)

    def penalty(self) -> float:
        return 0.0 if self.inner is None else self.inner.penalty()

    def penalty_gradient(self) -> Cores:
        return self.penalty_product(self.cores)

    def penalty_product(self, direction: Cores) -> Cores:
        inner = [] if self.inner is None else self.inner.penalty_product(direction[:-1])
        return [*inner, [np.zeros_like(each) for each in self.main]]

    def add_main_penalty(self, total: Cores, direction: Cores) -> None:
        """Add the product of a direction with the Hessian of the main effects' penalty."""
        for p, own, change in zip(self.main_precisions, total[-1], direction[-1], strict=False):
            if p is not None:
                own += 2 * finite_precision(p) * change

    def gradient_pass(self) -> Pass:
        inner = None if self.inner is None else self.inner.gradient_pass()
        return partial(add_slopes, inner=inner)

    def gradient(self, sums: Given) -> Cores:
        n_main = len(self.columns) + 1
        own, (*columns, total) = list(sums[:-n_main]), sums[-n_main:]
        inner = [] if self.inner is None else self.inner.gradient(own)
        parts = zip(self.columns, columns, self.main_precisions, strict=True)
        main = [_used(column.main_sums(part), p) for column, part, p in parts]
        return [*inner, [*main, total]]

    def tangent(self, direction: Cores) -> Pass:
        inner = None if self.inner is None else self.inner.tangent(direction[:-1])
        return partial(respond, inner=inner, effects=self._effects_of(direction[-1]))


def _used(weights: NDArray, precision: NDArray | None) -> NDArray:
    """Weights of a finite precision; the others are zero, and no gradient moves them."""
    if precision is None or np.isfinite(precision).all():
        return weights
    return np.where(np.isfinite(precision)[:, None], weights, 0.0)


class Effects:
    """Main effects as tables at the grid values of all columns, and the intercept."""

    def __init__(self, tables: Arrays, intercept: NDArray):
        self.tables = {d: table for d, table in enumerate(tables) if table.any()}
        self.intercept = np.asarray(intercept, dtype=np.float64)
        self._rows: KeptRows[NDArray] = KeptRows()

    def of(self, shard: AnyShard) -> NDArray[np.float64]:
        """Return the main effects of coded rows, (n_rows, n_outputs), to be read only."""
        known = self._rows.get(shard.codes)
        if known is None:
            known = np.tile(self.intercept, (len(shard), 1))
            for d, table in self.tables.items():
                known += np.take(table, shard.codes[:, d], axis=0)
            known.flags.writeable = False
            self._rows.put(shard.codes, known)
        return known


def respond(shard: AnyShard, run: Run, inner: Pass | None, effects: Effects) -> NDArray:
    """Responses of a network, or their change, plus those of the main effects."""
    own = effects.of(shard)
    return own if inner is None else own + inner(shard, run=run)


def add_slopes(
    shard: AnyShard, slopes: NDArray, run: Run, inner: Pass | None
) -> tuple[NDArray, ...]:
    """Sum what the network needs, then Σ Re(slope) at all columns' grid values, and in all."""
    others = () if inner is None else inner(shard, slopes, run=run)
    return *others, *sum_by_code(shard, np.ascontiguousarray(slopes.real))


def reduce_targets(shard: AnyShard, run: Run, view: Pass | None, effects: Effects) -> AnyShard:
    """Rows (of a view of a shard) without main effects."""
    shard = shard if view is None else view(shard, run=run)
    return shard.reweighted(shard.weight, shard.target - effects.of(shard))


def add_changes(shard: AnyShard, run: Run, effects: Effects) -> NDArray[np.float64]:
    """Σ ω(|y - m|² - |y|²) of targets and main effects m."""
    own = effects.of(shard)
    each = (own * (own - 2 * shard.target)).sum(axis=1)
    return np.array([each.sum() if shard.weight is None else shard.weight @ each])


class AdditiveEvaluator:
    """Cores made ready for values that lie on no grid."""

    def __init__(self, inner: Given, main: Arrays, shares: Precisions):
        self.inner, self.main = inner, main
        self.tables = [
            None if share is None else with_unknown(weights, share)
            for weights, share in zip(main[:-1], shares, strict=True)
        ]

    def responses(self, maps: Sequence[Map], values: Arrays) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values per column."""
        total: NDArray = np.tile(self.main[-1], (len(values[0]), 1))
        for d, (feature_map, column) in enumerate(zip(maps, values, strict=True)):
            table, weights = self.tables[d], self.main[d]
            if table is not None:
                total += table[np.asarray(column, dtype=np.int64)]
            elif weights.any():
                total += feature_map.main_functions(column) @ weights
        return total if self.inner is None else total + self.inner.responses(maps, values)
