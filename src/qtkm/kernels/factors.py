"""Compiled loops of the feature maps: factor entries of all levels of a column."""

import numpy as np

from ._jit import jit


@jit
def exponentials(angle, radices):
    """Entries exp(2πi·angle·q·B_k) of all levels, shape (n, sum(radices)).

    One sine and cosine a value; the other entries follow by multiplication, since the
    last entry of a level times its first power is the first power of the next.
    """
    result = np.empty((angle.size, radices.sum()), dtype=np.complex128)
    for n in range(angle.size):
        turn = 2 * np.pi * angle[n]
        base = complex(np.cos(turn), np.sin(turn))
        _geometric(result[n], base, 1.0 + 0.0j, radices)
    return result


@jit
def turns(angle, frequency):
    """Exponentials exp(-2πi·angle·frequency) of a whole frequency, shape (n,)."""
    result = np.empty(angle.size, dtype=np.complex128)
    for n in range(angle.size):
        turn = 2 * np.pi * angle[n]
        base = complex(np.cos(turn), -np.sin(turn))
        power = 1.0 + 0.0j
        left = frequency
        while left:
            if left & 1:
                power = power * base
            base = base * base
            left >>= 1
        result[n] = power
    return result


@jit
def powers(values, radices):
    """Entries x^(q·B_k) of all levels, shape (n, sum(radices))."""
    result = np.empty((values.size, radices.sum()), dtype=np.float64)
    for n in range(values.size):
        _geometric(result[n], values[n], 1.0, radices)
    return result


@jit
def _geometric(row, base, one, radices):
    entry = 0
    for radix in radices:
        power = one
        for _ in range(radix):
            row[entry] = power
            power = power * base
            entry += 1
        base = power
