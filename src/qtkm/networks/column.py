"""Local problems: the cores of one column, or the output core, all else fixed.

A problem is made from one pass over the rows and then serves every level of its column, from
the lowest digit up.  A core that is left behind is put in the gauge of its network, and the
next core takes the factor:

    problem.sweep()      update all levels once; the objective after each
    problem.restart()    begin another sweep
    problem.finish()     hand the cores back to the iterate
"""

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
