"""Compiled loop of predictions: tables of piecewise polynomials at values that lie on no grid.

A column's table holds, for every cell of the unit box, the coefficients of one polynomial per
component, lines of padded planes as in `kernels.cpd`.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numpy import uint64 as index

from ._jit import jit
from ._simd import FLAGS, LANES, Complex, broadcast, pointers
from .entrywise import _respond

#: degree of the polynomials
DEGREE = 7


#: rows that are evaluated together: their states stay in the second-level cache
BLOCK = 1024


@intrinsic
def _multiply_by_polynomials(typing_context, arrays, first, begin, end, half):
    """Multiply the lines of some rows by the polynomials of one cell.

    Parameters
    ----------
    arrays : (state, table, order, t)
        Lines of the rows; coefficients; row numbers; where each row lies in its cell.
    first : uint64
        Where the coefficients of the cell begin.
    begin, end : uint64
        Places in `order`.
    half : uint64
    """

    def generate(context, builder, signature, arguments):
        state, table, order, t = pointers(context, builder, signature.args[0], arguments[0])
        first, begin, end, half = arguments[1:]
        vector = ir.VectorType(ir.DoubleType(), LANES)
        lanes, zero, one = (ir.Constant(half.type, n) for n in (LANES, 0, 1))
        width = builder.add(half, half)

        def at(base, place):
            return builder.bitcast(builder.gep(base, [place]), vector.as_pointer())

        with cgutils.for_range_slice(builder, zero, half, lanes) as (r, _):
            planes = [builder.add(first, r), builder.add(builder.add(first, r), half)]
            coefficients = [
                [
                    builder.load(
                        at(
                            table, builder.add(plane, builder.mul(width, ir.Constant(half.type, n)))
                        ),
                        align=8,
                    )
                    for n in range(DEGREE + 1)
                ]
                for plane in planes
            ]
            with cgutils.for_range_slice(builder, begin, end, one) as (k, _):
                row = builder.load(builder.gep(order, [k]))
                x = broadcast(builder, builder.load(builder.gep(t, [row])), vector)
                values = []
                for own in coefficients:
                    value = own[DEGREE]
                    for coefficient in reversed(own[:DEGREE]):
                        product = builder.fmul(value, x, flags=FLAGS)
                        value = builder.fadd(product, coefficient, flags=FLAGS)
                    values.append(value)
                start = builder.add(builder.mul(row, width), r)
                places = [at(state, start), at(state, builder.add(start, half))]
                old = Complex(builder, *(builder.load(place, align=8) for place in places))
                new = old * Complex(builder, *values)
                for value, place in zip((new.real, new.imaginary), places, strict=True):
                    builder.store(value, place, align=8)
        return context.get_dummy_value()

    size = types.uint64
    return types.void(arrays, size, size, size, size), generate


@jit
def _sort(values, n_cells, order, starts, t):
    """Sort rows by their cell; where each cell's rows begin, and where each row lies in it."""
    starts[: n_cells + 1] = 0
    cells = np.empty(values.size, dtype=np.int64)
    for n in range(values.size):
        place = values[n] * n_cells
        cell = min(int(place), n_cells - 1)
        cells[n] = cell
        t[n] = 2 * (place - cell) - 1
        starts[cell + 1] += 1
    for cell in range(n_cells):
        starts[cell + 1] += starts[cell]
    for n in range(values.size - 1, -1, -1):
        cell = cells[n] + 1
        starts[cell] -= 1
        order[starts[cell]] = index(n)
    # what was taken off above has moved every end to its cell's begin
    for cell in range(n_cells):
        starts[cell] = starts[cell + 1]
    starts[n_cells] = values.size


@jit
def evaluate(values, tables, offsets, n_cells, mixing, out):
    """Responses of rows: out (n_rows, n_outputs, 2).

    Rows are sorted by cell, column by column, so that coefficients are read once for all rows of
    a cell.

    Parameters
    ----------
    values : (n_columns, n_rows) array
        Numbers in the unit box, or category codes.
    tables : (n, 2·half) array
        Lines of all columns: DEGREE + 1 for every cell of a column of numbers, one for every
        category.
    offsets, n_cells : (n_columns,) int arrays
        Where each column's lines begin; its number of cells, 0 for categories.
    mixing : (n_outputs, 2·half) array or empty
    """
    width = tables.shape[1]
    half = width // 2
    rows = np.empty((BLOCK, width))
    order, t = np.empty(BLOCK, dtype=np.uint64), np.empty(BLOCK)
    starts = np.empty(n_cells.max() + 2, dtype=np.int64)
    for begin in range(0, out.shape[0], BLOCK):
        count = min(BLOCK, out.shape[0] - begin)
        for i in range(index(count)):
            for r in range(index(width)):
                rows[i, r] = 1.0 if r < index(half) else 0.0
        for d in range(values.shape[0]):
            part = values[d, begin : begin + count]
            if n_cells[d] == 0:
                _multiply_by_lines(rows, part, tables, offsets[d])
                continue
            _sort(part, n_cells[d], order, starts, t)
            for cell in range(n_cells[d]):
                if starts[cell + 1] > starts[cell]:
                    first = index((offsets[d] + cell * (DEGREE + 1)) * width)
                    _multiply_by_polynomials(
                        (rows, tables, order, t), first, index(starts[cell]),
                        index(starts[cell + 1]), index(half),
                    )  # fmt: skip
        for i in range(count):
            _respond(out, begin + i, rows, i, mixing, half, True)


@jit
def _multiply_by_lines(rows, codes, tables, offset):
    """Multiply the lines of rows by those of their categories."""
    half = index(rows.shape[1] // 2)
    for i in range(index(codes.size)):
        place = index(offset + int(codes[i]))
        for r in range(half):
            x, y = rows[i, r], rows[i, half + r]
            u, v = tables[place, r], tables[place, half + r]
            rows[i, r] = x * u - y * v
            rows[i, half + r] = x * v + y * u
