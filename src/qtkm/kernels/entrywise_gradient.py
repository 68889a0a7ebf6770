"""Compiled loops of a CPD's derivatives: all columns in one pass over the rows.

Layout as in `kernels.cpd`.  Sums are of products that are not conjugated; whoever reads them
conjugates once at the end.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from ._simd import elementwise
from .entrywise import four_places, gather

_keep_then_multiply = elementwise(lambda kept, state, table: {0: state, 1: state * table})
_add_then_multiply = elementwise(
    lambda out, before, state, table: {0: out + before * state, 2: state * table}
)
_keep_then_multiply_four = elementwise(
    lambda kept, state, a, b, c, d: {0: state, 1: state * ((a * b) * (c * d))}
)


def _four(out_a, out_b, out_c, out_d, before, state, a, b, c, d):
    """Four columns with products that they share, state last."""
    both, left, right = before * state, a * b, c * d
    without_left, without_right = both * right, both * left
    return {
        0: out_a + without_left * b,
        1: out_b + without_left * a,
        2: out_c + without_right * d,
        3: out_d + without_right * c,
        5: state * (left * right),
    }


_add_then_multiply_four = elementwise(_four)
_product = elementwise(lambda out, a, b: {0: a * b})
_plus_product = elementwise(lambda out, a, b: {0: out + a * b})


@jit
def _times(out, i, a, j, table, k, rank, is_complex):
    """Row i of `out` = row j of `a` times row k of a table."""
    i, j, k, half = index(i), index(j), index(k), index(rank)
    if is_complex:
        width = index(2 * rank)
        _product((out, a, table), (i * width, j * width, k * width), half)
    else:
        for r in range(half):
            out[i, r] = a[j, r] * table[k, r]


@jit
def _add_product(out, k, a, i, b, j, rank, is_complex):
    """Row k of `out` += row i of `a` times row j of `b`."""
    k, i, j, half = index(k), index(i), index(j), index(rank)
    if is_complex:
        width = index(2 * rank)
        _plus_product((out, a, b), (k * width, i * width, j * width), half)
    else:
        for r in range(half):
            out[k, r] += a[i, r] * b[j, r]


@jit
def _seed(state, slopes, row, mixing, rank, is_complex):
    """State = Σ_k conj(slope_k)·V_k, or the conjugate slope of the only output."""
    half = index(rank)
    if mixing.shape[0] == 0:
        x = slopes[row, 0, 0]
        y = -slopes[row, 0, 1] if is_complex else 0.0
        for r in range(half):
            state[r] = x
        if is_complex:
            for r in range(half):
                state[half + r] = y
        return
    for r in range(index(state.size)):
        state[r] = 0.0
    for k in range(index(mixing.shape[0])):
        x = slopes[row, k, 0]
        if is_complex:
            y = -slopes[row, k, 1]
            for r in range(half):
                u, v = mixing[k, r], mixing[k, half + r]
                state[r] += x * u - y * v
                state[half + r] += x * v + y * u
        else:
            for r in range(half):
                state[r] += x * mixing[k, r]


@jit
def _add_mixing(out, slopes, row, state, rank, is_complex):
    """Row k of `out` += conj(slope_k) times the state, for every output k."""
    half = index(rank)
    for k in range(index(out.shape[0])):
        x = slopes[row, k, 0]
        if is_complex:
            y = -slopes[row, k, 1]
            for r in range(half):
                u, v = state[r], state[half + r]
                out[k, r] += x * u - y * v
                out[k, half + r] += x * v + y * u
        else:
            for r in range(half):
                out[k, r] += x * state[r]


@jit
def gradient(start, stop, codes, columns, table, offsets, mixing, slopes, rank, out, out_mixing):
    """Add Σ conj(slope)·(environment outside of a column) to the rows of `out`, all columns.

    Parameters
    ----------
    slopes : (n_rows, n_outputs, planes) array
    out : like `table`, of doubles
    out_mixing : (n_outputs, planes·rank) array
        The same for the output core; no rows for one output.

    Notes
    -----
    Forward, the products of the tables before each column; backward, those behind it. Complex
    columns go four at a time, which spares most of the traffic of these products.
    """
    width = table.shape[1]
    is_complex = width == 2 * rank
    n_columns = columns.size
    before = np.empty((n_columns, width))
    state = np.empty(width)
    places = np.empty((1, n_columns), dtype=np.uint64)
    one_output = out_mixing.shape[0] == 0
    # columns that go one at a time; the last group's product is asked for by outputs alone
    single = n_columns % 4 if is_complex else n_columns
    forward = n_columns - 4 if one_output and is_complex else n_columns
    for row in range(start, stop):
        gather(places, codes, row, 0, columns, offsets)
        if one_output:  # its slope goes along with the products from the start
            _seed(state, slopes, row, mixing, rank, is_complex)
        else:
            _set_to_one(state, rank)
        for j in range(single):
            _keep_and_multiply(before, j, state, table, places[0, j], rank, is_complex)
        for j in range(single, forward, 4):
            _keep_and_multiply_four(before, j, state, table, places, rank)
        if one_output:
            if single < n_columns:
                _copy(before, n_columns - 4, state)
            _set_to_one(state, rank)
        else:
            _add_mixing(out_mixing, slopes, row, state, rank, is_complex)
            _seed(state, slopes, row, mixing, rank, is_complex)
        for j in range(n_columns - 4, single - 1, -4):
            _add_and_multiply_four(out, before, j, state, table, places, rank)
        for j in range(single - 1, -1, -1):
            _add_and_multiply(out, places[0, j], before, j, state, table, rank, is_complex)


@jit
def _set_to_one(state, rank):
    for r in range(index(state.size)):
        state[r] = 1.0 if r < index(rank) else 0.0


@jit
def _copy(out, j, state):
    for r in range(index(state.size)):
        out[index(j), r] = state[r]


@jit
def _keep_and_multiply_four(before, j, state, table, places, rank):
    j, width, zero = index(j), index(2 * rank), index(0)
    k, m, n, o = four_places(places, zero, j, width)
    _keep_then_multiply_four(
        (before, state, table, table, table, table), (j * width, zero, k, m, n, o), index(rank)
    )


@jit
def _add_and_multiply_four(out, before, j, state, table, places, rank):
    j, width, zero = index(j), index(2 * rank), index(0)
    k, m, n, o = four_places(places, zero, j, width)
    _add_then_multiply_four(
        (out, out, out, out, before, state, table, table, table, table),
        (k, m, n, o, j * width, zero, k, m, n, o),
        index(rank),
    )


@jit
def _keep_and_multiply(before, j, state, table, k, rank, is_complex):
    """Row j of `before` = state, then state *= row k of a table."""
    j, k, half = index(j), index(k), index(rank)
    if is_complex:
        width = index(2 * rank)
        _keep_then_multiply((before, state, table), (j * width, index(0), k * width), half)
    else:
        for r in range(half):
            x = state[r]
            before[j, r] = x
            state[r] = x * table[k, r]


@jit
def _add_and_multiply(out, k, before, j, state, table, rank, is_complex):
    """Row k of `out` += row j of `before` times state, then state *= row k of a table."""
    k, j, half = index(k), index(j), index(rank)
    if is_complex:
        width = index(2 * rank)
        _add_then_multiply(
            (out, before, state, table), (k * width, j * width, index(0), k * width), half
        )
    else:
        for r in range(half):
            x = state[r]
            out[k, r] += x * before[j, r]
            state[r] = x * table[k, r]


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
