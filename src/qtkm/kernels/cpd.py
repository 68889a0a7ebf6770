"""Compiled loops of the canonical polyadic network.

Everything is kept in *planes* of real numbers: a row of a table is [Re | Im] of length
2R, or of length R where the whole model is real.  Hermitian R×R matrices are packed as
their upper triangle, row by row: the real parts, then the imaginary parts, R(R+1)/2 each.
"""

import numpy as np
from numpy import uint64 as index  # an index that cannot be negative: lets loops vectorise

from ._jit import jit
from .blas import rank_k

#: groups with fewer rows than this are summed by a hand loop instead of BLAS
SMALL_GROUP = 6


@jit
def _gather(places, codes, row, i, columns, offsets):
    """Row i of `places` = rows of the stacked tables that a data row reads."""
    row, i = index(row), index(i)
    for j in range(index(columns.size)):
        column = index(columns[j])
        places[i, j] = index(offsets[column]) + index(codes[row, column])


@jit
def _environment(out, i, scale, places, table, rank, is_complex):
    """Row i of `out` = scale times the product of the table rows at `places[i]`.

    Two tables at a time, which halves the traffic to and from `out`.
    """
    i, half, width = index(i), index(rank), index(out.shape[1])
    count = index(places.shape[1])
    for r in range(width):
        out[i, r] = scale if r < half else 0.0
    if count > index(0):
        k = places[i, index(0)]
        for r in range(width):
            out[i, r] = scale * table[k, r]
    j = index(1)
    while j < count:
        k = places[i, j]
        if not is_complex:
            for r in range(half):
                out[i, r] *= table[k, r]
            j += index(1)
        elif j + index(1) < count:
            m = places[i, j + index(1)]
            for r in range(half):
                x, y = out[i, r], out[i, half + r]
                u, v = table[k, r], table[k, half + r]
                s, t = table[m, r], table[m, half + r]
                a, b = x * u - y * v, x * v + y * u
                out[i, r] = a * s - b * t
                out[i, half + r] = a * t + b * s
            j += index(2)
        else:
            for r in range(half):
                x, y = out[i, r], out[i, half + r]
                u, v = table[k, r], table[k, half + r]
                out[i, r] = x * u - y * v
                out[i, half + r] = x * v + y * u
            j += index(1)


@jit
def _add_targets(rhs, rows, count, target, mixing, rank, is_complex):
    """Add the first `count` rows times their targets to the right-hand side.

    Without `mixing` each output has a right-hand side of its own; with it (the output
    core's planes, one row an output) they are mixed into one.
    """
    if mixing.shape[0]:
        for i in range(count):
            _add_mixed(rhs, rows, i, target, mixing, rank, is_complex)
        return
    for k in range(index(target.shape[1])):
        last = index(count - count % 4)
        for i in range(index(0), last, index(4)):  # four rows for each visit of rhs
            j, m, n = i + index(1), i + index(2), i + index(3)
            a, b, c, d = target[i, k], target[j, k], target[m, k], target[n, k]
            for r in range(index(rhs.shape[1])):
                rhs[k, r] += a * rows[i, r] + b * rows[j, r] + c * rows[m, r] + d * rows[n, r]
        for i in range(last, index(count)):
            for r in range(index(rhs.shape[1])):
                rhs[k, r] += target[i, k] * rows[i, r]


@jit
def _add_mixed(rhs, rows, i, target, mixing, rank, is_complex):
    i, half, first = index(i), index(rank), index(0)
    for r in range(half):
        u = 0.0
        v = 0.0
        for k in range(index(target.shape[1])):
            u += target[i, k] * mixing[k, r]
            if is_complex:
                v += target[i, k] * mixing[k, half + r]
        if is_complex:
            rhs[first, r] += rows[i, r] * u - rows[i, half + r] * v
            rhs[first, half + r] += rows[i, r] * v + rows[i, half + r] * u
        else:
            rhs[first, r] += rows[i, r] * u


@jit
def _pack_gram(out, slot, gram, rank, is_complex):
    """Pack [Re | Im]ᵀ[Re | Im] as the upper triangles of ḡgᵀ and, if `out` has room, ggᵀ."""
    slot, size = index(slot), index(rank)
    half = size * (size + index(1)) // index(2)
    both = out.shape[1] == 4 * half
    p = index(0)
    for r in range(size):
        for s in range(r, size):
            if is_complex:
                rr, ii = gram[r, s], gram[size + r, size + s]
                ri, ir = gram[r, size + s], gram[s, size + r]
                out[slot, p] = rr + ii
                out[slot, half + p] = ri - ir
                if both:
                    out[slot, half + half + p] = rr - ii
                    out[slot, half + half + half + p] = ri + ir
            else:
                out[slot, p] = gram[r, s]
            p += index(1)


@jit
def _add_outer(out, slot, g, i, rank, is_complex):
    """Add ḡgᵀ (and ggᵀ, if `out` has room) of row i of g to a packed Gram."""
    slot, i, size = index(slot), index(i), index(rank)
    half = size * (size + index(1)) // index(2)
    both = out.shape[1] == 4 * half
    two, three = half + half, half + half + half
    p = index(0)
    for r in range(size):
        x = g[i, r]
        if is_complex:
            y = g[i, size + r]
            for s in range(size - r):
                u, v = g[i, r + s], g[i, size + r + s]
                out[slot, p + s] += x * u + y * v
                out[slot, half + p + s] += x * v - y * u
            if both:
                for s in range(size - r):
                    u, v = g[i, r + s], g[i, size + r + s]
                    out[slot, two + p + s] += x * u - y * v
                    out[slot, three + p + s] += x * v + y * u
        else:
            for s in range(size - r):
                out[slot, p + s] += x * g[i, r + s]
        p += size - r


@jit
def statistics(
    segments, codes, order, columns, table, offsets, weight, target, mixing, rank, gram, rhs
):
    """Gram matrices and right-hand sides of groups of rows.

    Parameters
    ----------
    segments : (n, 3) int array
        Start and stop in `order`, and the slot of `gram` and `rhs` that is written.
    codes : (n_rows, n_columns) unsigned array
    order : (n_rows,) int array
        Rows sorted by their code in the column at hand.
    columns : int array
        The columns whose tables make the environment.
    table, offsets : (sum of grid sizes, planes·rank) array, int array
        Tables of all columns, one below the other, and where each begins.
    weight : (n_rows,) array or empty
        Square roots of the row weights, which scale the environments; empty means 1.
    target : (n_rows, n_outputs) array
        What multiplies the scaled environment in the right-hand side: weight times y.
    mixing : (n_outputs, planes·rank) array or empty
        Planes of the output core.
    gram : (n_slots, packed) array, written
        Σ ḡgᵀ packed; with twice the room also Σ ggᵀ.
    rhs : (n_slots, n, planes·rank) array, written
        Σ g·target (not conjugated).
    """
    width = table.shape[1]
    is_complex = width == 2 * rank
    block = max(32, min(256, 16384 // width))
    rows = np.empty((block, width), dtype=table.dtype)
    places = np.empty((block, columns.size), dtype=np.uint64)
    scales = np.ones(block)
    wanted = np.empty((block, target.shape[1]))
    scratch = np.empty((width, width), dtype=np.float64)
    narrow = np.empty((width, width), dtype=table.dtype)
    totals = np.empty(rhs.shape[1:], dtype=np.float64)
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        small = stop - start < SMALL_GROUP
        totals[:] = 0
        if small:
            gram[slot] = 0
        for begin in range(start, stop, block):
            count = min(block, stop - begin)
            # gathered first: loads that do not wait for each other
            for i in range(count):
                row = order[index(begin + i)]
                _gather(places, codes, row, i, columns, offsets)
                for k in range(index(target.shape[1])):
                    wanted[index(i), k] = target[index(row), k]
                if weight.size:
                    scales[index(i)] = weight[index(row)]
            for i in range(count):
                _environment(rows, i, scales[index(i)], places, table, rank, is_complex)
            _add_targets(totals, rows, count, wanted, mixing, rank, is_complex)
            if small:
                for i in range(count):
                    _add_outer(gram, slot, rows, i, rank, is_complex)
            else:
                rank_k(rows, count, scratch, narrow, begin == start)
        if not small:
            _pack_gram(gram, slot, scratch, rank, is_complex)
        rhs[slot] = totals


@jit
def environments(start, stop, codes, columns, table, offsets, weight, rank, out):
    """Scaled environments of rows start … stop-1 outside of a column, as planes."""
    places = np.empty((stop - start, columns.size), dtype=np.uint64)
    scales = np.ones(stop - start)
    for row in range(start, stop):
        _gather(places, codes, row, row - start, columns, offsets)
        if weight.size:
            scales[row - start] = weight[row]
    part = out[start:stop]
    for i in range(stop - start):
        _environment(part, i, scales[i], places, table, rank, table.shape[1] == 2 * rank)


@jit
def responses(start, stop, codes, columns, table, offsets, rank, mixing, out):
    """Responses of rows start … stop-1: out (n_rows, n_outputs, planes)."""
    width = table.shape[1]
    block = 256
    rows = np.empty((block, width), dtype=table.dtype)
    for begin in range(start, stop, block):
        end = min(begin + block, stop)
        part = codes[begin:end]
        environments(0, end - begin, part, columns, table, offsets, np.empty(0), rank, rows)
        for row in range(begin, end):
            _respond(out[row], rows[row - begin], mixing, rank, width == 2 * rank)


@jit
def _respond(out, g, mixing, rank, is_complex):
    if mixing.shape[0] == 0:
        for plane in range(out.shape[1]):
            total = 0.0
            for r in range(rank):
                total += g[plane * rank + r]
            out[0, plane] = total
        return
    for k in range(out.shape[0]):
        u = 0.0
        v = 0.0
        for r in range(rank):
            if is_complex:
                u += g[r] * mixing[k, r] - g[rank + r] * mixing[k, rank + r]
                v += g[r] * mixing[k, rank + r] + g[rank + r] * mixing[k, r]
            else:
                u += g[r] * mixing[k, r]
        out[k, 0] = u
        if is_complex:
            out[k, 1] = v
