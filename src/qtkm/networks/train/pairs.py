"""Two-site problems of a train: neighbouring cores merged, solved together and split again.

    ─[W]─[W]─   →   ─[ W W ]─   →   ─[U]─[S·V]─          the bond between them is chosen anew
     q   p            q   p           q    p

Two neighbouring levels of a column are one level of a larger radix, so the column's moments serve
them.  The last core of a column and the first of the next are solved from the rows, whose design is
the row-wise product of environment and two factors.
"""

from copy import copy
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...protocols import AnyShard, Run, Setting
from .. import design, moments
from ..algebra import partial_products
from ..chain import ChainIterate
from ..column_tables import Statistics, Tables, add_all
from ..evaluate import column_table
from ..problem import LocalSystem, least_squares
from . import gauge

#: unknowns of a merged core; larger ones are not merged, their bond stays as it is
MOST_UNKNOWNS = 2048


class PairProblem:
    """The pairs of a column from its first level on, then the pair with the next column.

    A split keeps at most `max_rank` singular values, and leaves out at most the fraction `tol` of
    a merged core's norm.  `cost` is by how much truncation has raised the objective.
    """

    n_levels = 2

    def __init__(
        self, iterate: ChainIterate, block: int, setting: Setting, max_rank: int, tol: float
    ):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.max_rank, self.tol, self.cost = max_rank, tol, 0.0
        #: position of the column's first core among all
        self.first = sum(map(len, iterate.cores[:block]))
        if block == 0:
            iterate.settle()

    def sweep(self) -> list[float]:
        """Update all pairs once; return the objective after each."""
        values, iterate, block = [], self.iterate, self.block
        n_levels = len(iterate.cores[block])
        if n_levels > 1:  # the column's moments serve all of its pairs
            known = iterate.moments(block, self.setting)
        for level in range(n_levels - 1):
            values += self._inside(level, known)
        if block + 1 < len(iterate.columns):
            values += self._across()
        if not values:  # a core that has no partner is updated by itself
            problem = iterate.problem(block, self.setting)
            values = problem.sweep()
            problem.finish()
        return values

    def restart(self) -> None:
        """Begin another sweep, from where the column begins."""
        self.iterate.put_sites(gauge.center_at(self.iterate.sites, self.first))

    def finish(self) -> None:
        """Do nothing: pairs are put in place as they are solved."""

    def _inside(self, level: int, known: moments.Moments | Statistics) -> list[float]:
        """Update a level and the next one of the same column."""
        iterate, block = self.iterate, self.block
        column, cores = iterate.columns[block], list(iterate.cores[block])
        merged = _join(*cores[level : level + 2]).swapaxes(0, 1)
        if merged.size > MOST_UNKNOWNS:
            return self._shift(self.first + level)
        view = copy(iterate)
        view.columns, view.cores = list(iterate.columns), list(iterate.cores)
        view.columns[block] = column.merged(level)
        view.cores[block] = [*cores[:level], merged, *cores[level + 2 :]]
        if isinstance(known, moments.Moments):
            known = moments.regroup(known, column, view.columns[block])
        problem = view.column_problem(block, self.setting, known)
        for k in range(level):
            problem.advance(k)
        return self._solve(self.first + level, problem.system(level))

    def _across(self) -> list[float]:
        """Update the last core of the column and the first of the next."""
        iterate, block = self.iterate, self.block
        algebra, (column, following) = iterate.algebra, iterate.columns[block : block + 2]
        cores, later = iterate.cores[block : block + 2]
        (a, q, _), (_, p, c) = cores[-1].shape, later[0].shape
        position = self.first + len(cores) - 1
        if a * q * p * c > MOST_UNKNOWNS:
            return self._shift(position)
        both = bool(self.setting.real_part and iterate.is_complex)
        left, right = np.eye(a * q).reshape(a, q, -1), np.eye(p * c).reshape(-1, p, c)
        left = column_table(algebra, column, [*cores[:-1], left])
        right = column_table(algebra, following, [right, *later[1:]])
        sum_up = partial(_across_sums, iterate.tables, left, right, block, both)
        *grams, products = self.setting.sum(sum_up)
        # of the unknowns (a, q, p, c) those of merged cores
        order = np.arange(a * q * p * c).reshape(a, q, p, c).transpose(2, 1, 0, 3).ravel()
        system = least_squares(
            [gram[np.ix_(order, order)][None] for gram in grams],
            products.conj()[:, order], _across_penalty(iterate, block)[None], self.setting.scale,
            (p * q, a, c),
        )  # fmt: skip
        return self._solve(position, system)

    def _solve(self, position: int, system: LocalSystem) -> list[float]:
        """Solve a pair, split it, and put the cores in place if they are no worse."""
        first, second = self.iterate.sites[position : position + 2]
        (a, q, _), (_, p, c), start = first.shape, second.shape, _join(first, second)
        before, (best, least) = system.value_of(start), system.minimize(start)
        matrix = best.reshape(p, q, a, c).transpose(2, 1, 0, 3).reshape(a * q, p * c)
        u, s, vh = np.linalg.svd(matrix, full_matrices=False)
        left_out = np.sqrt(np.cumsum(s[::-1] ** 2))[::-1]  # norm from each one on
        rank = max(1, min(int(np.sum(left_out > self.tol * left_out[0])), self.max_rank))
        left = u[:, :rank].reshape(a, q, rank)
        right = (s[:rank, None] * vh[:rank]).reshape(rank, p, c)
        value = system.value_of(_join(left, right))
        if value > least:
            left, right, value = _polish(system, left, right)
        if not value <= before:
            self._shift(position)
            return [before]
        self.cost += max(0.0, value - least)
        self._place(position, left, right)
        return [value]

    def _shift(self, position: int) -> list[float]:
        """Make a core left-orthogonal and give its factor to the next; nothing else changes."""
        core, following = self.iterate.sites[position : position + 2]
        core, factor = gauge.left_orthogonal(core)
        self._place(position, core, gauge.push_right(factor, following))
        return []

    def _place(self, position: int, *pair: NDArray) -> None:
        sites = self.iterate.sites
        sites[position : position + 2] = pair
        self.iterate.put_sites(sites)


def _join(left: NDArray, right: NDArray) -> NDArray:
    """Merge two cores into one (…, p·q, a, c); the lower digit q runs faster."""
    merged = np.einsum("...aqb,...bpc->...pqac", left, right)
    *batch, p, q, a, c = merged.shape
    return merged.reshape(*batch, p * q, a, c)


def _polish(system: LocalSystem, left: NDArray, right: NDArray) -> tuple[NDArray, NDArray, float]:
    """Make up for what truncation left out, as far as the rank allows: one core at a time."""
    cores = [left, right]
    for side in (1, 0, 1, 0):
        core = cores[side]
        units = np.eye(core.size, dtype=core.dtype).reshape(core.size, *core.shape)
        if system.is_split:
            units = np.concatenate([units, 1j * units])
        merged = _join(*(units if k == side else each for k, each in enumerate(cores)))
        basis = np.stack([system.pack(each)[0] for each in merged], axis=1)
        matrix, goal = basis.conj().T @ system.matrix @ basis, system.rhs @ basis.conj()
        own = replace(system, matrix=matrix, rhs=goal, shape=core.shape)
        cores[side], value = own.minimize(core)
    left, factor = gauge.left_orthogonal(cores[0])
    return left, gauge.push_right(factor, cores[1]), value


def _across_penalty(iterate: ChainIterate, block: int) -> NDArray:
    """Return the penalty of a merged core of two columns: a matrix for every pair of digits."""
    algebra, factors = iterate.algebra, iterate.penalty_factors()
    before, after = partial_products(algebra, factors, algebra.last(factors[-1]))
    (a, q, _), (_, p, c) = iterate.cores[block][-1].shape, iterate.cores[block + 1][0].shape
    lefts = [before[block] @ each for each in _digit_squares(iterate, block, -1, a, q)]
    rights = [each @ after[block + 1] for each in _digit_squares(iterate, block + 1, 0, c, p)]
    joined = [algebra.join(right, left) for right in rights for left in lefts]
    return algebra.form(np.stack(joined), (a, c))


def _digit_squares(
    iterate: ChainIterate, d: int, level: int, bond: int, radix: int
) -> list[NDArray]:
    """Return the square of a column without the core of a level, for every digit there."""
    kind, places = iterate.penalty_places(d, np.ones((1, 1)))
    cores, found = list(iterate.cores[d]), []
    for digit in range(1 if kind == "uniform" else radix):
        cores[level] = np.eye(radix)[digit][None, :, None] * np.eye(bond)[:, None, :]
        found.append(moments.column_square(iterate.algebra, cores, kind, places))
    return found * radix if kind == "uniform" else found


def _across_sums(
    tables: Tables, left: NDArray, right: NDArray, block: int, both: bool, shard: AnyShard, run: Run
) -> tuple[NDArray, ...]:
    """Return Σ z̄zᵀ, maybe Σ zzᵀ, and Σ z·y for the last core of a column and the first of the next.

    `left` and `right` are tables of the two columns with units in the places of these cores.
    """
    root, target = shard.scaled

    def part(bounds: tuple[int, int]) -> tuple[NDArray, ...]:
        rows = slice(*bounds)
        codes = shard.codes[rows]
        whole = tables.environments(codes, root[rows], block, block + 2)
        before, after = left[codes[:, block]], right[codes[:, block + 1]]
        design_rows = before.swapaxes(1, 2)[:, None] @ whole @ after.swapaxes(1, 2)[:, None]
        flat = design_rows.reshape(-1, left.shape[2] * right.shape[1])
        return design.gram([flat], np.empty(0), target[rows].reshape(-1, 1), both)

    return add_all(run(part, shard.blocks()))
