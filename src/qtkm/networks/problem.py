"""Local problems: the cores of one column, or the output core, all else fixed.

Fixing all weights but one block leaves ‖design·w - y‖²/Σω + α·wᴴΓw, a quadratic in the block.
It may fall apart into independent parts (one per category or output), which are the first axis
of a `LocalSystem`.

A problem is made from one pass over the rows and then serves every level of its column, from
the lowest digit up.  A core that is left behind is put in the gauge of its network, and the
next core takes the factor:

    problem.sweep()      update all levels once; the objective after each
    problem.restart()    begin another sweep
    problem.finish()     hand the cores back to the iterate
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..protocols import Arrays, Given, Pass, Setting, Span
from . import moments
from .algebra import Algebra, Diagonal
from .column_tables import Statistics
from .moments import Digits, LagDigits

if TYPE_CHECKING:
    from .chain import ChainIterate

#: systems of categories that are solved at a time, which bounds the memory of their matrices
CHUNK = 1024
#: eigenvalues of the scaled matrix below this fraction of the largest are left out
CUT_OFF = 1e-13
#: a matrix that nothing regularizes is factorized if its reciprocal condition number is above this
REGULAR = 1e-8
#: Cholesky factorization, solution and condition number of real and complex systems
_LAPACK = {
    "d": (lapack.dpotrf, lapack.dpotrs, lapack.dpocon),
    "D": (lapack.zpotrf, lapack.zpotrs, lapack.zpocon),
}


@dataclass
class LocalSystem:
    """Minimise constant - 2·Re(rhsᴴw) + wᴴ·matrix·w over a block w of some shape.

    `matrix` (n_parts, n, n) is Hermitian, and `is_regularized` if a positive penalty is part of it.
    If the block `is_split`, the unknowns are [Re w | Im w] and the matrix is real.
    """

    matrix: NDArray
    rhs: NDArray
    constant: float
    shape: tuple[int, ...]
    is_split: bool
    is_regularized: bool

    def pack(self, block: NDArray) -> NDArray:
        """Return the vector of unknowns of a block."""
        vector = block.reshape(len(self.rhs), -1)
        return np.hstack([vector.real, vector.imag]) if self.is_split else vector

    def unpack(self, vector: NDArray) -> NDArray:
        """Return the block of a vector of unknowns."""
        if self.is_split:
            half = vector.shape[1] // 2
            vector = vector[:, :half] + 1j * vector[:, half:]
        return np.ascontiguousarray(vector.reshape(self.shape))

    def value_of(self, block: NDArray) -> float:
        """Return the objective at a block."""
        return self._value(self.pack(block))

    def _value(self, vector: NDArray) -> float:
        image = (self.matrix @ vector[:, :, None])[:, :, 0] - 2 * self.rhs
        return self.constant + float(np.vdot(vector, image).real)

    def minimize(self, block: NDArray) -> tuple[NDArray, float]:
        """Return the best block and its value, or the given one if rounding finds none better."""
        if not self.rhs.any() and not self.matrix.any():
            # another core is zero: this one waits until that one is not
            return block.reshape(self.shape), self.constant
        before = self.value_of(block)
        for solve in (self._factorized, self._truncated):
            vector = solve()
            if vector is not None and np.isfinite(vector).all():
                value = self._value(vector)
                if value <= before:
                    return self.unpack(vector), value
        return block.reshape(self.shape), before

    def _factorized(self) -> NDArray | None:
        """Solve by Cholesky factorizations; without a penalty, where all conditions allow it."""
        solutions, scale = [], np.ones(1)
        for matrix, rhs in zip(self.matrix, self.rhs, strict=True):
            if not self.is_regularized:
                scale = _inverse_root_diagonal(matrix)
                matrix = scale[:, None] * matrix * scale
            factorize, solve, condition = _LAPACK[matrix.dtype.char]
            # the transpose is the conjugate, and in the order LAPACK reads
            factor, failed = factorize(matrix.T, lower=True, clean=False)
            if failed:
                return None
            if not self.is_regularized:
                norm = float(np.abs(matrix).sum(axis=0).max())
                if condition(factor, norm, uplo="L")[0] < REGULAR:
                    return None
            solutions.append(scale * solve(factor, (scale * rhs).conj(), lower=True)[0].conj())
        return np.array(solutions)

    def _truncated(self) -> NDArray | None:
        """Return the least-norm solution of the scaled system without its smallest eigenvalues."""
        scale = _inverse_root_diagonal(self.matrix)
        matrix = scale[:, :, None] * self.matrix * scale[:, None, :]
        try:
            values, vectors = np.linalg.eigh(matrix)
        except np.linalg.LinAlgError:
            return None
        keep = values > CUT_OFF * values[:, -1:]
        inverse = np.where(keep, 1 / np.where(keep, values, 1), 0)
        adjoint = vectors.conj().transpose(0, 2, 1)
        components = (adjoint @ (scale * self.rhs)[:, :, None])[:, :, 0]
        return scale * (vectors @ (inverse * components)[:, :, None])[:, :, 0]


def least_squares(
    matrices: Arrays,
    products: NDArray,
    penalty: NDArray,
    scale: tuple[float, float, float],
    shape: tuple[int, ...],
) -> LocalSystem:
    """Return the local system of Σ z̄zᵀ, maybe Σ zzᵀ, and Σ z̄·y over design rows z.

    Σ zzᵀ is there where the loss sees only the real part of a complex response.  Axes of length n
    of either (n_parts, n, n) may be given as several.  `penalty` holds blocks (n_parts or 1,
    n_blocks or 1, size, size) on the diagonal of the penalty's matrix, `scale` the total weight,
    the penalty's factor α and the value at zero weights.
    """
    total, alpha, constant = scale
    n_parts, n = products.shape
    hermitian, is_split = matrices[0], len(matrices) > 1
    if not is_split:
        matrix = np.empty((n_parts, n, n), dtype=hermitian.dtype)
        np.multiply(hermitian, 1 / total, out=matrix.reshape(n_parts, *hermitian.shape[1:]))
        rhs = products / total
    else:
        matrix = _real_system(*(each.reshape(n_parts, n, n) for each in matrices)) / total
        rhs = np.concatenate([products.real, products.imag], axis=-1) / total
    if alpha > 0:
        penalty = alpha * penalty
        is_real = not np.iscomplexobj(matrix)
        _add_blocks(matrix, penalty.real if is_real else penalty, n, 0, 0)
        if is_split:  # over [Re w | Im w]
            _add_blocks(matrix, penalty.real, n, n, n)
            _add_blocks(matrix, penalty.imag, n, n, 0)
            _add_blocks(matrix, -penalty.imag, n, 0, n)
    return LocalSystem(matrix, rhs, constant, shape, is_split, alpha > 0)


def _add_blocks(matrix: NDArray, blocks: NDArray, n: int, row: int, column: int) -> None:
    """Add blocks to n entries of a diagonal of matrices, which begins at a row and a column."""
    n_parts, width, _ = matrix.shape
    size, item = blocks.shape[-1], matrix.itemsize
    shape = (n_parts, n // size, size, size)
    strides = (width * width * item, size * (width + 1) * item, width * item, item)
    view = np.ndarray(shape, matrix.dtype, matrix, (row * width + column) * item, strides)
    view += blocks


def _inverse_root_diagonal(matrix: NDArray) -> NDArray:
    diagonal = np.einsum("...ii->...i", matrix).real
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))


def _real_system(hermitian: NDArray, symmetric: NDArray) -> NDArray:
    """Return the matrix over [Re w | Im w] of Σ(Re z·w)², from Σ z̄zᵀ and Σ zzᵀ."""
    plus, minus = (hermitian + symmetric) / 2, (hermitian - symmetric) / 2
    top = np.concatenate([plus.real, -plus.imag], axis=-1)
    bottom = np.concatenate([-np.swapaxes(plus.imag, -1, -2), minus.real], axis=-1)
    return np.concatenate([top, bottom], axis=-2)


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

    parts: "list[Digits | GridDigits]"
    products: "Digits | GridDigits"

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting, known: Given):
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
    """Cores of a column with too many functions for moments, from its statistics on the grid."""

    moments: Statistics

    def _begin(self) -> None:
        algebra, sums = self.algebra, self.moments
        shape = self.iterate.tables.elements[self.block].shape[1:]
        size = math.prod(shape)
        self.kinds = [self.column.kind(conjugate) for conjugate in (True, False)]
        self.parts = []
        for n, matrices in enumerate(sums.matrices(slice(None))):
            whole = np.broadcast_to(matrices, (len(matrices), size, size))
            self.parts.append(self._on_grid(n, algebra.environment(whole, shape)))
        right = np.broadcast_to(sums.rhs.conj(), (len(self.column), size)).reshape(-1, *shape)
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

    def _on_grid(self, n: int, values: NDArray) -> GridDigits:
        """Return the digits of Σ ω·ḡgᵀ, or of Σ ω·ggᵀ."""
        algebra, kind, conjugate = self.algebra, self.kinds[n], n == 0

        def respond(level: int, core: NDArray) -> NDArray:
            response = self._response(level, core)
            return algebra.squares(response, response, conjugate)

        def total(level: int, inside: NDArray) -> NDArray:
            radix, *shape = self.shape(level)
            functions = moments.products(self._factors(level), kind, conjugate)
            forms = algebra.form(inside, shape)
            sums = (functions @ forms.reshape(len(forms), -1)).reshape(-1, *forms.shape[1:])
            return algebra.environment(moments.complete(sums, kind, conjugate, [radix]), shape)

        return GridDigits(algebra, values, self.cores, respond, total)


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
        for first in range(0, len(start), CHUNK):
            part = slice(first, min(first + CHUNK, len(start)))
            best[part], least = self.system(0, part).minimize(start[part])
            value += least - self.setting.constant
        return self.algebra.core(best), value


class PooledProblem(SeparateProblem):
    """Core of a categorical column with a constant u beside the categories' deviations e_c.

    Given u, deviations fall apart as categories do.  What is left of them in u is

        Σ_c p_c·Γ·A_c⁻¹·H_c + p_u·Γ,      A_c = H_c + p_c·Γ

    with H_c the matrix of a category's rows and p·Γ the penalty.
    """

    def solve(self, level: int) -> tuple[NDArray, float]:
        start = np.ascontiguousarray(self.algebra.elements(self.cores[0]))
        system = self.system(0, has_penalty=False)
        form = self.algebra.form(self.outside[None], start.shape[1:])
        none = np.zeros(form.shape, dtype=start.dtype)
        matrices, scale = [none] * (1 + self.is_split), (1.0, self.setting.alpha, 0.0)
        price = least_squares(matrices, none[:, 0], form[None], scale, start[:1].shape).matrix
        known = self.iterate.precisions[self.block]
        prices = (np.ones(len(start)) if known is None else known)[:, None, None] * price
        if self.setting.alpha > 0:
            found = self._joint(start, system, prices)
        else:  # any constant serves
            best, _ = system.minimize(start[:1] + start[1:])
            found = np.concatenate([start[:1], best - start[:1]])
        none = np.zeros(prices.shape[:2])
        penalty = LocalSystem(prices, none, 0.0, start.shape, self.is_split, True)

        def value_of(elements: NDArray) -> float:
            weights = elements[:1] + elements[1:]
            return self.setting.constant + system.value_of(weights) + penalty.value_of(elements)

        before, value = value_of(start), value_of(found)
        best, least = (found, value) if value <= before else (start, before)
        return self.algebra.core(best), least

    def _joint(self, start: NDArray, system: LocalSystem, prices: NDArray) -> NDArray:
        """Best constant and deviations."""
        both = np.concatenate([system.matrix, system.rhs[:, :, None]], axis=2)
        try:
            solved = np.linalg.solve(system.matrix + prices[1:], both)
        except np.linalg.LinAlgError:
            return start
        left = (prices[1:] @ solved).sum(axis=0)
        matrix, right = (prices[0] + left[:, :-1])[None], left[None, :, -1]
        matrix = (matrix + matrix.conj().swapaxes(1, 2)) / 2
        rest = LocalSystem(matrix, right, 0.0, start[:1].shape, self.is_split, True)
        best, _ = rest.minimize(start[:1])
        u = rest.pack(best)[0]
        return np.concatenate([best, system.unpack(solved[:, :, -1] - solved[:, :, :-1] @ u)])
