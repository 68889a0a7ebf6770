"""Compiled loops of the canonical polyadic network.

Everything is kept in *planes* of real numbers: a row of a table is [Re | Im], or Re alone where
the whole model is real.  Both halves are padded with zeros to whole vectors: `half` is their
length.  Matrices are packed as their upper triangles, see `kernels.grams`.
"""

import numpy as np
from numpy import uint64 as index  # an index that cannot be negative: lets loops vectorise

from ._jit import jit
from ._simd import elementwise
from .grams import add_gram, add_products, block_rows, new_squares, pack

_times_one = elementwise(lambda out, a: {0: out * a})
_times_two = elementwise(lambda out, a, b: {0: out * a * b})
_product_of_four = elementwise(
    lambda scale, out, a, b, c, d: {0: (scale * a) * ((b * c) * d)}, has_constant=True
)
_times_four = elementwise(lambda out, a, b, c, d: {0: (out * a) * ((b * c) * d)})


@jit
def gather(places, codes, row, i, columns, offsets):
    """Row i of `places` = rows of the stacked tables that a data row reads."""
    row, i = index(row), index(i)
    for j in range(index(columns.size)):
        column = index(columns[j])
        places[i, j] = index(offsets[column]) + index(codes[row, column])


@jit
def _environment(out, i, scales, n, places, table, rank, is_complex):
    """Row i of `out` = scales[n] times the product of the table rows at `places[n]`.

    Four tables at a time, then two, which spares most of the traffic to and from `out`.
    """
    i, n, half, width = index(i), index(n), index(rank), index(out.shape[1])
    count, scale = index(places.shape[1]), scales[n]
    if count == index(0):
        for r in range(width):
            out[i, r] = scale if r < half else 0.0
        return
    j = index(1)
    if is_complex and count > index(3):
        k, m, o, p = four_places(places, n, index(0), width)
        _product_of_four(
            (out, table, table, table, table), (i * width, k, m, o, p), half, scale, 0.0
        )
        j = index(4)
    else:
        k = places[n, index(0)]
        for r in range(width):
            out[i, r] = scale * table[k, r]
    while j < count:
        k = places[n, j]
        if not is_complex:
            for r in range(half):
                out[i, r] *= table[k, r]
            j += index(1)
        elif j + index(3) < count:
            k, m, o, p = four_places(places, n, j, width)
            _times_four((out, table, table, table, table), (i * width, k, m, o, p), half)
            j += index(4)
        elif j + index(1) < count:
            m = places[n, j + index(1)]
            _times_two((out, table, table), (i * width, k * width, m * width), half)
            j += index(2)
        else:
            _times_one((out, table), (i * width, k * width), half)
            j += index(1)


@jit
def four_places(places, n, j, width):
    """Where four rows of the tables begin."""
    k, m = places[n, j] * width, places[n, j + index(1)] * width
    return k, m, places[n, j + index(2)] * width, places[n, j + index(3)] * width


@jit
def _mix(products, slot, mixing, half, is_complex, rhs):
    """Add Σ_k V_k∘products_k to a right-hand side."""
    for k in range(mixing.shape[0]):
        for r in range(half):
            if is_complex:
                x, y = products[0, k, r], products[0, k, half + r]
                u, v = mixing[k, r], mixing[k, half + r]
                rhs[slot, 0, r] += x * u - y * v
                rhs[slot, 0, half + r] += x * v + y * u
            else:
                rhs[slot, 0, r] += products[0, k, r] * mixing[k, r]


@jit
def statistics(
    segments, codes, order, columns, table, offsets, weight, target, mixing, rank, is_complex,
    hermitian, symmetric, rhs,
):  # fmt: skip
    """Gram matrices and right-hand sides of groups of rows.

    Parameters
    ----------
    segments : (n, 3) int array
        Start and stop in `order`, and the slot of the results that is written.
    codes : (n_rows, n_columns) unsigned array
    order : (n_rows,) int array
        Rows sorted by their code in the column at hand.
    columns : int array
        The columns whose tables make the environment.
    table, offsets : (sum of grid sizes, planes·half) array, int array
        Tables of all columns, one below the other, and where each begins.
    weight : (n_rows,) array or empty
        Square roots of the row weights, which scale the environments; empty means 1.
    target : (n_rows, n_outputs) array
        What multiplies the scaled environment in the right-hand side: weight times y.
    mixing : (n_outputs, planes·half) array or empty
        Planes of the output core.
    hermitian, symmetric : (n_slots, …) arrays, written
        Σ ḡgᵀ, and Σ ggᵀ where it has lines; see `kernels.grams`.
    rhs : (n_slots, n, planes·half) array, written
        Σ g·target (not conjugated).
    """
    width = table.shape[1]
    half = width // 2 if is_complex else width
    rows = block_rows(width, table.itemsize)
    block = np.empty((rows, width), dtype=table.dtype)
    places = np.empty((rows, columns.size), dtype=np.uint64)
    scales = np.ones(rows, dtype=table.dtype)
    wanted = np.empty((target.shape[1], rows), dtype=table.dtype)
    products = np.empty((1, target.shape[1], width))
    squares = new_squares(rank, half, 4 if symmetric.shape[0] else 2 if is_complex else 1)
    for segment in range(segments.shape[0]):
        start, stop, slot = segments[segment, 0], segments[segment, 1], segments[segment, 2]
        rhs[slot] = 0
        products[:] = 0
        for begin in range(start, stop, rows):
            count = min(rows, stop - begin)
            # gathered first: loads that do not wait for each other
            for i in range(count):
                row = order[index(begin + i)]
                gather(places, codes, row, i, columns, offsets)
                for k in range(index(target.shape[1])):
                    wanted[k, index(i)] = target[index(row), k]
                if weight.size:
                    scales[index(i)] = weight[index(row)]
            for i in range(count):
                _environment(block, i, scales, i, places, table, half, is_complex)
            add_gram(block, count, rank, squares)
            if mixing.shape[0]:
                add_products(block, count, wanted, products, 0)
            else:
                add_products(block, count, wanted, rhs, slot)
        pack(squares, rank, hermitian, symmetric, slot)
        if mixing.shape[0]:
            _mix(products, slot, mixing, half, is_complex, rhs)


@jit
def environments(start, stop, codes, columns, table, offsets, weight, is_complex, out):
    """Scaled environments of rows start … stop-1 outside of a column, as planes."""
    places = np.empty((stop - start, columns.size), dtype=np.uint64)
    scales = np.ones(stop - start)
    for row in range(start, stop):
        gather(places, codes, row, row - start, columns, offsets)
        if weight.size:
            scales[row - start] = weight[row]
    part = out[start:stop]
    half = table.shape[1] // 2 if is_complex else table.shape[1]
    for i in range(stop - start):
        _environment(part, i, scales, i, places, table, half, is_complex)


@jit
def responses(start, stop, codes, columns, table, offsets, mixing, out):
    """Responses of rows start … stop-1: out (n_rows, n_outputs, planes)."""
    width = table.shape[1]
    block = 64  # of rows whose products stay in the first-level cache
    rows = np.empty((block, width), dtype=table.dtype)
    for begin in range(start, stop, block):
        end = min(begin + block, stop)
        part = codes[begin:end]
        is_complex = out.shape[2] == 2
        environments(0, end - begin, part, columns, table, offsets, np.empty(0), is_complex, rows)
        half = width // 2 if is_complex else width
        for row in range(begin, end):
            _respond(out, row, rows, row - begin, mixing, half, is_complex)


@jit
def _respond(out, row, rows, i, mixing, rank, is_complex):
    row, i, half = index(row), index(i), index(rank)
    if mixing.shape[0] == 0:
        for plane in range(index(out.shape[2])):
            total = 0.0
            for r in range(half):
                total += rows[i, plane * half + r]
            out[row, index(0), plane] = total
        return
    for k in range(index(out.shape[1])):
        u = 0.0
        v = 0.0
        if is_complex:
            for r in range(half):
                u += rows[i, r] * mixing[k, r] - rows[i, half + r] * mixing[k, half + r]
                v += rows[i, r] * mixing[k, half + r] + rows[i, half + r] * mixing[k, r]
            out[row, k, index(1)] = v
        else:
            for r in range(half):
                u += rows[i, r] * mixing[k, r]
        out[row, k, index(0)] = u
