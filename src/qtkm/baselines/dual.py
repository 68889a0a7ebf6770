"""Solving (K + ridge·I) c = y for a kernel matrix, which may be singular but for rounding."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve, lapack

#: reciprocal condition down to which a Cholesky factor gives at least seven digits
LEAST_CONDITION = 1e-8
#: rank, as a share of the rows, up to which eigenvectors are sought in the range of the kernel
LARGEST_SHARE = 0.5


def solve(kernel: NDArray, ridge: float, right: NDArray) -> NDArray:
    """Solve (K + ridge·I) c = right, by least squares of least norm where that is singular.

    Parameters
    ----------
    kernel : (n, n) array
        Symmetric or Hermitian, positive semidefinite but for rounding; of the order of 1.
    ridge : float
    right : (n, k) array
        Real or complex.
    """
    shifted = kernel.copy(order="F")
    shifted.flat[:: len(kernel) + 1] += ridge
    norm = np.abs(shifted).sum(axis=0).max()
    try:
        factor, lower = cho_factor(shifted, lower=True, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return Spectrum(kernel).solve(ridge, right)
    is_complex = np.iscomplexobj(kernel)
    condition, _ = (lapack.zpocon if is_complex else lapack.dpocon)(factor, norm, uplo="L")
    if condition < LEAST_CONDITION:
        return Spectrum(kernel).solve(ridge, right)
    if is_complex:
        return cho_solve((factor, lower), right, check_finite=False)
    return as_like(cho_solve((factor, lower), as_real(right), check_finite=False), right)


class Spectrum:
    """Eigenvectors of a kernel matrix: with them every ridge is solved in no time.

    Directions in which the kernel is nothing but rounding are left out: the functions there are
    smaller than their errors, which a small ridge would blow up.

    Parameters
    ----------
    kernel : (n, n) array
        Symmetric or Hermitian, positive semidefinite but for rounding.
    """

    def __init__(self, kernel: NDArray):
        values, vectors = _eigenvectors(kernel)
        least = len(kernel) * np.finfo(np.float64).eps * max(values[-1], 0.0)
        first = int(np.searchsorted(values, least, side="right"))
        self.values = values[first:]  # (rank,)
        self.vectors = vectors[:, first:]  # (n, rank)

    def solve(self, ridge: float, right: NDArray) -> NDArray:
        """Solve (K + ridge·I) c = right (n, k) in the directions that are left."""
        return self.scale(ridge, self.turn(right))

    def turn(self, right: NDArray) -> NDArray:
        """Coordinates of a right side: (rank, k)."""
        return times(self.vectors.conj().T, right)

    def scale(self, ridge: float, turned: NDArray) -> NDArray:
        """Solve for a right side that has been turned."""
        return times(self.vectors, turned / (self.values + ridge)[:, None])


def _eigenvectors(kernel: NDArray) -> tuple[NDArray, NDArray]:
    """Eigenvalues, ascending, and eigenvectors; of a matrix of low rank, those of its range."""
    # lower triangle L and order of the rows, with K = L Lᴴ to rounding
    factorize = lapack.zpstrf if np.iscomplexobj(kernel) else lapack.dpstrf
    triangle, order, rank, _ = factorize(kernel, lower=1)
    if rank == 0 or rank > LARGEST_SHARE * len(kernel):
        return np.linalg.eigh(kernel)
    root = np.empty((len(kernel), rank), dtype=kernel.dtype)
    root[order - 1] = np.tril(triangle)[:, :rank]
    orthogonal, small = np.linalg.qr(root)
    values, vectors = np.linalg.eigh(small @ small.conj().T)
    return values, orthogonal @ vectors


def as_real(array: NDArray) -> NDArray[np.float64]:
    """Real and imaginary parts side by side, so that a real matrix need not become complex."""
    return np.ascontiguousarray(array).view(np.float64)


def as_like(real: NDArray[np.float64], original: NDArray) -> NDArray:
    """Undo `as_real`: numbers of the original's type."""
    return np.ascontiguousarray(real).view(original.dtype)


def times(matrix: NDArray, array: NDArray) -> NDArray:
    """Product of a matrix and an array; a real matrix need not become complex for it."""
    if np.iscomplexobj(matrix):
        return matrix @ array
    return as_like(matrix @ as_real(array), array)
