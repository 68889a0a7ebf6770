"""Two-site problems of a train: neighbouring cores merged, solved together and split again.

    ─[W]─[W]─   →   ─[ W W ]─   →   ─[U]─[S·V]─          the bond between them is chosen anew
     q   p            q   p           q    p

Two neighbouring levels of a column are one level of a larger radix, so the column's moments serve
them.  The last core of a column and the first of the next are solved from the rows, whose design is
the row-wise product of environment and two factors.
"""

from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...protocols import Column, Run, Setting, Shard
from .. import design, moments
from ..algebra import partial_products
from ..local import LocalSystem, least_squares
from . import gauge

#: unknowns of a merged core; larger ones are not merged, their bond stays as it is
MOST_UNKNOWNS = 2048


@dataclass
class Truncation:
    """How bonds are chosen.

    Attributes
    ----------
    max_rank : int
    tol : float
        Largest fraction of a merged core's norm that may be left out.
    costs : list of float
        For every split so far, by how much leaving something out raised the objective.
    """

    max_rank: int
    tol: float
    costs: list[float] = field(default_factory=list)

    def rank(self, singular: NDArray) -> int:
        """Return the number of singular values to keep."""
        left_out = np.sqrt(np.cumsum(singular[::-1] ** 2))[::-1]  # norm from each one on
        needed = int(np.sum(left_out > self.tol * left_out[0]))
        return max(1, min(needed, self.max_rank))


class PairProblem:
    """The pairs of a column from its first level on, then the pair with the next column."""

    n_levels = 2

    def __init__(self, iterate: Any, block: int, setting: Setting, truncation: Truncation):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.truncation = truncation
        self.values: list[float] = []

    def sweep(self) -> list[float]:
        """Update all pairs once; returns the objective after each."""
        values = []
        column, cores = self.iterate.columns[self.block], list(self.iterate.cores[self.block])
        known = None  # the column's moments serve all of its pairs
        if len(cores) > 1:
            known = self.iterate.moments(self.block, self.setting)
        for level in range(len(cores) - 1):
            values += self._inside(column, level, known)
        values += self._across()
        if not values:
            values = self._alone()
        return values

    def restart(self) -> None:
        """Begin another sweep, from where the column begins."""
        first = sum(len(c) for c in self.iterate.cores[: self.block] if isinstance(c, list))
        self.iterate.put_sites(gauge.center_at(self.iterate.sites, first))

    def finish(self) -> None:
        """Nothing is left to be handed back: pairs are put in place as they are solved."""

    def _inside(self, column: Column, level: int, known: Any) -> list[float]:
        """Update a level and the next one of the same column."""
        iterate, block = self.iterate, self.block
        first, second = iterate.cores[block][level : level + 2]
        merged = np.einsum("aqb,bpc->apqc", first, second)  # the lower digit runs faster
        merged = merged.reshape(len(first), -1, second.shape[2])
        if merged.size > MOST_UNKNOWNS:
            return self._shift(level)
        view = copy(iterate)
        view.columns = [*iterate.columns]
        view.columns[block] = merged_column = column.merged(level)
        cores = list(iterate.cores[block])
        cores[level : level + 2] = [merged]
        view.cores = [*iterate.cores]
        view.cores[block] = cores
        known = moments.regroup(known, column, merged_column)
        problem = view.column_problem(block, self.setting, known)
        for k in range(level):
            problem.advance(k)
        return self._solve(level, first, second, problem.system(level), _join_inside)

    def _across(self) -> list[float]:
        """Update the last core of the column and the first of the next."""
        iterate, block = self.iterate, self.block
        if block + 1 >= len(iterate.columns):
            return []
        first, second = iterate.cores[block][-1], iterate.cores[block + 1][0]
        if first.size // first.shape[2] * (second.size // second.shape[0]) > MOST_UNKNOWNS:
            return self._shift(len(iterate.cores[block]) - 1)
        shape = (first.shape[1], second.shape[1], first.shape[0], second.shape[2])
        system = _across_system(iterate, block, self.setting, shape)
        level = len(iterate.cores[block]) - 1
        return self._solve(level, first, second, system, _join_across)

    def _solve(self, level: int, first: NDArray, second: NDArray, system: Any, join: Any) -> list:
        """Solve a pair, split it, and put the cores in place if they are no worse."""
        start = join(first, second)
        before = system.value_of(start)
        best, least = system.minimize(start)
        shape = (first.shape[0], first.shape[1], second.shape[1], second.shape[2])
        left, right = self._split(_unjoin(best, shape, join))
        value = system.value_of(join(left, right))
        if value > least and isinstance(system, LocalSystem):
            left, right, value = _polish(system, left, right, value, join)
        if not value <= before:
            self.truncation.costs.append(0.0)
            self._shift(level)
            return [before]
        self.truncation.costs.append(max(0.0, value - least))
        self._place(level, left, right)
        return [value]

    def _split(self, merged: NDArray) -> tuple[NDArray, NDArray]:
        """Left-orthogonal core and the rest of a merged core (a, q, p, c)."""
        a, q, p, c = merged.shape
        u, s, vh = np.linalg.svd(merged.reshape(a * q, p * c), full_matrices=False)
        rank = self.truncation.rank(s)
        return u[:, :rank].reshape(a, q, rank), (s[:rank, None] * vh[:rank]).reshape(rank, p, c)

    def _shift(self, level: int) -> list[float]:
        """Make a core left-orthogonal and give its factor to the next; nothing else changes."""
        core, factor = gauge.left_orthogonal(self.iterate.cores[self.block][level])
        self._place(level, core, gauge.push_right(factor, self._next(level)))
        return []

    def _next(self, level: int) -> NDArray:
        cores = self.iterate.cores
        inside = level + 1 < len(cores[self.block])
        return cores[self.block][level + 1] if inside else cores[self.block + 1][0]

    def _place(self, level: int, left: NDArray, right: NDArray) -> None:
        cores = list(self.iterate.cores[self.block])
        cores[level] = left
        if level + 1 < len(cores):
            cores[level + 1] = right
            self.iterate.put(self.block, cores)
            return
        following = list(self.iterate.cores[self.block + 1])
        following[0] = right
        self.iterate.put(self.block, cores)
        self.iterate.put(self.block + 1, following)

    def _alone(self) -> list[float]:
        """Update a core that has no partner by itself; its bonds stay as they are."""
        problem = self.iterate.problem(self.block, self.setting)
        values = problem.sweep()
        problem.finish()
        return values


def _join_inside(left: NDArray, right: NDArray) -> NDArray:
    """Merge two levels of a column into a core (p·q, a, c); the lower digit q runs faster."""
    merged = np.einsum("aqb,bpc->pqac", left, right)
    return merged.reshape(-1, *merged.shape[2:])


def _join_across(left: NDArray, right: NDArray) -> NDArray:
    """Merge cores of two columns into a core (q, p, a, c)."""
    return np.einsum("aqb,bpc->qpac", left, right)


def _unjoin(merged: NDArray, shape: tuple[int, ...], join: Any) -> NDArray:
    """Reshape a merged core to (a, q, p, c)."""
    a, q, p, c = shape
    if join is _join_across:
        return merged.transpose(2, 0, 1, 3)
    return merged.reshape(p, q, a, c).transpose(2, 1, 0, 3)


def _polish(
    system: LocalSystem, left: NDArray, right: NDArray, value: float, join: Any, rounds: int = 2
) -> tuple[NDArray, NDArray, float]:
    """Lower the pair's objective at the chosen rank, one of the two cores at a time.

    What a truncation left out is so made up for as far as the rank allows.
    """
    for _ in range(rounds):
        for side in (1, 0):
            cores = [left, right]
            core = _restricted(system, cores, side, join)
            trial = [core if k == side else other for k, other in enumerate(cores)]
            gained = system.value_of(join(*trial))
            if gained < value:
                (left, right), value = trial, gained
    left, factor = gauge.left_orthogonal(left)
    return left, gauge.push_right(factor, right), value


def _restricted(system: LocalSystem, cores: list[NDArray], side: int, join: Any) -> NDArray:
    """Minimiser of a pair's system over one of its cores, the other fixed."""
    core = cores[side]
    units = np.eye(core.size, dtype=core.dtype).reshape(core.size, *core.shape)
    if system.is_split:
        units = np.concatenate([units, 1j * units])
    merged = [join(*(unit if k == side else c for k, c in enumerate(cores))) for unit in units]
    basis = np.stack([system.pack(m)[0] for m in merged], axis=1)
    matrix = basis.conj().T @ system.matrix[0] @ basis
    goal = basis.conj().T @ system.rhs[0]
    scale = 1 / np.sqrt(np.maximum(np.diag(matrix).real, 1e-300))
    solution = (
        np.linalg.lstsq(scale[:, None] * matrix * scale, scale * goal, rcond=1e-12)[0] * scale
    )
    if system.is_split:
        solution = solution[: core.size] + 1j * solution[core.size :]
    return solution.reshape(core.shape)


def _across_system(
    iterate: Any, block: int, setting: Setting, shape: tuple[int, int, int, int]
) -> LocalSystem:
    """Local system of the merged core (q, p, left, right) of two neighbouring columns."""
    both = bool(setting.real_part and iterate.is_complex)
    hermitian, symmetric, products = setting.sum(_AcrossPass(iterate, block, both))
    return least_squares(
        hermitian[None], symmetric[None] if both else None, products[None].conj(),
        _across_penalty(iterate, block, shape)[None, None], setting.scale, shape,
    )  # fmt: skip


def _across_penalty(iterate: Any, block: int, shape: tuple[int, int, int, int]) -> NDArray:
    """Penalty over the entries of a merged core: a matrix for every pair of digits (q, p)."""
    algebra, (n_q, n_p, left, right) = iterate.algebra, shape
    unit = np.ones((1, 1))
    sides = []
    for d, cores, keep in (
        (block, iterate.cores[block][:-1], -1),
        (block + 1, iterate.cores[block + 1][1:], 0),
    ):
        kind, places = iterate.penalty_places(d, unit)
        radix = (n_p, n_q)[d == block]
        parts = places if kind == "uniform" else _by_digit(places, radix, keep)
        sides.append([
            moments.column_square(algebra, cores, kind, part) if cores else part[0]
            for part in (parts[:, None] if kind == "uniform" else parts)
        ])  # fmt: skip
    factors = iterate.penalty_factors()
    before, after = partial_products(algebra, factors, algebra.last(factors[-1]))
    penalty = np.zeros((n_q, n_p, left * right, n_q, n_p, left * right), dtype=factors[0].dtype)
    for q in range(n_q):
        for p in range(n_p):
            first, second = sides[0][q % len(sides[0])], sides[1][p % len(sides[1])]
            a = before[block] @ first if first.size > 1 else before[block] * first
            b = second @ after[block + 1] if second.size > 1 else second * after[block + 1]
            form = algebra.form(algebra.join(b, a)[None], (left, right))[0]
            penalty[q, p, :, q, p] = form
    return penalty.reshape(n_q * n_p * left * right, -1)


def _by_digit(places: NDArray, radix: int, keep: int) -> NDArray:
    """Precisions apart by the highest digit (keep = -1) or the lowest one (keep = 0)."""
    if keep == -1:
        return places.reshape(radix, -1, *places.shape[1:])
    return places.reshape(-1, radix, *places.shape[1:]).swapaxes(0, 1)


class _AcrossPass:
    """Σ z̄zᵀ, Σ zzᵀ and Σ z·y for the last core of a column and the first of the next."""

    def __init__(self, iterate: Any, block: int, both: bool):
        self.tables, self.block, self.both = iterate.tables, block, both
        column, following = iterate.columns[block : block + 2]
        cores, later = iterate.cores[block], iterate.cores[block + 1]
        self.first = _features(column, len(cores) - 1)
        self.second = _features(following, 0)
        self.left = _product(column, cores[:-1], 0, cores[-1].shape[0])
        self.right = _product(following, later[1:], 1, later[0].shape[2])
        for factors, side in ((self.left, column), (self.right, following)):
            if len(side.phase):
                factors *= side.phase[:, None, None]

    def __call__(self, shard: Shard, run: Run) -> tuple[NDArray, NDArray, NDArray]:
        whole = self.tables.environments(shard, self.block, self.block + 2, run)
        target = shard.scaled[1]

        def part(bounds: tuple[int, int]) -> tuple[NDArray, NDArray | None, NDArray]:
            rows = slice(*bounds)
            u, v = shard.codes[rows, self.block], shard.codes[rows, self.block + 1]
            inner = self.left[u].transpose(0, 2, 1)[:, None] @ whole[rows]
            inner = inner @ self.right[v].transpose(0, 2, 1)[:, None]
            n, k = inner.shape[:2]
            parts = [np.repeat(self.first[u], k, axis=0), np.repeat(self.second[v], k, axis=0)]
            parts.append(inner.reshape(n * k, -1))
            return design.gram(parts, np.empty(0), target[rows].reshape(-1, 1), self.both)

        sums = run(part, shard.blocks())
        hermitian, symmetric, products = sums[0]
        for more in sums[1:]:
            hermitian = hermitian + more[0]
            symmetric = None if symmetric is None else symmetric + more[1]
            products = products + more[2]
        nothing = np.zeros((0, 0)) if symmetric is None else symmetric
        return hermitian, nothing, products.reshape(-1)


def _features(column: Column, level: int) -> NDArray:
    """Factor entries of a level at the grid values."""
    if column.is_categorical:
        return column.feature_map.factors(column.values)
    return column.factors[:, column.slices[level]]


def _product(column: Column, cores: list[NDArray], first: int, bond: int) -> NDArray:
    """Products (n_grid, …) of some levels' matrices, from level `first` on."""
    kind = np.result_type(float, *cores, *(() if column.is_categorical else (column.factors,)))
    product = np.broadcast_to(np.eye(bond, dtype=kind), (len(column), bond, bond)).copy()
    for level, core in enumerate(cores, start=first):
        matrices = np.einsum("uq,aqb->uab", column.factors[:, column.slices[level]], core)
        product = matrices if level == first else product @ matrices
    return product
