"""Local problems of a CPD with one Fourier column: from lags alone, once the rows were read.

With one column the environment is 1, and the basis functions are powers of one number of
modulus 1, so all that the local systems need of the rows are the sums

    c(l) = Σ_n ω_n exp(2πi·l·t_n)        B(l) = Σ_n ω_n y_n exp(2πi·l·t_n)

over lags l, with t_n the turns of a row.  They are computed once a fit.  A core's matrix is then

    A[(q, r), (q', s)] = Σ_{m, m'} conj(w_r(m)) w_s(m') c(m' - m + (q' - q)·B_k),

w_r(m) being the product of the other cores of term r at the digits of m.  Digits below the
level and digits above are told apart by the parts of a lag:

    lag = e + B_k·l     e: from the digits below, a few explicit correlations
                        l: from the digits above, by a Fourier transform of n_k = 2M/B_k points

The lowest levels have few e and many points: there the sums over points are matrix products.
Higher levels keep for every pair (r, s) a line of n_k points, which each level folds together.
"""

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft
from scipy.linalg import lapack

from ..kernels import lags as kernels
from .cpd_column import Problem
from .lags import Lags
from .local import LocalSystem

#: lines of all pairs of terms are kept from the first level on where they take so many bytes,
#: or have so many points a lag of the digits below; measured in docs/decisions/0009-lags.md
LINE_BYTES, LINE_POINTS = 30_000_000, 16
#: points that one task of a matrix product takes, and numbers of lines that one task fills
TASK_POINTS, TASK_NUMBERS = 2048, 1 << 18
#: without a penalty, matrices of a larger reciprocal condition number need no eigenvalues
SAFE = 1e-10


def first_line(radices: tuple[int, ...], rank: int) -> int:
    """First level, not the lowest, whose lines are few enough to be kept."""
    pairs = rank * (rank + 1) // 2
    n_lags = 1
    for level in range(1, len(radices)):
        n_lags *= radices[level - 1]
        n_points = 2 * prod(radices[level:])
        if 16 * n_points * pairs <= LINE_BYTES or n_points <= LINE_POINTS * n_lags:
            return level
    return len(radices)


def numbers_held(radices: tuple[int, ...], rank: int) -> int:
    """Numbers, real and imaginary parts counted, that a problem holds at its largest."""
    first = first_line(radices, rank)
    lines = 0 if first == len(radices) else rank * (rank + 1) * 2 * prod(radices[first:])
    return lines + 12 * prod(radices[:first]) * rank**2 + 10 * prod(radices) * rank


class LagsProblem(Problem):
    """Cores of the only column from its lags: no row is touched.

    Parameters
    ----------
    iterate : Iterate
    lags : Lags
        Of the column, for this setting.
    setting : Setting
    """

    def __init__(self, iterate: Any, lags: Lags, setting: Any):
        super().__init__(iterate, 0, setting)
        self.lags, self.run = lags, iterate.run
        self.radices = iterate.columns[0].radices
        self.cores = list(iterate.cores[0])
        self.line_level = first_line(self.radices, self.rank)
        self.pairs = np.array(np.triu_indices(self.rank))
        self.lines: NDArray = np.empty(0)
        self._start()

    def _start(self) -> None:
        """Begin with no digits below, and with the products of all digits above."""
        self.later = [np.ones((1, self.rank), dtype=np.complex128)]
        for core in self.cores[:0:-1]:
            product = self.later[0][:, None, :] * core
            self.later.insert(0, product.reshape(-1, self.rank))
        self.targets = self.lags.targets[:, None]  # contracted with the digits below
        self.below = np.ones((1, self.rank, self.rank), dtype=np.complex128)

    def restart(self) -> None:
        """Begin another sweep over the levels."""
        super().restart()
        self._start()

    def finish(self) -> None:
        """Hand the cores back."""
        self.lags.take_back(self.lines)
        self.iterate.place(self.block, self.cores, None, self.scale)

    # -- systems ------------------------------------------------------------------------------

    def system(self, level: int) -> LocalSystem:
        """Local system of a level."""
        radix, later = self.radices[level], self.later[level]
        blocks = self._from_products(level) if level < self.line_level else self._from_lines(level)
        digits = np.arange(radix)
        matrix = blocks[digits[None, :] - digits[:, None] + radix - 1]  # (Q, Q, R, R)
        matrix = matrix.transpose(0, 2, 1, 3).reshape(1, radix * self.rank, -1)
        targets = self.targets.reshape(-1, radix, self.targets.shape[1])
        products = np.einsum("bqr,br->qr", targets, later).reshape(1, -1)
        return LagsSystem(**vars(self.equations(matrix, None, products, level)))

    def _from_products(self, level: int) -> NDArray:
        """A_d of lags d = 1-Q … Q-1 between digits, by matrix products over the points."""
        radix, width = self.radices[level], (len(self.below) + 1) // 2
        spectra = self.lags.spectra(level + 1)
        n_lags, n_points = spectra.shape
        later = self._transform(level)
        adjoint = np.ascontiguousarray(later.conj().T)

        def partial(task: tuple[slice, slice]) -> NDArray:
            which, points = task
            return adjoint[:, points] @ (spectra[which, points, None] * later[points])

        sums = np.zeros((n_lags, self.rank, self.rank), dtype=np.complex128)
        tasks = list(_tasks(n_lags, n_points))
        for (which, _), part in zip(tasks, self.run(partial, tasks), strict=True):
            sums[which] += part
        sums = np.concatenate([_adjoints(sums[:0:-1]), sums])  # all lags, also the negative ones
        blocks = np.empty((radix, self.rank, self.rank), dtype=np.complex128)
        for d in range(radix):
            first = n_lags - width + d * width
            blocks[d] = (self.below * sums[first : first + len(self.below)]).sum(axis=0)
        blocks[0] = (blocks[0] + blocks[0].conj().T) / 2
        return np.concatenate([_adjoints(blocks[:0:-1]), blocks])

    def _from_lines(self, level: int) -> NDArray:
        """The same from the lines of the pairs."""
        radix, (rows, columns) = self.radices[level], self.pairs
        later = self._transform(level).T
        planes = np.ascontiguousarray(np.stack([later.real, later.imag], axis=1))
        size, roots, turns = self._circle(level)
        sums = np.empty((len(rows), 2 * radix - 1), dtype=np.complex128)

        def task(bounds: tuple[int, int]) -> None:
            kernels.level_sums(
                *bounds, self.lines, size, radix, self.pairs, planes, roots, turns, sums
            )

        self.run(task, self._pair_tasks(size * radix))
        blocks = np.empty((2 * radix - 1, self.rank, self.rank), dtype=np.complex128)
        blocks[:, columns, rows] = sums[:, ::-1].conj().T
        blocks[:, rows, columns] = sums.T
        diagonal = np.arange(self.rank)
        blocks[radix - 1, diagonal, diagonal] = blocks[radix - 1, diagonal, diagonal].real
        return blocks

    def _transform(self, level: int) -> NDArray:
        """Products of the digits above a level at the points of the circle, (n_points, R)."""
        later = self.later[level]
        n_points = self.lags.n_points(level + 1)
        out = np.empty((n_points, self.rank), dtype=np.complex128)

        def task(terms: slice) -> None:
            out[:, terms] = fft.ifft(later[:, terms], n=n_points, axis=0, norm="forward")

        self.run(task, [slice(first, first + 8) for first in range(0, self.rank, 8)])
        return out

    # -- cores --------------------------------------------------------------------------------

    def accept(self, level: int, core: NDArray) -> None:
        """Put in a new core of a level."""
        self.normalize(level, core)
        core, radix = self.cores[level], self.radices[level]
        if level + 1 == self.n_levels:
            return
        targets = self.targets.reshape(-1, radix, self.targets.shape[1])
        self.targets = np.einsum("bqr,qr->br", targets, core)
        if level < self.line_level:
            self._widen(_correlations(core))
            if level + 1 == self.line_level:
                self._fill_lines()
        else:
            self._advance_lines(level, _correlations(core))

    def _widen(self, correlations: NDArray) -> None:
        """Take a core's correlations into those of the digits below."""
        width, radix = (len(self.below) + 1) // 2, (len(correlations) + 1) // 2
        wider = np.zeros((2 * width * radix - 1, self.rank, self.rank), dtype=np.complex128)
        for d, correlation in enumerate(correlations):
            wider[d * width : d * width + len(self.below)] += self.below * correlation
        self.below = wider

    def _fill_lines(self) -> None:
        """Lines of the first level that has them."""
        spectra = self.lags.spectra(self.line_level)
        spectra = np.concatenate([spectra[:0:-1].conj(), spectra])
        below = np.ascontiguousarray(self.below[:, *self.pairs].T)
        shape = (len(below), 2, spectra.shape[1])
        if self.lines.shape != shape:
            self.lines = self.lags.lend(shape)

        def task(bounds: tuple[int, int]) -> None:
            line = below[slice(*bounds)] @ spectra
            self.lines[slice(*bounds), 0], self.lines[slice(*bounds), 1] = line.real, line.imag

        self.run(task, self._pair_tasks(spectra.shape[1]))

    def _advance_lines(self, level: int, correlations: NDArray) -> None:
        size, roots, turns = self._circle(level)
        radix = self.radices[level]
        weights = np.ascontiguousarray(correlations[:, *self.pairs].T)

        def task(bounds: tuple[int, int]) -> None:
            kernels.advance(*bounds, self.lines, size, radix, weights, roots, turns)

        self.run(task, self._pair_tasks(size * radix))

    def _circle(self, level: int) -> tuple[int, NDArray, NDArray]:
        """Points of a folded line; roots of unity of the fold and of the points."""
        radix, size = self.radices[level], self.lags.n_points(level + 1)
        digits = np.arange(radix)
        turns = digits[:, None] * np.arange(size) / (radix * size)
        return size, _cosine_sine(digits / radix), _cosine_sine(turns)

    def _pair_tasks(self, n_points: int) -> list[tuple[int, int]]:
        n_pairs, step = self.pairs.shape[1], max(1, TASK_NUMBERS // n_points)
        return [(first, min(first + step, n_pairs)) for first in range(0, n_pairs, step)]


class LagsSystem(LocalSystem):
    """Local system that looks for eigenvalues only where the matrix is badly conditioned."""

    def _solvers(self):
        if not self.is_regularized:
            yield self._safe_cholesky
        yield from super()._solvers()

    def _safe_cholesky(self) -> NDArray | None:
        """Solution by Cholesky factors, or None where some eigenvalue may have to be left out."""
        diagonal = np.einsum("pii->pi", self.matrix)[0].real
        if not (diagonal > 0).all():
            return None
        scale = 1 / np.sqrt(diagonal)
        matrix = scale[:, None] * self.matrix[0] * scale
        factor, failed = lapack.zpotrf(matrix, lower=True)
        norm = np.abs(matrix).sum(axis=0).max()
        if failed or not lapack.zpocon(factor, norm, uplo="L")[0] > SAFE:
            return None
        return (scale * lapack.zpotrs(factor, scale * self.rhs[0], lower=True)[0])[None]


def _tasks(n_lags: int, n_points: int) -> Iterator[tuple[slice, slice]]:
    """Lags and points of the tasks of a matrix product."""
    step = max(1, TASK_POINTS // n_points)
    for lag in range(0, n_lags, step):
        for point in range(0, n_points, TASK_POINTS):
            yield slice(lag, lag + step), slice(point, point + TASK_POINTS)


def _correlations(core: NDArray) -> NDArray:
    """Σ_q conj(W[q, r]) W[q + d, s] for d = 1-Q … Q-1, (2Q-1, R, R)."""
    radix = len(core)
    ahead = np.stack([core[: radix - d].conj().T @ core[d:] for d in range(radix)])
    return np.concatenate([_adjoints(ahead[:0:-1]), ahead])


def _adjoints(matrices: NDArray) -> NDArray:
    return matrices.conj().transpose(0, 2, 1)


def _cosine_sine(turns: NDArray) -> NDArray:
    return np.stack([np.cos(2 * np.pi * turns), np.sin(2 * np.pi * turns)])
