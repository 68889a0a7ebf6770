"""Compiled loops over many rows of networks whose columns multiply.

Tables of all columns stand in one flat buffer, from offsets[d] on, one grid value after the other,
as lines (see `kernels.lines`).  How elements multiply is in the tuple `around` of all loops:

    offsets, columns                    vectors, entry by entry: a CPD, in an order of its columns
    offsets, turned_offsets, bonds      matrices (bonds[d], bonds[d+1]): a train or a ring

Rows of matrices are padded each, and a second buffer, `behind`, has them transposed for walks from
the right.  A train is a ring whose outer bond is 1.  The state of its row is a matrix (bonds[0],
bond), walking from either end: from the right it is the transpose of the product.  States stand in
one flat scratch array, each as two planes of `room` numbers.

Closings and seeds are lines of products of all columns.  Sums are of products that are not
conjugated.
"""

import numpy as np
from numpy import uint64 as index  # an index that cannot be negative: lets loops vectorise

from ._jit import inlined, jit
from ._simd import add_environments, multiply_changes, multiply_lines, prefetch, row_times_matrix
from .grams import ENTRIES, add_gram, add_products, block_rows, mix, pack, padded


@inlined
def _places(places, i, codes, row, skipped, around, width):
    """Row i of `places` = where the lines begin that a data row reads; returns how many do."""
    offsets, columns = around
    count = index(0)
    for column in columns:
        if column != skipped:
            d = index(column)
            places[i, count] = index(offsets[d]) + index(codes[row, d]) * index(width)
            count += index(1)
    return count


@inlined
def _copy(source, at, apart, target, to, apart_to, count, planes):
    """Copy `count` numbers of each plane; planes are some numbers apart."""
    for plane in range(len(planes)):
        first, place = index(at + plane * apart), index(to + plane * apart_to)
        for r in range(index(count)):
            target[place + r] = source[first + r]


@inlined
def _room_of(bonds):
    """Numbers that a plane of a state may need."""
    return padded(bonds[0]) * padded(bonds.max())


@inlined
def _unit(states, at, room, bonds):
    """Write the state before any column."""
    states[at : at + 2 * room] = 0.0
    for a in range(bonds[0]):
        states[at + a * (padded(bonds[0]) + 1)] = 1.0


@inlined
def _walk(states, at, to, room, buffer, around, d, code, is_back, planes):
    """State at `to` = state at `at` times the matrix of a column, transposed on a way back."""
    bonds, offset = around[2], around[1][d] if is_back else around[0][d]
    left, right = (bonds[d + 1], bonds[d]) if is_back else (bonds[d], bonds[d + 1])
    columns, step = index(padded(right)), index(padded(left))
    size = index(left) * columns
    base = index(offset) + index(code) * size * index(len(planes))
    at, to, room = index(at), index(to), index(room)
    for a in range(index(bonds[0])):
        row_times_matrix(
            (states, states, buffer), (to + a * columns, at + a * step, base), (room, room, size),
            index(left), columns, planes,
        )  # fmt: skip


@inlined
def _prefix(codes, row, stop, buffer, around, states, room, planes, gap=0):
    """State from the left before column `stop`; returns where it is.

    States take turns in the first two places, or stand one behind the other if there is a gap.
    """
    at, to = 0, 2 * room
    _unit(states, 0, room, around[2])
    for d in range(stop):
        _walk(states, at, to, room, buffer, around, d, codes[row, d], False, planes)
        at, to = to, to + gap if gap else at
    return at


@inlined
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


@inlined
def _fill_products(
    block, wanted, n, begin, codes, order, column, buffer, around, weight, target, places, scales,
    half, sums, planes,
):  # fmt: skip
    """Lines of a block = environments of rows of a CPD, one for all outputs."""
    width, count = half * len(planes), index(0)
    # gathered first: loads that do not wait for each other
    for i in range(n):
        row = order[index(begin + i)]
        count = _places(places, index(i), codes, index(row), column, around, width)
        for k in range(index(target.shape[1])):
            wanted[k, index(i)] = target[index(row), k]
        if weight.size:
            scales[index(i)] = weight[index(row)]
    for k in range(n):
        multiply_lines(
            (block, buffer, places), index(k) * index(block.shape[1]),
            index(k) * index(places.shape[1]), count, index(half), scales[index(k)], sums, planes,
        )  # fmt: skip


@inlined
def _fill_matrices(
    block, wanted, n, begin, codes, order, column, buffer, behind, around, closing, weight, target,
    states, half, sums, planes,
):  # fmt: skip
    """Lines of a block = environments of rows of a train or ring, one for each output."""
    bonds, n_outputs, size = around[2], closing.shape[0], closing.shape[1] // len(planes)
    room, width = _room_of(bonds), index(block.shape[1])
    flat = block.reshape(block.size)
    for i in range(n):
        row = order[begin + i]
        scale = weight[row] if weight.size else 1.0
        before = _prefix(codes, row, column, buffer, around, states, room, planes)
        for k in range(n_outputs):
            at, to = 4 * room, 6 * room
            _copy(closing[k], 0, size, states, at, room, size, planes)
            for d in range(bonds.size - 2, column, -1):
                _walk(states, at, to, room, behind, around, d, codes[row, d], True, planes)
                at, to = to, at
            line = index(i * n_outputs + k)
            for r in range(width):
                block[line, r] = 0
            _join(
                states, before, at, room, bonds, column, scale, flat, line * width,
                bonds[column + 1], index(half), planes,
            )  # fmt: skip
            wanted[0, line] = target[row, k]
    mix(block, n * n_outputs, half, sums)


@jit
def statistics(
    segments, codes, order, column, size, buffer, behind, around, closing, weight, target, planes,
    sums, hermitian, symmetric, rhs,
):  # fmt: skip
    """Gram matrices and right-hand sides of groups of rows.

    `segments` (n, 3) are start and stop in `order`, rows sorted by their code in the column at
    hand, and the slot that is written: of `hermitian` Σ ḡgᵀ of environments g of some size, of
    `symmetric` Σ ggᵀ where it has lines, of `rhs` Σ g·target.  `weight` scales the environments
    (empty for 1); `sums` has as many entries as there are sums of squares, see `kernels.grams`.
    """
    n_each = 1 if len(around) == 2 else closing.shape[0]
    half = rhs.shape[2] // len(planes)
    wide = half * (1 if len(sums) == 1 else 3)
    n_rows = max(1, block_rows(wide, buffer.itemsize) // n_each)
    block = np.zeros((n_rows * n_each, wide), dtype=buffer.dtype)
    line = np.empty(wide, dtype=buffer.dtype)
    wanted = np.empty((rhs.shape[1], n_rows * n_each), dtype=buffer.dtype)
    squares = np.zeros((len(sums), size + (-size) % ENTRIES, half))
    if len(around) == 2:
        places, scales = np.empty((n_rows, codes.shape[1]), dtype=np.uint64), np.ones(n_rows)
    else:
        states = np.zeros(8 * _room_of(around[2]))
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        rhs[slot] = 0
        for begin in range(start, stop, n_rows):
            n = min(n_rows, stop - begin)
            if len(around) == 2:
                _fill_products(
                    block, wanted, n, begin, codes, order, column, buffer, around, weight, target,
                    places, scales, half, sums, planes,
                )  # fmt: skip
            else:
                _fill_matrices(
                    block, wanted, n, begin, codes, order, column, buffer, behind, around, closing,
                    weight, target, states, half, sums, planes,
                )  # fmt: skip
            for i in range(begin + n, min(begin + n + n_rows, order.size)):  # of the next block
                row = index(order[index(i)])
                prefetch((codes,), row * index(codes.shape[1]), (0,))
                prefetch((target,), row * index(target.shape[1]), (0,))
                if weight.size:
                    prefetch((weight,), row, (0,))
            add_gram(block, n * n_each, size, squares, sums)
            add_products(block, n * n_each, wanted, line, rhs, slot, sums)
        pack(squares, size, sums, hermitian, symmetric, slot)


@jit
def products(codes, buffer, around, planes, out):
    """Lines of the products of all columns, out (n_rows, width)."""
    width, half = out.shape[1], out.shape[1] // len(planes)
    if len(around) == 2:
        places = np.empty((1, codes.shape[1]), dtype=np.uint64)
        for row in range(index(codes.shape[0])):
            count = _places(places, index(0), codes, row, -1, around, width)
            multiply_lines(
                (out, buffer, places), row * index(width), index(0), count, index(half), 1.0, (),
                planes,
            )  # fmt: skip
    else:
        room = _room_of(around[2])
        states = np.zeros(4 * room)
        for row in range(codes.shape[0]):
            at = _prefix(codes, row, codes.shape[1], buffer, around, states, room, planes)
            _copy(states, at, room, out[row], 0, half, half, planes)


@jit
def gradient(codes, buffer, behind, around, seeds, planes, out):
    """Add seeds times environments to `out`, which is like a buffer, for all columns.

    Environments are made of the tables `buffer` before a column and `behind` after it: those of one
    network, or of two gauges of a train.
    """
    width, half, n_columns = seeds.shape[1], seeds.shape[1] // len(planes), codes.shape[1]
    if len(around) == 2:
        places = np.empty((1, n_columns), dtype=np.uint64)
        scratch = np.empty((n_columns, width))
        for row in range(index(codes.shape[0])):
            count = _places(places, index(0), codes, row, -1, around, width)
            add_environments(
                (out, buffer, seeds, scratch, places), row * index(width), count, index(half),
                planes,
            )  # fmt: skip
    else:
        offsets, bonds = around[0], around[2]
        room = _room_of(bonds)
        end = 2 * room * (n_columns + 1)  # states before all columns, then two that take turns
        states = np.zeros(end + 4 * room)
        for row in range(codes.shape[0]):
            _prefix(codes, row, n_columns, buffer, around, states, room, planes, 2 * room)
            at, to = end, end + 2 * room
            _copy(seeds[row], 0, half, states, at, room, half, planes)
            for d in range(n_columns - 1, -1, -1):
                code, columns = codes[row, d], padded(bonds[d + 1])
                size = index(bonds[d] * columns)
                base = index(offsets[d]) + index(code) * size * index(len(planes))
                _join(
                    states, 2 * room * d, at, room, bonds, d, 1.0, out, base, columns, size, planes
                )
                if d:
                    _walk(states, at, to, room, behind, around, d, code, True, planes)
                    at, to = to, at


@jit
def changes(codes, buffer, later, change, around, planes, values, moves):
    """Lines of the products of all columns, and of what they change by when the tables do.

    Tables of matrices before a change are those of `buffer`, those after it of `later`.
    """
    width, half = values.shape[1], values.shape[1] // len(planes)
    if len(around) == 2:
        places = np.empty((1, codes.shape[1]), dtype=np.uint64)
        for row in range(index(codes.shape[0])):
            count = _places(places, index(0), codes, row, -1, around, width)
            multiply_changes(
                (values, moves, buffer, change, places), row * index(width), count, index(half),
                planes,
            )  # fmt: skip
    else:
        room = _room_of(around[2])
        states = np.zeros(10 * room)
        extra = index(8 * room)
        for row in range(codes.shape[0]):
            value, moved, next_value, next_moved = 0, 2 * room, 4 * room, 6 * room
            _unit(states, value, room, around[2])
            states[moved : moved + 2 * room] = 0.0
            for d in range(codes.shape[1]):
                code = codes[row, d]
                _walk(states, moved, next_moved, room, later, around, d, code, False, planes)
                _walk(states, value, extra, room, change, around, d, code, False, planes)
                for i in range(index(2 * room)):
                    states[index(next_moved) + i] += states[extra + i]
                _walk(states, value, next_value, room, buffer, around, d, code, False, planes)
                value, next_value = next_value, value
                moved, next_moved = next_moved, moved
            _copy(states, value, room, values[row], 0, half, half, planes)
            _copy(states, moved, room, moves[row], 0, half, half, planes)
