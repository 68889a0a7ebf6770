"""The best weights of all, where no rank is set: one term per row.

Under a prior the minimiser over all weights, not only those of a network of low rank, is a sum of
sections of the product kernel at the rows x_j (the representer theorem):

    f(x) = Σ_j a_j Π_d k_d(x_d, x_jd)        k_d(x, x') = Σ_m s_d[m] φ_m(x) conj(φ_m(x'))

So it is a CPD again, with one term per row and one level per column, and everything that reads a
CPD reads this one.  Main effects are part of the kernel, and are summed up to one function per
column.  Some rows are enough as centres j (the Nyström method).  The problem is convex
and costs n·J² operations for n rows and J centres, so it is for small and medium tables.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_solve, solve_triangular
from scipy.linalg.lapack import dpstrf

from ..data import Shard
from ..losses import Loss
from ..networks import Cores
from ..protocols import Precisions, Run, Span
from .column import Column

Array = NDArray[np.float64]

#: rows or columns of a task; fixed, so that results do not depend on the number of threads
BLOCK = 256
#: part of the prior variance that a row must have beyond the centres to be one, and part of a
#: column's kernel that a direction must have
NEGLIGIBLE_ROW, NEGLIGIBLE = 1e-11, 1e-13
#: steps of a loss that is not quadratic, and the least relative change of the coefficients
MOST_STEPS, LEAST_CHANGE = 200, 1e-3


def blocks(count: int) -> list[Span]:
    """Slices of so many rows or columns."""
    return [slice(first, min(first + BLOCK, count)) for first in range(0, count, BLOCK)]


@dataclass
class FullPrior:
    """Kernel of the full-rank model, with its main effects."""

    #: of every column's functions in the product over the columns, (M,); None for 1
    precisions: Precisions
    #: variance of the product
    product: float
    #: variances of the main functions of every column, and what these are centred at, (n_main,)
    main: list[Array]
    means: list[Array]
    #: variance of the intercept
    constant: float


class Sections:
    """Sections of the kernel at rows with the codes `centres` (J, n_columns)."""

    def __init__(self, columns: Sequence[Column], prior: FullPrior, centres: NDArray, run: Run):
        self.columns, self.prior, self.run = columns, prior, run
        pairs = zip(columns, prior.precisions, strict=True)
        self.factors = [_factor(column, precision) for column, precision in pairs]
        self.centres, self.effects = centres, self._effects(centres)
        # the rows that tell most of the others come first, and those they tell all of are left out
        kernel = self.kernel(centres)
        least = NEGLIGIBLE_ROW * float(np.diagonal(kernel).max())
        root, order, rank, _ = dpstrf(kernel, tol=least, lower=1)
        root, order = np.tril(root)[:, :rank], order - 1
        #: what `design` gives for the rows that were asked for as centres, left out or not
        self.own_design = np.empty_like(root)
        self.own_design[order] = root
        order = order[:rank]
        self.centres, self.effects = centres[order], self.effects[order]
        self.root = root[:rank]
        #: inverses of blocks on the diagonal, because SciPy's solver keeps other threads waiting
        self.inverses = [
            solve_triangular(self.root[own, own], np.eye(own.stop - own.start), lower=True)
            for own in blocks(rank)
        ]

    def kernel(self, codes: NDArray) -> Array:
        """Kernel between rows and centres, (n, J)."""
        return self._by_rows(codes, self._kernel)

    def _by_rows(self, codes: NDArray, function: Callable[[NDArray], Array]) -> Array:
        """Apply a function to blocks of rows."""
        out = np.empty((len(codes), len(self.centres)))

        def fill(own: Span) -> None:
            out[own] = function(codes[own])

        self.run(fill, blocks(len(codes)))
        return out

    def _kernel(self, codes: NDArray) -> Array:
        product = np.full((len(codes), len(self.centres)), self.prior.product)
        for d, factor in enumerate(self.factors):
            product *= factor[codes[:, d]] @ factor[self.centres[:, d]].T
        product += self._effects(codes) @ self.effects.T
        product += self.prior.constant
        for d, column in enumerate(self.columns):
            if column.is_categorical and column.n_main:
                same = codes[:, d, None] == self.centres[:, d]
                product += self.prior.main[d][0] * same
        return product

    def _effects(self, codes: NDArray) -> Array:
        """Return main functions of numbers, centred and in units of the prior: (n, n_functions)."""
        prior, parts = self.prior, [np.zeros((len(codes), 1))]
        for d, column in enumerate(self.columns):
            if not column.is_categorical:
                own = np.sqrt(prior.main[d]) * (column.main_features - prior.means[d])
                parts.append(own[codes[:, d]])
        return np.concatenate(parts, axis=1)

    def design(self, codes: NDArray) -> Array:
        """Orthonormal functions of the kernel's space at some rows, (n, J)."""
        return self._by_rows(codes, self._design)

    def _design(self, codes: NDArray) -> Array:
        found = self._kernel(codes)
        for own, inverse in zip(blocks(len(self.root)), self.inverses, strict=True):
            found[:, own] -= found[:, : own.start] @ self.root[own, : own.start].T
            found[:, own] = found[:, own] @ inverse.T
        return found

    def cores(self, coefficients: Array) -> Cores:
        """Cores of the CPD, one level per column, main effects last; coefficients of `design`.

        Without a product there are main effects alone.
        """
        sizes = solve_triangular(self.root, coefficients, lower=True, trans="T")
        is_complex = any(column.feature_map.is_complex for column in self.columns)
        kind, prior = np.complex128 if is_complex else np.float64, self.prior
        cores: Cores = []
        main, intercept = [], prior.constant * sizes.sum(axis=0)
        for d, (column, precision) in enumerate(zip(self.columns, prior.precisions, strict=True)):
            centres = self.centres[:, d]
            functions = column.feature_map.features(column.values)[centres]
            weights = functions.conj().T.astype(kind)
            cores.append([weights if precision is None else weights / precision[:, None]])
            own = column.main_features[centres] - prior.means[d]
            main.append(prior.main[d][:, None] * (own.T @ sizes))
            intercept -= prior.means[d] @ main[-1]
        if prior.product == 0:
            return [[*main, intercept]]
        sizes = prior.product * sizes
        if sizes.shape[1] == 1:
            cores[0][0] = cores[0][0] * sizes[:, 0]
        else:
            cores.append(sizes.T.astype(kind))
        return [*cores, [*main, intercept]]


def _factor(column: Column, precision: NDArray | None) -> Array:
    """Real functions of the grid values whose products add up to the column's kernel."""
    functions = column.feature_map.features(column.values)
    if precision is not None:
        functions = functions / np.sqrt(precision)
    if np.iscomplexobj(functions):
        functions = np.concatenate([functions.real, functions.imag], axis=1)
    values, vectors = np.linalg.eigh(functions.T @ functions)
    return functions @ vectors[:, values > NEGLIGIBLE * values[-1]]


@dataclass
class Part:
    """Some rows in the space of the sections."""

    design: Array  # (n, J)
    target: Array  # (n, n_outputs)
    weight: NDArray
    gram: Array  # weighted products of the columns of `design`, (J, J)

    @classmethod
    def of(cls, sections: Sections, shard: Shard, places: NDArray | None = None) -> "Part":
        """Part of the rows of a shard; `places` among the centres may be known, -1 for others."""
        weight = np.ones(len(shard)) if shard.weight is None else shard.weight
        places = np.full(len(shard), -1) if places is None else places
        design, others = sections.own_design[places], places < 0
        design[others] = sections.design(shard.codes[others])
        scaled = design * np.sqrt(weight)[:, None]
        gram = np.empty((design.shape[1], design.shape[1]))

        def fill(own: Span) -> None:
            gram[own.start :, own] = scaled[:, own.start :].T @ scaled[:, own]
            gram[own, own.stop :] = gram[own.stop :, own].T

        sections.run(fill, blocks(len(gram)))
        return cls(design, shard.target.astype(np.float64), weight, gram)


def factorize(parts: Sequence[Part], size: float, loss: Loss, run: Run) -> NDArray | None:
    """Return the lower factor of the matrix of `solve`; None where rounding leaves nothing.

    The penalty `size` is in units of one row (the variance of the noise), and the loss is quadratic
    or has a largest curvature.
    """
    steepest = 2.0 if loss.is_quadratic else loss.steepest
    assert steepest is not None
    matrix = steepest * np.asarray(sum(part.gram for part in parts))
    matrix[np.diag_indices(len(matrix))] += 2 * size
    try:
        return cholesky(matrix, run)
    except LinAlgError:
        return None


def cholesky(matrix: Array, run: Run) -> Array:
    """Return the lower factor of a matrix, by blocks: LAPACK's own is on one thread here."""
    root, every = np.zeros_like(matrix), blocks(len(matrix))
    for n, own in enumerate(every, start=1):
        before = root[own, : own.start]
        root[own, own] = np.linalg.cholesky(matrix[own, own] - before @ before.T)
        inverse = solve_triangular(root[own, own], np.eye(len(before)), lower=True)

        def fill(
            rows: Span, own: Span = own, before: Array = before, inverse: Array = inverse
        ) -> None:
            rest = matrix[rows, own] - root[rows, : own.start] @ before.T
            root[rows, own] = rest @ inverse.T

        run(fill, every[n:])
    return root


def solve(
    factor: NDArray, parts: Sequence[Part], size: float, loss: Loss, offsets: Sequence[Array] = ()
) -> Array:
    """Coefficients (J, n_outputs) that minimise the loss of rows, with a factor of `factorize`.

    `offsets` (n, n_outputs) of every part are added to the responses.  Losses that are not
    quadratic take steps of their quadratic bound with Nesterov's momentum, which begins anew where
    it leads uphill (O'Donoghue and Candès, "Adaptive restart for accelerated gradient schemes",
    2015).
    """
    found = place = np.zeros((parts[0].design.shape[1], parts[0].target.shape[1]))
    momentum = 1.0
    for _ in range(1 if loss.is_quadratic else MOST_STEPS):
        slope = 2 * size * place
        for number, part in enumerate(parts):
            response = part.design @ place
            if offsets:
                response += offsets[number]
            each = loss.gradient(response, part.target).real
            slope += part.design.T @ (part.weight[:, None] * each)
        new = place - cho_solve((factor.T, False), slope, check_finite=False)
        step = new - found
        if np.abs(step).max() <= LEAST_CHANGE * np.abs(new).max():
            return new
        if np.vdot(slope, step) > 0:  # uphill: begin anew
            momentum = 1.0
        last, momentum = momentum, 0.5 + np.sqrt(0.25 + momentum**2)
        found, place = new, new + (last - 1) / momentum * step
    return found
