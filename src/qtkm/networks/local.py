"""The local system of a block of weights: a quadratic, and its minimum.

Fixing all weights but one block leaves ‖design·w - y‖²/Σω + α·wᴴΓw, a quadratic in the block.
It may fall apart into independent parts (one per category or output), which are the first axis.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

#: eigenvalues of the scaled matrix below this fraction of the largest are left out
CUT_OFF = 1e-13
#: a matrix that nothing regularizes is factorized if its reciprocal condition number is above this
REGULAR = 1e-8


@dataclass
class LocalSystem:
    """Minimise constant - 2·Re(rhsᴴw) + wᴴ·matrix·w over the block w.

    Attributes
    ----------
    matrix : (n_parts, n, n) array
        Hermitian; real symmetric of twice the size where a complex block is seen
        through its real and imaginary parts.
    rhs : (n_parts, n) array
    constant : float
        Value at w = 0.
    shape : tuple of int
        Shape of the block.
    is_split : bool
        Whether the unknowns are [Re w | Im w] of a complex block.
    is_regularized : bool
        Whether a positive penalty is part of the matrix.
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

    def value(self, vector: NDArray) -> float:
        """Return the objective at a vector of unknowns."""
        image = (self.matrix @ vector[:, :, None])[:, :, 0] - 2 * self.rhs
        return self.constant + float(np.vdot(vector, image).real)

    def value_of(self, block: NDArray) -> float:
        """Return the objective at a block."""
        return self.value(self.pack(block))

    def minimize(self, block: NDArray) -> tuple[NDArray, float]:
        """Return the best block and its value, or the given one if rounding finds none better."""
        start = self.pack(block)
        best, least = start, self.value(start)
        for solve in (self._factorized, self._truncated):
            vector = solve()
            if vector is None or not np.isfinite(vector).all():
                continue
            value = self.value(vector)
            if value <= least:
                best, least = vector, value
                break
        return self.unpack(best), least

    def _factorized(self) -> NDArray | None:
        """Solve by a Cholesky factorization of the matrix scaled to unit diagonal."""
        scale = _inverse_root_diagonal(self.matrix)
        matrix = scale[:, :, None] * self.matrix * scale[:, None, :]
        if len(matrix) == 1:
            return self._one_factorized(matrix[0], scale)
        if not self.is_regularized:
            return None
        try:
            lower = np.linalg.cholesky(matrix)
        except np.linalg.LinAlgError:
            return None
        half = np.linalg.solve(lower, (scale * self.rhs)[:, :, None])
        return scale * np.linalg.solve(lower.conj().swapaxes(1, 2), half)[:, :, 0]

    def _one_factorized(self, matrix: NDArray, scale: NDArray) -> NDArray | None:
        is_complex = np.iscomplexobj(matrix)
        factorize = lapack.zpotrf if is_complex else lapack.dpotrf
        factor, failed = factorize(matrix, lower=True, clean=False)
        if failed:
            return None
        if not self.is_regularized:
            condition = lapack.zpocon if is_complex else lapack.dpocon
            norm = float(np.abs(matrix).sum(axis=0).max())
            if condition(factor, norm, uplo="L")[0] < REGULAR:
                return None
        solve = lapack.zpotrs if is_complex else lapack.dpotrs
        return scale * solve(factor, (scale * self.rhs)[0], lower=True)[0][None]

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
    hermitian: NDArray,
    symmetric: NDArray | None,
    products: NDArray,
    penalty: NDArray,
    scale: tuple[float, float, float],
    shape: tuple[int, ...],
) -> LocalSystem:
    """Return the local system of Σ z̄zᵀ, Σ zzᵀ (or None) and Σ z̄·y over design rows z.

    Parameters
    ----------
    hermitian, symmetric : (n_parts, n, n) arrays
        Σ zzᵀ is there where the loss sees only the real part of a complex response.
    products : (n_parts, n) array
    penalty : (n_parts or 1, n, n) array
        The penalty of w is wᴴ·penalty·w, without its factor α.
    scale : (total weight, α, value at zero weights)
    shape : tuple of int
        Shape of the block.
    """
    total, alpha, constant = scale
    if symmetric is not None:
        matrix = real_system(hermitian, symmetric)
        rhs = np.concatenate([products.real, products.imag], axis=-1)
        penalty = split_norm(penalty)
    else:
        matrix, rhs = hermitian, products
    matrix = matrix / total
    if alpha > 0:
        matrix += alpha * (penalty if np.iscomplexobj(matrix) else penalty.real)
    return LocalSystem(matrix, rhs / total, constant, shape, symmetric is not None, alpha > 0)


def _inverse_root_diagonal(matrix: NDArray) -> NDArray:
    diagonal = np.einsum("pii->pi", matrix).real
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))


def real_system(hermitian: NDArray, symmetric: NDArray) -> NDArray:
    """Return the matrix over [Re w | Im w] of Σ(Re z·w)², from Σ z̄zᵀ and Σ zzᵀ."""
    plus, minus = (hermitian + symmetric) / 2, (hermitian - symmetric) / 2
    top = np.concatenate([plus.real, -plus.imag], axis=-1)
    bottom = np.concatenate([-np.swapaxes(plus.imag, -1, -2), minus.real], axis=-1)
    return np.concatenate([top, bottom], axis=-2)


def split_norm(gram: NDArray) -> NDArray:
    """Return the matrix over [Re w | Im w] of the Hermitian form wᴴ·gram·w."""
    top = np.concatenate([gram.real, -gram.imag], axis=-1)
    bottom = np.concatenate([gram.imag, gram.real], axis=-1)
    return np.concatenate([top, bottom], axis=-2)
