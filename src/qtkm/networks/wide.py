"""Columns of more functions than moments can hold: levels from the statistics at grid values.

With M in the millions there is no room for 2M-1 moments, but every level still sees its column
through a few products of its own entries, summed over the grid.  `GridDigits` is `moments.Digits`
with grid values in the place of places: what levels contribute is known at every one of them.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import moments
from .algebra import Algebra
from .column import ColumnProblem

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
