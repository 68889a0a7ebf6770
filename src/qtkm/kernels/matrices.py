"""Compiled loops over many rows of networks whose tables are matrices: tensor trains and rings.

    R₀ ─[T₁]─[T₂]─ … ─[T_D]─[V]─ R₀          f_k = tr(T₁·T₂⋯T_D·V_k)

Column d has at every grid value a matrix of shape (bonds[d], bonds[d+1]).  All of them stand in
one flat buffer: from offsets[d] on, one grid value after the other, as lines (see `kernels.lines`)
of matrix rows that are padded each.  A second buffer holds the transposed matrices, for walks from
the right.  A train is a ring whose outer bond R₀ is 1.

The state of a row is a matrix (R₀, bond), walking from either end: from the right it is the
transpose of the product.  States stand in one flat scratch array, each as two planes of `room`
numbers, their rows padded too.  Closings and seeds are lines of such states.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from ._simd import row_times_matrix
from .grams import add_gram, add_products, block_planes, block_rows, mix, new_squares, pack, padded


@jit
def _walk(states, at, to, room, tables, d, code, bonds, is_back, planes):
    """State at `to` = state at `at` times the matrix of a column, transposed on a way back."""
    buffer, offsets = tables
    left, right = (bonds[d + 1], bonds[d]) if is_back else (bonds[d], bonds[d + 1])
    columns, step = index(padded(right)), index(padded(left))
    size = index(left) * columns
    base = index(offsets[d]) + index(code) * size * index(len(planes))
    at, to, room = index(at), index(to), index(room)
    for a in range(index(bonds[0])):
        row_times_matrix(
            (states, states, buffer), (to + a * columns, at + a * step, base), (room, room, size),
            index(left), columns, planes,
        )  # fmt: skip


@jit
def _unit(states, at, room, outer):
    """Write the state before any column."""
    step = padded(outer)
    for a in range(outer):
        for i in range(step):
            states[at + a * step + i] = 1.0 if a == i else 0.0
            states[at + room + a * step + i] = 0.0


@jit
def _load(states, at, room, lines, i, planes):
    """Write a state that is given as line i."""
    half = lines.shape[1] // len(planes)
    for plane in range(len(planes)):
        for r in range(half):
            states[at + plane * room + r] = lines[i, plane * half + r]


@jit
def _save(states, at, room, lines, i, planes):
    """Line i = a state."""
    half = lines.shape[1] // len(planes)
    for plane in range(len(planes)):
        for r in range(half):
            lines[i, plane * half + r] = states[at + plane * room + r]


@jit
def _prefix(codes, row, stop, tables, bonds, states, room, planes):
    """State from the left before column `stop`, in the first two places; returns where."""
    at, to = 0, 2 * room
    _unit(states, 0, room, bonds[0])
    for d in range(stop):
        _walk(states, at, to, room, tables, d, codes[row, d], bonds, False, planes)
        at, to = to, at
    return at


@jit
def _join(states, before, after, room, bonds, d, scale, out, base, n_columns, half, planes):
    """Add Σ_a before[a, i]·after[a, j] of a column, times a scale, to a matrix of a flat array.

    It begins at `base`, with rows of `n_columns` numbers and imaginary parts `half` behind.
    """
    n, m, room = index(padded(bonds[d])), index(padded(bonds[d + 1])), index(room)
    before, after, columns = index(before), index(after), index(n_columns)
    for a in range(index(bonds[0])):
        for i in range(index(bonds[d])):
            to = base + i * columns
            p = scale * states[before + a * n + i]
            q = scale * states[before + room + a * n + i]
            for j in range(columns):
                s, t = states[after + a * m + j], states[after + room + a * m + j]
                out[to + j] += p * s - q * t
                if len(planes) == 2:
                    out[half + to + j] += p * t + q * s


@jit
def _room_of(bonds):
    """Numbers that a plane of a state may need."""
    return padded(bonds[0]) * padded(bonds.max())


@jit
def _environment(
    codes, row, k, column, tables, turned, bonds, closing, scale, states, out, base, half, planes
):
    """Line of `out` at `base` = environment of a row's output k outside of a column."""
    room = states.size // 8
    before = _prefix(codes, row, column, tables, bonds, states, room, planes)
    at, to = 4 * room, 6 * room
    _load(states, at, room, closing, k, planes)
    for d in range(bonds.size - 2, column, -1):
        _walk(states, at, to, room, turned, d, codes[row, d], bonds, True, planes)
        at, to = to, at
    for r in range(half * index(len(planes))):
        out[base + r] = 0
    _join(
        states, before, at, room, bonds, column, scale, out, base, bonds[column + 1], half, planes
    )


@jit
def statistics(
    segments, codes, order, column, offsets, bonds, buffer, turned, turned_offsets, closing,
    weight, target, planes, sums, hermitian, symmetric, rhs,
):  # fmt: skip
    """Gram matrices and right-hand sides of groups of rows, over all outputs.

    As `kernels.entrywise.statistics`; an environment is a matrix (bonds[column], bonds[column+1]).
    """
    size, n_outputs = bonds[column] * bonds[column + 1], closing.shape[0]
    tables, back = (buffer, offsets), (turned, turned_offsets)
    half = padded(size)
    wide = half * block_planes(sums)
    rows = block_rows(wide, buffer.itemsize)
    block = np.zeros((rows, wide), dtype=buffer.dtype)
    flat = block.reshape(rows * wide)
    line = np.empty(wide, dtype=buffer.dtype)
    wanted = np.empty((1, rows), dtype=buffer.dtype)
    states = np.zeros(8 * _room_of(bonds))
    squares = new_squares(size, half, sums)
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        rhs[slot] = 0
        count = 0
        for position in range(start, stop):
            row = order[position]
            for k in range(n_outputs):
                _environment(
                    codes, row, k, column, tables, back, bonds, closing,
                    weight[row] if weight.size else 1.0, states, flat, index(count * wide),
                    index(half), planes,
                )  # fmt: skip
                wanted[0, count] = target[row, k]
                count += 1
                if count == rows or (position == stop - 1 and k == n_outputs - 1):
                    mix(block, count, half, sums)
                    add_gram(block, count, size, squares, sums)
                    add_products(block, count, wanted, line, rhs, slot, sums)
                    count = 0
        pack(squares, size, sums, hermitian, symmetric, slot)


@jit
def products(codes, offsets, bonds, buffer, planes, out):
    """Lines of the products of all columns, matrices (R₀, last)."""
    room = _room_of(bonds)
    states = np.zeros(4 * room)
    for row in range(codes.shape[0]):
        last = bonds.size - 1
        at = _prefix(codes, row, last, (buffer, offsets), bonds, states, room, planes)
        _save(states, at, room, out, row, planes)


@jit
def gradient(codes, offsets, bonds, buffer, turned, turned_offsets, seeds, planes, out):
    """Add seeds times environments to a buffer, all columns.

    Environments are made of the tables `buffer` before a column and `turned` after it: those of
    one network, or of two gauges of a train.
    """
    outer, n_columns, room = bonds[0], bonds.size - 1, _room_of(bonds)
    tables, back = (buffer, offsets), (turned, turned_offsets)
    end = 2 * room * (n_columns + 1)  # states before all columns, then two that take turns
    states = np.zeros(end + 4 * room)
    _unit(states, 0, room, outer)
    for row in range(codes.shape[0]):
        for d in range(n_columns):
            at = 2 * room * d
            _walk(states, at, at + 2 * room, room, tables, d, codes[row, d], bonds, False, planes)
        at, to = end, end + 2 * room
        _load(states, at, room, seeds, row, planes)
        for d in range(n_columns - 1, -1, -1):
            code, columns = index(codes[row, d]), padded(bonds[d + 1])
            half = index(bonds[d] * columns)
            base = index(offsets[d]) + code * half * index(len(planes))
            _join(states, 2 * room * d, at, room, bonds, d, 1.0, out, base, columns, half, planes)
            if d:
                _walk(states, at, to, room, back, d, code, bonds, True, planes)
                at, to = to, at


@jit
def changes(codes, offsets, bonds, buffer, later, change, planes, values, moves):
    """Lines of the products of all columns, and of what they change by when the tables do.

    Tables before a change are those of `buffer`, those after it of `later`.
    """
    outer, n_columns, room = bonds[0], bonds.size - 1, _room_of(bonds)
    states = np.zeros(10 * room)
    extra = 8 * room
    for row in range(codes.shape[0]):
        value, moved, next_value, next_moved = 0, 2 * room, 4 * room, 6 * room
        _unit(states, value, room, outer)
        states[moved : moved + 2 * room] = 0.0
        for d in range(n_columns):
            code = codes[row, d]
            for at, to, tables in ((moved, next_moved, later), (value, extra, change)):
                _walk(states, at, to, room, (tables, offsets), d, code, bonds, False, planes)
            for i in range(index(2 * room)):
                states[index(next_moved) + i] += states[index(extra) + i]
            own = buffer, offsets
            _walk(states, value, next_value, room, own, d, code, bonds, False, planes)
            value, next_value = next_value, value
            moved, next_moved = next_moved, moved
        _save(states, value, room, values, row, planes)
        _save(states, moved, room, moves, row, planes)
