"""Compiled linear algebra of local systems, small enough that calls would cost more."""

import numpy as np

from ._jit import jit


@jit
def add_norm(matrix, gram, alpha):
    """Add alpha·gram to every diagonal block of every part, in place."""
    rank = gram.shape[0]
    for part in range(matrix.shape[0]):
        for first in range(0, matrix.shape[1], rank):
            for r in range(rank):
                for s in range(rank):
                    matrix[part, first + r, first + s] += alpha * gram[r, s]


@jit
def quadratic(matrix, rhs, vector):
    """Σ over parts of vᴴ·matrix·v - 2·Re(rhsᴴv)."""
    total = 0.0
    for part in range(matrix.shape[0]):
        for i in range(matrix.shape[1]):
            image = -2 * rhs[part, i]
            for j in range(matrix.shape[2]):
                image += matrix[part, i, j] * vector[part, j]
            v = vector[part, i]
            total += v.real * image.real + v.imag * image.imag
    return total


@jit
def cholesky_solve(matrix, rhs):
    """Solve every part by a Cholesky factorization of the matrix scaled to unit diagonal.

    Raises numpy.linalg.LinAlgError where a part is not positive definite.
    """
    size = matrix.shape[1]
    result = np.empty_like(rhs)
    scale = np.empty(size)
    scaled = np.empty_like(matrix[0])
    for part in range(matrix.shape[0]):
        for i in range(size):
            diagonal = matrix[part, i, i].real
            scale[i] = 1 / np.sqrt(diagonal) if diagonal > 0 else 1.0
        for i in range(size):
            for j in range(size):
                scaled[i, j] = scale[i] * scale[j] * matrix[part, i, j]
        lower = np.linalg.cholesky(scaled)
        x = scale * rhs[part]
        for i in range(size):
            total = x[i]
            for j in range(i):
                total -= lower[i, j] * x[j]
            x[i] = total / lower[i, i]
        for i in range(size - 1, -1, -1):
            x[i] /= lower[i, i]
            for j in range(i):
                x[j] -= np.conj(lower[i, j]) * x[i]
        result[part] = scale * x
    return result


@jit
def unpack_triangle(packed, size, scale, out):
    """Write the Hermitian matrices of packed upper triangles, divided by `scale`."""
    half = size * (size + 1) // 2
    planes = out.view(np.float64).reshape(out.shape[0], size, -1)
    step = planes.shape[2] // size
    for part in range(out.shape[0]):
        p = 0
        for i in range(size):
            for j in range(i, size):
                planes[part, i, step * j] = packed[part, p] / scale
                planes[part, j, step * i] = planes[part, i, step * j]
                if step == 2:
                    imaginary = packed[part, half + p] / scale
                    planes[part, i, 2 * j + 1] = imaginary
                    planes[part, j, 2 * i + 1] = -imaginary
                p += 1
