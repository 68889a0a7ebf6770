"""Compiled loops of a column's local problems from the rows themselves.

Everything is kept column by column (see `kernels.grams`): environments and the running
product of the levels already visited as lines (n_lines, n_rows), factor entries as planes
(n_entries, 2, n_rows).  Cores of a column are stacked, one row a factor entry.
"""

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from .grams import LANE, add_block, block_rows, padded, project

#: a whole number that is not a literal: those would each be compiled for
ZERO = np.int64(0)
#: rows whose lines stay in the second-level cache while all sites are visited
EVALUATED_ROWS = 512


@jit
def to_lines(rows, rank, is_complex):
    """Rows of planes as padded lines."""
    lines = np.zeros((padded(rank, is_complex), rows.shape[0]), dtype=rows.dtype)
    half = lines.shape[0] // 2
    for r in range(rank):
        lines[r] = rows[:, r]
        if is_complex:
            lines[half + r] = rows[:, rank + r]
    return lines


@jit
def _multiply_line(lines, r, begin, count, real, imaginary, is_complex):
    """Multiply component r of lines, from `begin` on, by given values."""
    r, begin, half = index(r), index(begin), index(lines.shape[0] // 2)
    if not is_complex:
        for n in range(index(count)):
            lines[r, begin + n] *= real[n]
        return
    for n in range(index(count)):
        x, y = lines[r, begin + n], lines[half + r, begin + n]
        lines[r, begin + n] = x * real[n] - y * imaginary[n]
        lines[half + r, begin + n] = x * imaginary[n] + y * real[n]


@jit
def _is_one(factors, entry, start, count):
    """Whether a factor entry is 1 in all of the rows."""
    for n in range(index(start), index(start + count)):
        if factors[entry, index(0), n] != 1.0 or factors[entry, index(1), n] != 0.0:
            return False
    return True


@jit
def multiply_level(lines, begin, count, factors, start, first, radix, cores, rank, is_complex):
    """Multiply lines (from `begin` on) by the response of a level at rows from `start` on."""
    one = _is_one(factors, index(first), start, count)
    if one and radix == 2 and is_complex:
        for r in range(rank):
            _multiply_pair(lines, r, begin, count, factors, start, first + 1,
                           cores[first, r], cores[first + 1, r])  # fmt: skip
        return
    real, imaginary = np.empty(count), np.empty(count)
    start = index(start)
    for r in range(rank):
        real[:] = cores[first, r].real if one else 0.0
        imaginary[:] = cores[first, r].imag if one else 0.0
        for q in range(first + 1 if one else first, first + radix):
            c, d, entry = cores[q, r].real, cores[q, r].imag, index(q)
            if is_complex:
                for n in range(index(count)):
                    x, y = factors[entry, index(0), start + n], factors[entry, index(1), start + n]
                    real[n] += x * c - y * d
                    imaginary[n] += x * d + y * c
            else:
                for n in range(index(count)):
                    real[n] += c * factors[entry, index(0), start + n]
        _multiply_line(lines, r, begin, count, real, imaginary, is_complex)


@jit
def _multiply_pair(lines, r, begin, count, factors, start, entry, constant, slope):
    """Multiply component r by constant + slope·factor: the response of two entries, 1 and s."""
    r, begin, half = index(r), index(begin), index(lines.shape[0] // 2)
    start, entry = index(start), index(entry)
    a, b, c, d = constant.real, constant.imag, slope.real, slope.imag
    for n in range(index(count)):
        x, y = factors[entry, index(0), start + n], factors[entry, index(1), start + n]
        real, imaginary = a + x * c - y * d, b + x * d + y * c
        u, v = lines[r, begin + n], lines[half + r, begin + n]
        lines[r, begin + n] = u * real - v * imaginary
        lines[half + r, begin + n] = u * imaginary + v * real


@jit
def fill_design(design, z, count, factors, start, first, radix, rank, is_complex):
    """Lines of factor_q∘z for every entry q of a level, zeros up to a whole lane."""
    half, half_z = index(design.shape[0] // 2), index(z.shape[0] // 2)
    re, im = index(0), index(1)
    begin = 0
    if _is_one(factors, index(first), start, count):
        begin = 1
        for r in range(index(rank)):
            for n in range(index(count)):
                design[r, n] = z[r, n]
            if is_complex:
                for n in range(index(count)):
                    design[half + r, n] = z[half_z + r, n]
    start = index(start)
    for q in range(begin, radix):
        entry = index(first + q)
        for r in range(index(rank)):
            line = index(q * rank) + r
            if is_complex:
                for n in range(index(count)):
                    x, y = factors[entry, re, start + n], factors[entry, im, start + n]
                    u, v = z[r, n], z[half_z + r, n]
                    design[line, n] = x * u - y * v
                    design[half + line, n] = x * v + y * u
            else:
                for n in range(index(count)):
                    design[line, n] = factors[entry, re, start + n] * z[r, n]
    for padded_line in range(index(design.shape[0])):
        for n in range(index(count), index(count + (-count) % LANE)):
            design[padded_line, n] = 0


@jit
def _fill_z(z, begin, count, environment, prefix, factors, radices, level, cores, rank, is_complex):
    """Lines of environment times the column's table without a level, of `count` rows."""
    for line in range(z.shape[0]):
        z[line, :count] = environment[line, begin : begin + count]
    half = prefix.shape[0] // 2
    for r in range(rank):
        real = prefix[r, begin : begin + count]
        imaginary = prefix[half + r if is_complex else r, begin : begin + count]
        _multiply_line(z, r, ZERO, count, real, imaginary, is_complex)
    first = radices[: level + 1].sum()
    for later in range(level + 1, radices.size):
        radix = radices[later]
        multiply_level(z, ZERO, count, factors, begin, first, radix, cores, rank, is_complex)
        first += radix


@jit
def level_sums(
    start, stop, environment, prefix, factors, radices, level, cores, target, rank, is_complex,
    packed, rhs,
):  # fmt: skip
    """Packed Gram and right-hand sides of a level from rows start … stop-1.

    Parameters
    ----------
    environment, prefix : lines
        Scaled environments; phase times the product of the levels before.
    factors : (n_entries, 2, n_rows) array
    radices : int array
    level : int
    cores : (n_entries, rank) array
    target : (n_outputs, n_rows) array
        Scaled targets.
    packed : (1, …) array, written
    rhs : (n_outputs, planes·radix·rank) array, written
    """
    radix = radices[level]
    first, size = radices[:level].sum(), radix * rank
    n_lines = padded(size, is_complex)
    block = block_rows(n_lines)
    design = np.zeros((n_lines, block), dtype=environment.dtype)
    z = np.empty((environment.shape[0], block), dtype=environment.dtype)
    scratch = np.empty((n_lines, n_lines))
    packed[:] = 0
    rhs[:] = 0
    for begin in range(start, stop, block):
        count = min(block, stop - begin)
        _fill_z(z, begin, count, environment, prefix, factors, radices, level, cores, rank,
                is_complex)  # fmt: skip
        fill_design(design, z, count, factors, begin, first, radix, rank, is_complex)
        add_block(design, count, size, is_complex, scratch, packed, ZERO)
        project(design, count, target[:, begin:], size, is_complex, rhs)


@jit
def design_matrix(environment, prefix, factors, radices, level, cores, rank, is_complex):
    """Lines of all design rows of a level."""
    radix, n_rows = radices[level], environment.shape[1]
    first = radices[:level].sum()
    z = np.empty_like(environment)
    _fill_z(z, ZERO, n_rows, environment, prefix, factors, radices, level, cores, rank, is_complex)
    design = np.zeros((padded(radix * rank, is_complex), n_rows + LANE))
    fill_design(design, z, n_rows, factors, ZERO, first, radix, rank, is_complex)
    return design[:, :n_rows]


@jit
def normalize_into(solution, core):
    """Write a solution into a core, its columns scaled to unit norm; returns the norms."""
    norm = np.zeros(core.shape[1])
    for r in range(core.shape[1]):
        for q in range(core.shape[0]):
            norm[r] += solution[q, r].real ** 2 + solution[q, r].imag ** 2
        norm[r] = np.sqrt(norm[r]) if norm[r] > 0 else 1.0
        for q in range(core.shape[0]):
            core[q, r] = solution[q, r] / norm[r]
    return norm


@jit
def multiply_rows(lines, cores, codes, rank, is_complex):
    """Multiply lines by the rows of a core that codes select."""
    real, imaginary = np.empty(codes.size), np.empty(codes.size)
    for r in range(rank):
        for n in range(codes.size):
            real[n] = cores[codes[n], r].real
            imaginary[n] = cores[codes[n], r].imag
        _multiply_line(lines, r, ZERO, codes.size, real, imaginary, is_complex)


@jit
def _are_pairs(factors, radices, site, first, start, count):
    """Whether two sites from `site` on have two entries each, the first of them 1."""
    if site + 1 >= radices.size or radices[site] != 2 or radices[site + 1] != 2:
        return False
    one = _is_one(factors, index(first), start, count)
    return one and _is_one(factors, index(first + 2), start, count)


@jit
def _multiply_two_pairs(lines, r, begin, count, factors, first, cores):
    """Multiply component r by the responses of two sites of entries 1 and s."""
    half, n_first, n_second = index(lines.shape[0] // 2), index(first + 1), index(first + 3)
    r, begin, re, im = index(r), index(begin), index(0), index(1)
    a, b = cores[index(first), r].real, cores[index(first), r].imag
    c, d = cores[n_first, r].real, cores[n_first, r].imag
    e, f = cores[index(first + 2), r].real, cores[index(first + 2), r].imag
    g, h = cores[n_second, r].real, cores[n_second, r].imag
    for n in range(begin, begin + index(count)):
        x, y = factors[n_first, re, n], factors[n_first, im, n]
        p, q = a + x * c - y * d, b + x * d + y * c
        x, y = factors[n_second, re, n], factors[n_second, im, n]
        s, t = e + x * g - y * h, f + x * h + y * g
        u, v = lines[r, n], lines[half + r, n]
        u, v = u * p - v * q, u * q + v * p
        lines[r, n] = u * s - v * t
        lines[half + r, n] = u * t + v * s


@jit
def evaluate(lines, factors, radices, cores, rank, is_complex):
    """Multiply lines by the responses of all sites, some rows at a time to stay in cache."""
    for begin in range(0, lines.shape[1], EVALUATED_ROWS):
        count = min(EVALUATED_ROWS, lines.shape[1] - begin)
        first, site = 0, 0
        while site < radices.size:
            radix = radices[site]
            if is_complex and _are_pairs(factors, radices, site, first, begin, count):
                for r in range(rank):
                    _multiply_two_pairs(lines, r, begin, count, factors, first, cores)
                first += 4
                site += 2
                continue
            multiply_level(
                lines, begin, count, factors, begin, first, radix, cores, rank, is_complex
            )
            first += radix
            site += 1


@jit
def start_lines(phase, rank, is_complex):
    """Lines that hold a complex phase in every component."""
    lines = np.zeros((padded(rank, is_complex), phase.size))
    half = lines.shape[0] // 2
    for r in range(rank):
        for n in range(phase.size):
            lines[r, n] = phase[n].real
            if is_complex:
                lines[half + r, n] = phase[n].imag
    return lines


@jit
def sum_lines(lines, rank, is_complex):
    """Sum of the components, for every row; complex numbers in either case."""
    real, imaginary = np.zeros(lines.shape[1]), np.zeros(lines.shape[1])
    half = index(lines.shape[0] // 2)
    for r in range(index(rank)):
        for n in range(index(lines.shape[1])):
            real[n] += lines[r, n]
        if is_complex:
            for n in range(index(lines.shape[1])):
                imaginary[n] += lines[half + r, n]
    return real + 1j * imaginary
