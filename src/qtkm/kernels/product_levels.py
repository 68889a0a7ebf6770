"""Compiled loops over the grid of one column of a train or ring: local systems of its levels.

The matrix of level k at grid value u stands between those of the levels before and after it,
T[u] = L[u]·A_k[u]·R[u].  A column's statistics S[u] over the entries of T become those over the
entries of A_k by a change of basis with L on one index and R on the other.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit


@jit
def _add_scaled(out, i, source, j, x, y, size):
    """Row i of planes (2, rows, size) += (x + iy) times row j."""
    for e in range(size):
        u, v = source[0, j, e], source[1, j, e]
        out[0, i, e] += x * u - y * v
        out[1, i, e] += x * v + y * u


@jit
def _change_rows(source, left, right, u, sign, scratch, out):
    """Rows (i, j) of a matrix become (a, b): Σ L[i, a]·R[b, j]·row (i, j).

    `sign` is -1 to conjugate L and R.
    """
    n_i, n_a = left.shape[1], left.shape[2]
    n_b, n_j = right.shape[1], right.shape[2]
    size = index(source.shape[2])
    scratch[:] = 0
    out[:] = 0
    for a in range(n_a):
        for i in range(n_i):
            x, y = left[u, i, a].real, sign * left[u, i, a].imag
            if x != 0.0 or y != 0.0:
                for j in range(n_j):
                    _add_scaled(scratch, index(a * n_j + j), source, index(i * n_j + j), x, y, size)
    for a in range(n_a):
        for b in range(n_b):
            for j in range(n_j):
                x, y = right[u, b, j].real, sign * right[u, b, j].imag
                if x != 0.0 or y != 0.0:
                    _add_scaled(out, index(a * n_b + b), scratch, index(a * n_j + j), x, y, size)


@jit
def _unpack(packed, u, shift, size, conjugate, out):
    """Matrix of a packed upper triangle: Hermitian, or symmetric."""
    half = size * (size + 1) // 2
    has_imaginary = packed.shape[1] > half
    p = shift
    for i in range(size):
        for j in range(i, size):
            x = packed[u, p]
            y = packed[u, half + p] if has_imaginary else 0.0
            out[0, i, j] = x
            out[0, j, i] = x
            out[1, i, j] = y
            out[1, j, i] = -y if conjugate else y
            p += 1


@jit
def _transpose(source, out):
    for plane in range(2):
        for i in range(source.shape[1]):
            for j in range(source.shape[2]):
                out[plane, j, i] = source[plane, i, j]


@jit
def gram(start, stop, packed, shift, left, right, factors, first, pairs, conjugate, out):
    """Sums over grid values of (products of two factor entries) × C[u].

    C[u] = KᴴS[u]K with K[(i, j), (a, b)] = L[i, a]·R[b, j]; where `conjugate` is False, KᵀSK and
    plain products.  `out` has shape (n_pairs, 2, a·b, a·b) and holds the transposed sums.
    """
    size = left.shape[1] * right.shape[2]
    inner = left.shape[2] * right.shape[1]
    full = np.empty((2, size, size))
    scratch = np.empty((2, left.shape[2] * right.shape[2], size))
    half = np.empty((2, inner, size))
    turned = np.empty((2, size, inner))
    second = np.empty((2, left.shape[2] * right.shape[2], inner))
    result = np.empty((2, inner, inner))
    sign = -1.0 if conjugate else 1.0
    for u in range(start, stop):
        _unpack(packed, u, shift, size, conjugate, full)
        _change_rows(full, left, right, u, sign, scratch, half)
        _transpose(half, turned)
        _change_rows(turned, left, right, u, 1.0, second, result)
        for j in range(pairs.shape[0]):
            p, q = factors[u, first + pairs[j, 0]], factors[u, first + pairs[j, 1]]
            x = p.real * q.real - sign * p.imag * q.imag
            y = p.real * q.imag + sign * p.imag * q.real
            for i in range(inner):
                _add_scaled(out[j], index(i), result, index(i), x, y, index(inner))


@jit
def multiply(a, b):
    """Products of the matrices of two batches, (n, i, j) and (n, j, k)."""
    n, rows, inner = a.shape
    columns = b.shape[2]
    out = np.zeros((n, rows, columns), dtype=a.dtype)
    for u in range(index(n)):
        for i in range(index(rows)):
            for j in range(index(inner)):
                x = a[u, i, j]
                for k in range(index(columns)):
                    out[u, i, k] += x * b[u, j, k]
    return out


@jit
def pull_back(left, right, sums):
    """L[u]ᵀ·sums[u]·R[u]ᵀ for every grid value: (n, a, b)."""
    n, n_i, n_a = left.shape
    n_b, n_j = right.shape[1], right.shape[2]
    half = np.empty((n_a, n_j), dtype=sums.dtype)
    out = np.zeros((n, n_a, n_b), dtype=sums.dtype)
    for u in range(index(n)):
        half[:] = 0
        for i in range(index(n_i)):
            for a in range(index(n_a)):
                x = left[u, i, a]
                for j in range(index(n_j)):
                    half[a, j] += x * sums[u, i, j]
        for a in range(index(n_a)):
            for b in range(index(n_b)):
                total = sums.dtype.type(0)
                for j in range(index(n_j)):
                    total += half[a, j] * right[u, b, j]
                out[u, a, b] = total
    return out
