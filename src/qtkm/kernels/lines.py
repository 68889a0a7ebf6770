"""Compiled loops over *lines*: components of a complex model along points.

A line is [Re | Im] along the points, padded with zeros to whole vectors, so that an entry of a
local system is a few sums along contiguous memory.  Points are the grid values of a column, with
the statistics S[u] and b[u]; or the rows, whose S is 1, their environments being part of the lines.

    lines of   shape
    products   (rank, 2, length)        of the responses of levels
    factors    (entries, 2, length)     factor entries of the levels
    pairs      (n_pairs, 2, length)     conjugate products of two entries of a level
    grams      (packed, 2, length)      S, its upper triangle; no lines for S = 1
    targets    (rank or 1, 2, length)   b

A real model is served as well, its imaginary parts being zero.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from ._simd import LANES, elementwise, summed
from .grams import add_block, block_rows, padded
from .levels import unpack
from .local import unpack_triangle
from .rows import ZERO, fill_design

#: points that are turned from rows into lines at a time
BLOCK = 64
#: points whose lines stay in the first-level cache while they are multiplied
POINTS = 384
#: radices, and ranks of complex models, for which tiles are better than sums along lines
TILED_RADIX, TILED_RANK = 3, 16

multiply = elementwise(lambda out, a: {0: out * a})
_product = elementwise(lambda out, a, b: {0: a * b})
_outer = elementwise(lambda out, a, b: {0: a.conjugate() * b})
_weighed = elementwise(lambda out, a, b, c: {0: a.conjugate() * b * c})
_add_scaled = elementwise(lambda scale, out, a: {0: out + scale * a}, has_constant=True)
_sums = summed(lambda a, b: a.products(b), 4)
_two_sums = summed(lambda a, b, c: a.products(c) + b.products(c), 8)


def padded_length(n_points: int) -> int:
    """Length of lines: an odd number of vectors, so that lines do not compete for cache sets."""
    return LANES * (-(-n_points // LANES) | 1)


@jit
def width(lines):
    """Length of a plane of a line."""
    return index(lines.shape[2])


@jit
def line(lines, i):
    """Where line i begins."""
    return index(i) * index(2 * lines.shape[2])


@jit
def to_lines(rows, length):
    """Rows of planes, one a point, as lines; some rows at a time, to stay in cache."""
    half, n_points = rows.shape[1] // 2, rows.shape[0]
    lines = np.zeros((half, 2, length))
    for first in range(0, n_points, BLOCK):
        for i in range(half):
            for u in range(first, min(first + BLOCK, n_points)):
                lines[i, 0, u] = rows[u, i]
                lines[i, 1, u] = rows[u, half + i]
    return lines


@jit
def to_rows(lines, rows):
    """Undo `to_lines`, into the given rows."""
    half, n_points = lines.shape[0], rows.shape[0]
    for first in range(0, n_points, BLOCK):
        for i in range(half):
            for u in range(first, min(first + BLOCK, n_points)):
                rows[u, i] = lines[i, 0, u]
                rows[u, half + i] = lines[i, 1, u]


@jit
def advance(lines, factors, core):
    """Multiply lines by the response of a level."""
    response = np.empty((1, 2, lines.shape[2]))
    for r in range(core.shape[1]):
        response[:] = 0
        for q in range(core.shape[0]):
            value, starts = core[q, r], (index(0), line(factors, q))
            _add_scaled((response, factors), starts, width(lines), value.real, value.imag)
        multiply((lines, response), (line(lines, r), index(0)), width(lines))


@jit
def level_matrix(grams, other, factors, pairs, places, is_complex):
    """Sums over the points of conj(z)·zᵀ with z = factor_q∘O, weighed by S: a level's matrix."""
    radix, rank = factors.shape[0], other.shape[0]
    if grams.shape[0] == 0 and radix <= TILED_RADIX and (rank >= TILED_RANK or not is_complex):
        return _tiled_matrix(other, factors, is_complex)
    sums = np.zeros((pairs.shape[0], 4, rank * (rank + 1) // 2))
    if other.shape[2] <= POINTS:
        _add_block_sums(grams, other, pairs, sums)
    else:
        for begin in range(0, other.shape[2], POINTS):
            end = min(begin + POINTS, other.shape[2])
            parts = _cut(grams, begin, end), _cut(other, begin, end), _cut(pairs, begin, end)
            _add_block_sums(*parts, sums)
    return unpack(sums, places.reshape(radix, radix), rank, True)


@jit
def _tiled_matrix(other, factors, is_complex):
    """The same by the products of `kernels.grams`, where S = 1."""
    radix, rank, n_points = factors.shape[0], other.shape[0], other.shape[2]
    size = radix * rank
    n_lines, half = padded(size, is_complex), padded(rank, is_complex) // 2
    block = block_rows(n_lines)
    design, z = np.zeros((n_lines, block)), np.zeros((padded(rank, is_complex), block))
    scratch = np.empty((n_lines, n_lines))
    packed = np.zeros((1, size * (size + 1) // (1 if is_complex else 2)))
    for begin in range(0, n_points, block):
        count = min(block, n_points - begin)
        for r in range(rank):
            z[r, :count] = other[r, 0, begin : begin + count]
            if is_complex:
                z[half + r, :count] = other[r, 1, begin : begin + count]
        fill_design(design, z, count, factors, begin, ZERO, radix, rank, is_complex)
        add_block(design, count, size, is_complex, scratch, packed, ZERO)
    matrix = np.empty((1, size, size), dtype=np.complex128)
    if is_complex:
        unpack_triangle(packed, size, 1.0, matrix)
    else:
        real = np.empty((1, size, size))
        unpack_triangle(packed, size, 1.0, real)
        matrix[:] = real
    return matrix[0]


@jit
def _cut(lines, begin, end):
    """Some points of lines."""
    part = np.empty((lines.shape[0], 2, end - begin))
    first = index(begin)
    for i in range(index(lines.shape[0])):
        for plane in range(index(2)):
            for n in range(index(end - begin)):
                part[i, plane, n] = lines[i, plane, first + n]
    return part


@jit
def _add_block_sums(grams, other, pairs, sums):
    """Add sums of pairs × C with C = (ŌOᵀ)∘S, in the layout of `levels.unpack`."""
    rank, count = other.shape[0], width(other)
    weighed = np.empty((1, 2, other.shape[2]))
    start, p = index(0), 0
    for r in range(rank):
        for s in range(r, rank):
            first, second = line(other, r), line(other, s)
            if grams.shape[0]:
                starts = (start, first, second, line(grams, p))
                _weighed((weighed, other, other, grams), starts, count)
            else:
                _outer((weighed, other, other), (start, first, second), count)
            for j in range(0, pairs.shape[0], 2):
                two = (line(pairs, j), line(pairs, j + 1), start)
                parts = _two_sums((pairs, pairs, weighed), two, count)
                for part in range(8):
                    sums[j + part // 4, part % 4, p] += parts[part]
            p += 1


@jit
def right_side(targets, other, factors, total_weight):
    """Conjugate of the sums over the points of factor_q·O∘b, over the total weight."""
    radix, rank, count = factors.shape[0], other.shape[0], width(other)
    right = np.empty((1, radix * rank), dtype=np.complex128)
    weighed = np.empty((1, 2, other.shape[2]))
    for r in range(rank):
        target = line(targets, r if targets.shape[0] > 1 else 0)
        _product((weighed, other, targets), (index(0), line(other, r), target), count)
        for q in range(radix):
            a, b, c, d = _sums((factors, weighed), (line(factors, q), index(0)), count)
            right[0, q * rank + r] = complex(a - d, -b - c) / total_weight
    return right
