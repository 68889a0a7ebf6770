"""Gram matrices of blocks of rows, by loops of our own.

A block holds environments as lines (see `kernels.lines`).  All that is needed of it are products
AᵀB of two of its planes, made in tiles of a few entries by up to 32 others, whose sums stay in
registers while all rows of the block go by: every number that is loaded meets several others, as
in a product of large matrices, and no memory is reordered.  Sums of blocks are kept in squares,
(size, half) for each product; `pack` makes upper triangles of them, row by row, whose numbers
alternate Re, Im where the model is complex.

Lines of complex g = x + iy have the planes X+Y, X-Y and Y, since a square and a triangle are then
enough for Σ ḡgᵀ, where two triangles and a square would be needed otherwise: of (X+Y)ᵀ(X-Y) the
antisymmetric part is YᵀX - XᵀY, and the symmetric one XᵀX - YᵀY, which twice the triangle YᵀY makes
XᵀX + YᵀY.  The triangle (X+Y)ᵀ(X+Y), of which this leaves XᵀY + YᵀX, gives Σ ggᵀ as well.  The
tuple `sums` has as many entries as there are such products: 1 if all is real, else 2 or 3.  Squares
begin as zeros, with as many rows as tiles of the entries cover.
"""

from typing import Any

from llvmlite import ir
from numpy import uint64 as index

from . import lines
from ._jit import jit
from ._simd import FLAGS, Lines, Loop, Register, generated, row_times_matrix
from .lines import LANES

#: entries of a tile, and with how many others they are multiplied
ENTRIES, OTHERS = 4, 32
#: bytes of a block that stays in the first-level cache
BLOCK_BYTES = 24_576


padded = jit(lines.padded)


@jit
def block_rows(width, itemsize):
    """Rows of a block that stays in the first-level cache."""
    return max(16, min(256, BLOCK_BYTES // (width * itemsize)))


@jit
def mix(block, count, half, sums):
    """Turn planes X, Y of the first lines of a block into X+Y, X-Y and Y."""
    if len(sums) > 1:
        for n in range(index(count)):
            for r in range(index(half)):
                x, y = block[n, r], block[n, index(half) + r]
                block[n, r], block[n, index(half) + r] = x + y, x - y
                block[n, index(2 * half) + r] = y


@generated
def _add_tiles(
    loop: Loop, stride: Any, count: Any, entry: Any, first: Any, width: Any, half: Any, to: Any
) -> None:
    """Add up products of a tile's entries with `width` others over the rows of a block."""
    builder = loop.builder
    block, squares = loop.bases
    loop.number = block.type.pointee  # sums of a block are in its precision
    rows = Lines(loop, block, None, 1)

    def body(s: Any, lanes: int, n_vectors: int) -> None:
        vectors = range(n_vectors)
        sums = {(e, v): Register(loop, lanes, 1) for e in range(ENTRIES) for v in vectors}
        with loop.steps(0, count) as (k, _):
            row = builder.mul(k, stride)
            others = [rows.load(loop.at(row, first, s, v * lanes), lanes) for v in vectors]
            for e in range(ENTRIES):
                a = rows.load_one(loop.at(row, entry, e), lanes)
                for v, b in enumerate(others):
                    sums[e, v].set(sums[e, v].get() + a * b)
        wide = ir.VectorType(ir.DoubleType(), lanes)
        for (e, v), total in sums.items():
            place = loop.at(to, s, builder.mul(loop.constant(e), half), v * lanes)
            pointer = builder.bitcast(builder.gep(squares, [place]), wide.as_pointer())
            (value,) = total.get().planes
            value = value if value.type == wide else builder.fpext(value, wide)
            value = builder.fadd(builder.load(pointer, align=8), value, flags=FLAGS)
            builder.store(value, pointer, align=8)

    loop.along(width, OTHERS // loop.widest, body)


@jit
def _add_product(block, count, size, planes, squares, to, is_whole):
    """Add AᵀB of two planes of the first lines of a block, or its entries from the diagonal on."""
    half = squares.shape[2]
    a, b = planes[0] * half, planes[1] * half
    to = to * squares.shape[1] * half
    for r in range(0, size, ENTRIES):
        s = 0 if is_whole else r - r % (2 * LANES)
        _add_tiles(
            (block, squares), index(block.shape[1]), index(count), index(a + r), index(b + s),
            index(half - s), index(half), index(to + r * half + s), (0,),
        )  # fmt: skip


@jit
def add_gram(block, count, size, squares, sums):
    """Add the products of the planes of the first `count` lines of a block, of `size` entries."""
    if len(sums) == 1:
        _add_product(block, count, size, (0, 0), squares, 0, False)
    else:
        _add_product(block, count, size, (0, 1), squares, 0, True)
        _add_product(block, count, size, (2, 2), squares, 1, False)
    if len(sums) == 3:
        _add_product(block, count, size, (0, 0), squares, 2, False)


@jit
def pack(squares, size, sums, hermitian, symmetric, slot):
    """Write squares as upper triangles of ḡgᵀ, and of ggᵀ where it has lines; clear them."""
    n, at, p = index(size), index(slot), index(0)
    for r in range(n):
        for s in range(r, n):
            q, one, other = p + s - r, squares[index(0), r, s], squares[index(0), s, r]
            if len(sums) == 1:
                hermitian[at, q] = one
            else:
                re, im = q + q, q + q + index(1)
                real = 0.5 * (one + other) + 2 * squares[index(1), r, s]
                hermitian[at, re], hermitian[at, im] = real, 0.5 * (other - one)
            if len(sums) == 3:
                symmetric[at, re] = 0.5 * (one + other)
                symmetric[at, im] = squares[index(2), r, s] - real
        p += n - r
    squares[:] = 0


@jit
def add_products(block, count, target, line, rhs, slot, sums):
    """Add Σ row·target over the first rows of a block, for every output: rhs (…, n, width).

    `line` has room for a line of the block.
    """
    width, half = index(block.shape[1]), index(rhs.shape[2] // (2 if len(sums) > 1 else 1))
    for k in range(target.shape[0]):
        row_times_matrix(
            (line, target, block), (index(0), index(k * target.shape[1]), index(0)),
            (width, width, width), index(count), width, (0,),
        )  # fmt: skip
        for r in range(half):
            if len(sums) == 1:
                rhs[slot, k, r] += line[r]
            else:  # of X - Y and Y
                y = line[index(2) * half + r]
                rhs[slot, k, r] += line[half + r] + y
                rhs[slot, k, half + r] += y
