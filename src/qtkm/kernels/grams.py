"""Gram matrices of blocks of rows, by loops of our own.

A block holds environments row by row as planes [Re | Im], each half padded with zeros to whole
vectors of four (`padded`).  Its Gram matrix is made in tiles of a few entries by 16, 8 or 4 others,
whose sums stay in registers while all rows of the block go by: every number that is loaded meets
several others, as in a product of large matrices, and no memory is reordered.  Sums of blocks are
kept in squares, (size, half) for each of the `n_sums` real sums of a pair of entries; `pack` makes
upper triangles of them, row by row, whose numbers alternate Re, Im where the model is complex.
What was measured is in docs/decisions/0012-moments.md.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy import uint64 as index

from ._jit import jit
from ._simd import FLAGS, HAS_WIDE_REGISTERS, LANES, broadcast, pointers

#: entries of a tile, as many as the machine's registers take
ENTRIES = 4 if HAS_WIDE_REGISTERS else 2
#: bytes of a block that stays in the first-level cache
BLOCK_BYTES = 24_576


@jit
def padded(size):
    """Length of a padded half."""
    return size + (-size) % LANES


@jit
def block_rows(width, itemsize):
    """Rows of a block that stays in the first-level cache."""
    return max(16, min(256, BLOCK_BYTES // (width * itemsize)))


def _tile(n_sums: int, width: int, products: Any) -> Any:
    """Make a loop over the rows of a block that adds up products of entries with `width` others.

    `products(a, b)` gives, for an entry a = (Re, Im) and a vector b, the factors of the terms of
    every sum, with a sign.
    """

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        block, squares = pointers(context, builder, signature.args[0], arguments[0])
        stride, half, count, area, entry, first = arguments[1:]
        number, double = block.type.pointee, ir.DoubleType()
        is_long = width > LANES and (HAS_WIDE_REGISTERS or number != double)
        lanes = 2 * LANES if is_long else LANES
        n_vectors = width // lanes
        vector, wide = ir.VectorType(number, lanes), ir.VectorType(double, lanes)
        integer = stride.type

        def load(place: Any, kind: Any) -> Any:
            pointer = builder.gep(block, [place])
            if kind != number:
                pointer = builder.bitcast(pointer, kind.as_pointer())
            return builder.load(pointer, align=4 if number == ir.FloatType() else 8)

        def plus(a: Any, b: Any, more: int) -> Any:
            return builder.add(builder.add(a, b), ir.Constant(integer, more))

        shape = [(e, v, i) for e in range(ENTRIES) for v in range(n_vectors) for i in range(n_sums)]
        sums = {key: cgutils.alloca_once(builder, vector) for key in shape}
        for part in sums.values():
            builder.store(ir.Constant(vector, None), part)
        zero, one = ir.Constant(integer, 0), ir.Constant(integer, 1)
        with cgutils.for_range_slice(builder, zero, count, one) as (k, _):
            row = builder.mul(k, stride)
            planes = [row, builder.add(row, half)] if n_sums > 1 else [row]
            vectors = [
                [load(plus(plane, first, v * lanes), vector) for plane in planes]
                for v in range(n_vectors)
            ]
            for e in range(ENTRIES):
                numbers = [load(plus(plane, entry, e), number) for plane in planes]
                a = [broadcast(builder, value, vector) for value in numbers]
                for v, b in enumerate(vectors):
                    for i, terms in enumerate(products(a, b)):
                        total = builder.load(sums[e, v, i])
                        for x, y, sign in terms:
                            product = builder.fmul(x, y, flags=FLAGS)
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
    def loop(typing_context, arrays, stride, half, count, area, entry, first):
        size = types.uint64
        return types.void(arrays, size, size, size, size, size, size), generate

    return loop


def _real(a: Any, b: Any) -> list[Any]:
    return [[(a[0], b[0], 1)]]


def _hermitian(a: Any, b: Any) -> list[Any]:
    return [[(a[0], b[0], 1), (a[1], b[1], 1)], [(a[0], b[1], 1), (a[1], b[0], -1)]]


def _apart(a: Any, b: Any) -> list[Any]:
    """Re·Re, Im·Im, Re·Im and Im·Re, of which both ḡgᵀ and ggᵀ are made."""
    return [[(a[i], b[j], 1)] for i, j in ((0, 0), (1, 1), (0, 1), (1, 0))]


_real_16, _real_8, _real_4 = (_tile(1, width, _real) for width in (16, 8, 4))
_hermitian_16, _hermitian_8, _hermitian_4 = (_tile(2, width, _hermitian) for width in (16, 8, 4))
_apart_8, _apart_4 = (_tile(4, width, _apart) for width in (8, 4))


@jit
def new_squares(size, half, n_sums):
    """Squares of zeros for so many sums; lines that only fill a tile are there, too."""
    return np.zeros((n_sums, size + (-size) % ENTRIES, half))


@jit
def add_gram(block, count, size, squares):
    """Add the Gram matrix of the first rows of a block: entries on and above the diagonal.

    Parameters
    ----------
    block : (n, width) array
        Rows of padded planes, `ENTRIES` of them more than are ever counted.
    count, size : int
        Rows to add up; entries of a row.
    squares : (n_sums, size, half) array
        One sum of real numbers, two of Hermitian ones (Re, Im), or four (Re·Re, Im·Im, Re·Im,
        Im·Re) that hold both ḡgᵀ and ggᵀ.
    """
    n_sums, half = squares.shape[0], squares.shape[2]
    width, area = index(block.shape[1]), index(squares.shape[1] * half)
    n, h = index(count), index(half)
    for r in range(0, size, ENTRIES):
        s = r - r % LANES
        e = index(r)
        while s < size:
            f, left = index(s), half - s
            if n_sums == 1:
                if left >= 16:
                    _real_16((block, squares), width, h, n, area, e, f)
                elif left >= 8:
                    _real_8((block, squares), width, h, n, area, e, f)
                else:
                    _real_4((block, squares), width, h, n, area, e, f)
            elif n_sums == 2:
                if left >= 16 and ENTRIES == 4:
                    _hermitian_16((block, squares), width, h, n, area, e, f)
                elif left >= 8:
                    _hermitian_8((block, squares), width, h, n, area, e, f)
                else:
                    _hermitian_4((block, squares), width, h, n, area, e, f)
            elif left >= 8:
                _apart_8((block, squares), width, h, n, area, e, f)
            else:
                _apart_4((block, squares), width, h, n, area, e, f)
            is_16 = left >= 16 and (n_sums == 1 or (n_sums == 2 and ENTRIES == 4))
            s += 16 if is_16 else 8 if left >= 8 else 4


@jit
def pack(squares, size, hermitian, symmetric, slot):
    """Write squares as upper triangles of ḡgᵀ, and of ggᵀ where it has lines; clear them."""
    n_sums, p = squares.shape[0], 0
    for r in range(size):
        if n_sums == 1:
            for s in range(r, size):
                hermitian[slot, p + s - r] = squares[0, r, s]
        elif n_sums == 2:
            for s in range(r, size):
                hermitian[slot, 2 * (p + s - r)] = squares[0, r, s]
                hermitian[slot, 2 * (p + s - r) + 1] = squares[1, r, s]
        else:
            for s in range(r, size):
                q = 2 * (p + s - r)
                rr, ii, ri, ir = (
                    squares[0, r, s], squares[1, r, s], squares[2, r, s], squares[3, r, s],
                )  # fmt: skip
                hermitian[slot, q] = rr + ii
                hermitian[slot, q + 1] = ri - ir
                symmetric[slot, q] = rr - ii
                symmetric[slot, q + 1] = ri + ir
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
