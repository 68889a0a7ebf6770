"""Compiled loops of networks whose tables are matrices: tensor trains and rings.

    R₀ ─[T₁]─[T₂]─ … ─[T_D]─[V]─ R₀          f_k = tr(T₁·T₂⋯T_D·V_k)

Column d has at every grid value a matrix of shape (bonds[d], bonds[d+1]).  All of them stand in
one flat buffer: from offsets[d] on, one grid value after the other, Re and then Im (Re alone
where the model is real), row by row, rows padded with zeros to a multiple of `LANES`.  A second
buffer holds the transposed matrices, for walks from the right.  A train is a ring whose outer
bond R₀ is 1.

The state of a row is a matrix (R₀, bond), walking from either end: from the right it is the
transpose of the product.  States stand in one flat scratch array, each as two planes of `room`
numbers, their rows padded too.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from ._simd import LANES, add_multiple, row_times_matrix
from .grams import add_gram, add_products, block_rows, new_squares, pack, padded


@jit
def wide(bond):
    """Length of a padded row."""
    return bond + (-bond) % LANES


@jit
def _place(codes, row, d, offsets, left, right, planes):
    """Where the matrix (left, right) of a row's value in column d begins."""
    return index(offsets[d] + np.int64(codes[row, d]) * left * wide(right) * planes)


@jit
def _walk(states, at, to, room, outer, buffer, base, left, right, is_complex):
    """State at `to` (R₀, right) = state at `at` (R₀, left) · matrix."""
    columns, step = index(wide(right)), index(wide(left))
    size = index(left) * columns
    at, to, room = index(at), index(to), index(room)
    for a in range(index(outer)):
        if is_complex:
            row_times_matrix(
                (states, states, buffer),
                (to + a * columns, at + a * step, base),
                (room, room, size),
                index(left),
                columns,
            )
        else:
            for j in range(columns):
                states[to + a * columns + j] = 0.0
            for i in range(index(left)):
                x = states[at + a * step + i]
                for j in range(columns):
                    states[to + a * columns + j] += x * buffer[base + i * columns + j]


@jit
def _unit(states, at, room, outer):
    """Write the state before any column."""
    step = wide(outer)
    for a in range(outer):
        for i in range(step):
            states[at + a * step + i] = 1.0 if a == i else 0.0
            states[at + room + a * step + i] = 0.0


@jit
def _prefix(codes, row, stop, offsets, bonds, buffer, is_complex, states, room):
    """State from the left before column `stop`, in the first two places; returns where."""
    planes, at, to = 2 if is_complex else 1, 0, 2 * room
    _unit(states, 0, room, bonds[0])
    for d in range(stop):
        base = _place(codes, row, d, offsets, bonds[d], bonds[d + 1], planes)
        _walk(states, at, to, room, bonds[0], buffer, base, bonds[d], bonds[d + 1], is_complex)
        at, to = to, at
    return at


@jit
def _suffix(codes, row, start, offsets, bonds, turned, is_complex, states, room):
    """State from the right up to column `start`, begun in the third place; returns where."""
    planes, at, to = 2 if is_complex else 1, 4 * room, 6 * room
    for d in range(bonds.size - 2, start - 1, -1):
        base = _place(codes, row, d, offsets, bonds[d + 1], bonds[d], planes)
        _walk(states, at, to, room, bonds[0], turned, base, bonds[d + 1], bonds[d], is_complex)
        at, to = to, at
    return at


@jit
def _join(states, before, after, room, outer, left, right, scale, is_complex, out, i_out):
    """Row of `out` (planes, left·right) = Σ_a before[a, i]·after[a, j], times a scale.

    The halves of `out` may be padded.
    """
    size, room, k = index(out.shape[1] // 2), index(room), index(i_out)
    n, m = index(wide(left)), index(wide(right))
    before, after = index(before), index(after)
    for a in range(index(outer)):
        for i in range(index(left)):
            to = i * index(right)
            p = scale * states[before + a * n + i]
            q = scale * states[before + room + a * n + i]
            for j in range(index(right)):
                s, t = states[after + a * m + j], states[after + room + a * m + j]
                x = p * s - q * t
                out[k, to + j] = x if a == index(0) else out[k, to + j] + x
            if is_complex:
                for j in range(index(right)):
                    s, t = states[after + a * m + j], states[after + room + a * m + j]
                    y = p * t + q * s
                    out[k, size + to + j] = y if a == index(0) else out[k, size + to + j] + y


@jit
def _load(states, at, room, closing, k, outer, last):
    """State from the right before any column: the transpose of a closing matrix."""
    step = wide(last)
    for a in range(outer):
        for i in range(step):
            states[at + a * step + i] = closing[k, 0, i * outer + a] if i < last else 0.0
            states[at + room + a * step + i] = 0.0
            if closing.shape[1] == 2 and i < last:
                states[at + room + a * step + i] = closing[k, 1, i * outer + a]


@jit
def room_of(bonds):
    """Numbers that a plane of a state may need."""
    return wide(bonds[0]) * wide(bonds.max())


@jit
def environment(
    codes, row, k, first, last, offsets, turned_offsets, bonds, buffer, turned, closing, scale,
    is_complex, states, out, i_out,
):  # fmt: skip
    """Row of `out` = environment of a row's output k outside of columns first … last-1.

    `states`, eight times `room_of` numbers, is scratch.
    """
    room = states.size // 8
    before = _prefix(codes, row, first, offsets, bonds, buffer, is_complex, states, room)
    _load(states, 4 * room, room, closing, k, bonds[0], bonds[bonds.size - 1])
    after = _suffix(codes, row, last, turned_offsets, bonds, turned, is_complex, states, room)
    _join(
        states, before, after, room, bonds[0], bonds[first], bonds[last], scale, is_complex, out,
        i_out,
    )  # fmt: skip


@jit
def environments(
    start, stop, codes, first, last, offsets, turned_offsets, bonds, buffer, turned, closing,
    weight, out,
):  # fmt: skip
    """Environments of rows start … stop-1, all outputs: out (n_rows·n_outputs, planes·size)."""
    is_complex, n_outputs = closing.shape[1] == 2, closing.shape[0]
    states = np.zeros(8 * room_of(bonds))
    for row in range(start, stop):
        scale = weight[row] if weight.size else 1.0
        for k in range(n_outputs):
            environment(
                codes, row, k, first, last, offsets, turned_offsets, bonds, buffer, turned,
                closing, scale, is_complex, states, out, row * n_outputs + k,
            )  # fmt: skip


@jit
def statistics(
    segments, codes, order, column, offsets, turned_offsets, bonds, buffer, turned, closing,
    weight, target, hermitian, symmetric, rhs,
):  # fmt: skip
    """Gram matrices and right-hand sides of groups of rows, over all outputs.

    As `kernels.cpd.statistics`; an environment is a matrix (bonds[column], bonds[column + 1]).
    """
    size, is_complex = bonds[column] * bonds[column + 1], closing.shape[1] == 2
    width, n_outputs = padded(size) * closing.shape[1], closing.shape[0]
    rows = block_rows(width, buffer.itemsize)
    block = np.zeros((rows, width), dtype=buffer.dtype)
    wanted = np.empty((1, rows), dtype=buffer.dtype)
    states = np.zeros(8 * room_of(bonds))
    squares = new_squares(size, padded(size), 4 if symmetric.shape[0] else 2 if is_complex else 1)
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        rhs[slot] = 0
        count = 0
        for position in range(start, stop):
            row = order[position]
            scale = weight[row] if weight.size else 1.0
            for k in range(n_outputs):
                environment(
                    codes, row, k, column, column + 1, offsets, turned_offsets, bonds, buffer,
                    turned, closing, scale, is_complex, states, block, count,
                )  # fmt: skip
                wanted[0, count] = target[row, k]
                count += 1
                if count == rows or (position == stop - 1 and k == n_outputs - 1):
                    add_gram(block, count, size, squares)
                    add_products(block, count, wanted, rhs, slot)
                    count = 0
        pack(squares, size, hermitian, symmetric, slot)


@jit
def responses(start, stop, codes, offsets, bonds, buffer, closing, out):
    """Responses of rows start … stop-1: out (n_rows, n_outputs, planes)."""
    is_complex, outer = closing.shape[1] == 2, bonds[0]
    n_columns, room = bonds.size - 1, room_of(bonds)
    states = np.zeros(4 * room)
    for row in range(start, stop):
        at = _prefix(codes, row, n_columns, offsets, bonds, buffer, is_complex, states, room)
        for k in range(closing.shape[0]):
            x, y = _close(states, at, room, closing, k, outer, bonds[n_columns], is_complex)
            out[row, k, 0] = x
            if is_complex:
                out[row, k, 1] = y


@jit
def _close(states, at, room, closing, k, outer, last, is_complex):
    """Trace of state (R₀, last) · closing (last, R₀)."""
    x, y, step = 0.0, 0.0, wide(last)
    for a in range(outer):
        for i in range(last):
            p, s = states[at + a * step + i], closing[k, 0, i * outer + a]
            if is_complex:
                q, t = states[at + room + a * step + i], closing[k, 1, i * outer + a]
                x += p * s - q * t
                y += p * t + q * s
            else:
                x += p * s
    return x, y


@jit
def _add_joined(states, before, after, room, outer, left, right, is_complex, out, base):
    """Add Σ_a before[a, i]·after[a, j] to the padded planes that begin at `base`."""
    n, m, room = index(wide(left)), index(wide(right)), index(room)
    before, after, size = index(before), index(after), index(left) * index(wide(right))
    for a in range(index(outer)):
        for i in range(index(left)):
            p, row = states[before + a * n + i], base + i * m
            if is_complex:
                q = states[before + room + a * n + i]
                add_multiple((out, states), (row, after + a * m), (size, room), p, q, m)
            else:
                for j in range(m):
                    out[row + j] += p * states[after + a * m + j]


@jit
def _seed(states, at, room, closing, slopes, row, outer, last, is_complex):
    """State from the right = Σ_k conj(slope_k)·V_k, transposed."""
    step = wide(last)
    for a in range(outer):
        for i in range(step):
            x, y = 0.0, 0.0
            for k in range(closing.shape[0] if i < last else 0):
                p, s = slopes[row, k, 0], closing[k, 0, i * outer + a]
                if is_complex:
                    q, t = -slopes[row, k, 1], closing[k, 1, i * outer + a]
                    x += p * s - q * t
                    y += p * t + q * s
                else:
                    x += p * s
            states[at + a * step + i] = x
            states[at + room + a * step + i] = y


@jit
def _add_closing(out, slopes, row, states, at, room, outer, last, is_complex):
    """Add conj(slope_k)·state, transposed, to every output's closing matrix."""
    step = wide(last)
    for k in range(out.shape[0]):
        x, y = slopes[row, k, 0], -slopes[row, k, 1] if is_complex else 0.0
        for i in range(last):
            for a in range(outer):
                u, v = states[at + a * step + i], states[at + room + a * step + i]
                if is_complex:
                    out[k, 0, i * outer + a] += x * u - y * v
                    out[k, 1, i * outer + a] += x * v + y * u
                else:
                    out[k, 0, i * outer + a] += x * u


@jit
def gradient(
    start, stop, codes, offsets, turned_offsets, bonds, buffer, turned, closing, slopes, out,
    out_closing,
):  # fmt: skip
    """Add Σ conj(slope)·(environment outside of a column) to a buffer, all columns.

    Environments are made of the tables `buffer` before a column and `turned` after it: those of
    one network, or of two gauges of a train.
    """
    is_complex, outer, n_columns = closing.shape[1] == 2, bonds[0], bonds.size - 1
    planes, last, room = closing.shape[1], bonds[n_columns], room_of(bonds)
    end = 2 * room * (n_columns + 1)  # states before all columns, then two that take turns
    states = np.zeros(end + 4 * room)
    _unit(states, 0, room, outer)
    for row in range(start, stop):
        for d in range(n_columns):
            left, right = bonds[d], bonds[d + 1]
            base = _place(codes, row, d, offsets, left, right, planes)
            _walk(
                states, 2 * room * d, 2 * room * (d + 1), room, outer, buffer, base, left, right,
                is_complex,
            )  # fmt: skip
        at, to = end, end + 2 * room
        _seed(states, at, room, closing, slopes, row, outer, last, is_complex)
        _add_closing(
            out_closing, slopes, row, states, 2 * room * n_columns, room, outer, last, is_complex
        )
        for d in range(n_columns - 1, -1, -1):
            left, right = bonds[d], bonds[d + 1]
            base = _place(codes, row, d, offsets, left, right, planes)
            _add_joined(states, 2 * room * d, at, room, outer, left, right, is_complex, out, base)
            if d:
                base = _place(codes, row, d, turned_offsets, right, left, planes)
                _walk(states, at, to, room, outer, turned, base, right, left, is_complex)
                at, to = to, at


@jit
def tangents(
    start, stop, codes, offsets, bonds, buffer, later, change, closing, closing_change, out
):  # fmt: skip
    """Change of the responses of rows start … stop-1 when tables and closing matrices change.

    Tables before a change are those of `buffer`, those after it of `later`.
    """
    is_complex, outer, n_columns = closing.shape[1] == 2, bonds[0], bonds.size - 1
    planes, room = closing.shape[1], room_of(bonds)
    states = np.zeros(10 * room)
    extra = 8 * room
    for row in range(start, stop):
        value, moved, next_value, next_moved = 0, 2 * room, 4 * room, 6 * room
        _unit(states, value, room, outer)
        states[moved : moved + 2 * room] = 0.0
        for d in range(n_columns):
            left, right = bonds[d], bonds[d + 1]
            base = _place(codes, row, d, offsets, left, right, planes)
            _walk(states, moved, next_moved, room, outer, later, base, left, right, is_complex)
            _walk(states, value, extra, room, outer, change, base, left, right, is_complex)
            for i in range(index(2 * room)):
                states[index(next_moved) + i] += states[index(extra) + i]
            _walk(states, value, next_value, room, outer, buffer, base, left, right, is_complex)
            value, next_value = next_value, value
            moved, next_moved = next_moved, moved
        last = bonds[n_columns]
        for k in range(closing.shape[0]):
            x, y = _close(states, moved, room, closing, k, outer, last, is_complex)
            u, v = _close(states, value, room, closing_change, k, outer, last, is_complex)
            out[row, k, 0] = x + u
            if is_complex:
                out[row, k, 1] = y + v
