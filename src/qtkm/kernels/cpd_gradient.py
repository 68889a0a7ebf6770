"""Compiled loops of a CPD's derivatives: all columns in one pass over the rows.

Layout as in `kernels.cpd`.  Sums are of products that are not conjugated; whoever reads them
conjugates once at the end.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit


@jit
def _times(out, i, a, j, table, k, rank, is_complex):
    """Row i of `out` = row j of `a` times row k of a table."""
    i, j, k, half = index(i), index(j), index(k), index(rank)
    if is_complex:
        for r in range(half):
            x, y = a[j, r], a[j, half + r]
            u, v = table[k, r], table[k, half + r]
            out[i, r] = x * u - y * v
            out[i, half + r] = x * v + y * u
    else:
        for r in range(half):
            out[i, r] = a[j, r] * table[k, r]


@jit
def _add_product(out, k, a, i, b, j, rank, is_complex):
    """Row k of `out` += row i of `a` times row j of `b`."""
    k, i, j, half = index(k), index(i), index(j), index(rank)
    if is_complex:
        for r in range(half):
            x, y = a[i, r], a[i, half + r]
            u, v = b[j, r], b[j, half + r]
            out[k, r] += x * u - y * v
            out[k, half + r] += x * v + y * u
    else:
        for r in range(half):
            out[k, r] += a[i, r] * b[j, r]


@jit
def _seed(out, i, slopes, row, mixing, rank, is_complex):
    """Row i of `out` = Σ_k conj(slope_k)·V_k, or the conjugate slope of the only output."""
    half = index(rank)
    if mixing.shape[0] == 0:
        x = slopes[row, 0, 0]
        y = -slopes[row, 0, 1] if is_complex else 0.0
        for r in range(half):
            out[i, r] = x
        if is_complex:
            for r in range(half):
                out[i, half + r] = y
        return
    for r in range(index(out.shape[1])):
        out[i, r] = 0.0
    for k in range(index(mixing.shape[0])):
        x = slopes[row, k, 0]
        if is_complex:
            y = -slopes[row, k, 1]
            for r in range(half):
                u, v = mixing[k, r], mixing[k, half + r]
                out[i, r] += x * u - y * v
                out[i, half + r] += x * v + y * u
        else:
            for r in range(half):
                out[i, r] += x * mixing[k, r]


@jit
def _add_mixing(out, slopes, row, a, i, rank, is_complex):
    """Row k of `out` += conj(slope_k) times row i of `a`, for every output k."""
    half, i = index(rank), index(i)
    for k in range(index(out.shape[0])):
        x = slopes[row, k, 0]
        if is_complex:
            y = -slopes[row, k, 1]
            for r in range(half):
                u, v = a[i, r], a[i, half + r]
                out[k, r] += x * u - y * v
                out[k, half + r] += x * v + y * u
        else:
            for r in range(half):
                out[k, r] += x * a[i, r]


@jit
def gradient(start, stop, codes, columns, table, offsets, mixing, slopes, rank, out, out_mixing):
    """Add Σ conj(slope)·(environment outside of a column) to the rows of `out`, all columns.

    Parameters
    ----------
    slopes : (n_rows, n_outputs, planes) array
    out : like `table`, of doubles
    out_mixing : (n_outputs, planes·rank) array
        The same for the output core; no rows for one output.
    """
    width = table.shape[1]
    is_complex = width == 2 * rank
    n_columns = columns.size
    # products of the first tables, from one table on; two rows that take turns from the end
    before = np.empty((n_columns + 1, width))
    after = np.empty((2, width))
    places = np.empty(n_columns, dtype=np.uint64)
    for row in range(start, stop):
        for j in range(n_columns):
            places[j] = index(offsets[columns[j]]) + index(codes[row, columns[j]])
        if n_columns:
            for r in range(index(width)):
                before[1, r] = table[places[0], r]
        for j in range(1, n_columns):
            _times(before, j + 1, before, j, table, places[j], rank, is_complex)
        _seed(after, 0, slopes, row, mixing, rank, is_complex)
        if out_mixing.shape[0]:
            _add_mixing(out_mixing, slopes, row, before, n_columns, rank, is_complex)
        turn = 0
        for j in range(n_columns - 1, 0, -1):
            _add_product(out, places[j], before, j, after, turn, rank, is_complex)
            _times(after, 1 - turn, after, turn, table, places[j], rank, is_complex)
            turn = 1 - turn
        for r in range(index(width)):
            out[places[0], r] += after[index(turn), r]


@jit
def tangents(
    start, stop, codes, columns, table, change, offsets, mixing, mixing_change, rank, out
):  # fmt: skip
    """Change of the responses of rows start … stop-1 when tables and output core change.

    `out` has shape (n_rows, n_outputs, planes).
    """
    width = table.shape[1]
    is_complex = width == 2 * rank
    value, moved = np.empty((2, width)), np.empty((2, width))
    for row in range(start, stop):
        turn = 0
        for j in range(columns.size):
            place = index(offsets[columns[j]]) + index(codes[row, columns[j]])
            if j == 0:
                for r in range(index(width)):
                    value[0, r] = table[place, r]
                    moved[0, r] = change[place, r]
                continue
            _times(moved, 1 - turn, moved, turn, table, place, rank, is_complex)
            _add_product(moved, 1 - turn, value, turn, change, place, rank, is_complex)
            _times(value, 1 - turn, value, turn, table, place, rank, is_complex)
            turn = 1 - turn
        _close(out, row, value, moved, turn, mixing, mixing_change, rank, is_complex)


@jit
def _close(out, row, value, moved, turn, mixing, mixing_change, rank, is_complex):
    turn, half = index(turn), index(rank)
    for k in range(out.shape[1]):
        u = v = 0.0
        for r in range(half):
            if mixing.shape[0] == 0:
                u += moved[turn, r]
                if is_complex:
                    v += moved[turn, half + r]
            elif is_complex:
                a, b, c, d = (
                    moved[turn, r],
                    moved[turn, half + r],
                    mixing[k, r],
                    mixing[k, half + r],
                )
                u += a * c - b * d
                v += a * d + b * c
                a, b = value[turn, r], value[turn, half + r]
                c, d = mixing_change[k, r], mixing_change[k, half + r]
                u += a * c - b * d
                v += a * d + b * c
            else:
                u += moved[turn, r] * mixing[k, r] + value[turn, r] * mixing_change[k, r]
        out[row, k, 0] = u
        if is_complex:
            out[row, k, 1] = v
