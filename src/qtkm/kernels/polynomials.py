"""Compiled loop of predictions: tables of piecewise polynomials at values that lie on no grid.

A column's table holds, for every cell of the unit box, the coefficients of one polynomial per
component, as lines (see `kernels.lines`).
"""

from typing import Any

import numpy as np
from numpy import uint64 as index

from ._jit import jit
from ._simd import Loop, Number, generated, multiply_lines
from .lines import DEGREE


@generated
def _multiply_by_polynomials(loop: Loop, first: Any, begin: Any, end: Any, half: Any) -> None:
    """Multiply the lines of some rows by the polynomials of one cell.

    Arrays are (state, table, order, t): lines of the rows, coefficients, row numbers, and where
    each row lies in its cell.  The cell's coefficients begin at `first`, and its rows are those
    from `begin` to `end` in `order`.
    """
    builder, (_, _, order, t) = loop.builder, loop.bases
    states, lines, *_ = loop.lines(half)
    width = builder.mul(half, loop.constant(loop.n_planes))

    def body(r: Any, lanes: int, n_vectors: int) -> None:
        steps = [builder.mul(width, loop.constant(n)) for n in range(DEGREE + 1)]
        *low, highest = [lines.load(loop.at(first, r, step), lanes) for step in steps]
        with loop.steps(begin, end) as (k, _):
            row, value = loop.place(order, k, 0), highest
            x = Number(builder, [loop.broadcast(loop.place(t, row, 0), lanes)])
            for coefficient in reversed(low):
                value = x * value + coefficient
            at = loop.at(builder.mul(row, width), r)
            states.store(states.load(at, lanes) * value, at, lanes)

    loop.along(half, 1, body)


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
def evaluate(values, tables, offsets, n_cells, out, planes):
    """Lines of the products of all columns: out (n_rows, half·planes), of one or two planes.

    `values` (n_columns, n_rows) are numbers in the unit box or category codes.  The first line of
    `tables` is 1; those of a column begin at `offsets`: DEGREE + 1 for each of `n_cells` cells, or,
    where these are 0, one for each category.  Rows are sorted by cell, so that coefficients are
    read once for a cell.
    """
    count, width = out.shape
    half = width // len(planes)
    order, t = np.empty(count, dtype=np.uint64), np.empty(count)
    starts = np.empty(n_cells.max() + 2, dtype=np.int64)
    places = np.zeros((1, len(offsets) + 1), dtype=np.uint64)
    for i in range(index(count)):
        n = index(1)
        for d in range(len(offsets)):
            if n_cells[d] == 0:
                places[index(0), n] = index((offsets[d] + int(values[d, i])) * width)
                n += index(1)
        multiply_lines(
            (out, tables, places), i * index(width), index(0), n, index(half), 1.0, (), planes
        )
    for d in range(len(offsets)):
        if n_cells[d] == 0:
            continue
        _sort(values[d], n_cells[d], order, starts, t)
        for cell in range(n_cells[d]):
            if starts[cell + 1] > starts[cell]:
                first = index((offsets[d] + cell * (DEGREE + 1)) * width)
                _multiply_by_polynomials(
                    (out, tables, order, t), first, index(starts[cell]), index(starts[cell + 1]),
                    index(half), planes,
                )  # fmt: skip
