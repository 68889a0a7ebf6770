"""Compiled updates of the columns in a row, for data small enough to keep partial products.

The columns form a chain.  Products of the tables of the later columns at the rows are made once
an epoch, from the last column back to the first; that of the earlier ones moves along:

    moving = roots of the weights · Π_{e<d} T_e          later[d] = Π_{e>d} T_e

so the environments of a column cost one product a row.  A column is updated from its statistics,
summed over groups of rows, or from the rows themselves.  Layout as in `kernels.lines`, the
points being rows; the model is complex, or treated as if it were.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from .column import core_gram, sweep, sweep_statistics
from .grams import LANE, block_rows, hermitian, padded, project
from .lines import advance, line, multiply, to_lines, width


@jit
def multiply_column(lines, codes, factors, phase, radices, cores):
    """Multiply lines by a column's table; the product of the Gram matrices of its cores."""
    rank, first = cores.shape[1], 0
    table = np.empty((rank, 2, factors.shape[2]))
    table[:] = phase
    gram = np.ones((rank, rank), dtype=cores.dtype)
    for radix in radices:
        core = cores[first : first + radix]
        advance(table, factors[first : first + radix], core)
        gram *= core_gram(core)
        first += radix
    _multiply_at(lines, table, codes)
    return gram


@jit
def _multiply_at(lines, table, codes):
    """Multiply lines of rows by lines of the grid at the rows' codes."""
    re, im = index(0), index(1)
    for r in range(index(lines.shape[0])):
        for n in range(index(codes.size)):
            u = index(codes[n])
            x, y = lines[r, re, n], lines[r, im, n]
            c, d = table[r, re, u], table[r, im, u]
            lines[r, re, n] = x * c - y * d
            lines[r, im, n] = x * d + y * c


@jit
def update_by_statistics(
    moving, later, outside, target, codes, order, starts, factors, phase, pairs, ends, places,
    radices, cores, alpha, total_weight, constant, is_complex,
):  # fmt: skip
    """Update the cores of a column from sums over the rows of each grid value.

    Parameters
    ----------
    moving : lines, written over
        Goes on to the next column.
    later : lines
    outside : (rank, rank) array
        Product of the Gram matrices of all other cores.
    target : (1, 2, padded) array
        Targets times the roots of the weights.
    codes : int array
        Codes of the rows in this column.
    order, starts : int arrays
        Rows sorted by their codes, and where those of each grid value begin.

    All else, and what is returned or raised, as in `kernels.column.sweep`; nothing is written
    where an error is raised.
    """
    packed, sums = _statistics(_environments(moving, later, order), order, starts, target)
    cores = cores.copy()
    values, norm, gram, table = sweep_statistics(
        packed, sums, outside, factors, phase, pairs, ends, places, radices, cores, alpha,
        total_weight, constant, is_complex,
    )  # fmt: skip
    _multiply_at(moving, to_lines(table, factors.shape[2]), codes)
    return values, norm, gram, cores


@jit
def update_by_rows(
    moving, later, outside, target, factors, phase, pairs, ends, places, radices, cores, alpha,
    total_weight, constant, is_complex,
):  # fmt: skip
    """Update the cores of a column from the rows themselves.

    Lines of the column are those at the rows; all else as in `update_by_statistics`.
    """
    table, cores = moving.copy(), cores.copy()
    phase = phase.reshape((1, *phase.shape))
    for r in range(table.shape[0]):
        multiply((table, phase), (line(table, r), index(0)), width(table))
    values, norm, gram = sweep(
        table, later, outside, np.empty((0, 2, 0)), target, factors, pairs, ends, places, radices,
        cores, alpha, total_weight, constant, is_complex,
    )  # fmt: skip
    moving[:] = table
    return values, norm, gram, cores


@jit
def _environments(moving, later, order):
    """Lines of the environments of the rows, sorted."""
    re, im = index(0), index(1)
    lines = np.empty((moving.shape[0], 2, order.size))
    for r in range(index(moving.shape[0])):
        for i in range(index(order.size)):
            n = index(order[i])
            x, y = moving[r, re, n], moving[r, im, n]
            u, v = later[r, re, n], later[r, im, n]
            lines[r, re, i] = x * u - y * v
            lines[r, im, i] = x * v + y * u
    return lines


@jit
def _statistics(environments, order, starts, target):
    """Packed Gram matrices and right-hand sides of the groups of rows."""
    rank, n_grid = environments.shape[0], starts.size - 1
    n_lines = padded(rank, True)
    block = block_rows(n_lines)
    lines, wanted = np.zeros((n_lines, block)), np.zeros((1, block))
    packed, sums = np.zeros((n_grid, rank * (rank + 1))), np.zeros((n_grid, 2 * rank))
    for u in range(n_grid):
        for begin in range(starts[u], starts[u + 1], block):
            count = min(block, starts[u + 1] - begin)
            _fill(lines, environments, begin, count)
            for i in range(count):
                wanted[0, i] = target[0, 0, order[begin + i]]
            hermitian(lines, count, rank, packed, u)
            project(lines, count, wanted, rank, True, sums[u : u + 1])
    return packed, sums


@jit
def _fill(lines, environments, begin, count):
    """Some environments in the layout of `kernels.grams`, zeros up to a whole lane."""
    re, im, half = index(0), index(1), index(lines.shape[0] // 2)
    begin, stop = index(begin), index(count + (-count) % LANE)
    for r in range(index(environments.shape[0])):
        for i in range(index(count)):
            lines[r, i] = environments[r, re, begin + i]
            lines[half + r, i] = environments[r, im, begin + i]
        for i in range(index(count), stop):
            lines[r, i] = 0
            lines[half + r, i] = 0
