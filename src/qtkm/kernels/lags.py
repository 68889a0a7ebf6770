"""Compiled loops over the lines of a column whose Gram matrices depend on lags alone.

A line belongs to a pair (r, s) of terms and holds, at equally spaced points of the circle, what
the digits below a level make of the lags.  The two halves (or Q-ths) of a line fold onto the
points that the digits above can tell apart; `lines` is (n_pairs, 2, n), real and imaginary part.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from .factors import _unit_circle


@jit
def exponentials(turns):
    """exp(2πi·turns), for an array of two axes."""
    result = np.empty(turns.shape, dtype=np.complex128)
    real, imaginary = np.empty(turns.shape[1]), np.empty(turns.shape[1])
    for i in range(turns.shape[0]):
        _unit_circle(turns[i], real, imaginary)
        for j in range(turns.shape[1]):
            result[i, j] = complex(real[j], imaginary[j])
    return result


@jit
def _fold(lines, pair, size, radix, lag, roots, turns, even, odd):
    """Write Σ_i line[j + i·size] times cosine and sine of 2π·lag·(j + i·size)/(radix·size)."""
    re, im, pair = index(0), index(1), index(pair)
    for j in range(index(size)):
        even[re, j], even[im, j] = lines[pair, re, j], lines[pair, im, j]
        odd[re, j], odd[im, j] = 0.0, 0.0
    for i in range(1, radix):
        cosine, sine = roots[0, (i * lag) % radix], roots[1, (i * lag) % radix]
        shift = index(i * size)
        for j in range(index(size)):
            x, y = lines[pair, re, shift + j], lines[pair, im, shift + j]
            even[re, j] += cosine * x
            even[im, j] += cosine * y
            odd[re, j] += sine * x
            odd[im, j] += sine * y
    if lag == 0:
        return
    lag = index(lag)
    for j in range(index(size)):
        cosine, sine = turns[re, lag, j], turns[im, lag, j]
        for part in range(index(2)):
            x, y = even[part, j], odd[part, j]
            even[part, j] = x * cosine - y * sine
            odd[part, j] = x * sine + y * cosine


@jit
def level_sums(begin, end, lines, size, radix, pairs, later, roots, turns, out):
    """Write A_d[r, s] of lags d = 1-Q … Q-1 between digits, for some pairs of terms.

    A_d = Σ_j conj(v_r) v_s Σ_i line[j + i·size]·exp(2πi·d·(j + i·size)/(Q·size)), where `later`
    (rank, 2, size) is v, what the digits above make of the points.
    """
    re, im = index(0), index(1)
    product, even, odd = np.empty((2, size)), np.empty((2, size)), np.empty((2, size))
    for pair in range(begin, end):
        r, s = index(pairs[0, pair]), index(pairs[1, pair])
        for j in range(index(size)):
            a, b, c, d = later[r, re, j], later[r, im, j], later[s, re, j], later[s, im, j]
            product[re, j], product[im, j] = a * c + b * d, a * d - b * c
        for lag in range(radix):
            _fold(lines, pair, size, radix, lag, roots, turns, even, odd)
            x, y, u, v = 0.0, 0.0, 0.0, 0.0
            for j in range(index(size)):
                a, b = product[re, j], product[im, j]
                x += a * even[re, j] - b * even[im, j]
                y += a * even[im, j] + b * even[re, j]
                u += a * odd[re, j] - b * odd[im, j]
                v += a * odd[im, j] + b * odd[re, j]
            out[pair, radix - 1 + lag] = complex(x - v, y + u)
            if lag > 0:
                out[pair, radix - 1 - lag] = complex(x + v, y - u)


@jit
def advance(begin, end, lines, size, radix, weights, roots, turns):
    """Take a level's core into the lines of some pairs; their first `size` points are left.

    `weights` (n_pairs, 2Q-1) has the core's correlations Σ_q conj(W[q, r]) W[q + d, s].
    """
    re, im = index(0), index(1)
    total, even, odd = np.empty((2, size)), np.empty((2, size)), np.empty((2, size))
    for pair in range(begin, end):
        total[:] = 0
        for lag in range(radix):
            _fold(lines, pair, size, radix, lag, roots, turns, even, odd)
            ahead, behind = weights[pair, radix - 1 + lag], weights[pair, radix - 1 - lag]
            if lag == 0:
                behind = 0j
            a, b = ahead.real + behind.real, ahead.imag + behind.imag
            c, d = behind.imag - ahead.imag, ahead.real - behind.real
            for j in range(index(size)):
                x, y, u, v = even[re, j], even[im, j], odd[re, j], odd[im, j]
                total[re, j] += a * x - b * y + c * u - d * v
                total[im, j] += a * y + b * x + c * v + d * u
        lines[pair, 0, :size] = total[0]
        lines[pair, 1, :size] = total[1]
