"""Compiled loops of the canonical polyadic network over many rows.

Tables of all columns stand one below the other as lines (see `kernels.lines`), from offsets[d] on
for column d; `columns` are those that take part.  Sums are of products that are not conjugated.
"""

import numpy as np
from numpy import uint64 as index  # an index that cannot be negative: lets loops vectorise

from ._jit import jit
from ._simd import add_environments, multiply_changes, multiply_lines, prefetch
from .grams import add_gram, add_products, block_planes, block_rows, new_squares, pack


@jit
def _gather(places, i, codes, row, columns, offsets, width):
    """Row i of `places` = where the lines begin that a data row reads."""
    row, i = index(row), index(i)
    for j in range(index(columns.size)):
        column = index(columns[j])
        places[i, j] = (index(offsets[column]) + index(codes[row, column])) * index(width)


@jit
def statistics(
    segments, codes, order, columns, offsets, table, rank, weight, target, planes, sums,
    hermitian, symmetric, rhs,
):  # fmt: skip
    """Gram matrices and right-hand sides of groups of rows, whose environments are of `columns`.

    `segments` (n, 3) are start and stop in `order`, rows sorted by their code in the column at
    hand, and the slot that is written: of `hermitian` Σ ḡgᵀ, of `symmetric` Σ ggᵀ where it has
    lines, of `rhs` Σ g·target.  `weight` scales the environments (empty for 1); `sums` has as many
    entries as there are sums of squares, see `kernels.grams`.
    """
    width, count = table.shape[1], index(columns.size)
    half = width // len(planes)
    wide = half * block_planes(sums)
    rows = block_rows(wide, table.itemsize)
    block = np.empty((rows, wide), dtype=table.dtype)
    line = np.empty(wide, dtype=table.dtype)
    places = np.empty((rows, columns.size), dtype=np.uint64)
    scales = np.ones(rows)
    wanted = np.empty((target.shape[1], rows), dtype=table.dtype)
    squares = new_squares(rank, half, sums)
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        rhs[slot] = 0
        for begin in range(start, stop, rows):
            n = min(rows, stop - begin)
            # gathered first: loads that do not wait for each other
            for i in range(n):
                row = order[index(begin + i)]
                _gather(places, i, codes, row, columns, offsets, width)
                for k in range(index(target.shape[1])):
                    wanted[k, index(i)] = target[index(row), k]
                if weight.size:
                    scales[index(i)] = weight[index(row)]
            for i in range(begin + n, min(begin + n + rows, order.size)):  # of the next block
                row = index(order[index(i)])
                prefetch((codes,), row * index(codes.shape[1]), (0,))
                prefetch((target,), row * index(target.shape[1]), (0,))
                if weight.size:
                    prefetch((weight,), row, (0,))
            for k in range(n):
                multiply_lines(
                    (block, table, places), index(k) * index(wide), index(k) * count, count,
                    index(half), scales[index(k)], sums, planes,
                )  # fmt: skip
            add_gram(block, n, rank, squares, sums)
            add_products(block, n, wanted, line, rhs, slot, sums)
        pack(squares, rank, sums, hermitian, symmetric, slot)


@jit
def products(codes, columns, offsets, table, planes, out):
    """Lines (n_rows, width) of the products of all columns."""
    width, count = index(table.shape[1]), index(columns.size)
    half = index(table.shape[1] // len(planes))
    places = np.empty((1, columns.size), dtype=np.uint64)
    for row in range(codes.shape[0]):
        _gather(places, 0, codes, row, columns, offsets, width)
        multiply_lines(
            (out, table, places), index(row) * width, index(0), count, half, 1.0, (), planes
        )


@jit
def changes(codes, columns, offsets, table, change, planes, value, moved):
    """Lines of the products of all columns, and of what they change by when the tables do."""
    width, count = index(table.shape[1]), index(columns.size)
    half = index(table.shape[1] // len(planes))
    places = np.empty((1, columns.size), dtype=np.uint64)
    for row in range(codes.shape[0]):
        _gather(places, 0, codes, row, columns, offsets, width)
        multiply_changes(
            (value, moved, table, change, places), index(row) * width, count, half, planes
        )


@jit
def gradient(codes, columns, offsets, table, seeds, planes, out):
    """Add seeds (n_rows, width) times environments to the lines of `out`, for all columns."""
    width, count = index(table.shape[1]), index(columns.size)
    half = index(table.shape[1] // len(planes))
    places = np.empty((1, columns.size), dtype=np.uint64)
    scratch = np.empty((columns.size, table.shape[1]))
    for row in range(codes.shape[0]):
        _gather(places, 0, codes, row, columns, offsets, width)
        add_environments(
            (out, table, seeds, scratch, places), index(row) * width, count, half, planes
        )
