"""Gram matrices of blocks of rows, by loops of our own.

A block holds environments as lines (see `kernels.lines`).  Its Gram matrix is made in tiles of a
few entries by 16, 8 or 4 others, whose sums stay in registers while all rows of the block go by:
every number that is loaded meets several others, as in a product of large matrices, and no memory
is reordered.  Sums of blocks are kept in squares, (size, half) for each real sum of a pair of
entries; `pack` makes upper triangles of them, row by row, whose numbers alternate Re, Im where the
model is complex.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy import uint64 as index

from . import lines
from ._jit import jit
from ._simd import FLAGS, HAS_WIDE_REGISTERS, SIZE, Lines, pointers
from .lines import LANES

#: entries of a tile, as many as the machine's registers take
ENTRIES = 4 if HAS_WIDE_REGISTERS else 2
#: bytes of a block that stays in the first-level cache
BLOCK_BYTES = 24_576


padded = jit(lines.padded)


@jit
def block_rows(width, itemsize):
    """Rows of a block that stays in the first-level cache."""
    return max(16, min(256, BLOCK_BYTES // (width * itemsize)))


#: for one sum of products (real numbers), two (Re and Im of ā·b) and four (Re·Re, Im·Im, Re·Im and
#: Im·Re, of which both ā·b and a·b are made): terms (plane of a, plane of b, sign) of every sum
TERMS: dict[int, list[list[tuple[int, int, int]]]] = {
    1: [[(0, 0, 1)]],
    2: [[(0, 0, 1), (1, 1, 1)], [(0, 1, 1), (1, 0, -1)]],
    4: [[(0, 0, 1)], [(1, 1, 1)], [(0, 1, 1)], [(1, 0, 1)]],
}


def _tile(width: int) -> Any:
    """Make a loop over the rows of a block that adds up products of entries with `width` others."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block, squares = pointers(context, builder, signature.args[0], arguments[0])
        stride, half, count, area, entry, first, _ = arguments[1:]
        n_sums = len(signature.args[-1])
        number, double = block.type.pointee, ir.DoubleType()
        is_long = width > LANES and (HAS_WIDE_REGISTERS or number != double)
        lanes = 2 * LANES if is_long else LANES
        vector, wide = ir.VectorType(number, lanes), ir.VectorType(double, lanes)
        integer = stride.type
        rows = Lines(builder, block, half, range(min(n_sums, 2)), number)

        def plus(a: Any, b: Any, more: int) -> Any:
            return builder.add(builder.add(a, b), ir.Constant(integer, more))

        vectors = range(width // lanes)
        shape = [(e, v, i) for e in range(ENTRIES) for v in vectors for i in range(n_sums)]
        sums = {key: cgutils.alloca_once(builder, vector) for key in shape}
        for part in sums.values():
            builder.store(ir.Constant(vector, None), part)
        zero, one = ir.Constant(integer, 0), ir.Constant(integer, 1)
        with cgutils.for_range_slice(builder, zero, count, one) as (k, _):
            row = builder.mul(k, stride)
            others = [rows.load(plus(row, first, v * lanes), lanes).planes for v in vectors]
            for e in range(ENTRIES):
                a = rows.load_one(plus(row, entry, e), lanes).planes
                for v, b in enumerate(others):
                    for i, terms in enumerate(TERMS[n_sums]):
                        total = builder.load(sums[e, v, i])
                        for x, y, sign in terms:
                            product = builder.fmul(a[x], b[y], flags=FLAGS)
                            step = builder.fadd if sign > 0 else builder.fsub
                            total = step(total, product, flags=FLAGS)
                        builder.store(total, sums[e, v, i])
        for e, v, i in shape:
            line = builder.mul(builder.add(entry, ir.Constant(integer, e)), half)
            place = plus(line, first, v * lanes)
            place = builder.add(place, builder.mul(area, ir.Constant(integer, i)))
            pointer = builder.bitcast(builder.gep(squares, [place]), wide.as_pointer())
            value = builder.load(sums[e, v, i])
            value = value if number == double else builder.fpext(value, wide)
            total = builder.fadd(builder.load(pointer, align=8), value, flags=FLAGS)
            builder.store(total, pointer, align=8)
        return context.get_dummy_value()

    @intrinsic
    def loop(typing_context, arrays, stride, half, count, area, entry, first, sums):
        return types.void(arrays, *[SIZE] * 6, sums), generate

    return loop


_tile_16, _tile_8, _tile_4 = (_tile(width) for width in (16, 8, 4))


@jit
def new_squares(size, half, n_sums):
    """Squares of zeros for so many sums; lines that only fill a tile are there, too."""
    return np.zeros((n_sums, size + (-size) % ENTRIES, half))


@jit
def add_gram(block, count, size, squares, sums):
    """Add the Gram matrix of the first `count` lines of a block: entries from the diagonal on.

    Lines have `size` entries; `sums` has as many entries as there are sums, see `TERMS`.
    """
    half = squares.shape[2]
    width, area = index(block.shape[1]), index(squares.shape[1] * half)
    n, h = index(count), index(half)
    has_room = len(sums) == 1 or (len(sums) == 2 and ENTRIES == 4)  # for sums in registers
    for r in range(0, size, ENTRIES):
        s, e = r - r % LANES, index(r)
        while s < size:
            if half - s >= 16 and has_room:
                _tile_16((block, squares), width, h, n, area, e, index(s), sums)
                s += 16
            elif half - s >= 8:
                _tile_8((block, squares), width, h, n, area, e, index(s), sums)
                s += 8
            else:
                _tile_4((block, squares), width, h, n, area, e, index(s), sums)
                s += 4


@jit
def pack(squares, size, hermitian, symmetric, slot):
    """Write squares as upper triangles of ḡgᵀ, and of ggᵀ where it has lines; clear them."""
    n_sums, p = squares.shape[0], 0
    for r in range(size):
        for s in range(r, size):
            q = p + s - r
            if n_sums == 1:
                hermitian[slot, q] = squares[0, r, s]
            elif n_sums == 2:
                hermitian[slot, 2 * q] = squares[0, r, s]
                hermitian[slot, 2 * q + 1] = squares[1, r, s]
            else:
                rr, ii = squares[0, r, s], squares[1, r, s]
                ri, ir = squares[2, r, s], squares[3, r, s]
                hermitian[slot, 2 * q], hermitian[slot, 2 * q + 1] = rr + ii, ri - ir
                symmetric[slot, 2 * q], symmetric[slot, 2 * q + 1] = rr - ii, ri + ir
        p += size - r
    squares[:] = 0


@jit
def add_products(block, count, target, out, slot):
    """Add Σ row·target over the first rows of a block, for every output: out (…, n, width)."""
    for k in range(target.shape[0]):
        for n in range(index(count)):
            x = target[index(k), n]
            for r in range(index(block.shape[1])):
                out[slot, k, r] += x * block[n, r]
