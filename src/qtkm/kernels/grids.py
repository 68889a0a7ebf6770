"""Compiled loops that find distinct values and encode columns."""

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
