"""Compiled loops of a CPD's derivatives: all columns in one pass over the rows.

Layout as in `kernels.cpd`.  Sums are of products that are not conjugated; whoever reads them
conjugates once at the end.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from ._simd import elementwise

_keep_then_multiply = elementwise(lambda kept, state, table: {0: state, 1: state * table})
_add_then_multiply = elementwise(
    lambda out, before, state, table: {0: out + before * state, 2: state * table}
)
_keep_then_multiply_twice = elementwise(
    lambda kept, kept_too, state, table, table_too: {
        0: state,
        1: state * table,
        2: state * table * table_too,
    }
)
_add_then_multiply_twice = elementwise(
    lambda out, out_too, before, before_too, state, table, table_too: {
        0: out + before * state,
        1: out_too + before_too * (state * table),
        4: state * table * table_too,
    }
)
_start = elementwise(lambda z, state, table: {0: z * table}, has_constant=True)
_end_twice = elementwise(  # the same as `_add_then_multiply_twice` where the state is 1
    lambda out, out_too, before, before_too, state, table, table_too: {
        0: out + before,
        1: out_too + before_too * table,
        4: table * table_too,
    }
)
_end = elementwise(lambda out, before, state, table: {0: out + before, 2: table})
_plus = elementwise(lambda out, a: {0: out + a})
_plus_multiple = elementwise(lambda z, out, a: {0: out + z * a}, has_constant=True)
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
    """
    width = table.shape[1]
    is_complex = width == 2 * rank
    n_columns = columns.size
    before = np.empty((n_columns, width))  # products of the tables before each column
    state = np.empty(width)
    places = np.empty(n_columns, dtype=np.uint64)
    one_output = is_complex and out_mixing.shape[0] == 0 and n_columns > 1
    zero, wide, half = index(0), index(width), index(rank)
    for row in range(start, stop):
        for j in range(n_columns):
            places[j] = index(offsets[columns[j]]) + index(codes[row, columns[j]])
        if one_output:  # the slope of the only output goes along with the products
            _start(
                (state, table), (zero, places[0] * wide), half, slopes[row, 0, 0],
                -slopes[row, 0, 1],
            )  # fmt: skip
        else:
            for r in range(wide):
                state[r] = table[places[0], r]
        j = 1
        while j < n_columns:
            if is_complex and j + 1 < n_columns:  # two at a time: half the traffic of the state
                _keep_and_multiply_twice(before, j, state, table, places[j], places[j + 1], rank)
                j += 2
            else:
                _keep_and_multiply(before, j, state, table, places[j], rank, is_complex)
                j += 1
        if out_mixing.shape[0]:
            _add_mixing(out_mixing, slopes, row, state, rank, is_complex)
        j = n_columns - 1
        if one_output:
            j = _begin_with_one(out, places, before, state, table, rank)
        else:
            _seed(state, slopes, row, mixing, rank, is_complex)
        while j > 0:
            if is_complex and j > 1:
                _add_and_multiply_twice(
                    out, places[j], places[j - 1], before, j, state, table, rank
                )
                j -= 2
            else:
                _add_and_multiply(out, places[j], before, j, state, table, rank, is_complex)
                j -= 1
        if one_output:  # products of the later tables alone have not met the slope
            _plus_multiple(
                (out, state), (places[0] * wide, zero), half, slopes[row, 0, 0],
                -slopes[row, 0, 1],
            )  # fmt: skip
        elif is_complex:
            _plus((out, state), (places[0] * wide, zero), half)
        else:
            for r in range(wide):
                out[places[0], r] += state[r]


@jit
def _begin_with_one(out, places, before, state, table, rank):
    """The last columns, where the state is 1; returns the column that comes next."""
    j, width, half = places.size - 1, index(2 * rank), index(rank)
    k, last = places[j], index(j) * width
    if j > 1:
        m = places[j - 1]
        _end_twice(
            (out, out, before, before, state, table, table),
            (k * width, m * width, last, last - width, index(0), k * width, m * width),
            half,
        )
        j -= 2
    elif j == 1:
        _end((out, before, state, table), (k * width, last, index(0), k * width), half)
        j -= 1
    return j


@jit
def _keep_and_multiply_twice(before, j, state, table, k, m, rank):
    width, j = index(2 * rank), index(j)
    _keep_then_multiply_twice(
        (before, before, state, table, table),
        (j * width, (j + index(1)) * width, index(0), k * width, m * width),
        index(rank),
    )


@jit
def _add_and_multiply_twice(out, k, m, before, j, state, table, rank):
    width, j = index(2 * rank), index(j)
    _add_then_multiply_twice(
        (out, out, before, before, state, table, table),
        (k * width, m * width, j * width, (j - index(1)) * width, index(0), k * width, m * width),
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
