"""Elements of a chain's columns: at their grid values, and responses at values on no grid.

Few rows off the grid are evaluated exactly, in NumPy.  For many rows of a CPD, functions of a
column are replaced by piecewise polynomials, whose cells are so small that the difference is a
matter of rounding (`ACCURACY`), and a compiled loop looks them up.
"""

from collections.abc import Sequence
from functools import reduce
from math import factorial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..kernels.lines import DEGREE, closing_matrix, to_lines
from ..limits import LIMITS
from ..protocols import AnyColumn, Arrays, Cores, Map, Precisions, Span
from . import moments
from .algebra import Algebra, Diagonal
from .moments import Digits

if TYPE_CHECKING:
    from .chain import ChainNetwork

#: largest error of a polynomial, in units of the largest weight of its component
ACCURACY = 1e-12
#: most lines of the tables of all columns; beyond that rows are evaluated exactly
MOST_LINES = 200_000
#: rows, and numbers of their lines, that are evaluated together: they fit the second-level cache
BLOCK_ROWS, BLOCK_WIDTH = 1024, 128
#: imaginary part, in units of a component's largest number, that is rounding: sections of a kernel
#: have real functions, which take a quarter of the work
REAL = 1e-11
#: rows are evaluated in whole numbers of tiles: BLAS multiplies 4, 6, 8, 12 or 16 rows at a time,
#: and those that are left over in another way, whose last bits differ
TILE = 48
#: numbers of the largest array of functions that is made at a time
MOST_NUMBERS = 1_000_000

#: lines of some components, what closes them, and whether they are real
Lines = list[tuple[NDArray, NDArray, bool]]


def group_elements(
    algebra: Algebra, groups: Sequence[Span], functions: Arrays, cores: Arrays
) -> list[NDArray]:
    """Elements (n, …) of every group of a column's levels: functions times weights."""
    return [
        _sum_functions(some, moments.weights_of(algebra, cores[levels]))
        for levels, some in zip(groups, functions, strict=True)
    ]


def _sum_functions(functions: NDArray, weights: NDArray) -> NDArray:
    """Elements (n, …) of functions (n, M) and their weights (M, …)."""
    flat = functions @ weights.reshape(len(weights), -1)
    return flat.reshape(-1, *weights.shape[1:])


def _group_tables(algebra: Algebra, column: AnyColumn, cores: Arrays) -> list[NDArray]:
    return group_elements(algebra, column.groups, column.group_features, cores)


def column_table(algebra: Algebra, column: AnyColumn, cores: Arrays) -> NDArray:
    """Elements (n_grid, …) of a column at its grid values."""
    if column.is_categorical:
        return column.feature_map.spread(algebra.elements(cores[0]))
    return reduce(algebra.multiply, _group_tables(algebra, column, cores))


def column_change(
    algebra: Algebra, column: AnyColumn, cores: Arrays, direction: Arrays, later: Arrays
) -> NDArray:
    """Change of a column's table in a direction of its cores; those above it are of `later`."""
    if column.is_categorical:
        return column.feature_map.spread(algebra.elements(direction[0]))
    before, after = (_group_tables(algebra, column, some) for some in (cores, later))
    total: NDArray = np.zeros(())
    for g, (levels, functions) in enumerate(zip(column.groups, column.group_features, strict=True)):
        own, changed, behind = cores[levels], direction[levels], later[levels]
        mixed = ([*own[:k], changed[k], *behind[k + 1 :]] for k in range(len(own)))
        weights = reduce(np.add, [moments.weights_of(algebra, each) for each in mixed])
        change = _sum_functions(functions, weights)
        total = total + reduce(algebra.multiply, [*before[:g], change, *after[g + 1 :]])
    return total


def column_gradient(
    algebra: Algebra, column: AnyColumn, sums: NDArray, before: Arrays, after: Arrays
) -> list[NDArray]:
    """Gradient by a column's cores from Σ conj(slope)·environment at its grid values."""
    if column.is_categorical:
        return [algebra.core(column.feature_map.collect(sums).conj())]
    below, above = (_group_tables(algebra, column, some) for some in (before, after))
    gradient: list[NDArray] = []
    for g, (levels, functions) in enumerate(zip(column.groups, column.group_features, strict=True)):
        inside = reduce(lambda rest, table: algebra.pull_left(table, rest), below[:g], sums)
        inside = reduce(algebra.pull_right, above[:g:-1], inside)
        places = _sum_functions(functions.T, inside).conj()
        digits = Digits(algebra, places, after[levels], "linear").levels(before[levels])
        gradient.extend(map(algebra.core, digits))
    return gradient


def with_unknown(table: NDArray, share: NDArray) -> NDArray:
    """Entries (n, …) of all categories, then their mean by the shares for an unknown one.

    No entries are zeros; one more than there are categories begin with a constant beside them.
    """
    if len(table) > len(share):
        table = table[:1] + table[1:]
    elif not len(table):
        table = np.zeros((len(share), *table.shape[1:]))
    return np.concatenate([table, np.tensordot(share, table, 1)[None]])


class Evaluator:
    """Cores made ready for evaluation; see `Network.evaluator`."""

    def __init__(self, network: "ChainNetwork", cores: Cores, frequencies: Precisions):
        self.algebra = network.algebra
        n_columns = len(frequencies)
        self.cores = cores[:n_columns]
        self.closing = network.closing(cores, n_columns)
        self._known: tuple[NDArray, NDArray, Lines] | None = None
        self.tables = [
            None if share is None else with_unknown(self.algebra.elements(levels[0]), share)
            for levels, share in zip(self.cores, frequencies, strict=True)
        ]

    def responses(self, maps: Sequence[Map], values: Arrays) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values per column.

        Values are numbers in the unit box, or category codes with -1 for an unknown one.
        """
        if len(values[0]) >= LIMITS.predict_rows and self.is_smooth(maps):
            return self._interpolate(maps, values)
        widest = max(sum(group.stop - group.start for group in m.groups) for m in maps)
        widest = max(widest, self.closing.shape[1], *(min(m.n_features, 256) for m in maps))
        step = TILE * max(1, MOST_NUMBERS // widest // TILE)
        parts = []
        for first in range(0, max(1, len(values[0])), step):
            some = [column[first : first + step] for column in values]
            whole = -(-len(some[0]) // TILE) * TILE
            found = self._responses(maps, [np.resize(column, whole) for column in some])
            parts.append(found[: len(some[0])])
        return np.concatenate(parts)

    @np.errstate(over="ignore", invalid="ignore")  # far outside of the box; whoever asks refuses it
    def _responses(self, maps: Sequence[Map], values: Arrays) -> NDArray:
        places = range(len(values))
        product = reduce(self.algebra.multiply, map(self._elements, places, maps, values))
        closed = self.algebra.multiply(product[:, None], self.closing[None])
        return self.algebra.close(closed)

    def _elements(self, d: int, feature_map: Map, values: NDArray) -> NDArray:
        table = self.tables[d]
        if table is not None:
            return table[np.asarray(values, dtype=np.int64)]
        functions, groups = feature_map.group_features(values), feature_map.groups
        elements = group_elements(self.algebra, groups, functions, self.cores[d])
        return reduce(self.algebra.multiply, elements)

    def is_smooth(self, maps: Sequence[Map]) -> bool:
        """Return True if compiled loops serve: a complex CPD whose functions have frequencies."""
        if not isinstance(self.algebra, Diagonal) or not np.iscomplexobj(self.cores[0][0]):
            return False
        numeric = [m for m in maps if not m.is_categorical]
        if any(m.frequencies is None or m.kind(True) == "pairs" for m in numeric):
            return False  # only exponentials and powers are as smooth as their frequencies say
        return sum(map(n_lines, maps)) <= MOST_LINES

    def _interpolate(self, maps: Sequence[Map], values: Arrays) -> NDArray:
        from ..kernels import polynomials as kernels

        if self._known is None:  # several threads may make it, and each has the whole of it
            self._known = self._make_lines(maps)
        offsets, cells, parts = self._known
        numbers = np.empty((len(values), len(values[0])))
        outside = np.zeros(len(values[0]), dtype=bool)
        for d, (column, n_cells) in enumerate(zip(values, cells, strict=True)):
            table = self.tables[d]
            if table is not None:
                numbers[d] = np.mod(column, len(table))
                continue
            column, _ = maps[d].unwarped(column)  # a warp has corners, which polynomials have not
            numbers[d] = _behind_gaps(column, n_cells) if maps[d].has_gaps else column
            if n_cells:
                outside |= (numbers[d] < 0) | (numbers[d] > 1)
        numbers[:, outside] = 0.0
        out = np.zeros((len(outside), 2 * len(self.closing)))
        for first in range(0, len(out), BLOCK_ROWS):
            rows = slice(first, min(first + BLOCK_ROWS, len(out)))
            for lines, closing, is_real in parts:
                product = np.empty((rows.stop - first, lines.shape[1]))
                planes = (0,) if is_real else (0, 0)
                kernels.evaluate(numbers[:, rows], lines, offsets, cells, product, planes)
                out[rows] += product @ closing
        responses = out.view(np.complex128)
        if outside.any():
            responses[outside] = self._responses(maps, [column[outside] for column in values])
        return responses

    def _make_lines(self, maps: Sequence[Map]) -> tuple[NDArray, NDArray, Lines]:
        """Return where every column begins, its number of cells, and lines of some components."""
        parts, cells = [], []
        for d, feature_map in enumerate(maps):
            table = self.tables[d]
            cells.append(0 if table is not None else n_cells(feature_map))
            parts.append(self._polynomials(d, feature_map) if table is None else table)
        sizes = [np.abs(part).max(axis=0) for part in parts]
        is_real = np.all([np.abs(part.imag).max(axis=0) <= REAL * size
                          for part, size in zip(parts, sizes, strict=True)], axis=0)  # fmt: skip
        offsets, found = np.cumsum([1, *map(len, parts)])[:-1], []
        whole = np.concatenate([np.ones_like(parts[0][:1]), *parts])
        for real in (False, True):
            members = np.flatnonzero(is_real == real)
            step = BLOCK_WIDTH if real else BLOCK_WIDTH // 2
            for first in range(0, len(members), step):
                some = members[first : first + step]
                lines = to_lines(whole[:, some], not real)
                # real lines meet the rows of real parts alone
                closing = closing_matrix(self.closing[:, some], True)[: lines.shape[1]]
                found.append((lines, closing, real))
        return offsets, np.array(cells), found

    def _polynomials(self, d: int, feature_map: Map) -> NDArray:
        """Coefficients of a column's functions in all cells, lowest power first: (n, R)."""
        nodes = np.cos(np.pi * (np.arange(DEGREE + 1) + 0.5) / (DEGREE + 1))
        count = n_cells(feature_map) - feature_map.has_gaps
        points = (np.arange(count)[:, None] + (nodes + 1) / 2) / count
        elements = self._elements(d, feature_map.unwarped(points[0])[1], points.ravel())
        elements = elements.reshape(count, DEGREE + 1, -1)
        powers = np.linalg.inv(np.vander(nodes, increasing=True))
        found = np.einsum("pn,cnr->cpr", powers, elements)
        if feature_map.has_gaps:
            gaps = np.zeros_like(found[:1])
            gaps[:, 0] = self._elements(d, feature_map, np.full(1, np.nan))
            found = np.concatenate([gaps, found])
        return found.reshape(-1, elements.shape[2])


def _behind_gaps(values: NDArray, n_cells: int) -> NDArray[np.float64]:
    """Move values of the box to the cells behind the first, in which missing ones are."""
    moved = (values * (n_cells - 1) + 1) / n_cells
    # rounding must not take a value to the cell of the gaps
    least = (1 + 1e-13) / n_cells
    moved = np.where((moved < least) & (values >= 0), least, moved)
    return np.where(np.isnan(values), 0.5 / n_cells, np.where(values < 0, -1.0, moved))


def n_cells(feature_map: Map) -> int:
    """Return the number of cells of a column's polynomials; missing values have their own."""
    if feature_map.is_categorical:
        return 0
    # the error of a Chebyshev interpolation of exp(iωx) on cells of half width h
    bound = ACCURACY * 2**DEGREE * factorial(DEGREE + 1)
    needed = np.ceil(np.abs(feature_map.frequencies).max() / 2 / bound ** (1 / (DEGREE + 1)))
    return max(4, int(needed)) + feature_map.has_gaps


def n_lines(feature_map: Map) -> int:
    """Return the number of lines of a column's table."""
    return n_cells(feature_map) * (DEGREE + 1) or feature_map.n_features + 1
