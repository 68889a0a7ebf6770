"""Compiled loops of networks whose tables are matrices: tensor trains and rings.

    R₀ ─[T₁]─[T₂]─ … ─[T_D]─[V]─ R₀          f_k = tr(T₁·T₂⋯T_D·V_k)

Column d has at every grid value a matrix of shape (bonds[d], bonds[d+1]).  All of them stand in
one flat buffer: from offsets[d] on, one grid value after the other, Re and then Im (Re alone
where the model is real), row by row.  A train is a ring whose outer bond R₀ is 1.

The state of a row, walking from the left, is a matrix (R₀, bonds[d]); from the right it is
(bonds[d], R₀).  States are kept as two planes, (2, room).
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from .grams import LANE, add_block, block_rows, padded, project, transpose


@jit
def _place(codes, row, d, offsets, bonds, planes):
    """Where the matrix of a row's value in column d begins."""
    size = bonds[d] * bonds[d + 1] * planes
    return index(offsets[d] + np.int64(codes[row, d]) * size)


@jit
def _first(state, buffer, base, size, is_complex):
    """State = the matrix that begins at `base`."""
    for i in range(index(size)):
        state[0, i] = buffer[base + i]
    if is_complex:
        for i in range(index(size)):
            state[1, i] = buffer[base + index(size) + i]


@jit
def _forward(state, outer, buffer, base, left, right, is_complex, out):
    """out (R₀, right) += state (R₀, left) · matrix; `out` is set to zero before."""
    size, right = index(left * right), index(right)
    for i in range(index(outer) * right):
        out[0, i] = 0.0
        out[1, i] = 0.0
    _add_forward(state, outer, buffer, base, left, right, size, is_complex, out)


@jit
def _add_forward(state, outer, buffer, base, left, right, size, is_complex, out):
    for a in range(index(outer)):
        to = a * right
        for i in range(index(left)):
            x = state[0, a * index(left) + i]
            row = base + i * right
            if is_complex:
                y = state[1, a * index(left) + i]
                for j in range(right):
                    u, v = buffer[row + j], buffer[row + size + j]
                    out[0, to + j] += x * u - y * v
                    out[1, to + j] += x * v + y * u
            else:
                for j in range(right):
                    out[0, to + j] += x * buffer[row + j]


@jit
def _backward(state, outer, buffer, base, left, right, is_complex, out):
    """out (left, R₀) = matrix · state (right, R₀)."""
    size, right, outer = index(left * right), index(right), index(outer)
    for i in range(index(left)):
        row = base + i * right
        for a in range(outer):
            x, y = 0.0, 0.0
            if is_complex:
                for j in range(right):
                    u, v = buffer[row + j], buffer[row + size + j]
                    s, t = state[0, j * outer + a], state[1, j * outer + a]
                    x += u * s - v * t
                    y += u * t + v * s
            else:
                for j in range(right):
                    x += buffer[row + j] * state[0, j * outer + a]
            out[0, i * outer + a] = x
            out[1, i * outer + a] = y


@jit
def _prefix(codes, row, stop, offsets, bonds, buffer, is_complex, one, two):
    """State from the left before column `stop`; returns which of the two holds it."""
    outer, planes = bonds[0], 2 if is_complex else 1
    if stop == 0:
        for i in range(outer * outer):
            one[0, i] = 1.0 if i % (outer + 1) == 0 else 0.0
            one[1, i] = 0.0
        return 0
    _first(one, buffer, _place(codes, row, 0, offsets, bonds, planes), outer * bonds[1], is_complex)
    turn = 0
    for d in range(1, stop):
        base = _place(codes, row, d, offsets, bonds, planes)
        if turn == 0:
            _forward(one, outer, buffer, base, bonds[d], bonds[d + 1], is_complex, two)
        else:
            _forward(two, outer, buffer, base, bonds[d], bonds[d + 1], is_complex, one)
        turn = 1 - turn
    return turn


@jit
def _suffix(codes, row, start, offsets, bonds, buffer, is_complex, one, two):
    """State from the right up to column `start`, begun in `one`; returns which holds it."""
    outer, planes, turn = bonds[0], 2 if is_complex else 1, 0
    for d in range(bonds.size - 2, start - 1, -1):
        base = _place(codes, row, d, offsets, bonds, planes)
        if turn == 0:
            _backward(one, outer, buffer, base, bonds[d], bonds[d + 1], is_complex, two)
        else:
            _backward(two, outer, buffer, base, bonds[d], bonds[d + 1], is_complex, one)
        turn = 1 - turn
    return turn


@jit
def _join(before, after, outer, left, right, scale, is_complex, out):
    """out (planes, left·right) = Σ_a before[a, i]·after[j, a], times a scale."""
    left, right, outer = index(left), index(right), index(outer)
    for i in range(left):
        for j in range(right):
            x, y = 0.0, 0.0
            for a in range(outer):
                p, s = before[0, a * left + i], after[0, j * outer + a]
                if is_complex:
                    q, t = before[1, a * left + i], after[1, j * outer + a]
                    x += p * s - q * t
                    y += p * t + q * s
                else:
                    x += p * s
            out[i * right + j] = scale * x
            if is_complex:
                out[left * right + i * right + j] = scale * y


@jit
def _load(state, closing, k, size):
    for i in range(size):
        state[0, i] = closing[k, 0, i]
        state[1, i] = closing[k, 1, i] if closing.shape[1] == 2 else 0.0


@jit
def room_of(bonds):
    """Numbers that a state may need."""
    return max(1, bonds[0] * bonds.max())


@jit
def environment(
    codes, row, k, first, last, offsets, bonds, buffer, closing, scale, is_complex, states, out
):  # fmt: skip
    """Environment of a row's output k outside of columns first … last-1: (bonds[first], bonds[last]).

    `states` (4, 2, room) is scratch; written to `out` as planes.
    """
    turn = _prefix(codes, row, first, offsets, bonds, buffer, is_complex, states[0], states[1])
    _load(states[2], closing, k, bonds[bonds.size - 1] * bonds[0])
    other = _suffix(codes, row, last, offsets, bonds, buffer, is_complex, states[2], states[3])
    _join(
        states[turn], states[2 + other], bonds[0], bonds[first], bonds[last], scale, is_complex, out
    )


@jit
def environments(
    start, stop, codes, first, last, offsets, bonds, buffer, closing, weight, out
):  # fmt: skip
    """Environments of rows start … stop-1, all outputs: out (n_rows, n_outputs, planes·size)."""
    is_complex = closing.shape[1] == 2
    states = np.zeros((4, 2, room_of(bonds)))
    for row in range(start, stop):
        scale = weight[row] if weight.size else 1.0
        for k in range(closing.shape[0]):
            environment(
                codes, row, k, first, last, offsets, bonds, buffer, closing, scale, is_complex,
                states, out[row, k],
            )  # fmt: skip


@jit
def statistics(
    segments, codes, order, column, offsets, bonds, buffer, closing, weight, target, gram, rhs
):  # fmt: skip
    """Gram matrices and right-hand sides of groups of rows, over all outputs.

    As `kernels.cpd.statistics`; an environment is a matrix (bonds[column], bonds[column + 1]).
    """
    size, is_complex = bonds[column] * bonds[column + 1], closing.shape[1] == 2
    n_lines = padded(size, is_complex)
    block = block_rows(n_lines)
    lines = np.zeros((n_lines, block), dtype=buffer.dtype)
    tile = np.empty((LANE, size * closing.shape[1]), dtype=buffer.dtype)
    wanted = np.empty((1, block), dtype=buffer.dtype)
    states = np.zeros((4, 2, room_of(bonds)))
    scratch = np.empty((n_lines, n_lines))
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        gram[slot] = 0
        rhs[slot] = 0
        count = 0
        for position in range(start, stop):
            row = order[position]
            scale = weight[row] if weight.size else 1.0
            for k in range(closing.shape[0]):
                environment(
                    codes, row, k, column, column + 1, offsets, bonds, buffer, closing, scale,
                    is_complex, states, tile[count % LANE],
                )  # fmt: skip
                wanted[0, count] = target[row, k]
                count += 1
                last = position == stop - 1 and k == closing.shape[0] - 1
                if count % LANE == 0 or last:
                    full = (count - 1) % LANE + 1
                    transpose(tile, full, lines, count - full, size, is_complex)
                if count == block or last:
                    add_block(lines, count, size, is_complex, scratch, gram, slot)
                    project(lines, count, wanted, size, is_complex, rhs[slot])
                    count = 0


@jit
def responses(start, stop, codes, offsets, bonds, buffer, closing, out):
    """Responses of rows start … stop-1: out (n_rows, n_outputs, planes)."""
    is_complex, outer = closing.shape[1] == 2, bonds[0]
    n_columns = bonds.size - 1
    last = bonds[n_columns]
    states = np.zeros((2, 2, room_of(bonds)))
    for row in range(start, stop):
        turn = _prefix(
            codes, row, n_columns, offsets, bonds, buffer, is_complex, states[0], states[1]
        )
        for k in range(closing.shape[0]):
            _close(states[turn], closing, k, outer, last, is_complex, out[row, k])


@jit
def _close(state, closing, k, outer, last, is_complex, out):
    """Trace of state (R₀, last) · closing (last, R₀)."""
    x, y = 0.0, 0.0
    for a in range(outer):
        for i in range(last):
            p, s = state[0, a * last + i], closing[k, 0, i * outer + a]
            if is_complex:
                q, t = state[1, a * last + i], closing[k, 1, i * outer + a]
                x += p * s - q * t
                y += p * t + q * s
            else:
                x += p * s
    out[0] = x
    if is_complex:
        out[1] = y


@jit
def _add_joined(before, after, outer, left, right, is_complex, out, base):
    """Add Σ_a before[a, i]·after[j, a] to the planes that begin at `base`."""
    left, right, outer = index(left), index(right), index(outer)
    size = left * right
    for i in range(left):
        row = base + i * right
        for a in range(outer):
            p = before[0, a * left + i]
            if is_complex:
                q = before[1, a * left + i]
                for j in range(right):
                    s, t = after[0, j * outer + a], after[1, j * outer + a]
                    out[row + j] += p * s - q * t
                    out[row + size + j] += p * t + q * s
            else:
                for j in range(right):
                    out[row + j] += p * after[0, j * outer + a]


@jit
def _seed(state, closing, slopes, row, is_complex):
    """State from the right = Σ_k conj(slope_k)·V_k."""
    size = closing.shape[2]
    for i in range(size):
        x, y = 0.0, 0.0
        for k in range(closing.shape[0]):
            p, s = slopes[row, k, 0], closing[k, 0, i]
            if is_complex:
                q, t = -slopes[row, k, 1], closing[k, 1, i]
                x += p * s - q * t
                y += p * t + q * s
            else:
                x += p * s
        state[0, i] = x
        state[1, i] = y


@jit
def _add_closing(out, slopes, row, state, outer, last, is_complex):
    """Add conj(slope_k)·state, transposed, to every output's closing matrix."""
    for k in range(out.shape[0]):
        x, y = slopes[row, k, 0], -slopes[row, k, 1] if is_complex else 0.0
        for i in range(last):
            for a in range(outer):
                u, v = state[0, a * last + i], state[1, a * last + i]
                if is_complex:
                    out[k, 0, i * outer + a] += x * u - y * v
                    out[k, 1, i * outer + a] += x * v + y * u
                else:
                    out[k, 0, i * outer + a] += x * u


@jit
def gradient(
    start, stop, codes, offsets, bonds, left, right, closing, slopes, out, out_closing
):  # fmt: skip
    """Add Σ conj(slope)·(environment outside of a column) to a buffer, all columns.

    Environments are made of the tables `left` before a column and `right` after it: the same
    buffer twice, or those of two gauges of one train.
    """
    is_complex, outer, n_columns = closing.shape[1] == 2, bonds[0], bonds.size - 1
    planes = closing.shape[1]
    room = room_of(bonds)
    before = np.zeros((n_columns + 1, 2, room))
    after = np.zeros((2, 2, room))
    for row in range(start, stop):
        _prefix(codes, row, 0, offsets, bonds, left, is_complex, before[0], before[0])
        for d in range(n_columns):
            base = _place(codes, row, d, offsets, bonds, planes)
            if d == 0:
                _first(before[1], left, base, outer * bonds[1], is_complex)
            else:
                _forward(
                    before[d], outer, left, base, bonds[d], bonds[d + 1], is_complex, before[d + 1]
                )
        _seed(after[0], closing, slopes, row, is_complex)
        _add_closing(
            out_closing, slopes, row, before[n_columns], outer, bonds[n_columns], is_complex
        )
        turn = 0
        for d in range(n_columns - 1, -1, -1):
            base = _place(codes, row, d, offsets, bonds, planes)
            _add_joined(
                before[d], after[turn], outer, bonds[d], bonds[d + 1], is_complex, out, base
            )
            if d:
                _backward(
                    after[turn], outer, right, base, bonds[d], bonds[d + 1], is_complex,
                    after[1 - turn],
                )  # fmt: skip
                turn = 1 - turn


@jit
def tangents(
    start, stop, codes, offsets, bonds, buffer, change, closing, closing_change, out
):  # fmt: skip
    """Change of the responses of rows start … stop-1 when tables and closing matrices change."""
    is_complex, outer, n_columns = closing.shape[1] == 2, bonds[0], bonds.size - 1
    planes = closing.shape[1]
    value = np.zeros((2, 2, room_of(bonds)))
    moved = np.zeros((2, 2, room_of(bonds)))
    more = np.zeros(2)
    for row in range(start, stop):
        base = _place(codes, row, 0, offsets, bonds, planes)
        _first(value[0], buffer, base, outer * bonds[1], is_complex)
        _first(moved[0], change, base, outer * bonds[1], is_complex)
        turn = 0
        for d in range(1, n_columns):
            base = _place(codes, row, d, offsets, bonds, planes)
            left, right = bonds[d], bonds[d + 1]
            _forward(moved[turn], outer, buffer, base, left, right, is_complex, moved[1 - turn])
            _add_forward(
                value[turn], outer, change, base, left, index(right), index(left * right),
                is_complex, moved[1 - turn],
            )  # fmt: skip
            _forward(value[turn], outer, buffer, base, left, right, is_complex, value[1 - turn])
            turn = 1 - turn
        for k in range(closing.shape[0]):
            last = bonds[n_columns]
            _close(moved[turn], closing, k, outer, last, is_complex, out[row, k])
            _close(value[turn], closing_change, k, outer, last, is_complex, more)
            for plane in range(planes):
                out[row, k, plane] += more[plane]


@jit
def apply(
    segments, codes, order, column, offsets, bonds, buffer, change, closing, weight, target,
    real_part, out,
):  # fmt: skip
    """Σ ω·conj(g·δT)·g over groups of rows: a column's normal matrix times a change δT.

    `change` and `out` (n_slots, planes·size) are tables of one column; with `real_part` only
    Re(g·δT) takes part.  With targets, which are scaled like the environments, Σ g·target.
    """
    size, is_complex = bonds[column] * bonds[column + 1], closing.shape[1] == 2
    states = np.zeros((4, 2, room_of(bonds)))
    row_environment = np.empty(size * closing.shape[1])
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        out[slot] = 0
        for position in range(start, stop):
            row = order[position]
            scale = weight[row] if weight.size else 1.0
            for k in range(closing.shape[0]):
                environment(
                    codes, row, k, column, column + 1, offsets, bonds, buffer, closing, scale,
                    is_complex, states, row_environment,
                )  # fmt: skip
                if target.size:
                    x, y = target[row, k], 0.0
                else:
                    x, y = _product(row_environment, change, codes[row, column], size, is_complex)
                    y = 0.0 if real_part else -y
                _add_multiple(out, slot, row_environment, x, y, size, is_complex)


@jit
def _product(environment_row, change, code, size, is_complex):
    """g·δT at a grid value."""
    half, code = index(size), index(code)
    x, y = 0.0, 0.0
    for i in range(half):
        x += environment_row[i] * change[code, i]
    if is_complex:
        for i in range(half):
            p, q = environment_row[i], environment_row[half + i]
            s, t = change[code, i], change[code, half + i]
            x -= q * t
            y += p * t + q * s
    return x, y


@jit
def _add_multiple(out, slot, environment_row, x, y, size, is_complex):
    """Row of `out` += (x + iy)·g."""
    half, slot = index(size), index(slot)
    if is_complex:
        for i in range(half):
            p, q = environment_row[i], environment_row[half + i]
            out[slot, i] += p * x - q * y
            out[slot, half + i] += p * y + q * x
    else:
        for i in range(half):
            out[slot, i] += environment_row[i] * x
