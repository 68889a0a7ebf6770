"""Compiled loops that find distinct values, encode columns and sort rows by code."""

import numpy as np
from numpy import uint64 as index

from ._jit import jit

_EMPTY = -1


@jit
def _shift(size):
    """Shift that leaves as many top bits as a table of `size` (a power of two) has positions."""
    shift = index(64)
    while size > 1:
        shift -= index(1)
        size //= 2
    return shift


@jit
def _slot(keys, used, bits, shift):
    """Position of a value in an open-addressing hash table, or of the hole where it goes.

    From the top bits of the product: doubles that are whole numbers have no low ones.
    """
    mask = index(keys.size - 1)
    position = (bits * index(0x9E3779B97F4A7C15)) >> shift
    while used[position] != _EMPTY and keys[position] != bits:
        position = (position + index(1)) & mask
    return position


@jit
def distinct(bits, limit, keys, used):
    """Count distinct 64-bit patterns into an empty hash table; stop beyond `limit`.

    Returns the count, or limit + 1 as soon as there are more.
    """
    shift = _shift(keys.size)
    count = 0
    for n in range(bits.size):
        position = _slot(keys, used, bits[n], shift)
        if used[position] == _EMPTY:
            if count == limit:
                return limit + 1
            keys[position] = bits[n]
            used[position] = count
            count += 1
    return count


@jit
def look_up(bits, keys, used, out):
    """Codes of values that the hash table holds: `used` names the code of each."""
    shift = _shift(keys.size)
    for n in range(bits.size):
        out[n] = used[_slot(keys, used, bits[n], shift)]


@jit
def bin_codes(values, low, width, n_bins, out):
    """Codes of equal-width bins."""
    for n in range(values.size):
        # halves first: high - low may overflow
        code = int((values[n] / 2 - low / 2) / (width / 2) * n_bins)
        out[n] = min(max(code, 0), n_bins - 1)


@jit
def sort_by_code(codes, n_codes, previous):
    """Stable counting sort of `previous` (row numbers) by their code.

    Returns the sorted row numbers and where each code's rows begin (n_codes + 1).
    """
    starts = np.zeros(n_codes + 1, dtype=np.int64)
    for n in range(codes.size):
        starts[index(codes[n]) + index(1)] += 1
    for n in range(n_codes):
        starts[n + 1] += starts[n]
    place = starts[:-1].copy()
    order = np.empty_like(previous)
    for n in range(previous.size):
        row = previous[n]
        code = index(codes[index(row)])
        order[index(place[code])] = row
        place[code] += 1
    return order, starts
