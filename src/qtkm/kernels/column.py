"""Compiled update of all levels of a column, from its statistics or from the rows themselves.

The same steps as a local problem takes one by one, over the lines of `kernels.lines`.
"""

import numpy as np

from ._jit import jit
from .lines import advance, level_matrix, line, multiply, right_side, to_lines, to_rows, width
from .local import add_norm, cholesky_solve, quadratic
from .rows import normalize_into

#: a rise of the objective, relative to its value at zero weights, that rounding may cause
ROUNDING = 1e-10


@jit
def sweep(
    table, later, outside, grams, targets, factors, pairs, ends, places, radices, cores, alpha,
    total_weight, constant, is_complex,
):  # fmt: skip
    """Update every level of a column once, each to its minimum.

    Parameters
    ----------
    table : lines, written over
        What stands before the levels: the phase, and what else belongs to the points.  In the
        end multiplied by the responses of all levels.
    later : lines
        What stands after the levels.
    outside : (rank, rank) array
        Product of the Gram matrices of all other cores.
    grams, targets, factors, pairs : lines
    ends : int array
        Where the pairs of each level end; every level has an even number of them.
    places : int array
        For every two entries of a level which of its pairs they are, level after level.
    radices : int array
    cores : (entries, rank) complex array, written over
        The column's cores, one below the other.

    Returns
    -------
    values : (n_levels,) array
        Objective after every update.
    norm : (rank,) array
        Norms of the last core's columns, which go to the next column.
    gram : (rank, rank) array
        Product of the Gram matrices of the column's cores.

    Raises
    ------
    numpy.linalg.LinAlgError
        Where a local system is not safely positive definite.
    """
    rank, n_levels = cores.shape[1], radices.size
    others, rest = _others(later, factors, radices, cores, outside)
    gram = np.ones((rank, rank), dtype=cores.dtype)
    values, norm = np.empty(n_levels), np.ones(rank)
    first = begin = square = 0
    for level in range(n_levels):
        radix, end, other = radices[level], ends[level], others[level]
        for r in range(rank):
            multiply((other, table), (line(other, r), line(table, r)), width(other))
        entries, place = factors[first : first + radix], places[square : square + radix * radix]
        matrix = level_matrix(grams, other, entries, pairs[begin:end], place, is_complex)
        matrix /= total_weight
        matrix = matrix.reshape(1, radix * rank, radix * rank)
        add_norm(matrix, gram * rest[level], alpha)
        right = right_side(targets, other, entries, total_weight)
        core = cores[first : first + radix]
        norm, values[level] = _minimize(matrix, right, core, constant)
        gram *= core_gram(core)
        advance(table, entries, core)
        first, begin, square = first + radix, end, square + radix * radix
        if level + 1 < n_levels:
            scale(cores[first : first + radices[level + 1]], norm)
    return values, norm, gram


@jit
def sweep_statistics(
    packed, sums, outside, factors, phase, pairs, ends, places, radices, cores, alpha,
    total_weight, constant, is_complex,
):  # fmt: skip
    """Update every level of a column from its statistics at the grid values.

    `packed` (n_grid, …) and `sums` (n_grid, planes·rank) are the statistics, `phase` is a line.
    All else, and what is returned, as in `sweep`; the column's table is returned as well.
    """
    shape = (cores.shape[1], 2, factors.shape[2])
    table, later = np.empty(shape), np.zeros(shape)
    table[:] = phase
    later[:, 0] = 1
    values, norm, gram = sweep(
        table, later, outside, to_lines(packed, shape[2]), to_lines(sums, shape[2]), factors,
        pairs, ends, places, radices, cores, alpha, total_weight, constant, is_complex,
    )  # fmt: skip
    rows = np.empty((packed.shape[0], 2 * cores.shape[1]))
    to_rows(table, rows)
    return values, norm, gram, rows


@jit
def core_gram(core):
    """Gram matrix of a core."""
    rank = core.shape[1]
    gram = np.empty((rank, rank), dtype=core.dtype)
    for r in range(rank):
        for s in range(rank):
            total = np.conj(core[0, r]) * core[0, s]
            for q in range(1, core.shape[0]):
                total += np.conj(core[q, r]) * core[q, s]
            gram[r, s] = total
    return gram


@jit
def scale(core, norm):
    """Multiply the columns of a core."""
    for q in range(core.shape[0]):
        for r in range(core.shape[1]):
            core[q, r] *= norm[r]


@jit
def _others(later, factors, radices, cores, outside):
    """For every level, what the later levels make of the lines and of the Gram matrices."""
    n_levels, rank = radices.size, cores.shape[1]
    others = np.empty((n_levels, *later.shape))
    rest = np.empty((n_levels, rank, rank), dtype=cores.dtype)
    others[n_levels - 1], rest[n_levels - 1] = later, outside
    first = radices.sum()
    for level in range(n_levels - 1, 0, -1):
        first -= radices[level]
        core = cores[first : first + radices[level]]
        others[level - 1] = others[level]
        advance(others[level - 1], factors[first : first + radices[level]], core)
        rest[level - 1] = rest[level] * core_gram(core)
    return others, rest


@jit
def _minimize(matrix, right, core, constant):
    """Bring a core to the minimum of its local system; the norms taken out, and the value."""
    start = core.copy().reshape(right.shape)
    solution = cholesky_solve(matrix, right)
    value = constant + quadratic(matrix, right, solution)
    before = constant + quadratic(matrix, right, start)
    if not value <= before:
        if not value <= before + ROUNDING * constant:
            raise np.linalg.LinAlgError("a local system is too ill-conditioned")
        solution, value = start, before  # at the minimum already
    return normalize_into(solution.reshape(core.shape), core), value
