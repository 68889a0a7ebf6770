"""The local system of a block of weights: a quadratic, and its minimum.

Fixing all weights but one block leaves ‖design·w - y‖²/Σω + α·wᴴΓw, a quadratic in the
block.  It may fall apart into independent parts (one a category, one an output), which are
kept as the first axis.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lstsq

from ..kernels import local as kernels

#: eigenvalues of the scaled matrix below this fraction of the largest are left out
CUT_OFF = 1e-13


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
        Whether a positive multiple of the weights' norm is part of the matrix.
    rows : (design, target, total_weight) or None
        Design matrix and target of the least-squares problem behind the system, where
        rows are few and nothing regularizes it.
    """

    matrix: NDArray
    rhs: NDArray
    constant: float
    shape: tuple[int, ...]
    is_split: bool
    is_regularized: bool
    rows: tuple[NDArray, NDArray, float] | None = None

    def pack(self, block: NDArray) -> NDArray:
        """Vector of unknowns of a block."""
        vector = block.reshape(len(self.rhs), -1)
        return np.hstack([vector.real, vector.imag]) if self.is_split else vector

    def unpack(self, vector: NDArray) -> NDArray:
        """Block of a vector of unknowns."""
        if self.is_split:
            half = vector.shape[1] // 2
            vector = vector[:, :half] + 1j * vector[:, half:]
        return np.ascontiguousarray(vector.reshape(self.shape))

    def value(self, vector: NDArray) -> float:
        """Objective at a vector of unknowns."""
        if self.rows is not None:  # without the cancellation of huge weights
            design, target, weight = self.rows
            residual = design @ vector[0] - target
            explained = np.vdot(target, target) - np.vdot(residual, residual).real
            return self.constant - float(explained) / weight
        return self.constant + kernels.quadratic(self.matrix, self.rhs, vector)

    def value_of(self, block: NDArray) -> float:
        """Objective at a block."""
        return self.value(self.pack(block))

    def minimize(self, block: NDArray) -> tuple[NDArray, float]:
        """Best block and its value; the given block where rounding makes nothing better."""
        start = self.pack(block)
        best, least = start, self.value(start)
        for solve in self._solvers():
            vector = solve()
            if vector is None or not np.isfinite(vector).all():
                continue
            value = self.value(vector)
            if value <= least:
                best, least = vector, value
                break
        return self.unpack(best), least

    def _solvers(self):
        if self.is_regularized:
            yield self._cholesky
        elif self.rows is not None:
            yield self._least_squares
        yield self._truncated

    def _cholesky(self) -> NDArray | None:
        try:
            return kernels.cholesky_solve(self.matrix, self.rhs)
        except np.linalg.LinAlgError:
            return None

    def _truncated(self) -> NDArray | None:
        """Least-norm solution of the scaled system without its smallest eigenvalues."""
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

    def _least_squares(self) -> NDArray | None:
        """Rank-revealing QR of the rows: no squared condition number."""
        assert self.rows is not None
        design, target, _ = self.rows
        size = np.linalg.norm(design, axis=0)
        scale = 1 / np.where(size > 0, size, 1)
        solution = lstsq(design * scale, target, cond=1e-10, lapack_driver="gelsy")[0]
        return (scale * solution)[None, :]


def least_squares(
    hermitian: NDArray,
    symmetric: NDArray | None,
    products: NDArray,
    gram: NDArray,
    setting: Any,
    shape: tuple[int, ...],
    rows: tuple[NDArray, NDArray, float] | None = None,
) -> LocalSystem:
    """Local system from Σ z̄zᵀ, Σ zzᵀ (or None) and Σ z·y over design rows z.

    Parameters
    ----------
    hermitian, symmetric : (n_parts, n, n) arrays
        May be written over.  Σ zzᵀ is there where the loss sees only the real part of a complex
        response.
    products : (n_parts, n) array
    gram : (m, m) array
        ‖w‖² is the form of this matrix, summed over the n/m pieces of w.
    setting : Setting
    shape : tuple of int
        Shape of the block.
    rows : (design, target, total_weight) or None
        See `LocalSystem`.
    """
    if symmetric is not None:
        matrix = real_system(hermitian, symmetric)
        rhs = np.hstack([products.real, -products.imag])
        gram = split_norm(np.kron(np.eye(hermitian.shape[-1] // len(gram)), gram))
    else:
        matrix, rhs = hermitian, products.conj()
    matrix /= setting.total_weight
    rhs = rhs / setting.total_weight
    if setting.alpha > 0:
        kernels.add_norm(matrix, gram, setting.alpha)
    return LocalSystem(
        matrix, rhs, setting.constant, shape, symmetric is not None, setting.alpha > 0, rows
    )


def _inverse_root_diagonal(matrix: NDArray) -> NDArray:
    diagonal = np.einsum("pii->pi", matrix).real
    return 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1))


def real_system(hermitian: NDArray, symmetric: NDArray) -> NDArray:
    """Matrix over [Re w | Im w] of Σ(Re z·w)², from Σ z̄zᵀ and Σ zzᵀ (leading axes kept)."""
    plus, minus = (hermitian + symmetric) / 2, (hermitian - symmetric) / 2
    top = np.concatenate([plus.real, -plus.imag], axis=-1)
    bottom = np.concatenate([-np.swapaxes(plus.imag, -1, -2), minus.real], axis=-1)
    return np.concatenate([top, bottom], axis=-2)


def split_norm(gram: NDArray) -> NDArray:
    """Matrix over [Re w | Im w] of the Hermitian form wᴴ·gram·w."""
    top = np.concatenate([gram.real, -gram.imag], axis=-1)
    bottom = np.concatenate([gram.imag, gram.real], axis=-1)
    return np.concatenate([top, bottom], axis=-2)
