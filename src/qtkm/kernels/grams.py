"""Gram matrices of blocks of rows, by compiled loops of our own.

A block is kept *column by column*: one line of memory a component, `LANE` rows at a time, so
that products of two components are sums along contiguous memory.  Tiles of 2×2 complex (or
2×4 real) components keep the sums in registers; on matrices as narrow as ours this reached
30 to 40 operations a nanosecond where the symmetric rank-k product of BLAS reached 18 to 27
(docs/decisions/0002-gram-kernels.md).

Components of a complex block are [Re | Im], each half padded to an even number, see
`padded`; lines of padding are zero.
"""

from numpy import uint64 as index

from ._jit import jit

#: rows are filled in groups of this many; the last group is padded with zeros
LANE = 8


@jit
def padded(rank, is_complex):
    """Number of lines that hold the components: two even halves, or a multiple of four."""
    if is_complex:
        return 2 * (rank + rank % 2)
    return rank + (-rank) % 4


@jit
def block_rows(lines):
    """Rows of a block that stays in the second-level cache."""
    return max(32, min(256, 20480 // lines)) // LANE * LANE


@jit
def transpose(tile, count, lines, first, rank, is_complex):
    """Write `count` <= LANE rows of planes into lines at position `first`, zeros after them."""
    for i in range(index(count), index(LANE)):
        for r in range(index(tile.shape[1])):
            tile[i, r] = 0
    start, size = index(first), index(rank)
    for r in range(size):
        for i in range(index(LANE)):
            lines[r, start + i] = tile[i, r]
    if is_complex:
        half = index(lines.shape[0] // 2)
        for r in range(size):
            for i in range(index(LANE)):
                lines[half + r, start + i] = tile[i, size + r]


@jit
def hermitian(lines, count, rank, out, slot):
    """Add Σ z̄zᵀ over the first `count` rows to a packed upper triangle.

    `out[slot]` holds the real parts of the triangle, row by row, then the imaginary parts.
    """
    half, stop = lines.shape[0] // 2, index(count + (-count) % LANE)
    zero = lines.dtype.type(0)
    for i in range(0, rank, 2):
        p, q, p_im, q_im = index(i), index(i + 1), index(half + i), index(half + i + 1)
        for j in range(i, rank, 2):
            s, t, s_im, t_im = index(j), index(j + 1), index(half + j), index(half + j + 1)
            ps, ps_im, pt, pt_im = zero, zero, zero, zero
            qs, qs_im, qt, qt_im = zero, zero, zero, zero
            for n in range(stop):
                a, b, c, d = lines[p, n], lines[p_im, n], lines[q, n], lines[q_im, n]
                u, v, x, y = lines[s, n], lines[s_im, n], lines[t, n], lines[t_im, n]
                ps += a * u + b * v
                ps_im += a * v - b * u
                pt += a * x + b * y
                pt_im += a * y - b * x
                qs += c * u + d * v
                qs_im += c * v - d * u
                qt += c * x + d * y
                qt_im += c * y - d * x
            _add_entry(out, slot, i, j, rank, ps, ps_im)
            _add_entry(out, slot, i, j + 1, rank, pt, pt_im)
            _add_entry(out, slot, i + 1, j, rank, qs, qs_im)
            _add_entry(out, slot, i + 1, j + 1, rank, qt, qt_im)


@jit
def _add_entry(out, slot, r, s, rank, real, imaginary):
    if r <= s and s < rank:
        p = r * rank - r * (r - 1) // 2 + s - r
        out[slot, p] += real
        out[slot, rank * (rank + 1) // 2 + p] += imaginary


@jit
def upper(lines, count, out):
    """Add the Gram matrix of all lines over the first `count` rows, its upper triangle only."""
    stop = index(count + (-count) % LANE)
    zero = lines.dtype.type(0)
    for i in range(0, lines.shape[0], 2):
        p, q = index(i), index(i + 1)
        for j in range(i - i % 4, lines.shape[0], 4):
            s, t, u, v = index(j), index(j + 1), index(j + 2), index(j + 3)
            ps, pt, pu, pv = zero, zero, zero, zero
            qs, qt, qu, qv = zero, zero, zero, zero
            for n in range(stop):
                a, b = lines[p, n], lines[q, n]
                w, x, y, z = lines[s, n], lines[t, n], lines[u, n], lines[v, n]
                ps += a * w
                pt += a * x
                pu += a * y
                pv += a * z
                qs += b * w
                qt += b * x
                qu += b * y
                qv += b * z
            out[p, s] += ps
            out[p, t] += pt
            out[p, u] += pu
            out[p, v] += pv
            out[q, s] += qs
            out[q, t] += qt
            out[q, u] += qu
            out[q, v] += qv


@jit
def pack(gram, rank, is_complex, out, slot):
    """Add a Gram of `upper` as packed triangles: Σ zzᵀ for real z; Σ z̄zᵀ and Σ zzᵀ else."""
    half, size = gram.shape[0] // 2, rank * (rank + 1) // 2
    p = 0
    for r in range(rank):
        for s in range(r, rank):
            if is_complex:
                rr, ii = gram[r, s], gram[half + r, half + s]
                ri, ir = gram[r, half + s], gram[s, half + r]
                out[slot, p] += rr + ii
                out[slot, size + p] += ri - ir
                out[slot, 2 * size + p] += rr - ii
                out[slot, 3 * size + p] += ri + ir
            else:
                out[slot, p] += gram[r, s]
            p += 1


@jit
def add_block(lines, count, rank, is_complex, scratch, out, slot):
    """Add the packed Gram of a block; both triangles where `out` has room for them."""
    if is_complex and out.shape[1] == rank * (rank + 1):
        hermitian(lines, count, rank, out, slot)
        return
    scratch[:] = 0
    upper(lines, count, scratch)
    pack(scratch, rank, is_complex, out, slot)


@jit
def project(lines, count, target, rank, is_complex, out):
    """Add Σ z·target over the first `count` rows, for every output: planes (n_outputs, …)."""
    half = lines.shape[0] // 2
    for k in range(target.shape[0]):
        for plane in range(2 if is_complex else 1):
            for r in range(rank):
                line, total = index(plane * half + r), lines.dtype.type(0)
                for n in range(index(count)):
                    total += target[index(k), n] * lines[line, n]
                out[k, plane * rank + r] += total
