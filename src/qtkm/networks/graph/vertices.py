"""Cores of a graph in place: its penalty, and the local problem of a vertex.

The design row of a vertex is the Kronecker product of the features of its legs and of its
environment.  Three things make the least-squares problem of its core fall apart or grow:

- a vertex with the leg of the outputs solves one problem per output, all with one matrix;
- any other vertex sees each output of a row as a row of its own;
- a leg to categories selects a slice of the core, so each category has a problem of its own.
"""

import math
from collections.abc import Collection
from functools import lru_cache, partial

import numpy as np
from numpy.typing import DTypeLike, NDArray

from ...protocols import AnyShard, Arrays, Columns, Cores, Pass, Precisions, Run, Setting
from ...structure import Structure
from ..design import Term, Tree
from ..local import least_squares
from ..train.gauge import balance
from .contraction import NetworkRows, add_gradients, normal_equations, respond, sizes_of

#: entries of the matrices of a local problem; in double precision they take 400 MB, or twice that
LARGEST_MATRIX = 50_000_000


class GraphIterate:
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

    def energies(self, block: int) -> None:
        """Return nothing: the columns of a graph keep the penalty they start with."""

    def put_precision(self, d: int, precision: NDArray) -> None:
        """Refuse another precision of a column."""
        raise NotImplementedError("The columns of a graph keep the penalty they start with.")

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
        """Return the penalty over a vertex's legs and bonds, (Q or 1, …, bonds, bonds)."""
        legs = self.structure.legs_of[block]
        others = [core for v, core in enumerate(self.cores) if v != block]
        leaves = [*others, *(core.conj() for core in others), *self.weights]
        if not leaves:
            return np.ones((*(1 for _ in legs), 1, 1), dtype=self.cores[0].dtype)
        tree = penalty_tree(self.structure, self.weighted, block)
        form, term = tree.up(leaves)[-1], tree.terms[-1]
        shift = len(self.structure.edges)
        kept = [leg for leg in legs if leg in term]
        kets = sorted(i for i in term if i < shift and i not in kept)
        form = form.transpose([term.index(i) for i in (*kept, *(i + shift for i in kets), *kets)])
        size = math.prod(self.structure.edges[e].size for e in kets)
        sizes = [self.structure.edges[leg].size if leg in kept else 1 for leg in legs]
        return np.ascontiguousarray(form).reshape(*sizes, size, size)

    def problem(self, block: int, setting: Setting) -> "VertexProblem":
        return VertexProblem(self, block, setting)

    def responses(self, shard: AnyShard) -> NDArray:
        return self.response_pass()(shard, run=self.run)

    def response_pass(self) -> Pass:
        return partial(respond, self.rows, None)

    def gradient_pass(self) -> Pass:
        return partial(add_gradients, self.rows)

    def gradient(self, sums: Arrays) -> Cores:
        return list(sums)

    def tangent(self, direction: Cores) -> Pass:
        return partial(respond, self.rows, list(direction))


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
            sizes = [structure.edges[leg].size for leg in legs]
            form = np.broadcast_to(form, (*sizes, *form.shape[-2:]))
            if category is not None:
                form = np.take(form, 0, axis=legs.index(category[0]))
            self.penalty = form.reshape(-1, *form.shape[-2:])
        self.sums = setting.sum(partial(normal_equations, rows, block, category, shape, self.split))

    def sweep(self) -> list[float]:
        """Update the core; return the objective after it."""
        hermitian, right_sides, *symmetric = self.sums
        setting, value = self.setting, self.setting.constant
        core = np.empty_like(self.core)
        for n, products in enumerate(right_sides):  # one system per output with a leg here
            system = least_squares(
                [hermitian, *symmetric][: 1 + self.split], products.conj(),
                self.penalty[None], setting.scale, self.core.shape[1:],
            )  # fmt: skip
            core[n], least = system.minimize(self.core[n])
            value += least - setting.constant
        self.core = core
        return [value]

    def restart(self) -> None:
        """Begin another sweep: a single core has nothing to begin anew."""

    def finish(self) -> None:
        """Hand the core back."""
        back = np.argsort(self.axes)
        self.iterate.place(self.block, self.core.reshape(self.shape).transpose(back))


@lru_cache(maxsize=1024)
def penalty_tree(structure: Structure, weighted: Term, without: int | None = None) -> Tree:
    """Return the tree of the penalty: cores, their conjugates, and precisions of some columns.

    Without a vertex and its conjugate, their bonds and the legs that have precisions are left.
    """
    edges, shift, kets = structure.edges, len(structure.edges), list(structure.edges_of)
    # conjugate cores share legs but have their own bonds
    bras = [tuple(e + shift * (edges[e].site is None) for e in own) for own in kets]
    sites = sorted(structure.legs.items())
    weights = [tuple(leg for (column, _), leg in sites if column == d) for d in weighted]
    output: set[int] = set()
    if without is not None:
        known = set().union(*weights)
        ends = {*kets.pop(without), *bras.pop(without)}
        output = {e for e in ends if e >= shift or edges[e].site is None or e in known}
    return Tree([*kets, *bras, *weights], output, sizes_of(structure))
