"""Compiled updates of all cores in a row, for data small enough to keep every partial product.

The sites of all columns form a chain.  Products of the responses of the later sites are made
once an epoch, from the last site back to the first; the product of the earlier ones moves along:

    moving = phases · Π_{t<s} response_t          later[s] = Π_{t>s} response_t

so a site costs one product of each kind and one Gram matrix.  Layout as in `kernels.rows`.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from .grams import add_block, block_rows, padded, project
from .local import add_norm, cholesky_solve, quadratic, unpack_triangle
from .rows import ZERO, conjugate_planes, fill_design, multiply_level, normalize_into

#: a rise of the objective, relative to its value at zero weights, that rounding may cause
ROUNDING = 1e-10


@jit
def later_products(factors, radices, cores, rank, is_complex, later):
    """Write lines of the products of the later sites' responses, for every site."""
    n_sites, n_rows = radices.size, factors.shape[2]
    later[n_sites - 1] = 0
    later[n_sites - 1, :rank] = 1
    first = radices.sum()
    for site in range(n_sites - 1, 0, -1):
        first -= radices[site]
        _copy(later, site - 1, site)
        multiply_level(
            later[site - 1],
            ZERO,
            n_rows,
            factors,
            ZERO,
            first,
            radices[site],
            cores,
            rank,
            is_complex,
        )


@jit
def _copy(later, to, source):
    to, source = index(to), index(source)
    for line in range(index(later.shape[1])):
        for n in range(index(later.shape[2])):
            later[to, line, n] = later[source, line, n]


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
def later_grams(radices, cores):
    """Products of the later sites' Gram matrices, for every site."""
    rank = cores.shape[1]
    grams = np.ones((radices.size, rank, rank), dtype=cores.dtype)
    first = radices.sum()
    for site in range(radices.size - 1, 0, -1):
        first -= radices[site]
        grams[site - 1] = grams[site] * core_gram(cores[first : first + radices[site]])
    return grams


@jit
def _multiply(out, a, b, site, begin, count, rank, is_complex):
    """Lines of the product of a and b[site], of rows begin … begin + count - 1."""
    half, begin, site = index(a.shape[0] // 2), index(begin), index(site)
    for r in range(index(rank)):
        if is_complex:
            for n in range(index(count)):
                x, y = a[r, begin + n], a[half + r, begin + n]
                u, v = b[site, r, begin + n], b[site, half + r, begin + n]
                out[r, n] = x * u - y * v
                out[half + r, n] = x * v + y * u
        else:
            for n in range(index(count)):
                out[r, n] = a[r, begin + n] * b[site, r, begin + n]


@jit
def _system(site, first, moving, later, factors, radix, target, rank, is_complex, packed, rhs):
    """Packed Gram and right-hand side of a site."""
    size, n_rows = radix * rank, moving.shape[1]
    n_lines = padded(size, is_complex)
    block = block_rows(n_lines)
    design = np.zeros((n_lines, block))
    z = np.empty((moving.shape[0], block))
    scratch = np.empty((0, 0)) if is_complex else np.empty((n_lines, n_lines))
    for begin in range(0, n_rows, block):
        count = min(block, n_rows - begin)
        _multiply(z, moving, later, site, begin, count, rank, is_complex)
        fill_design(design, z, count, factors, begin, first, radix, rank, is_complex)
        add_block(design, count, size, is_complex, scratch, packed, ZERO)
        project(design, count, target[:, begin:], size, is_complex, rhs)


@jit
def sweep(
    begin, end, moving, gram, later, grams, factors, radices, cores, target, alpha, total_weight,
    constant, is_complex,
):  # fmt: skip
    """Update the cores of sites begin … end-1, each to its minimum.

    `moving`, `gram` (the product of the earlier sites' Gram matrices) and `cores` (stacked, one
    row a factor entry) are written over.  Returns the objective after each update; raises
    numpy.linalg.LinAlgError where a local system is not safely positive definite.
    """
    rank, n_rows = cores.shape[1], moving.shape[1]
    values = np.empty(end - begin)
    first = radices[:begin].sum()
    for site in range(begin, end):
        radix = radices[site]
        size = radix * rank
        packed = np.zeros((1, size * (size + 1) // (1 if is_complex else 2)))
        rhs = np.zeros((1, size * (2 if is_complex else 1)))
        _system(site, first, moving, later, factors, radix, target, rank, is_complex, packed, rhs)
        matrix = np.empty((1, size, size), dtype=cores.dtype)
        unpack_triangle(packed, size, total_weight, matrix)
        add_norm(matrix, gram * grams[site], alpha)
        right = np.empty((1, size), dtype=cores.dtype)
        conjugate_planes(rhs, total_weight, right)
        core = cores[first : first + radix]
        solution = cholesky_solve(matrix, right)
        values[site - begin] = constant + quadratic(matrix, right, solution)
        before = constant + quadratic(matrix, right, core.copy().reshape(1, size))
        if not values[site - begin] <= before:
            if not values[site - begin] <= before + ROUNDING * constant:
                raise np.linalg.LinAlgError("a local system is too ill-conditioned")
            solution = core.copy().reshape(1, size)  # at the minimum already
            values[site - begin] = before
        norm = normalize_into(solution.reshape(radix, rank), core)
        multiply_level(moving, ZERO, n_rows, factors, ZERO, first, radix, cores, rank, is_complex)
        gram *= core_gram(core)
        first += radix
        _push(cores, first, radix, radices, site, norm)
    return values


@jit
def _push(cores, first, radix, radices, site, norm):
    """Hand the norms of a core to the next one; the last core keeps them."""
    if site + 1 == radices.size:
        start, stop = first - radix, first
    else:
        start, stop = first, first + radices[site + 1]
    for q in range(start, stop):
        for r in range(cores.shape[1]):
            cores[q, r] *= norm[r]
