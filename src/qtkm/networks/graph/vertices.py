"""Cores of a graph in place: contractions with rows, penalty, and the local problem of a vertex.

A contraction follows a tree (see `qtkm.networks.design`) that is planned once per structure.  Its
leaves are the vertices, each contracted with the features of its legs.

The design row of a vertex is the Kronecker product of the features of its legs and of its
environment.  Three things make the least-squares problem of its core fall apart or grow:

- a vertex with the leg of the outputs solves one problem per output, all with one matrix;
- any other vertex sees each output of a row as a row of its own;
- a leg to categories selects a slice of the core, so each category has a problem of its own.
"""

import math
from collections.abc import Callable, Collection, Sequence
from functools import cached_property, lru_cache, partial

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...protocols import AnyShard, Arrays, Columns, Cores, Pass, Precisions, Run, Setting, Span
from ...structure import Structure
from .. import design
from ..column_tables import PARTS, add_all
from ..design import PLANNED_ROWS, ROWS, Term, Tree, join
from ..network import Iterate
from ..problem import least_squares
from ..train.gauge import balance

#: entries of all arrays that one block of rows makes
BLOCK_ENTRIES = 1 << 20
#: entries of all sums that the tasks of a shard hold at a time
SUM_ENTRIES = 1 << 25
#: entries of the matrices of a local problem; in double precision they take 400 MB, or twice that
LARGEST_MATRIX = 50_000_000

#: from the leg of a site to its features at some rows, (n, Q)
Factors = dict[int, NDArray]
Pair = tuple[int, int]
Shape = tuple[int, int, int]


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
        """Factor entries at the grid values; None for categories."""
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
        """Return environments of a vertex, (n, bonds), or (n, n_outputs, bonds) without outputs."""
        tree, outputs = self.tree, self.structure.outputs
        leaves = self.leaves(self.cores, factors, but=block)
        seed = np.ones(len(next(iter(factors.values()))), dtype=self.dtype)
        values = tree.up(leaves, skip=tree.lineage([block]))
        found = tree.down(values, seed, [block], () if outputs is None else (outputs,))[block]
        is_open = outputs not in (None, *self.structure.edges_of[block])
        return found.reshape(len(seed), *([self.n_outputs] if is_open else []), -1)

    def respond(self, shard: AnyShard, run: Run, direction: Arrays | None = None) -> NDArray:
        """Return the responses (n_rows, n_outputs) of a shard, or their change in a direction."""
        out = np.empty((len(shard.codes), self.n_outputs), dtype=self.double)

        def task(bounds: tuple[int, int]) -> None:
            for part in self.pieces(*bounds):
                out[part] = self.responses(self.factors(shard.codes[part]), direction)

        run(task, shard.blocks())
        return out

    def add_gradients(self, shard: AnyShard, slopes: NDArray, run: Run) -> tuple[NDArray, ...]:
        """Return Σ z̄·slope over the rows for every vertex, in the shapes of the cores."""

        def accumulate(total: Arrays, factors: Factors, part: Span) -> None:
            values = self.tree.up(self.leaves(self.cores, factors))
            some = slopes[part].conj()
            seed = self.cast(some[:, 0] if self.structure.outputs is None else some)
            found = self.tree.down(values, seed, range(len(self.cores)))
            ones = np.ones((len(some), 1), dtype=self.dtype)
            for v, out in enumerate(total):
                features = design.rows([ones, *(factors[leg] for leg in self.structure.legs_of[v])])
                more = features.T @ found[v].reshape(len(ones), -1)
                out += more.conj().reshape(out.shape)

        return self._add_up(shard, run, accumulate, [core.shape for core in self.cores])

    def normal_equations(
        self, block: int, category: Pair | None, shape: Shape, both: bool, shard: AnyShard, run: Run
    ) -> tuple[NDArray, ...]:
        """Return Σ z̄zᵀ, maybe Σ zzᵀ, and Σ z·y over the design rows of a vertex.

        `category` is a (leg, column) of the vertex that meets one-hot features, by which sums are
        kept apart; `shape` counts right sides that share a matrix, matrices and unknowns.
        """
        root, target = shard.scaled
        legs = [leg for leg in self.structure.legs_of[block] if not category or leg != category[0]]

        def accumulate(total: Arrays, factors: Factors, part: Span) -> None:
            environment = self.environment(factors, block)
            chosen, goal = np.arange(part.start, part.stop), target[part]
            if environment.ndim == 3:  # every output of a row is a row
                chosen = np.repeat(chosen, environment.shape[1])
                goal, environment = goal.reshape(-1, 1), environment.reshape(len(chosen), -1)
            parts = [*(factors[leg][chosen - part.start] for leg in legs), environment]
            codes = shard.codes[chosen, category[1]] if category else np.zeros(len(chosen), int)
            for code in np.unique(codes):
                some = codes == code
                weights = root[chosen[some]] if len(root) else root
                sums = design.gram([part[some] for part in parts], weights, goal[some], both)
                for own, more in zip(total[:-1], sums, strict=False):
                    own[code] += more
                total[-1][:, code] += sums[-1]

        _, count, width = shape
        return self._add_up(shard, run, accumulate, [(count, width, width)] * (1 + both) + [shape])

    def _add_up(
        self,
        shard: AnyShard,
        run: Run,
        accumulate: Callable[[Arrays, Factors, Span], None],
        shapes: Sequence[tuple[int, ...]],
    ) -> tuple[NDArray, ...]:
        """Return arrays of given shapes, summed by accumulate(arrays, factors, part)."""

        def task(bounds: tuple[int, int]) -> tuple[NDArray, ...]:
            total = tuple(np.zeros(shape, dtype=self.double) for shape in shapes)
            for part in self.pieces(*bounds):
                accumulate(total, self.factors(shard.codes[part]), part)
            return total

        # so few tasks that their sums fit into memory together
        count = min(PARTS, SUM_ENTRIES // max(1, sum(map(math.prod, shapes))))
        return add_all(run(task, shard.parts(max(1, count))))


class GraphIterate(Iterate):
    """Cores of a graph, see `qtkm.networks.network.Iterate`; a block is a vertex."""

    def __init__(
        self,
        structure: Structure,
        columns: Columns,
        cores: Cores,
        dtype: DTypeLike,
        run: Run,
        precisions: Precisions,
    ):
        self.structure, self.columns, self.dtype, self.run = structure, columns, dtype, run
        self.precisions = list(precisions)
        known = [(d, p) for d, p in enumerate(precisions) if p is not None]
        self.weighted = tuple(d for d, _ in known)
        # one axis per level
        self.weights = [p.reshape(tuple(reversed(columns[d].radices))).T for d, p in known]
        self.is_complex = np.iscomplexobj(cores[0])
        self.n_blocks = len(cores)
        self.restore(cores)

    @property
    def rows(self) -> NetworkRows:
        """The cores as passes over rows see them."""
        return NetworkRows(self.structure, self.cores, self.columns, self.dtype)

    def snapshot(self) -> Cores:
        return list(self.cores)

    def restore(self, cores: Cores) -> None:
        self.cores: Cores = list(cores)
        self.token = object()

    def place(self, block: int, core: NDArray) -> None:
        """Put in the core of a vertex; the norm of all cores is shared out evenly."""
        cores = list(self.cores)
        cores[block] = np.ascontiguousarray(core)
        self.restore(balance(cores))

    def _squared(self, kets: Cores, skip: Collection[int] = ()) -> list[NDArray]:
        """Return the values of all nodes of the tree of the penalty."""
        bras = [core.conj() for core in self.cores]
        return self._tree.up([*kets, *bras, *self.weights], skip)

    @property
    def _tree(self) -> Tree:
        return penalty_tree(self.structure, self.weighted)

    def penalty(self) -> float:
        return float(self._squared(self.cores)[-1].real)

    def penalty_gradient(self) -> Cores:
        bras = range(self.n_blocks, 2 * self.n_blocks)
        found = self._tree.down(self._squared(self.cores), np.ones(()), bras)
        return [2 * found[bra] for bra in bras]

    def penalty_product(self, direction: Cores) -> Cores:
        tree, result = self._tree, []
        for v, change in enumerate(direction):
            kets, bra = [*self.cores[:v], change, *self.cores[v + 1 :]], self.n_blocks + v
            values = self._squared(kets, skip=tree.lineage([bra]))
            result.append(2 * tree.down(values, np.ones(()), [bra])[bra])
        return result

    def penalty_form(self, block: int) -> NDArray:
        """Return the penalty over a vertex's legs and bonds, (Q, …, bonds, bonds)."""
        edges, legs = self.structure.edges, self.structure.legs_of[block]
        tree = penalty_tree(self.structure, self.weighted, block)
        others = [core for v, core in enumerate(self.cores) if v != block]
        leaves = [*others, *(core.conj() for core in others), *self.weights]
        leaves += [np.ones(edges[leg].size) for (leg,) in tree.terms[len(leaves) : tree.n_leaves]]
        form, term = tree.up(leaves)[-1].astype(self.cores[0].dtype), tree.terms[-1]
        kets = sorted(i for i in term if i < len(edges) and i not in legs)
        bras = [i + len(edges) for i in kets]
        form = form.transpose([term.index(i) for i in (*legs, *bras, *kets)])
        size = math.prod(edges[e].size for e in kets)
        return form.reshape(*(edges[leg].size for leg in legs), size, size)

    def problem(self, block: int, setting: Setting) -> "VertexProblem":
        return VertexProblem(self, block, setting)

    def response_pass(self) -> Pass:
        return self.rows.respond

    def gradient_pass(self) -> Pass:
        return self.rows.add_gradients

    def gradient(self, sums: Arrays) -> Cores:
        return list(sums)

    def tangent(self, direction: Cores) -> Pass:
        return partial(self.rows.respond, direction=list(direction))


class VertexProblem:
    """Local problem of a vertex: all other cores are fixed."""

    n_levels = 1

    def __init__(self, iterate: GraphIterate, block: int, setting: Setting):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.split = bool(setting.real_part and iterate.is_complex)
        core, rows, structure = iterate.cores[block], iterate.rows, iterate.structure
        edges, legs = structure.edges_of[block], structure.legs_of[block]
        columns = zip(legs, (column for column, _ in structure.sites_at(block)), strict=True)
        # a leg that meets categories, and its column
        category = next((pair for pair in columns if rows.columns[pair[1]].is_one_hot), None)
        apart = [structure.outputs, category and category[0]]
        # axes of the core as outputs, category, then legs and bonds
        place = [apart.index(edge) if edge in apart else 2 for edge in edges]
        self.axes = sorted(range(core.ndim), key=place.__getitem__)
        n_outputs, n_categories = (structure.edges[e].size if e in edges else 1 for e in apart)
        shape = n_outputs, n_categories, core.size // (n_outputs * n_categories)
        if shape[1] * (shape[2] * (2 if self.split else 1)) ** 2 > LARGEST_MATRIX:
            raise ValueError(
                f"The core of vertex {structure.vertices[block]!r} has {core.size:,} weights, too "
                "many for one least-squares problem of all of them. Lower the sizes of its edges, "
                "or use a solver that needs gradients alone, such as solver='lbfgs'."
            )
        self.shape = tuple(core.shape[axis] for axis in self.axes)
        self.core = np.ascontiguousarray(core.transpose(self.axes)).reshape(shape)
        self.penalty = np.eye(1)[None]
        if setting.alpha > 0:  # over the unknowns of a system: a block for all values of the legs
            form = iterate.penalty_form(block)
            if category is not None:
                form = np.take(form, 0, axis=legs.index(category[0]))
            self.penalty = form.reshape(-1, *form.shape[-2:])
        sum_up = partial(rows.normal_equations, block, category, shape, self.split)
        self.sums = setting.sum(sum_up)

    def sweep(self) -> list[float]:
        """Update the core; return the objective after it."""
        *matrices, right_sides = self.sums
        setting, value = self.setting, self.setting.constant
        core = np.empty_like(self.core)
        for n, products in enumerate(right_sides):  # one system per output with a leg here
            system = least_squares(
                matrices, products.conj(), self.penalty[None], setting.scale, self.core.shape[1:]
            )
            core[n], least = system.minimize(self.core[n])
            value += least - setting.constant
        self.core = core
        return [value]

    def finish(self) -> None:
        """Hand the core back."""
        back = np.argsort(self.axes)
        self.iterate.place(self.block, self.core.reshape(self.shape).transpose(back))


@lru_cache(maxsize=1024)
def penalty_tree(structure: Structure, weighted: Term, without: int | None = None) -> Tree:
    """Return the tree of the penalty: cores, their conjugates, and precisions of some columns.

    Without a vertex and its conjugate, their bonds and legs are left; legs that have no precision
    meet a vector of ones.
    """
    edges, shift, kets = structure.edges, len(structure.edges), list(structure.edges_of)
    # conjugate cores share legs but have their own bonds
    bras = [tuple(e + shift * (edges[e].site is None) for e in own) for own in kets]
    sites = sorted(structure.legs.items())
    weights = [tuple(leg for (column, _), leg in sites if column == d) for d in weighted]
    output: set[int] = set()
    if without is not None:
        output = {*kets.pop(without), *bras.pop(without)} - {structure.outputs}
        known = set().union(*weights)
        weights += [(leg,) for leg in structure.legs_of[without] if leg not in known]
    return Tree([*kets, *bras, *weights], output, sizes_of(structure))


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
