"""Compiled loops of the feature maps: factor entries of all levels of a column."""

from math import factorial

import numpy as np
from numpy import uint64 as index

from ._jit import jit

#: Taylor coefficients; on an eighth of a turn the first term left out is below 1e-19
_SINE = tuple((-1.0) ** k / factorial(2 * k + 1) for k in range(9))
_COSINE = tuple((-1.0) ** k / factorial(2 * k) for k in range(9))


@jit
def _unit_circle(angle, real, imaginary):
    """Write cosine and sine of 2π·angle: polynomials on an eighth of a turn, vectorised.

    The nearest quarter turn is taken off exactly, before the multiplication by 2π.
    """
    for n in range(index(angle.size)):
        quarter = np.floor(4 * angle[n] + 0.5)
        x = 2 * np.pi * (angle[n] - 0.25 * quarter)
        y = x * x
        s = _SINE[8]
        c = _COSINE[8]
        for k in range(7, -1, -1):
            s = _SINE[k] + y * s
            c = _COSINE[k] + y * c
        s = x * s
        turn = quarter - 4 * np.floor(0.25 * quarter)
        swapped = (turn == 1.0) | (turn == 3.0)
        a = s if swapped else c
        b = c if swapped else s
        real[n] = -a if (turn == 1.0) | (turn == 2.0) else a
        imaginary[n] = -b if turn >= 2.0 else b


@jit
def _multiply_line(planes, to, source, real, imaginary):
    """Line `to` = line `source` times given complex numbers."""
    to, source = index(to), index(source)
    for n in range(index(real.size)):
        x, y = planes[index(0), source, n], planes[index(1), source, n]
        planes[index(0), to, n] = x * real[n] - y * imaginary[n]
        planes[index(1), to, n] = x * imaginary[n] + y * real[n]


@jit
def _raise(planes, first, radix, real, imaginary):
    """Fill a level with the powers 0 … radix-1 of a base, and raise the base to the radix."""
    planes[0, first] = 1
    planes[1, first] = 0
    for q in range(1, radix):
        _multiply_line(planes, first + q, first + q - 1, real, imaginary)
    last = index(first + radix - 1)
    for n in range(index(real.size)):
        x, y = planes[index(0), last, n], planes[index(1), last, n]
        u, v = real[n], imaginary[n]
        real[n], imaginary[n] = x * u - y * v, x * v + y * u


@jit
def exponential_lines(angle, radices):
    """Entries exp(2πi·angle·q·B_k) of all levels, as real planes (2, sum(radices), n).

    One sine and cosine a value; the other entries follow by multiplication, since the last
    entry of a level times its first power is the first power of the next.
    """
    planes = np.empty((2, radices.sum(), angle.size))
    real, imaginary = np.empty(angle.size), np.empty(angle.size)
    _unit_circle(angle, real, imaginary)
    first = 0
    for radix in radices:
        _raise(planes, first, radix, real, imaginary)
        first += radix
    return planes


@jit
def turns(angle, frequency):
    """Exponentials exp(-2πi·angle·frequency), shape (n,)."""
    real, imaginary = np.empty(angle.size), np.empty(angle.size)
    whole = np.floor(angle)
    _unit_circle(-(angle - whole) * frequency, real, imaginary)
    return real + 1j * imaginary


@jit
def powers(values, radices):
    """Entries x^(q·B_k) of all levels, shape (n, sum(radices))."""
    result = np.empty((values.size, radices.sum()), dtype=np.float64)
    for n in range(values.size):
        entry, base = 0, values[n]
        for radix in radices:
            power = 1.0
            for _ in range(radix):
                result[n, entry] = power
                power = power * base
                entry += 1
            base = power
    return result
