"""Contractions of a graph with the rows of a shard: responses, gradients, normal equations.

A contraction follows a tree (see `qtkm.networks.design`) that is planned once per structure.  Its
leaves are the vertices, each contracted with the features of its legs.
"""

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...protocols import AnyShard, Arrays, Columns, Cores, Run, Span
from ...structure import Structure
from .. import design
from ..column_tables import add_all
from ..design import PLANNED_ROWS, ROWS, Tree, join

#: entries of all arrays that one block of rows makes
BLOCK_ENTRIES = 1 << 20
#: entries of all sums that the tasks of a shard hold at a time
SUM_ENTRIES = 1 << 25

#: from the leg of a site to its features at some rows, (n, Q)
Factors = dict[int, NDArray]
Shape = tuple[int, ...]


class NetworkRows:
    """Cores, structure and columns in some precision: all that a pass over rows carries."""

    def __init__(self, structure: Structure, cores: Cores, columns: Columns, dtype: DTypeLike):
        self.structure, self.columns, self.dtype = structure, columns, np.dtype(dtype)
        self.is_complex = np.iscomplexobj(cores[0])
        self.cores = [self.cast(core) for core in cores]
        outputs = structure.outputs
        self.n_outputs = 1 if outputs is None else structure.edges[outputs].size
        self.double = np.dtype(np.complex128 if self.is_complex else np.float64)

    def cast(self, array: NDArray) -> NDArray:
        """Convert an array to the precision of the contractions."""
        kind = np.result_type(self.dtype, np.complex64) if np.iscomplexobj(array) else self.dtype
        return array.astype(kind, copy=False)

    def pieces(self, begin: int, end: int) -> list[Span]:
        """Return ranges of rows whose contraction takes a bounded amount of memory."""
        made = sum(self.tree.entries) + sum(sum(column.radices) for column in self.columns)
        step = max(1, BLOCK_ENTRIES // made)
        return [slice(first, min(first + step, end)) for first in range(begin, end, step)]

    @property
    def tree(self) -> Tree:
        """Tree of the responses."""
        return row_tree(self.structure)

    @cached_property
    def tables(self) -> Sequence[NDArray | None]:
        """Factor entries at the grid values, phase included; None for categories."""
        return [None if column.is_one_hot else self.cast(column.factors) for column in self.columns]

    def factors(self, codes: NDArray) -> Factors:
        """Return the features of all sites at coded rows."""
        found, legs = {}, self.structure.legs
        for d, (column, table) in enumerate(zip(self.columns, self.tables, strict=True)):
            if table is None:
                one_hot = codes[:, d, None] == np.arange(column.radices[0])
                found[legs[d, 0]] = one_hot.astype(self.dtype)
            else:
                rows = table[codes[:, d]]
                found |= {legs[d, k]: rows[:, part] for k, part in enumerate(column.slices)}
        return found

    def leaves(self, cores: Arrays, factors: Factors, but: int | None = None) -> list[NDArray]:
        """Return the cores, all but one, contracted with the features of their legs."""
        found = []
        for v, core in enumerate(cores):
            term = self.structure.edges_of[v]
            for leg in self.structure.legs_of[v] if v != but else ():
                rest = (ROWS, *(i for i in term if i not in (leg, ROWS)))
                core, term = join((ROWS, leg), term, rest, factors[leg], core), rest
            found.append(core)
        return found

    def responses(self, factors: Factors, direction: Arrays | None = None) -> NDArray:
        """Return the responses (n, n_outputs), or their change in a direction."""
        values = self.tree.up(self.leaves(self.cores, factors))
        root = values[-1]
        if direction is not None:
            changes = self.leaves([self.cast(change) for change in direction], factors)
            root = self.tree.tangent(values, changes)
        return root.reshape(len(root), -1)

    def environment(self, factors: Factors, block: int) -> NDArray:
        """Return the environment of a vertex, (n, bonds).

        It is (n, n_outputs, bonds) where the outputs have a leg at another vertex.
        """
        tree, outputs = self.tree, self.structure.outputs
        leaves = self.leaves(self.cores, factors, but=block)
        seed = np.ones(len(next(iter(factors.values()))), dtype=self.dtype)
        free = () if outputs is None else (outputs,)
        values = tree.up(leaves, skip=tree.lineage([block]))
        found = tree.down(values, seed, [block], free)[block]
        is_open = outputs not in (None, *self.structure.edges_of[block])
        return found.reshape(len(seed), *([self.n_outputs] if is_open else []), -1)

    def gradients(self, factors: Factors, slopes: NDArray) -> list[NDArray]:
        """Return Σ z̄·slope over the rows for every vertex, in the shapes of the cores."""
        values = self.tree.up(self.leaves(self.cores, factors))
        seed = self.cast((slopes[:, 0] if self.structure.outputs is None else slopes).conj())
        found = self.tree.down(values, seed, range(len(self.cores)))
        ones, sums = np.ones((len(slopes), 1), dtype=self.dtype), []
        for v, core in enumerate(self.cores):
            features = design.rows([ones, *(factors[leg] for leg in self.structure.legs_of[v])])
            total = features.T @ found[v].reshape(len(ones), -1)
            sums.append(total.conj().reshape(core.shape))
        return sums


def respond(rows: NetworkRows, direction: Arrays | None, shard: AnyShard, run: Run) -> NDArray:
    """Return the responses (n_rows, n_outputs) of a shard, or their change in a direction."""
    out = np.empty((len(shard.codes), rows.n_outputs), dtype=rows.double)

    def task(bounds: tuple[int, int]) -> None:
        for part in rows.pieces(*bounds):
            out[part] = rows.responses(rows.factors(shard.codes[part]), direction)

    run(task, shard.blocks())
    return out


def add_gradients(
    rows: NetworkRows, shard: AnyShard, slopes: NDArray, run: Run
) -> tuple[NDArray, ...]:
    """Return the gradients of the loss with respect to all cores."""

    def accumulate(total: Arrays, factors: Factors, part: Span) -> None:
        for out, more in zip(total, rows.gradients(factors, slopes[part]), strict=True):
            out += more

    return _add_up(rows, shard, run, accumulate, [core.shape for core in rows.cores])


def normal_equations(
    rows: NetworkRows,
    block: int,
    category: tuple[int, int] | None,
    shape: tuple[int, int, int],
    both: bool,
    shard: AnyShard,
    run: Run,
) -> tuple[NDArray, ...]:
    """Return Σ z̄zᵀ, Σ z·y and maybe Σ zzᵀ over the design rows of a vertex.

    `category` is a (leg, column) of the vertex that meets one-hot features, by which sums are kept
    apart; `shape` counts right sides that share a matrix, matrices and unknowns.
    """
    root, target = shard.scaled
    legs = [leg for leg in rows.structure.legs_of[block] if not category or leg != category[0]]

    def accumulate(total: Arrays, factors: Factors, part: Span) -> None:
        environment = rows.environment(factors, block)
        chosen, goal = np.arange(part.start, part.stop), target[part]
        if environment.ndim == 3:  # every output of a row is a row
            chosen = np.repeat(chosen, environment.shape[1])
            goal, environment = goal.reshape(-1, 1), environment.reshape(len(chosen), -1)
        parts = [*(factors[leg][chosen - part.start] for leg in legs), environment]
        codes = np.zeros(len(chosen), int) if category is None else shard.codes[chosen, category[1]]
        order = np.argsort(codes, kind="stable")
        found, first = np.unique(codes[order], return_index=True)
        for code, some in zip(found, np.split(order, first[1:]), strict=True):
            hermitian, symmetric, products = design.gram(
                [part[some] for part in parts], root[chosen[some]] if len(root) else root,
                goal[some], both,
            )  # fmt: skip
            total[0][code] += hermitian
            total[1][:, code] += products
            if both:
                total[2][code] += symmetric

    _, count, width = shape
    matrix = (count, width, width)
    return _add_up(rows, shard, run, accumulate, [matrix, shape, *([matrix] if both else [])])


def _add_up(
    rows: NetworkRows,
    shard: AnyShard,
    run: Run,
    accumulate: Callable[[Arrays, Factors, Span], None],
    shapes: Sequence[Shape],
) -> tuple[NDArray, ...]:
    """Return arrays of given shapes, summed by accumulate(arrays, factors, part)."""

    def task(blocks: list[tuple[int, int]]) -> tuple[NDArray, ...]:
        total = tuple(np.zeros(shape, dtype=rows.double) for shape in shapes)
        for bounds in blocks:
            for part in rows.pieces(*bounds):
                accumulate(total, rows.factors(shard.codes[part]), part)
        return total

    # so few tasks that their sums fit into memory together
    blocks, numbers = shard.blocks(), sum(map(math.prod, shapes))
    count = min(len(blocks), max(1, SUM_ENTRIES // max(1, numbers)))
    ends = [len(blocks) * i // count for i in range(count + 1)]
    return add_all(run(task, [blocks[a:b] for a, b in pairwise(ends)]))


@lru_cache(maxsize=64)
def row_tree(structure: Structure) -> Tree:
    """Return the tree of the responses: vertices contracted with the features of their legs."""
    terms = [
        (*((ROWS,) if legs else ()), *(e for e in edges if e not in legs))
        for edges, legs in zip(structure.edges_of, structure.legs_of, strict=True)
    ]
    output = {ROWS} if structure.outputs is None else {ROWS, structure.outputs}
    return Tree(terms, output, {ROWS: PLANNED_ROWS, **sizes_of(structure)})


def sizes_of(structure: Structure) -> dict[int, int]:
    """Return the sizes of all edges, and of their copies among conjugate cores."""
    return dict(enumerate([edge.size for edge in structure.edges] * 2))
