"""Tables of all columns, and the passes over rows that need nothing else.

A column's table holds its element at every grid value; a row's response is a product of as many
look-ups as there are columns, whatever the number of basis functions.  Methods that take a shard
are passes: tables hold no rows and no threads, so that they can be sent to where the rows are.

Here passes are written in NumPy, for any network and up to some thousand rows, where nothing
has to be compiled.  Networks bring compiled loops for more (`is_large`).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ..kernels.lines import closing_matrix, empty_lines, from_lines, padded, to_lines
from ..limits import LIMITS
from ..protocols import AnyColumn, AnyShard, Arrays, Run, Span
from . import design
from .algebra import Algebra, Diagonal, Environments, Inside, KeptRows, partial_products
from .moments import mix, triangle, unpack

#: arrays that are added up over shards
Sums = tuple[NDArray, ...]
#: numbers of the squares of a block of rows, which stay in the cache
BLOCK_NUMBERS = 1 << 16
#: rows whose lines stay in the cache
PIECE_ROWS = 1024
#: a shard's gradient is summed in this many parts, whatever the number of threads
PARTS = 4
#: rows times squares from which moments are summed in as many parts
PARTED = 1_000_000


def is_large(shard: AnyShard) -> bool:
    """Return True if a pass over a shard is worth compiled loops."""
    return len(shard) > LIMITS.few_rows


@dataclass
class Statistics:
    """Sums over the rows of each grid value of a column.

    Of Σ ω·ḡgᵀ, and of Σ ω·ggᵀ where the loss sees only the real part of a complex response, upper
    triangles row by row; then Σ ω·g·y, not conjugated.  By the squares of `mixing`, the output core
    of a CPD, all matrices are to be multiplied.
    """

    grams: list[NDArray]
    rhs: NDArray
    mixing: NDArray | None = None

    @property
    def size(self) -> int:
        """Entries of a flat environment g; 1 where all of them see the same."""
        return (math.isqrt(8 * self.grams[0].shape[1] + 1) - 1) // 2

    def matrices(self, part: Span) -> list[NDArray]:
        """Return the matrices Σ ω·ḡgᵀ (and Σ ω·ggᵀ) of some grid values."""
        found = []
        for packed, conjugate in zip(self.grams, (True, False), strict=False):
            upper = packed[part]
            whole = unpack(upper, upper.conj() if conjugate else upper, self.size)
            found.append(mix(whole, self.mixing, conjugate))
        return found


class Tables:
    """Elements of all columns at their grid values, and what closes their product.

    These are vectors (n_grid, R), closed by the output core or a row of ones, or matrices
    (n_grid, left, right), closed by (n_outputs, right, left).  Outputs of a CPD share environments;
    those of a train or ring have one each, as if every output of a row were a row.
    """

    def __init__(self, algebra: Algebra, n_columns: int, is_complex: bool, dtype: DTypeLike):
        self.algebra, self.is_complex, self.dtype = algebra, is_complex, np.dtype(dtype)
        self.is_diagonal = isinstance(algebra, Diagonal)
        #: types of the elements and of sums over rows
        self.kind = np.result_type(self.dtype, np.complex64) if is_complex else self.dtype
        self.double = np.dtype(np.complex128 if is_complex else np.float64)
        #: as many entries as numbers have real parts, see `kernels._simd`
        self.planes = (0, 0) if is_complex else (0,)
        self.elements: list[NDArray] = [np.empty(0)] * n_columns
        self.closing: NDArray = np.empty(0)
        #: tables behind a column that is moved, where a train is kept in two gauges
        self.later: list[NDArray] | None = None
        #: buffers of lines by name, with the tables that they were made of
        self._packed: dict[str, tuple[list[NDArray], NDArray]] = {}
        self._stamps = [0] * n_columns
        self._walks: KeptRows[Environments] = KeptRows()
        #: column that is likely to be the next whose environments are asked for
        self.following = 0

    def put(self, d: int, elements: NDArray) -> None:
        """Put in the elements of a column."""
        self.elements[d] = elements.astype(self.kind, copy=False)
        self._stamps[d] += 1

    def close(self, closing: NDArray) -> None:
        """Put in the elements that close the product, (n_outputs, …)."""
        self.closing = closing.astype(self.kind, copy=False)
        self._walks.clear()

    @property
    def mixing(self) -> NDArray | None:
        """Output core by whose squares statistics are still to be multiplied."""
        return self.closing if self.is_diagonal and len(self.closing) > 1 else None

    def rows(self, codes: NDArray, tables: Arrays | None = None) -> list[NDArray]:
        """Return the elements of coded rows, (n, …) for every column."""
        tables = self.elements if tables is None else tables
        return [np.take(table, codes[:, d], axis=0) for d, table in enumerate(tables)]

    def responses(self, shard: AnyShard, run: Run) -> NDArray:
        """Return the responses (n_rows, n_outputs)."""
        if is_large(shard):
            return self._closed(shard, run, "products", [self.buffer()], [self.closing])
        d = self.following  # a walk goes there next
        inside = self.environments(shard.codes, np.empty(0), d, d + 1)
        products = inside * np.take(self.elements[d], shard.codes[:, d], axis=0)[:, None]
        if self.is_diagonal:
            return self.respond(products[:, 0])
        return products.reshape(*products.shape[:2], -1).sum(axis=2)

    def states(self, is_large: bool) -> Callable[[NDArray], NDArray]:
        """Return a function from codes to the environments (n, …) of the closing element."""
        if not is_large:
            multiply, kind = self.algebra.multiply, self.double
            return lambda codes: self.turn(reduce(multiply, self.rows(codes)).astype(kind))
        lines_of = self._lines("products", [self.buffer()], 1)
        shape = self.turn(self.closing).shape[1:]
        return lambda codes: self.turn(from_lines(lines_of(codes)[0], shape, self.is_complex))

    def respond(self, product: NDArray, closing: NDArray | None = None) -> NDArray:
        """Close products (n, …) of all columns by these or other elements: (n, n_outputs)."""
        closing = self.turn(self.closing if closing is None else closing)
        return product.reshape(len(product), -1) @ closing.reshape(len(closing), -1).T

    def output_sums(self, shard: AnyShard, run: Run, both: bool) -> Sums:
        """Return `design.gram` of the environments z of the output core."""
        root, target = shard.scaled
        states_of = self.states(is_large(shard))

        def part(bounds: tuple[int, int]) -> Sums:
            sums = []
            for rows in pieces(bounds):
                states = states_of(shard.codes[rows]).reshape(rows.stop - rows.start, -1)
                sums.append(design.gram([states], root[rows], target[rows], both))
            return add_all(sums)

        return add_all(run(part, shard.parts(PARTS)))

    def turn(self, closing: NDArray) -> NDArray:
        """Return transposes of matrices; products for environments of the closing, and back."""
        return closing.swapaxes(1, closing.ndim - 1)

    def environments(self, codes: NDArray, root: NDArray, first: int, last: int) -> NDArray:
        """Return the environments outside of columns first … last-1.

        Shape (n_rows, n_outputs or 1, …), scaled by the root weights.
        """
        inside = self._walk(codes).around(first, last)
        if inside is None:  # nothing is outside of a single column
            inside = np.ones((1, 1, 1), dtype=self.kind)
        if len(root):
            inside = inside * root.astype(self.dtype).reshape(-1, *[1] * (inside.ndim - 1))
        return np.broadcast_to(inside, (len(codes), *inside.shape[1:]))

    def _walk(self, codes: NDArray) -> Environments:
        """Environments of coded rows, whose products are kept while the codes are there."""
        walk = self._walks.get(codes)
        if walk is None:
            places = np.ascontiguousarray(codes.T, dtype=np.intp)

            def factor(d: int) -> NDArray:
                return np.take(self.elements[d], places[d], axis=0)[:, None]

            ends: Inside = None, None
            if not self.is_diagonal:
                first = np.eye(self.elements[0].shape[1], dtype=self.kind)
                ends = first[None, None], self.closing[None]
            walk = Environments(self.algebra, factor, self._stamps, ends)
            self._walks.put(codes, walk)
        return walk

    def _design(self, shard: AnyShard, column: int) -> tuple[NDArray, NDArray]:
        """Return flat environments (n, n_outputs or 1, P) and right-hand sides (n, P) of rows."""
        root, target = shard.scaled
        inside = self.environments(shard.codes, root, column, column + 1)
        inside = inside.astype(self.double, copy=False)
        if self.mixing is not None:
            target = (target @ self.closing)[:, None]
        right = inside * target.reshape(*target.shape, *[1] * (inside.ndim - target.ndim))
        right = right[:, 0] if right.shape[1] == 1 else right.sum(axis=1)
        return inside.reshape(*inside.shape[:2], -1), right.reshape(len(right), -1)

    def statistics(self, shard: AnyShard, run: Run, column: int, both: bool) -> Sums:
        """Return the sums `grams` and `rhs` of `Statistics` over the rows of a shard."""
        if is_large(shard) and len(self.elements) > 1:
            return self._many_statistics(shard, run, column, both)
        inside, right = self._design(shard, column)
        groups, (n_each, size) = shard.groups(column), inside.shape[1:]
        rows, grams = inside[groups.order].reshape(-1, size), []
        for conjugate in (True, False)[: 1 + both]:
            others = rows.conj() if conjugate else rows
            if n_each == size == 1:  # a single column may have as many values as rows
                grams.append(groups.sum(others * rows))
                continue
            whole = np.empty((groups.n_codes, size, size), dtype=rows.dtype)
            for u, (first, last) in enumerate(pairwise((n_each * groups.starts).tolist())):
                np.matmul(others[first:last].T, rows[first:last], out=whole[u])
            grams.append(np.ascontiguousarray(whole[:, *triangle(size)]))
        return *grams, groups.sum(right[groups.order])

    def moments(self, shard: AnyShard, run: Run, d: int, column: AnyColumn, both: bool) -> Sums:
        """Return sums of packed squares times products of functions, then the right-hand side.

        See `moments.finish`.  Squares of a block of rows stay in the cache until they are summed.
        """
        inside, right = self._design(shard, d)
        _, n_each, size = inside.shape
        lines = np.ascontiguousarray(inside.reshape(-1, size).T)
        codes = shard.codes[:, d]
        step = max(64, BLOCK_NUMBERS * 2 // (size * (size + 1))) // n_each or 1

        def part(bounds: tuple[int, int]) -> Sums:
            totals, products = [np.zeros(())] * (1 + both), np.zeros(())
            for first in range(*bounds, step):
                rows = slice(first, min(first + step, bounds[1]))
                some = lines[:, first * n_each : rows.stop * n_each]
                for i, conjugate in enumerate((True, False)[: 1 + both]):
                    squares = _triangles(some, conjugate)
                    if n_each > 1:
                        squares = squares.reshape(len(squares), -1, n_each).sum(axis=2)
                    if self.is_complex:
                        squares = np.concatenate([squares.real, squares.imag])
                    totals[i] = totals[i] + column.functions(codes[rows], conjugate) @ squares.T
                products = products + right[rows].T @ column.functions(codes[rows], None)
            return *totals, products

        count = PARTS if lines.size * size > PARTED else 1
        ends = [len(codes) * i // count for i in range(count + 1)]
        *totals, products = add_all(run(part, pairwise(ends)))
        if self.is_complex:
            count = size * (size + 1) // 2
            totals = [total[:, :count] + 1j * total[:, count:] for total in totals]
        return *totals, products.T

    def gradient(self, shard: AnyShard, slopes: NDArray, run: Run) -> Sums:
        """Return Σ conj(slope)·environment at all columns' grid values, then of the closing."""
        if is_large(shard):
            return self._many_gradient(shard, slopes, run)
        rows = self.rows(shard.codes)
        behind = rows if self.later is None else self.rows(shard.codes, self.later)
        slopes = slopes.conj()
        seed = slopes @ self.closing.reshape(len(self.closing), -1)
        seed = seed.reshape(-1, *self.closing.shape[1:])
        before, _ = partial_products(self.algebra, rows, seed)
        _, after = partial_products(self.algebra, behind, seed)
        sums = []
        for d in range(len(rows)):
            inside = self.algebra.join(after[d], before[d])
            inside = np.broadcast_to(inside, (len(shard), *self.elements[d].shape[1:]))
            flat = inside.reshape(len(shard), -1).astype(self.double, copy=False)
            groups = shard.groups(d)
            whole = groups.sum(flat[groups.order])
            sums.append(whole.reshape(-1, *self.elements[d].shape[1:]))
        return *sums, self.close_gradient(slopes, self.states(False)(shard.codes))

    def close_gradient(self, slopes: NDArray, states: NDArray) -> NDArray:
        """Return Σ over rows of slope_k times the environment of the closing: (n_outputs, …)."""
        if len(self.closing) == 1:  # it never changes
            return np.zeros(self.closing.shape)
        return np.tensordot(slopes.T, states, 1)

    def tangents(self, shard: AnyShard, run: Run, moves: Arrays, closing: NDArray) -> NDArray:
        """Return the change of the responses from changes of tables and closing."""
        if is_large(shard):
            behind = self.buffer() if self.later is None else self.buffer("", self.later)
            buffers = [self.buffer(), behind, self.buffer("", moves)]
            return self._closed(shard, run, "changes", buffers, [closing, self.closing])
        rows = self.rows(shard.codes)
        later = rows if self.later is None else self.rows(shard.codes, self.later)
        moves = self.rows(shard.codes, moves)
        value, moved = rows[0], moves[0]
        for d in range(1, len(rows)):
            moved = self.algebra.multiply(moved, later[d])
            moved = moved + self.algebra.multiply(value, moves[d])
            value = self.algebra.multiply(value, rows[d])
        return self.respond(moved) + self.respond(value, closing)

    @property
    def around(self) -> Sums:
        """What loops need to find their way through buffers; see `kernels.walks`."""
        ends, tables = self.ends(self.elements), self.elements
        if self.is_diagonal:  # columns with the fewest grid values first
            return ends, np.argsort(list(map(len, tables)), kind="stable")
        bonds = np.array([tables[0].shape[1], *(table.shape[2] for table in tables)])
        return ends, self.ends(list(map(self.turn, tables))), bonds

    def ends(self, tables: Arrays) -> NDArray[np.int64]:
        """Return where the lines of every table begin in a buffer, and where the last ones end."""
        return np.cumsum([0, *(len(table) * self.line_width(table.shape[1:]) for table in tables)])

    def buffer(self, name: str = "forward", tables: Arrays | None = None) -> NDArray:
        """Return lines of these tables, or of others; under a name they are kept."""
        tables = self.elements if tables is None else tables
        shapes, ends = [table.shape for table in tables], self.ends(tables)
        known, buffer = self._packed.get(name, ([], np.empty(0)))
        if [table.shape for table in known] != shapes:
            known, buffer = [], empty_lines((ends[-1],), self.dtype)
        for d, table in enumerate(tables):
            if not known or table is not known[d]:
                to_lines(table, self.is_complex, buffer[ends[d] : ends[d + 1]])
        if name:
            self._packed[name] = list(tables), buffer
        return buffer

    def behind(self) -> NDArray:
        """Return the buffer for walks from the right."""
        if self.is_diagonal:
            return self.buffer()
        return self.buffer("", list(map(self.turn, self.later or self.elements)))

    def line_width(self, shape: Sequence[int]) -> int:
        """Return how many numbers a line of an element of a shape has."""
        return len(self.planes) * math.prod(shape[:-1]) * padded(shape[-1])

    def _lines(self, loop: str, buffers: Arrays, count: int) -> Callable[[NDArray], NDArray]:
        """Return a function from codes to what a loop gives: lines of products, of changes."""
        from ..kernels import walks

        around, width = self.around, self.line_width(self.turn(self.closing).shape[1:])

        def lines(codes: NDArray) -> NDArray:
            out = np.empty((count, len(codes), width))
            getattr(walks, loop)(codes, *buffers, around, self.planes, *out)
            return out

        return lines

    def _closed(
        self, shard: AnyShard, run: Run, loop: str, buffers: Arrays, closings: Arrays
    ) -> NDArray:
        """Close the lines that a loop gives, some rows at a time: (n_rows, n_outputs)."""
        out = np.empty((len(shard), len(self.closing) * len(self.planes)))
        lines_of = self._lines(loop, buffers, len(closings))
        matrices = [closing_matrix(self.turn(each), self.is_complex) for each in closings]

        def task(bounds: tuple[int, int]) -> None:
            for rows in pieces(bounds):
                out[rows] = sum(map(np.matmul, lines_of(shard.codes[rows]), matrices))

        run(task, shard.blocks())
        return out.view(self.double)

    def _many_gradient(self, shard: AnyShard, slopes: NDArray, run: Run) -> Sums:
        from ..kernels import walks

        slopes = slopes.conj()
        closing = closing_matrix(self.turn(self.closing.conj()), self.is_complex).T
        buffers, states, around = (self.buffer(), self.behind()), self.states(True), self.around

        def part(bounds: tuple[int, int]) -> tuple[NDArray, NDArray]:
            total = empty_lines(buffers[0].shape)
            closed = np.zeros(self.closing.shape, self.double)
            for rows in pieces(bounds):
                codes, some = shard.codes[rows], slopes[rows]
                seeds = np.ascontiguousarray(some, self.double).view(np.float64) @ closing
                walks.gradient(codes, *buffers, around, seeds, self.planes, total)
                if len(closed) > 1:
                    closed += self.close_gradient(some, states(codes))
            return total, closed

        total, closed = add_all(run(part, shard.parts(PARTS)))
        parts = zip(np.split(total, self.ends(self.elements)[1:-1]), self.elements, strict=True)
        sums = [
            from_lines(lines.reshape(len(table), -1), table.shape[1:], self.is_complex)
            for lines, table in parts
        ]
        return *sums, closed

    def _many_statistics(self, shard: AnyShard, run: Run, column: int, both: bool) -> Sums:
        from ..kernels import walks

        groups, planes = shard.groups(column), self.planes
        size = math.prod(self.elements[column].shape[1:])
        n_slots = groups.n_codes + len(groups.owners)
        n_right = len(self.closing) if self.is_diagonal else 1
        width = len(planes) * size * (size + 1) // 2
        grams = np.empty((n_slots, width)), np.empty((n_slots if both else 0, width))
        rhs = np.empty((n_slots, n_right, len(planes) * padded(size)))
        sums = (*planes, 0) if both else planes
        closing = to_lines(self.turn(self.closing), self.is_complex)
        around = self.buffer(), self.behind(), self.around, closing

        def task(segments: NDArray) -> None:
            walks.statistics(
                segments, shard.codes, groups.order, column, size, *around, *shard.scaled, planes,
                sums, *grams, rhs,
            )  # fmt: skip

        run(task, groups.tasks)
        groups.add_pieces(*grams, rhs)
        found = [gram[: groups.n_codes].view(self.double) for gram in grams if len(gram)]
        lines = rhs[: groups.n_codes].reshape(groups.n_codes * n_right, -1)
        right = from_lines(lines, (size,), self.is_complex).reshape(-1, n_right, size)
        return *found, right[:, 0] if n_right == 1 else (right * self.closing).sum(axis=1)


def pieces(bounds: tuple[int, int]) -> list[Span]:
    """Ranges of rows whose lines stay in the cache."""
    first, last = bounds
    return [slice(at, min(at + PIECE_ROWS, last)) for at in range(first, last, PIECE_ROWS)]


def add_all(parts: Sequence[Sums]) -> Sums:
    """Add up the arrays of parts, in their order."""
    total, *others = parts
    for part in others:
        total = tuple(a + b for a, b in zip(total, part, strict=True))
    return total


def _triangles(lines: NDArray, conjugate: bool) -> NDArray:
    """Return the upper triangles (P·(P+1)/2, n) of ḡgᵀ or ggᵀ of lines (P, n)."""
    first = lines.conj() if conjugate else lines
    size, n = lines.shape
    out, place = np.empty((size * (size + 1) // 2, n), dtype=lines.dtype), 0
    for r in range(size):
        np.multiply(first[r], lines[r:], out=out[place : place + size - r])
        place += size - r
    return out
