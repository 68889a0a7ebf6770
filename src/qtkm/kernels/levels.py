"""Compiled loops over the grid of one column: its levels' responses and local systems.

Layout as in `kernels.cpd`: planes [Re | Im], packed upper triangles.  Factors keep the
type of their feature map: real numbers, or complex ones.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit


@jit
def _respond(out, i, factors, u, first, core, core_first, radix, rank):
    """Row i of `out` = Σ_q factors[u, first + q]·core[core_first + q]."""
    i, u, half = index(i), index(u), index(rank)
    is_complex = core.shape[1] == 2 * rank
    for r in range(index(out.shape[1])):
        out[i, r] = 0
    for q in range(index(radix)):
        factor = factors[u, index(first) + q]
        x, y = factor.real, factor.imag
        w = index(core_first) + q
        if is_complex:
            for r in range(half):
                c, d = core[w, r], core[w, half + r]
                out[i, r] += x * c - y * d
                out[i, half + r] += x * d + y * c
        else:
            for r in range(half):
                out[i, r] += x * core[w, r]


@jit
def _multiply(out, i, a, j, rank, is_complex):
    """Row i of `out` *= row j of `a`."""
    i, j, half = index(i), index(j), index(rank)
    if is_complex:
        for r in range(half):
            x, y = out[i, r], out[i, half + r]
            u, v = a[j, r], a[j, half + r]
            out[i, r] = x * u - y * v
            out[i, half + r] = x * v + y * u
    else:
        for r in range(half):
            out[i, r] *= a[j, r]


@jit
def _set_phase(out, i, phase, u, rank):
    """Row i of `out` = the phase of grid value u in every component (1 if there is none)."""
    for r in range(rank):
        out[i, r] = 1.0 if phase.size == 0 else phase[u].real
        if out.shape[1] == 2 * rank:
            out[i, rank + r] = 0.0 if phase.size == 0 else phase[u].imag


@jit
def advance(product, factors, first, core, rank):
    """Return planes `product` times the response of a level at all grid values.

    `core` holds the level's planes, `first` is where its entries begin among the column's.
    """
    is_complex = core.shape[1] == 2 * rank
    out = product.copy()
    response = np.empty((1, core.shape[1]), dtype=np.float64)
    for u in range(factors.shape[0]):
        _respond(response, 0, factors, u, first, core, 0, core.shape[0], rank)
        _multiply(out, u, response, 0, rank, is_complex)
    return out


@jit
def multiply(a, b, rank):
    """Return the product a∘b of planes, entry by entry."""
    out = a.copy()
    for u in range(a.shape[0]):
        _multiply(out, u, b, u, rank, a.shape[1] == 2 * rank)
    return out


@jit
def phases(phase, n_grid, rank, width):
    """Planes that hold a column's phase in every component."""
    out = np.empty((n_grid, width), dtype=np.float64)
    for u in range(n_grid):
        _set_phase(out, u, phase, u, rank)
    return out


@jit
def tables(start, stop, factors, phase, radices, core, rank, out):
    """Rows start … stop-1 of a column's table: phase times the product of its levels.

    `core` stacks the planes of the column's cores, one row a factor entry.
    """
    is_complex = core.shape[1] == 2 * rank
    product = np.empty((2, core.shape[1]), dtype=np.float64)
    for u in range(start, stop):
        _set_phase(product, 0, phase, u, rank)
        first = 0
        for radix in radices:
            _respond(product, 1, factors, u, first, core, first, radix, rank)
            _multiply(product, 0, product, 1, rank, is_complex)
            first += radix
        for r in range(core.shape[1]):
            out[u, r] = product[0, r]


@jit
def slopes(sums, factors, phase, radices, core, rank):
    """Σ_u factor(u)·(the column's table without the level)[u]∘sums[u] of all levels.

    Planes with one row a factor entry, like `core`, which stacks the column's cores.
    """
    width, n_levels = core.shape[1], radices.size
    is_complex = width == 2 * rank
    out = np.zeros(core.shape, dtype=np.float64)
    responses = np.empty((n_levels, width), dtype=np.float64)
    before = np.empty((n_levels, width), dtype=np.float64)
    product = np.empty((2, width), dtype=np.float64)  # running, and with what is before
    for u in range(factors.shape[0]):
        _set_phase(product, 0, phase, u, rank)
        _multiply(product, 0, sums, u, rank, is_complex)
        first = 0
        for k in range(n_levels):
            _copy(before, k, product, 0)
            _respond(responses, k, factors, u, first, core, first, radices[k], rank)
            _multiply(product, 0, responses, k, rank, is_complex)
            first += radices[k]
        _set_phase(product, 0, np.empty(0), u, rank)
        for k in range(n_levels - 1, -1, -1):
            first -= radices[k]
            _copy(product, 1, product, 0)
            _multiply(product, 1, before, k, rank, is_complex)
            for q in range(first, first + radices[k]):
                _add_multiple(out, q, factors[u, q], product, 1, rank, is_complex)
            _multiply(product, 0, responses, k, rank, is_complex)
    return out


@jit
def changes(factors, phase, radices, core, change, rank, out):
    """Write to `out` how a column's table changes when its cores do, to first order."""
    width = core.shape[1]
    is_complex = width == 2 * rank
    response = np.empty((2, width), dtype=np.float64)
    product = np.empty((3, width), dtype=np.float64)  # the table, its change, and a term of it
    for u in range(factors.shape[0]):
        _set_phase(product, 0, phase, u, rank)
        product[1] = 0.0
        first = 0
        for radix in radices:
            _respond(response, 0, factors, u, first, core, first, radix, rank)
            _respond(response, 1, factors, u, first, change, first, radix, rank)
            _copy(product, 2, product, 0)
            _multiply(product, 2, response, 1, rank, is_complex)
            _multiply(product, 1, response, 0, rank, is_complex)
            product[1] += product[2]
            _multiply(product, 0, response, 0, rank, is_complex)
            first += radix
        for r in range(width):
            out[u, r] = product[1, r]


@jit
def _copy(out, i, a, j):
    i, j = index(i), index(j)
    for r in range(index(out.shape[1])):
        out[i, r] = a[j, r]


@jit
def _add_multiple(out, i, factor, a, j, rank, is_complex):
    """Row i of `out` += a number times row j of `a`."""
    i, j, half = index(i), index(j), index(rank)
    x, y = factor.real, factor.imag
    if is_complex:
        for r in range(half):
            c, d = a[j, r], a[j, half + r]
            out[i, r] += x * c - y * d
            out[i, half + r] += x * d + y * c
    else:
        for r in range(half):
            out[i, r] += x * a[j, r]


@jit
def gram(start, stop, packed, shift, other, factors, first, pairs, conjugate, rank, out):
    """Sums over grid values of (products of two factor entries) × C[u], packed.

    C[u] = (ŌOᵀ)∘S[u] with O the column's table without the level and S[u] packed from
    `shift` on; where `conjugate` is False, (OOᵀ)∘S[u] and plain products.  `out` has shape
    (n_pairs, planes², n_packed): Re·Re, Re·Im, Im·Re and Im·Im of product and C.
    """
    is_complex = other.shape[1] == 2 * rank
    size, half = index(rank), index(rank * (rank + 1) // 2)
    c = np.empty(packed.shape[1], dtype=np.float64)
    shift = index(shift)
    for v in range(start, stop):
        u = index(v)
        _weigh(c, packed, u, shift, other, size, half, is_complex, conjugate)
        for j in range(index(pairs.shape[0])):
            p = factors[u, index(first + pairs[j, 0])]
            q = factors[u, index(first + pairs[j, 1])]
            real = p.real * q.real
            imaginary = p.real * q.imag
            if conjugate:
                real += p.imag * q.imag
                imaginary -= p.imag * q.real
            else:
                real -= p.imag * q.imag
                imaginary += p.imag * q.real
            _accumulate(out, j, index(0), real, c, half, is_complex)
            if is_complex and imaginary != 0.0:
                _accumulate(out, j, index(2), imaginary, c, half, is_complex)


@jit
def _weigh(c, packed, u, shift, other, size, half, is_complex, conjugate):
    p = index(0)
    for r in range(size):
        x = other[u, r]
        if not is_complex:
            for s in range(size - r):
                c[p + s] = x * other[u, r + s] * packed[u, p + s]
        else:
            y = -other[u, size + r] if conjugate else other[u, size + r]
            for s in range(size - r):
                a, b = other[u, r + s], other[u, size + r + s]
                real, imaginary = x * a - y * b, x * b + y * a
                g, h = packed[u, shift + p + s], packed[u, shift + half + p + s]
                c[p + s] = real * g - imaginary * h
                c[half + p + s] = real * h + imaginary * g
        p += size - r


@jit
def _accumulate(out, j, plane, factor, c, half, is_complex):
    for p in range(half):
        out[j, plane, p] += factor * c[p]
    if is_complex:
        for p in range(half):
            out[j, plane + index(1), p] += factor * c[half + p]


@jit
def right_side(sums, other, factors, first, radix, rank):
    """Σ_u factor_q(u)·O[u]∘sums[u], as planes (radix, planes·rank)."""
    width = other.shape[1]
    out = np.zeros((radix, width), dtype=np.float64)
    product = np.empty((1, width), dtype=np.float64)
    for u in range(index(other.shape[0])):
        for r in range(index(width)):
            product[index(0), r] = other[u, r]
        _multiply(product, 0, sums, u, rank, width == 2 * rank)
        for q in range(radix):
            factor = factors[u, index(first + q)]
            _add_multiple(out, q, factor, product, 0, rank, width == 2 * rank)
    return out


@jit
def unpack(sums, pairs_of, rank, conjugate):
    """Local matrix (Q·R, Q·R) from the sums of `gram`; `pairs_of[q, q']` names the product.

    With `conjugate` the matrix is Hermitian, else symmetric.
    """
    radix = pairs_of.shape[0]
    out = np.zeros((radix * rank, radix * rank), dtype=np.complex128)
    for q in range(radix):
        for p in range(q, radix):
            j = pairs_of[q, p]
            k = 0
            for r in range(rank):
                for s in range(r, rank):
                    upper, lower = _entries(sums, j, k, conjugate)
                    out[q * rank + r, p * rank + s] = upper
                    out[q * rank + s, p * rank + r] = lower
                    out[p * rank + s, q * rank + r] = upper.conjugate() if conjugate else upper
                    out[p * rank + r, q * rank + s] = lower.conjugate() if conjugate else lower
                    k += 1
    return out


@jit
def _entries(sums, j, k, conjugate):
    """Entries (r, s) and (s, r), r <= s, of the block of product j."""
    if sums.shape[1] == 1:
        value = complex(sums[j, 0, k], 0.0)
        return value, value
    a, b, c, d = sums[j, 0, k], sums[j, 1, k], sums[j, 2, k], sums[j, 3, k]
    upper = complex(a - d, b + c)
    return upper, complex(a + d, c - b) if conjugate else upper
