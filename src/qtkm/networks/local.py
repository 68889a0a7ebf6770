"""The local system of a block of weights: a quadratic, and its minimum.

Fixing all weights but one block leaves ‖design·w - y‖²/Σω + α·wᴴΓw, a quadratic in the block.
It may fall apart into independent parts (one per category or output), which are the first axis.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

from ..protocols import Arrays

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
