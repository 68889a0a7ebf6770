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
def _environment(out, i, scale, codes, row, columns, table, offsets, rank, is_complex):
    """Row i of `out` = scale times the product of the table rows of `columns` at a data row."""
    i, row, half = index(i), index(row), index(rank)
    width = index(out.shape[1])
    if columns.size == 0:
        for r in range(width):
            out[i, r] = scale if r < half else 0.0
        return
    column = index(columns[index(0)])
    k = index(offsets[column]) + index(codes[row, column])
    for r in range(width):
        out[i, r] = scale * table[k, r]
    for j in range(index(1), index(columns.size)):
        column = index(columns[j])
        k = index(offsets[column]) + index(codes[row, column])
        if is_complex:
            for r in range(half):
                x, y = out[i, r], out[i, half + r]
                u, v = table[k, r], table[k, half + r]
                out[i, r] = x * u - y * v
                out[i, half + r] = x * v + y * u
        else:
            for r in range(half):
                out[i, r] *= table[k, r]


@jit
def _add_target(rhs, g, i, row, target, mixing, rank, is_complex):
    """Add row i of g times the data row's target to the right-hand side.

    Without `mixing` each output has a right-hand side of its own; with it (the output
    core's planes, one row an output) they are mixed into one.
    """
    i, row, half, first = index(i), index(row), index(rank), index(0)
    if mixing.shape[0] == 0:
        for k in range(index(target.shape[1])):
            t = target[row, k]
            for r in range(index(rhs.shape[1])):
                rhs[k, r] += t * g[i, r]
        return
    for r in range(half):
        u = 0.0
        v = 0.0
        for k in range(index(target.shape[1])):
            u += target[row, k] * mixing[k, r]
            if is_complex:
                v += target[row, k] * mixing[k, half + r]
        if is_complex:
            rhs[first, r] += g[i, r] * u - g[i, half + r] * v
            rhs[first, half + r] += g[i, r] * v + g[i, half + r] * u
        else:
            rhs[first, r] += g[i, r] * u


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
    scratch = np.empty((width, width), dtype=np.float64)
    narrow = np.empty((width, width), dtype=table.dtype)
    totals = np.empty(rhs.shape[1:], dtype=np.float64)
    for i in range(segments.shape[0]):
        start, stop, slot = segments[i, 0], segments[i, 1], segments[i, 2]
        small = stop - start < SMALL_GROUP
        totals[:] = 0
        scratch[:] = 0
        if small:
            gram[slot] = 0
        filled = 0
        for position in range(start, stop):
            row = order[index(position)]
            scale = 1.0 if weight.size == 0 else weight[index(row)]
            _environment(
                rows, filled, scale, codes, row, columns, table, offsets, rank, is_complex
            )
            _add_target(totals, rows, filled, row, target, mixing, rank, is_complex)
            if small:
                _add_outer(gram, slot, rows, filled, rank, is_complex)
                continue
            filled += 1
            if filled == block or position == stop - 1:
                rank_k(rows, filled, scratch, narrow)
                filled = 0
        if not small:
            _pack_gram(gram, slot, scratch, rank, is_complex)
        rhs[slot] = totals


@jit
def environments(start, stop, codes, columns, table, offsets, weight, rank, out):
    """Scaled environments of rows start … stop-1 outside of a column, as planes."""
    is_complex = table.shape[1] == 2 * rank
    for row in range(start, stop):
        scale = 1.0 if weight.size == 0 else weight[row]
        _environment(out, row, scale, codes, row, columns, table, offsets, rank, is_complex)


@jit
def responses(start, stop, codes, columns, table, offsets, rank, mixing, out):
    """Responses of rows start … stop-1: out (n_rows, n_outputs, planes)."""
    width = table.shape[1]
    is_complex = width == 2 * rank
    g = np.empty((1, width), dtype=table.dtype)
    for row in range(start, stop):
        _environment(g, 0, 1.0, codes, row, columns, table, offsets, rank, is_complex)
        _respond(out[row], g[0], mixing, rank, is_complex)


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
