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
def _raise(planes, first, radix, real, imaginary):
    """Fill a level with the powers 0 … radix-1 of a base, and raise the base to the radix."""
    re, im = index(0), index(1)
    planes[first, 0] = 1
    planes[first, 1] = 0
    for q in range(1, radix):
        to, source = index(first + q), index(first + q - 1)
        for n in range(index(real.size)):
            x, y = planes[source, re, n], planes[source, im, n]
            planes[to, re, n] = x * real[n] - y * imaginary[n]
            planes[to, im, n] = x * imaginary[n] + y * real[n]
    last = index(first + radix - 1)
    for n in range(index(real.size)):
        x, y = planes[last, re, n], planes[last, im, n]
        u, v = real[n], imaginary[n]
        real[n], imaginary[n] = x * u - y * v, x * v + y * u


@jit
def exponential_lines(values, period, radices, planes):
    """Write the entries exp(2πi·x·q·B_k/L) of all levels as planes (sum(radices), 2, n).

    One sine and cosine a value; the other entries follow by multiplication, since the last
    entry of a level times its first power is the first power of the next.
    """
    real, imaginary = np.empty(values.size), np.empty(values.size)
    angle = np.empty(values.size)
    for n in range(values.size):
        angle[n] = values[n] / period
    _unit_circle(angle, real, imaginary)
    first = 0
    for radix in radices:
        _raise(planes, first, radix, real, imaginary)
        first += radix


@jit
def turn_back(planes, entry, phase):
    """Multiply phases by the conjugate of a factor entry."""
    entry = index(entry)
    for n in range(phase.size):
        x, y = planes[entry, index(0), index(n)], planes[entry, index(1), index(n)]
        phase[n] *= complex(x, -y)


@jit
def turn(values, period, frequency, phase):
    """Multiply phases by exp(-2πi·x·frequency/L)."""
    real, imaginary, angle = np.empty(values.size), np.empty(values.size), np.empty(values.size)
    for n in range(values.size):
        part = values[n] / period
        angle[n] = -(part - np.floor(part)) * frequency
    _unit_circle(angle, real, imaginary)
    for n in range(values.size):
        phase[n] *= complex(real[n], imaginary[n])


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
