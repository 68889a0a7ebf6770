"""Local problems: the cores of one column, or the output core, all else fixed.

A problem is made from one pass over the rows and then serves every level of its column, from
the lowest digit up.  A core that is left behind is put in the gauge of its network, and the
next core takes the factor:

    problem.sweep()      update all levels once; the objective after each
    problem.restart()    begin another sweep
    problem.finish()     hand the cores back to the iterate
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import moments
from .algebra import Algebra, Diagonal
from .local import LocalSystem, least_squares
from .moments import Digits, LagDigits

#: systems of categories that are solved at a time, which bounds the memory of their matrices
CHUNK = 1024


class Problem:
    """What all local problems share: gauge, penalty and the sweep over the levels.

    Parameters
    ----------
    iterate : ChainIterate
    block : int
        The column, or the number of columns for the output core.
    setting : Setting
    """

    def __init__(self, iterate: Any, block: int, setting: Any):
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
        self.cores[level], factor = network.leave(core)
        if level + 1 < self.n_levels:
            self.cores[level + 1] = network.push_right(factor, self.cores[level + 1])
            self.advance(level)
        else:
            self.factor = factor

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

    def __init__(self, iterate: Any, block: int, setting: Any, known: Any = None):
        super().__init__(iterate, block, setting)
        self.column = iterate.columns[block]
        self.moments = known or iterate.moments(block, setting)
        self.outside = iterate.penalty_environment(block)
        self.begin()

    def begin(self) -> None:
        """Stand before the first level, those above it summed out."""
        column, is_split = self.column, self.is_split
        kinds = [(column.kind(True), True)] + ([(column.kind(False), False)] if is_split else [])
        self.parts: list[tuple[str, bool, Any]] = [
            (kind, conjugate, self._squares(places, kind, conjugate))
            for (kind, conjugate), places in zip(kinds, self.moments.matrices, strict=True)
        ]
        elements = [self.algebra.elements(core).conj() for core in self.cores]
        self.products: Any = Digits(self.algebra, self.moments.products, elements, self.radices)
        self.begin_penalty()

    def begin_penalty(self) -> None:
        """Stand before the first level of the penalty."""
        kind, penalty = self.iterate.penalty_places(self.block, self.outside)
        factors = [moments.digit_squares(self.algebra, c, kind, True) for c in self.cores]
        steps = moments.steps_of(kind, self.radices)
        self.penalty = (kind, True, Digits(self.algebra, penalty, factors, steps))

    @property
    def radices(self) -> list[int]:
        """Radices of the levels."""
        return [self.shape(level)[0] for level in range(self.n_levels)]

    def _squares(self, places: NDArray, kind: str, conjugate: bool) -> Digits:
        is_number = places[0].size == 1 and isinstance(self.algebra, Diagonal)
        numbers = len(places) * self.cores[0].shape[-1] ** 2
        if kind == "lags" and is_number and self.n_levels > 1 and numbers > moments.MOST_PLACES:
            return LagDigits(self.algebra, places, self.cores, self.moments.kept)
        factors = [moments.digit_squares(self.algebra, c, kind, conjugate) for c in self.cores]
        return Digits(self.algebra, places, factors, moments.steps_of(kind, self.radices))

    def advance(self, level: int) -> None:
        """Sum out a level that has its new core."""
        core = self.cores[level]
        for kind, conjugate, digits in self.parts:
            if isinstance(digits, LagDigits):
                digits.take(level, core)
            digits.advance(level, moments.digit_squares(self.algebra, core, kind, conjugate))
        self.products.advance(level, self.algebra.elements(core).conj())
        self.advance_penalty(level)

    def advance_penalty(self, level: int) -> None:
        """Sum out a level of the penalty."""
        kind, _, digits = self.penalty
        digits.advance(level, moments.digit_squares(self.algebra, self.cores[level], kind, True))

    def advance_to(self, level: int) -> None:
        """Advance to a level, keeping the cores of those below it."""
        for k in range(level):
            self.advance(k)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        super().restart()
        self.begin()

    def _matrix(self, part: tuple[str, bool, Any], level: int) -> NDArray:
        """Matrix of a quadratic form over a level's core, its parts first."""
        kind, _, digits = part
        radix, *shape = self.shape(level)
        forms = self.algebra.form(digits.at(level), shape)
        blocks = moments.blocks_of(kind, forms, radix)
        size = radix * forms.shape[-1]
        return blocks.swapaxes(1, 2).reshape(1, size, size)

    def system(self, level: int) -> LocalSystem:
        """Return the local system of a level."""
        matrices = [self._matrix(part, level) for part in self.parts]
        shape = self.shape(level)
        products = np.broadcast_to(self.products.at(level), shape).reshape(1, -1)
        penalty = self._matrix(self.penalty, level)
        symmetric = matrices[1] if self.is_split else None
        return least_squares(matrices[0], symmetric, products, penalty, self.setting.scale, shape)


class CategoricalProblem(Problem):
    """Core of a categorical column: one small system per category, some at a time."""

    def __init__(self, iterate: Any, block: int, setting: Any):
        super().__init__(iterate, block, setting)
        self.sums = iterate.statistics(block, setting)
        self.outside = iterate.penalty_environment(block)

    def system(self, level: int, part: slice = slice(None)) -> LocalSystem:
        """Return the local system of the core, or of some of its categories."""
        shape = self.shape(0)[1:]
        matrices = self.sums.matrices(part)
        size = int(np.prod(shape))  # 1 in a single column, whose terms all see the same
        matrices = [np.broadcast_to(m, (len(m), size, size)) for m in matrices]
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        penalty = self.algebra.form(places if kind == "uniform" else places[part], shape)
        products = self.sums.rhs[part].conj()
        products = np.broadcast_to(products, (len(products), size))
        symmetric = matrices[1] if self.is_split else None
        block = (len(products), *shape)
        return least_squares(matrices[0], symmetric, products, penalty, self.setting.scale, block)

    def solve(self, level: int) -> tuple[NDArray, float]:
        """Return the best core and the objective there."""
        start = np.ascontiguousarray(self.algebra.elements(self.cores[0]))
        best, value = np.empty_like(start), self.setting.constant
        for first in range(0, len(start), CHUNK):
            part = slice(first, first + CHUNK)
            best[part], least = self.system(0, part).minimize(start[part])
            value += least - self.setting.constant
        return self.algebra.core(best), value


class OutputProblem(Problem):
    """The output core: one regression of all outputs on what the columns contribute."""

    def __init__(self, iterate: Any, setting: Any):
        super().__init__(iterate, len(iterate.columns), setting)
        self.sums = setting.sum(iterate.output_pass(self.is_split))
        self.outside = iterate.penalty_environment(self.block)

    def system(self, level: int) -> LocalSystem:
        """Return the local system of the core: the same matrix for every output."""
        hermitian, products, *symmetric = self.sums
        n_outputs = len(products)
        _, *shape = self.shape(0)
        penalty = self.algebra.form(self.outside[None], shape)
        return least_squares(
            np.repeat(hermitian[None], n_outputs, axis=0),
            np.repeat(symmetric[0][None], n_outputs, axis=0) if self.is_split else None,
            products.conj(), penalty, self.setting.scale, (n_outputs, *shape),
        )  # fmt: skip


#: numbers of the moments of a column beyond which its levels are made from the grid
MOST_MOMENTS = 1 << 24


class GridDigits:
    """Environments of a column at its grid values, whose levels are multiplied out.

    Parameters
    ----------
    algebra : Algebra
    values : (n_grid, …) array
        Environments of the column's elements or squares.
    responses : list of (n_grid, …) arrays
        Elements or squares of every level.
    total : callable
        total(level, environments) sums environments of a level over the grid.
    """

    def __init__(self, algebra: Algebra, values: NDArray, responses: Sequence[NDArray], total: Any):
        self.algebra, self.values, self.total = algebra, values, total
        self.above: list[Any] = [None]
        for response in responses[:0:-1]:
            after = self.above[0]
            product = response if after is None else algebra.multiply(response, after)
            self.above.insert(0, product)

    def at(self, level: int) -> NDArray:
        """Return the environments of a level, those below it having been multiplied in."""
        above = self.above[level]
        inside = self.values if above is None else self.algebra.pull_right(self.values, above)
        return self.total(level, inside)

    def advance(self, level: int, response: NDArray) -> None:
        """Multiply in a level, the lowest that is left."""
        self.values = self.algebra.pull_left(response, self.values)


class GridColumn:
    """A wide column as its local problem sees it.

    Parameters
    ----------
    algebra : Algebra
    column : Column
    sums : Statistics
    shape : tuple of int
        Shape of the column's elements.
    """

    def __init__(self, algebra: Algebra, column: Any, sums: Any, shape: tuple[int, ...]):
        self.algebra, self.column = algebra, column
        size = int(np.prod(shape))
        phase = column.phase if len(column.phase) else np.ones(len(column))
        self.environments = []
        for matrices, conjugate in zip(sums.matrices(slice(None)), (True, False), strict=False):
            if not conjugate:
                matrices = matrices * (phase**2)[:, None, None]
            matrices = np.broadcast_to(matrices, (len(matrices), size, size))
            self.environments.append(algebra.environment(matrices, shape))
        right = (sums.rhs * phase[:, None]).conj()
        self.right = np.broadcast_to(right, (len(right), size)).reshape(-1, *shape)

    def response(self, level: int, core: NDArray) -> NDArray:
        """Return the elements (n_grid, …) of a level."""
        factors = self.column.factors[:, self.column.slices[level]]
        return np.tensordot(factors, self.algebra.elements(core), 1)

    def squares(self, conjugate: bool, cores: Sequence[NDArray]) -> GridDigits:
        """Digits of the quadratic form of Σ ω·ḡgᵀ, or of Σ ω·ggᵀ."""
        kind, column = self.column.kind(conjugate), self.column

        def total(level: int, inside: NDArray) -> NDArray:
            core = self.algebra.elements(cores[level])
            factors = column.factors[:, column.slices[level]]
            functions = moments.products(factors, kind, conjugate)
            forms = self.algebra.form(inside, core.shape[1:])
            sums = (functions @ forms.reshape(len(forms), -1)).reshape(-1, *forms.shape[1:])
            whole = moments.complete(sums, kind, conjugate, [len(core)])
            return self.algebra.environment(whole, core.shape[1:])

        responses = [self.square(k, core, conjugate) for k, core in enumerate(cores)]
        environments = self.environments[0 if conjugate else 1]
        return GridDigits(self.algebra, environments, responses, total)

    def square(self, level: int, core: NDArray, conjugate: bool) -> NDArray:
        """Return the squares (n_grid, …) of a level."""
        response = self.response(level, core)
        return self.algebra.squares(response, response, conjugate)

    def products(self, cores: Sequence[NDArray]) -> GridDigits:
        """Digits of the right-hand side."""

        def total(level: int, inside: NDArray) -> NDArray:
            factors = self.column.factors[:, self.column.slices[level]]
            return np.tensordot(factors.conj().T, inside, 1)

        responses = [self.response(k, core).conj() for k, core in enumerate(cores)]
        return GridDigits(self.algebra, self.right, responses, total)


class WideProblem(ColumnProblem):
    """Cores of a wide column from its statistics."""

    def begin(self) -> None:
        """Stand before the first level, those above it multiplied out."""
        shape = self.iterate.tables.elements[self.block].shape[1:]
        self.grid = GridColumn(self.algebra, self.column, self.moments, shape)
        self.begin_penalty()
        self.parts = [
            (self.column.kind(conjugate), conjugate, self.grid.squares(conjugate, self.cores))
            for conjugate in (True, False)[: 1 + self.is_split]
        ]
        self.products = self.grid.products(self.cores)

    def advance(self, level: int) -> None:
        """Multiply in a level that has its new core."""
        core = self.cores[level]
        for _, conjugate, digits in self.parts:
            digits.advance(level, self.grid.square(level, core, conjugate))
        self.products.advance(level, self.grid.response(level, core).conj())
        self.advance_penalty(level)
