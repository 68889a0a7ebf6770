"""Local problems: the cores of one column, or the output core, all else fixed.

A problem is made from one pass over the rows and then serves every level of its column, from
the lowest digit up.  A core that is left behind is put in the gauge of its network, and the
next core takes the factor:

    problem.sweep()      update all levels once; the objective after each
    problem.restart()    begin another sweep
    problem.finish()     hand the cores back to the iterate
"""

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..protocols import Setting, Span
from . import moments
from .algebra import Diagonal
from .local import LocalSystem, least_squares
from .moments import Digits, LagDigits, Moments

if TYPE_CHECKING:
    from .chain import ChainIterate

#: systems of categories that are solved at a time, which bounds the memory of their matrices
CHUNK = 1024


class Problem:
    """What all local problems share: gauge, penalty and the sweep over the levels."""

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.algebra = iterate.algebra
        self.outside = iterate.penalty_environment(block)
        entry = iterate.cores[block]
        self.cores: list[NDArray] = list(entry) if isinstance(entry, list) else [entry]
        self.is_split = bool(setting.real_part and iterate.is_complex)
        self.factor: NDArray | None = None

    @property
    def n_levels(self) -> int:
        """Number of cores of the block."""
        return len(self.cores)

    def shape(self, level: int) -> tuple[int, ...]:
        """Return the shape of a level's core as elements: (Q, …)."""
        return self.algebra.elements(self.cores[level]).shape

    def system(self, level: int) -> LocalSystem:
        """Return the local system of a level."""
        raise NotImplementedError

    def advance(self, level: int) -> None:
        """Sum out a level that has its new core."""

    def solve(self, level: int) -> tuple[NDArray, float]:
        """Return the best core of a level, and the objective there."""
        start = np.ascontiguousarray(self.algebra.elements(self.cores[level]))
        best, value = self.system(level).minimize(start)
        return self.algebra.core(best), value

    def sweep(self) -> list[float]:
        """Update all levels once; return the objective after each."""
        values = []
        for level in range(self.n_levels):
            core, value = self.solve(level)
            self.accept(level, core)
            values.append(value)
        return values

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core; the next one takes its factor."""
        network = self.iterate.network
        self.cores[level], self.factor = network.leave(core)
        if level + 1 < self.n_levels:
            self.cores[level + 1] = network.push_right(self.factor, self.cores[level + 1])
            self.advance(level)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        network = self.iterate.network
        if self.factor is not None:
            self.cores[-1] = network.push_left(self.cores[-1], self.factor)
            self.factor = None
        self.cores = network.settle(self.cores)

    def finish(self) -> None:
        """Hand the cores back; the factor goes to the next block."""
        self.iterate.place(self.block, self.cores, self.factor)


class ColumnProblem(Problem):
    """Cores of a column from its moments: neither rows nor grid are touched again."""

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting, known: Moments):
        super().__init__(iterate, block, setting)
        self.column, self.moments = iterate.columns[block], known
        self._begin()

    def _begin(self) -> None:
        """Begin at the first level, those above it summed out."""
        self.kinds = [self.column.kind(conjugate) for conjugate in (True, False)]
        self.parts = [self._squares(n) for n in range(len(self.moments.matrices))]
        self.products = Digits(self.algebra, self.moments.products, self.cores, "linear")
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        self.penalty = Digits(self.algebra, places, self.cores, kind)

    def _squares(self, n: int) -> Digits:
        """Return the digits of Σ ω·ḡgᵀ, or of Σ ω·ggᵀ."""
        places, kind, has_gaps = self.moments.matrices[n], self.kinds[n], self.column.has_gaps
        is_number = places[0].size == 1 and isinstance(self.algebra, Diagonal)
        numbers = len(places) * self.cores[0].shape[-1] ** 2
        can_turn = kind == "lags" and not has_gaps and is_number and self.n_levels > 1
        if can_turn and numbers > moments.MOST_PLACES:
            return LagDigits(self.algebra, places, self.cores, self.moments.kept)
        return Digits(self.algebra, places, self.cores, kind, n == 0, has_gaps)

    def advance(self, level: int) -> None:
        for digits in (*self.parts, self.products, self.penalty):
            digits.advance(level, self.cores[level])

    def restart(self) -> None:
        super().restart()
        self._begin()

    def system(self, level: int) -> LocalSystem:
        radix, *shape = self.shape(level)
        matrices = [
            moments.matrix_of(kind, self.algebra.form(digits.at(level), shape), radix)
            for kind, digits in zip(self.kinds, self.parts, strict=False)
        ]
        products = self.products.at(level)
        if products.size < radix * math.prod(shape):  # terms of a single column all see the same
            products = np.broadcast_to(products, (radix, *shape))
        right, block = products.reshape(1, -1), (radix, *shape)
        penalty = self.algebra.form(self.penalty.at(level), shape)[None]
        return least_squares(matrices, right, penalty, self.setting.scale, block)


class SeparateProblem(Problem):
    """A core whose entries have a small system each: categories, or outputs."""

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting):
        super().__init__(iterate, block, setting)
        if block < len(iterate.columns):
            sums = iterate.statistics(block, setting)
            self.matrices, self.products = sums.matrices, sums.rhs
        else:
            sum_up = partial(iterate.tables.output_sums, both=self.is_split)
            *grams, self.products = setting.sum(sum_up)
            self.matrices = lambda part: [gram[None] for gram in grams[: 1 + self.is_split]]

    def system(self, level: int, part: Span = slice(None), has_penalty: bool = True) -> LocalSystem:
        """Return the local system of the core, or of some of its entries."""
        shape, products = self.shape(0)[1:], self.products[part].conj()
        # environments have 1 entry in a single column, whose terms all see the same
        count, size = len(products), math.prod(shape)
        matrices = [np.broadcast_to(m, (count, size, size)) for m in self.matrices(part)]
        products = np.broadcast_to(products, (count, size))
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        penalty = self.algebra.form(places if kind == "uniform" else places[part], shape)[:, None]
        scale = self.setting.scale if has_penalty else (self.setting.total_weight, 0.0, 0.0)
        return least_squares(matrices, products, penalty, scale, (count, *shape))

    def solve(self, level: int) -> tuple[NDArray, float]:
        start = np.ascontiguousarray(self.algebra.elements(self.cores[0]))
        best, value = np.empty_like(start), self.setting.constant
        for part in _chunks(len(start)):
            best[part], least = self.system(0, part).minimize(start[part])
            value += least - self.setting.constant
        return self.algebra.core(best), value


def _chunks(count: int) -> list[Span]:
    return [slice(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]


class PooledProblem(SeparateProblem):
    """Core of a categorical column with a constant u beside the categories' deviations e_c.

    Given u, deviations fall apart as categories do.  What is left of them in u is

        Σ_c p_c·Γ·A_c⁻¹·H_c + p_u·Γ,      A_c = H_c + p_c·Γ

    with H_c the matrix of a category's rows and p·Γ the penalty.
    """

    def solve(self, level: int) -> tuple[NDArray, float]:
        start = np.ascontiguousarray(self.algebra.elements(self.cores[0]))
        parts = _chunks(len(start) - 1)
        systems = [self.system(0, part, has_penalty=False) for part in parts]
        form = self.algebra.form(self.outside[None], start.shape[1:])
        none = np.zeros(form.shape, dtype=start.dtype)
        scale = (1.0, self.setting.alpha, 0.0)
        matrices = [none] * (1 + self.is_split)
        price = least_squares(matrices, none[:, 0], form[None], scale, start[:1].shape).matrix
        known = self.iterate.precisions[self.block]
        prices = (np.ones(len(start)) if known is None else known)[:, None, None] * price
        if self.setting.alpha > 0:
            found = self._joint(start, parts, systems, prices)
        else:  # any constant serves
            found = start.copy()
            for part, system in zip(parts, systems, strict=True):
                best, _ = system.minimize(np.ascontiguousarray((start[:1] + start[1:])[part]))
                found[1:][part] = best - start[:1]

        def value_of(elements: NDArray) -> float:
            value, weights = self.setting.constant, elements[:1] + elements[1:]
            for part, system in zip(parts, systems, strict=True):
                value += system.value_of(np.ascontiguousarray(weights[part]))
            zeros = np.zeros(prices.shape[:2])
            whole = LocalSystem(prices, zeros, 0.0, elements.shape, self.is_split, True)
            return value + whole.value_of(elements)

        before, value = value_of(start), value_of(found)
        best, least = (found, value) if value <= before else (start, before)
        return self.algebra.core(best), least

    def _joint(
        self, start: NDArray, parts: list[Span], systems: list[LocalSystem], prices: NDArray
    ) -> NDArray:
        """Best constant and deviations."""
        matrix, right, solved = prices[0], 0.0, []
        for part, system in zip(parts, systems, strict=True):
            own = prices[1:][part]
            both = np.concatenate([system.matrix, system.rhs[:, :, None]], axis=2)
            try:
                solved.append(np.linalg.solve(system.matrix + own, both))
            except np.linalg.LinAlgError:
                return start
            left = (own @ solved[-1]).sum(axis=0)
            matrix, right = matrix + left[:, :-1], right + left[:, -1]
        matrix = (matrix + matrix.conj().T) / 2
        rest = LocalSystem(
            matrix[None], np.asarray(right)[None], 0.0, start[:1].shape, self.is_split, True
        )
        found = np.empty_like(start)
        found[:1], _ = rest.minimize(start[:1])
        u = rest.pack(found[:1])[0]
        for part, system, inverse in zip(parts, systems, solved, strict=True):
            found[1:][part] = system.unpack(inverse[:, :, -1] - inverse[:, :, :-1] @ u)
        return found
