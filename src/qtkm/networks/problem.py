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

from ..protocols import Arrays, Given, Pass, Setting, Span
from . import moments
from .algebra import Algebra, Diagonal
from .local import LocalSystem, least_squares
from .moments import Digits, LagDigits

if TYPE_CHECKING:
    from .chain import ChainIterate

#: systems of categories that are solved at a time, which bounds the memory of their matrices
CHUNK = 1024


class Problem:
    """What all local problems share: gauge, penalty and the sweep over the levels."""

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.algebra: Algebra = iterate.algebra
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

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting, known: Given):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.moments = known
        self.outside = iterate.penalty_environment(block)
        self.begin()

    def begin(self) -> None:
        """Begin at the first level, those above it summed out."""
        pairs = zip(self.moments.matrices, (True, False), strict=False)
        self.parts: list[Digits | GridDigits] = [self._squares(*pair) for pair in pairs]
        self.products: Digits | GridDigits = Digits(
            self.algebra, self.moments.products, self.cores, "linear"
        )
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        self.penalty = Digits(self.algebra, places, self.cores, kind)

    def _squares(self, places: NDArray, conjugate: bool) -> "Digits | GridDigits":
        kind = self.column.kind(conjugate)
        is_number = places[0].size == 1 and isinstance(self.algebra, Diagonal)
        numbers = len(places) * self.cores[0].shape[-1] ** 2
        can_turn = kind == "lags" and not self.column.has_gaps and is_number and self.n_levels > 1
        if can_turn and numbers > moments.MOST_PLACES:
            return LagDigits(self.algebra, places, self.cores, self.moments.kept)
        return Digits(self.algebra, places, self.cores, kind, conjugate, self.column.has_gaps)

    def advance(self, level: int) -> None:
        for digits in (*self.parts, self.products, self.penalty):
            digits.advance(level, self.cores[level])

    def restart(self) -> None:
        super().restart()
        self.begin()

    def system(self, level: int) -> LocalSystem:
        radix, *shape = self.shape(level)
        forms = [self.algebra.form(digits.at(level), shape) for digits in self.parts]
        matrices = [
            moments.matrix_of(self.column.kind(conjugate), form, radix)
            for form, conjugate in zip(forms, (True, False), strict=False)
        ]
        products = self.products.at(level)
        if products.size < radix * math.prod(shape):  # terms of a single column all see the same
            products = np.broadcast_to(products, (radix, *shape))
        penalty = self.algebra.form(self.penalty.at(level), shape)[None]
        symmetric = matrices[1] if self.is_split else None
        return least_squares(
            matrices[0], symmetric, products.reshape(1, -1), penalty, self.setting.scale,
            (radix, *shape),
        )  # fmt: skip


class CategoricalProblem(Problem):
    """Core of a categorical column: one small system per category, some at a time."""

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting):
        super().__init__(iterate, block, setting)
        self.sums = iterate.statistics(block, setting)
        self.outside = iterate.penalty_environment(block)

    def system(self, level: int, part: Span = slice(None), has_penalty: bool = True) -> LocalSystem:
        """Return the local system of the core, or of some of its categories."""
        shape = self.shape(0)[1:]
        size = math.prod(shape)  # environments have 1 in a single column, whose terms see the same
        matrices = [np.broadcast_to(m, (len(m), size, size)) for m in self.sums.matrices(part)]
        products = np.broadcast_to(self.sums.rhs[part].conj(), (len(matrices[0]), size))
        total, alpha, constant = self.setting.scale
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        penalty = self.algebra.form(places if kind == "uniform" else places[part], shape)[:, None]
        scale = (total, alpha, constant) if has_penalty else (total, 0.0, 0.0)
        symmetric = matrices[1] if self.is_split else None
        block = (len(products), *shape)
        return least_squares(matrices[0], symmetric, products, penalty, scale, block)

    def solve(self, level: int) -> tuple[NDArray, float]:
        start = np.ascontiguousarray(self.algebra.elements(self.cores[0]))
        best, value = np.empty_like(start), self.setting.constant
        for part in _chunks(len(start)):
            best[part], least = self.system(0, part).minimize(start[part])
            value += least - self.setting.constant
        return self.algebra.core(best), value


def _chunks(count: int) -> list[Span]:
    return [slice(first, min(first + CHUNK, count)) for first in range(0, count, CHUNK)]


class PooledProblem(CategoricalProblem):
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
        price = least_squares(
            none, none if self.is_split else None, none[:, 0], form[None],
            (1.0, self.setting.alpha, 0.0), start[:1].shape,
        ).matrix  # fmt: skip
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


class OutputProblem(Problem):
    """The output core: one regression of all outputs on what the columns contribute."""

    def __init__(self, iterate: "ChainIterate", setting: Setting):
        super().__init__(iterate, len(iterate.columns), setting)
        self.sums = setting.sum(partial(iterate.tables.output_sums, both=self.is_split))
        self.outside = iterate.penalty_environment(self.block)

    def system(self, level: int) -> LocalSystem:
        hermitian, symmetric, products = self.sums
        n_outputs = len(products)
        _, *shape = self.shape(0)
        penalty = self.algebra.form(self.outside[None], shape)[None]
        every = (n_outputs, *hermitian.shape)
        return least_squares(
            np.broadcast_to(hermitian, every),
            np.broadcast_to(symmetric, every) if self.is_split else None,
            products.conj(), penalty, self.setting.scale, (n_outputs, *shape),
        )  # fmt: skip


#: numbers of the moments of a column beyond which its levels are made from the grid
MOST_MOMENTS = 1 << 24


class GridDigits:
    """Environments of a column at its grid values (n_grid, …), whose levels are multiplied out.

    respond(level, core) gives the elements or squares (n_grid, …) of a level, total(level,
    environments) sums environments of a level over the grid.
    """

    def __init__(
        self, algebra: Algebra, values: NDArray, cores: Arrays, respond: Pass, total: Pass
    ):
        self.algebra, self.values, self.respond, self.total = algebra, values, respond, total
        self.above: list[NDArray | None] = [None]
        for level in range(len(cores) - 1, 0, -1):
            response, after = respond(level, cores[level]), self.above[0]
            product = response if after is None else algebra.multiply(response, after)
            self.above.insert(0, product)

    def at(self, level: int) -> NDArray:
        above = self.above[level]
        inside = self.values if above is None else self.algebra.pull_right(self.values, above)
        return self.total(level, inside)

    def advance(self, level: int, core: NDArray) -> None:
        self.values = self.algebra.pull_left(self.respond(level, core), self.values)


class WideProblem(ColumnProblem):
    """Cores of a wide column from its statistics, which are in the place of the moments."""

    def begin(self) -> None:
        algebra, column, sums = self.algebra, self.column, self.moments
        shape = self.iterate.tables.elements[self.block].shape[1:]
        size = int(np.prod(shape))
        self.parts = []
        for matrices, conjugate in zip(sums.matrices(slice(None)), (True, False), strict=False):
            matrices = np.broadcast_to(matrices, (len(matrices), size, size))
            self.parts.append(self._squares(algebra.environment(matrices, shape), conjugate))
        right = np.broadcast_to(sums.rhs.conj(), (len(column), size)).reshape(-1, *shape)
        self.products = GridDigits(
            algebra, right, self.cores,
            lambda level, core: self._response(level, core).conj(),
            lambda level, inside: np.tensordot(self._factors(level).conj().T, inside, 1),
        )  # fmt: skip
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        self.penalty = Digits(algebra, places, self.cores, kind)

    def _factors(self, level: int) -> NDArray:
        return self.column.factors[:, self.column.slices[level]]

    def _response(self, level: int, core: NDArray) -> NDArray:
        """Return the elements (n_grid, …) of a level."""
        return np.tensordot(self._factors(level), self.algebra.elements(core), 1)

    def _squares(self, places: NDArray, conjugate: bool) -> GridDigits:
        """Digits of the quadratic form of Σ ω·ḡgᵀ, or of Σ ω·ggᵀ."""
        algebra, kind = self.algebra, self.column.kind(conjugate)

        def respond(level: int, core: NDArray) -> NDArray:
            response = self._response(level, core)
            return algebra.squares(response, response, conjugate)

        def total(level: int, inside: NDArray) -> NDArray:
            radix, *shape = self.shape(level)
            functions = moments.products(self._factors(level), kind, conjugate)
            forms = algebra.form(inside, shape)
            sums = (functions @ forms.reshape(len(forms), -1)).reshape(-1, *forms.shape[1:])
            return algebra.environment(moments.complete(sums, kind, conjugate, [radix]), shape)

        return GridDigits(algebra, places, self.cores, respond, total)
