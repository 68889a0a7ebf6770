"""Local problems: the cores of one column, or the output core, all else fixed.

Fixing all weights but one block leaves ‖design·w - y‖²/Σω + α·wᴴΓw, a quadratic in the block.
It may fall apart into independent parts (one per category or output), which are the first axis
of a `LocalSystem`.

A problem is made from one pass over the rows and then serves every level of its column, from
the lowest digit up.  A core that is left behind is put in the gauge of its network, and the
next core takes the factor.
"""

import math
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..protocols import Arrays, Given, Setting, Span
from . import moments
from .algebra import Diagonal, partial_products
from .column_tables import Statistics
from .moments import Digits, LagDigits

if TYPE_CHECKING:
    from .chain import ChainIterate

#: systems of categories that are solved at a time, which bounds the memory of their matrices
CHUNK = 1024
#: singular values of the scaled matrix below this fraction of the largest are left out
CUT_OFF = 1e-13
#: a matrix that nothing regularizes is factorized if its reciprocal condition number is above this
REGULAR = 1e-8
#: Cholesky factorization with a solution, and condition number, of real and complex systems
_LAPACK = {"d": (lapack.dposv, lapack.dpocon), "D": (lapack.zposv, lapack.zpocon)}


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
        return np.concatenate([vector.real, vector.imag], axis=1) if self.is_split else vector

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
        # not the value of the level before: cancellation may make a difference
        before = self.value_of(block)
        for solve in (self._factorized, self._truncated):
            vector = solve()
            if vector is not None:
                value = self._value(vector)
                if value <= before:
                    return self.unpack(vector), value
        return block.reshape(self.shape), before

    def _factorized(self) -> NDArray | None:
        """Solve by Cholesky factorizations; without a penalty, where all conditions allow it."""
        solutions = []
        for matrix, rhs in zip(self.matrix, self.rhs, strict=True):
            solve, condition = _LAPACK[matrix.dtype.char]
            if not self.is_regularized:
                scale = _inverse_root_diagonal(matrix)
                matrix, rhs = scale[:, None] * matrix * scale, scale * rhs
            # the transpose is the conjugate, and in the order LAPACK reads
            factor, solution, failed = solve(matrix.T, rhs.conj(), lower=True)
            if failed:
                return None
            if not self.is_regularized:
                norm = float(np.abs(matrix).sum(axis=0).max())
                if condition(factor, norm, uplo="L")[0] < REGULAR:
                    return None
                solution = scale * solution
            solutions.append(solution)
        return np.array(solutions).conj()

    def _truncated(self) -> NDArray | None:
        """Return the least-norm solution of the scaled system, small singular values left out."""
        scale = _inverse_root_diagonal(self.matrix)
        matrix = scale[:, :, None] * self.matrix * scale[:, None, :]
        pairs = zip(matrix, scale * self.rhs, strict=True)
        try:
            return scale * np.array([np.linalg.lstsq(*pair, rcond=CUT_OFF)[0] for pair in pairs])
        except np.linalg.LinAlgError:
            return None


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
    share = (0.5 if is_split else 1.0) / total
    matrix = np.empty((n_parts, n, n), dtype=hermitian.dtype)
    np.multiply(hermitian, share, out=matrix.reshape(n_parts, *hermitian.shape[1:]))
    if alpha > 0:
        blocks = alpha * (penalty if np.iscomplexobj(matrix) else penalty.real)
        size, item = penalty.shape[-1], matrix.itemsize
        strides = (n * n * item, size * (n + 1) * item, n * item, item)
        diagonal = np.ndarray((n_parts, n // size, size, size), matrix.dtype, matrix, 0, strides)
        diagonal += blocks
    if is_split:
        matrix = _real_system(matrix, share * matrices[1].reshape(n_parts, n, n))
        products = np.concatenate([products.real, products.imag], axis=-1)
    return LocalSystem(matrix, products / total, constant, shape, is_split, alpha > 0)


def _inverse_root_diagonal(matrix: NDArray) -> NDArray:
    diagonal = np.einsum("...ii->...i", matrix).real
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))


def _real_system(hermitian: NDArray, symmetric: NDArray) -> NDArray:
    """Return the matrix over [Re w | Im w] of 2·Σ(Re z·w)², from Σ z̄zᵀ and Σ zzᵀ."""
    n_parts, n, _ = hermitian.shape
    matrix = np.empty((n_parts, 2, n, 2, n))
    np.add(hermitian.real, symmetric.real, out=matrix[:, 0, :, 0])
    np.subtract(-symmetric.imag, hermitian.imag, out=matrix[:, 0, :, 1])
    np.subtract(hermitian.imag, symmetric.imag, out=matrix[:, 1, :, 0])
    np.subtract(hermitian.real, symmetric.real, out=matrix[:, 1, :, 1])
    return matrix.reshape(n_parts, 2 * n, 2 * n)


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

    #: of Σ ω·ḡgᵀ, maybe of Σ ω·ggᵀ, of the right-hand side and of the penalty
    digits: list[Digits]

    def __init__(self, iterate: "ChainIterate", block: int, setting: Setting, known: Given):
        super().__init__(iterate, block, setting)
        self.column, self.moments = iterate.columns[block], known
        self._begin()

    def _begin(self) -> None:
        """Begin at the first level, those above it summed out."""
        products = Digits(self.algebra, self.moments.products, self.cores, "linear")
        squares = [self._squares(n) for n in range(len(self.moments.matrices))]
        self.digits = [*squares, products, self._penalty()]

    def _penalty(self) -> Digits:
        kind, places = self.iterate.penalty_places(self.block, self.outside)
        return Digits(self.algebra, places, self.cores, kind)

    def _squares(self, n: int) -> Digits:
        """Return the digits of Σ ω·ḡgᵀ, or of Σ ω·ggᵀ."""
        places, kind = self.moments.matrices[n], self.column.kind(n == 0)
        has_gaps = self.column.has_gaps
        is_number = places[0].size == 1 and isinstance(self.algebra, Diagonal)
        numbers = len(places) * self.cores[0].shape[-1] ** 2
        can_turn = kind == "lags" and not has_gaps and is_number and self.n_levels > 1
        if can_turn and numbers > moments.MOST_PLACES:
            return LagDigits(self.algebra, places, self.cores, self.moments.kept)
        return Digits(self.algebra, places, self.cores, kind, n == 0, has_gaps)

    def advance(self, level: int) -> None:
        for digits in self.digits:
            digits.advance(level, self.cores[level])

    def restart(self) -> None:
        super().restart()
        self._begin()

    def system(self, level: int) -> LocalSystem:
        radix, *shape = self.shape(level)
        *squares, products, penalty = [digits.at(level) for digits in self.digits]
        matrices = [
            moments.matrix_of(digits.kind, self.algebra.form(each, shape), radix)
            for each, digits in zip(squares, self.digits, strict=False)
        ]
        if products.size < radix * math.prod(shape):  # terms of a single column all see the same
            products = np.broadcast_to(products, (radix, *shape))
        right, block = products.reshape(1, -1), (radix, *shape)
        penalty = self.algebra.form(penalty, shape)[None]
        return least_squares(matrices, right, penalty, self.setting.scale, block)


class WideProblem(ColumnProblem):
    """Cores of a column with too many functions for moments, from its statistics on the grid."""

    moments: Statistics

    def _begin(self) -> None:
        self.digits = [self._penalty()]

    def system(self, level: int) -> LocalSystem:
        algebra, sums = self.algebra, self.moments
        factors = [self.column.factors[:, part] for part in self.column.slices]
        elements = [
            np.tensordot(factor, algebra.elements(core), 1)
            for factor, core in zip(factors, self.cores, strict=True)
        ]
        before, after = partial_products(algebra, elements, algebra.last(elements[-1]))

        def inside(environments: NDArray, conjugate: bool | None) -> NDArray:
            """Multiply environments of the column at its grid values by its other levels."""
            left, right = before[level], after[level]
            if conjugate is not None:
                left, right = (algebra.squares(each, each, conjugate) for each in (left, right))
            return algebra.pull_left(left, algebra.pull_right(environments, right))

        factor, matrices = factors[level], []
        radix, *shape = self.shape(level)
        whole = self.iterate.tables.elements[self.block].shape[1:]
        size = math.prod(whole)
        for each, conjugate in zip(sums.matrices(slice(None)), (True, False), strict=False):
            each = algebra.environment(np.broadcast_to(each, (len(each), size, size)), whole)
            form = algebra.form(inside(each, conjugate), shape)
            pairs = (factor.conj() if conjugate else factor)[:, :, None] * factor[:, None]
            matrices.append(np.tensordot(pairs, form, (0, 0)).swapaxes(1, 2)[None])
        rhs = np.broadcast_to(sums.rhs, (len(factor), size)).reshape(-1, *whole)
        products = np.tensordot(factor, inside(rhs, None), (0, 0)).conj().reshape(1, -1)
        penalty = algebra.form(self.digits[-1].at(level), shape)[None]
        return least_squares(matrices, products, penalty, self.setting.scale, (radix, *shape))


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
            self.matrices = lambda part: [gram[None] for gram in grams]

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
        system, size = self.system(0, has_penalty=False), start[0].size
        _, places = self.iterate.penalty_places(self.block, self.outside)
        forms = self.algebra.form(places, start.shape[1:])
        forms = np.broadcast_to(forms, (len(start), size, size))
        none, scale = np.zeros(forms.shape, start.dtype), (1.0, self.setting.alpha, 0.0)
        sums = [none] * (1 + self.is_split)
        price = least_squares(sums, none[:, 0], forms[:, None], scale, start.shape)

        def value_of(elements: NDArray) -> float:
            weights = elements[:1] + elements[1:]
            return self.setting.constant + system.value_of(weights) + price.value_of(elements)

        if self.setting.alpha > 0:
            found = self._joint(start, system, price.matrix)
        else:  # any constant serves
            best, _ = system.minimize(start[:1] + start[1:])
            found = np.concatenate([start[:1], best - start[:1]])
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
