"""Cores of a graph in place: contractions with the rows, norms, gradients.

A contraction follows a tree (see `qtkm.networks.design`) that is planned once a structure.  For
the rows its leaves are the vertices, each contracted with the features of its legs; for the norm
they are the cores and their conjugates.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...protocols import Column, Run, Setting, Shard
from ...structure import Structure
from ..design import PLANNED_ROWS, ROWS, Term, Tree, adjoint, join
from ..network import Cores
from .vertices import GradientPass, ResponsePass, TangentPass, VertexProblem

#: what the leg of the outputs is called
OUTPUTS = "outputs"
#: from the leg of a site to its features at some rows, (n, Q)
Factors = dict[int, NDArray]


class Rows:
    """Cores, structure and columns: all that a pass over rows carries.

    Parameters
    ----------
    structure : Structure
    cores : list of array
    columns : sequence
        Columns with `factors`, `phase`, `slices`, `radices` and `is_one_hot`.
    dtype : dtype
        Precision, float32 or float64.
    """

    def __init__(
        self, structure: Structure, cores: Sequence[NDArray], columns: Sequence[Column], dtype: Any
    ):
        self.structure, self.columns, self.dtype = structure, columns, np.dtype(dtype)
        self.is_complex = np.iscomplexobj(cores[0])
        self.cores = [self.cast(core) for core in cores]
        outputs = outputs_of(structure)
        self.outputs: int | None = outputs[0] if outputs else None
        self.n_outputs = 1 if self.outputs is None else structure.edges[self.outputs].size

    def cast(self, array: NDArray) -> NDArray:
        """Array in the precision of the contractions."""
        kind = np.result_type(self.dtype, np.complex64) if np.iscomplexobj(array) else self.dtype
        return array.astype(kind, copy=False)

    @property
    def entries(self) -> int:
        """Numbers that the contraction of a row makes."""
        made = row_tree(self.structure).entries
        return sum(made) + sum(sum(column.radices) for column in self.columns)

    def tables(self) -> list[NDArray | None]:
        """Factor entries at the columns' grid values, phase included; None for categories."""
        return [None if c.is_one_hot else self.cast(with_phase(c.factors, c.phase, c.slices))
                for c in self.columns]  # fmt: skip

    def factors(self, tables: Sequence[NDArray | None], codes: NDArray) -> Factors:
        """Features of all sites at coded rows."""
        found = {}
        for d, (column, table) in enumerate(zip(self.columns, tables, strict=True)):
            if table is None:
                one_hot = codes[:, d, None] == np.arange(column.radices[0])
                found[self.structure.legs[d, 0]] = one_hot.astype(self.dtype)
                continue
            rows = table[codes[:, d]]
            for k, part in enumerate(column.slices):
                found[self.structure.legs[d, k]] = rows[:, part]
        return found

    # -- contractions of a block of rows ------------------------------------------------------

    def responses(self, factors: Factors) -> NDArray:
        """Responses (n, n_outputs)."""
        root = row_tree(self.structure).up(self._leaves(self.cores, factors))[-1]
        return root.reshape(len(root), -1)

    def tangents(self, factors: Factors, direction: Sequence[NDArray]) -> NDArray:
        """Change of the responses in a direction, (n, n_outputs)."""
        tree = row_tree(self.structure)
        values = tree.up(self._leaves(self.cores, factors))
        changes = self._leaves([self.cast(change) for change in direction], factors)
        moved = tree.tangent(values, changes)
        return moved.reshape(len(moved), -1)

    def design(self, factors: Factors, block: int) -> tuple[list[tuple[int, NDArray]], NDArray]:
        """Parts of a vertex's design rows: features of its legs, and its environment.

        The environment is an array (n, bonds), or (n, n_outputs, bonds) where the outputs have
        a leg at another vertex.
        """
        tree = row_tree(self.structure)
        leaves = self._leaves(self.cores, factors, but=block)
        values = tree.up(leaves, skip=tree.lineage([block]))
        seed = np.ones(len(next(iter(factors.values()))), dtype=self.dtype)
        free = outputs_of(self.structure)
        environment = tree.down(values, seed, [block], free)[block]
        legs = [(leg, factors[leg]) for leg in legs_of(self.structure, block)]
        is_open = self.outputs not in (None, *self.structure.edges_of[block])
        return legs, environment.reshape(len(seed), *([self.n_outputs] if is_open else []), -1)

    def gradients(self, factors: Factors, slopes: NDArray) -> list[NDArray]:
        """Σ z̄·slope over the rows for every vertex, in the shapes of the cores."""
        tree, one = row_tree(self.structure), np.ones(len(slopes), dtype=self.dtype)
        values = tree.up(self._leaves(self.cores, factors))
        seed = self.cast(slopes.conj() if self.outputs is not None else slopes[:, 0].conj())
        found = tree.down(values, seed, range(len(self.cores)))
        gradients = []
        for v, core in enumerate(self.cores):
            parts = [factors[leg] for leg in legs_of(self.structure, v)]
            parts.append(found[v].reshape(len(one), -1))
            gradients.append(adjoint(parts, one).reshape(core.shape))
        return gradients

    def _leaves(
        self, cores: Sequence[NDArray], factors: Factors, but: int | None = None
    ) -> list[Any]:
        """Cores contracted with the features of their legs."""
        return [None if v == but else self._absorb(v, core, factors)
                for v, core in enumerate(cores)]  # fmt: skip

    def _absorb(self, vertex: int, core: NDArray, factors: Factors) -> NDArray:
        term = self.structure.edges_of[vertex]
        for leg in legs_of(self.structure, vertex):
            rest = (ROWS, *(i for i in term if i not in (leg, ROWS)))
            core, term = join((ROWS, leg), term, rest, factors[leg], core), rest
        return core


class Iterate:
    """Cores of a graph, see `qtkm.networks.network.Iterate`; a block is a vertex.

    Parameters
    ----------
    structure : Structure
    columns : sequence of Column
    cores : list of array
    dtype : dtype
        Precision of the contractions with rows, float32 or float64.
    run : callable
        run(function, tasks), see `qtkm.engines`.
    precisions : sequence of (M,) arrays or None
        What the penalty multiplies the squared weight of each function by; None for 1.
    """

    def __init__(
        self,
        structure: Structure,
        columns: Sequence[Column],
        cores: Cores,
        dtype: Any,
        run: Run,
        precisions: Sequence[NDArray | None],
    ):
        self.structure, self.columns, self.dtype, self.run = structure, columns, dtype, run
        self.precisions = list(precisions)
        self.weighted = tuple(d for d, p in enumerate(precisions) if p is not None)
        self.weights = [_by_digits(precisions[d], columns[d].radices) for d in self.weighted]
        self.cores: Cores = list(cores)
        self.is_complex = np.iscomplexobj(cores[0])
        self.n_blocks = len(cores)
        self.token = object()

    @property
    def rows(self) -> Rows:
        """The cores as passes over rows see them."""
        return Rows(self.structure, self.cores, self.columns, self.dtype)

    def snapshot(self) -> Cores:
        return list(self.cores)

    def restore(self, cores: Cores) -> None:
        self.cores, self.token = list(cores), object()

    def place(self, block: int, core: NDArray) -> None:
        """Put in the core of a vertex; the norm of all cores is shared out evenly."""
        cores = list(self.cores)
        cores[block] = np.ascontiguousarray(core)
        self.restore(balanced(cores))

    def legs(self, block: int) -> list[int]:
        """Legs of a vertex that meet features."""
        return list(legs_of(self.structure, block))

    # -- the penalty --------------------------------------------------------------------------

    def energies(self, block: int) -> None:
        """Return nothing: the columns of a graph keep the penalty they start with."""

    def put_precision(self, d: int, precision: NDArray) -> None:
        """Refuse another precision of a column."""
        raise NotImplementedError("The columns of a graph keep the penalty they start with.")

    def penalty(self) -> float:
        bras = [core.conj() for core in self.cores]
        leaves = [*self.cores, *bras, *self.weights]
        return float(penalty_tree(self.structure, self.weighted).up(leaves)[-1].real)

    def penalty_gradient(self) -> Cores:
        tree, n = penalty_tree(self.structure, self.weighted), self.n_blocks
        bras = [core.conj() for core in self.cores]
        values = tree.up([*self.cores, *bras, *self.weights])
        found = tree.down(values, np.ones(()), range(n, 2 * n))
        return [2 * found[n + v] for v in range(n)]

    def penalty_product(self, direction: Cores) -> Cores:
        tree, n = penalty_tree(self.structure, self.weighted), self.n_blocks
        bras = [core.conj() for core in self.cores]
        result = []
        for v, change in enumerate(direction):
            kets = [*self.cores[:v], change, *self.cores[v + 1 :]]
            values = tree.up([*kets, *bras, *self.weights], skip=tree.lineage([n + v]))
            result.append(2 * tree.down(values, np.ones(()), [n + v])[n + v])
        return result

    def penalty_form(self, block: int) -> NDArray:
        """Penalty over a vertex's legs (Q, …) and bonds: matrices (Q or 1, …, bonds, bonds)."""
        legs = legs_of(self.structure, block)
        others = [core for v, core in enumerate(self.cores) if v != block]
        leaves = [*others, *(core.conj() for core in others), *self.weights]
        if not leaves:
            return np.ones((*(1 for _ in legs), 1, 1), dtype=self.cores[0].dtype)
        tree = outside_tree(self.structure, block, self.weighted)
        form, term = tree.up(leaves)[-1], tree.terms[-1]
        shift = len(self.structure.edges)
        kept = [leg for leg in legs if leg in term]
        kets = sorted(i for i in term if i < shift and i not in kept)
        form = form.transpose([term.index(i) for i in (*kept, *(i + shift for i in kets), *kets)])
        size = math.prod(self.structure.edges[e].size for e in kets)
        sizes = [self.structure.edges[leg].size if leg in kept else 1 for leg in legs]
        return np.ascontiguousarray(form).reshape(*sizes, size, size)

    # -- rows ---------------------------------------------------------------------------------

    def problem(self, block: int, setting: Setting) -> VertexProblem:
        return VertexProblem(self, block, setting)

    def responses(self, shard: Shard) -> NDArray:
        return self.response_pass()(shard, run=self.run)

    def response_pass(self) -> ResponsePass:
        return ResponsePass(self.rows)

    def gradient_pass(self) -> GradientPass:
        return GradientPass(self.rows)

    def gradient(self, sums: Any) -> Cores:
        return list(sums)

    def tangent(self, direction: Cores) -> TangentPass:
        return TangentPass(self.rows, list(direction))


def balanced(cores: Cores) -> Cores:
    """Cores of the same network, all of one norm, so that no product of some runs away."""
    norms = np.array([np.linalg.norm(core) for core in cores])
    if not norms.all() or not np.isfinite(norms).all():
        return cores
    mean = np.exp(np.log(norms).mean())
    return [core * (mean / norm) for core, norm in zip(cores, norms, strict=True)]


def with_phase(factors: NDArray, phase: NDArray | None, slices: Sequence[slice]) -> NDArray:
    """Factor entries of a column, its phase multiplied into those of the first level."""
    if phase is None or not len(phase):
        return factors
    factors = factors.copy()
    factors[:, slices[0]] *= phase[:, None]
    return factors


@lru_cache(maxsize=64)
def row_tree(structure: Structure) -> Tree:
    """Tree of the responses: vertices contracted with the features of their legs."""
    outputs = outputs_of(structure)
    terms = []
    for v, edges in enumerate(structure.edges_of):
        legs = legs_of(structure, v)
        terms.append((*((ROWS,) if legs else ()), *(e for e in edges if e not in legs)))
    return Tree(terms, {ROWS, *outputs}, {ROWS: PLANNED_ROWS, **_sizes(structure)})


@lru_cache(maxsize=64)
def penalty_tree(structure: Structure, weighted: Term) -> Tree:
    """Tree of the penalty: all cores, their conjugates, and the precisions of some columns."""
    terms = [*structure.edges_of, *_conjugate(structure), *_weights(structure, weighted)]
    return Tree(terms, set(), _sizes(structure))


@lru_cache(maxsize=1024)
def outside_tree(structure: Structure, vertex: int, weighted: Term) -> Tree:
    """Tree of the penalty without a vertex and its conjugate."""
    kets, bras, shift = list(structure.edges_of), _conjugate(structure), len(structure.edges)
    bonds = [e for e in kets[vertex] if structure.edges[e].site is None]
    legs = [e for e in legs_of(structure, vertex) if _site(structure, e)[0] in weighted]
    del kets[vertex], bras[vertex]
    output = {*bonds, *(e + shift for e in bonds), *legs}
    return Tree([*kets, *bras, *_weights(structure, weighted)], output, _sizes(structure))


def _site(structure: Structure, leg: int) -> tuple[int, int]:
    site = structure.edges[leg].site
    assert site is not None
    return site


def _weights(structure: Structure, weighted: Term) -> list[Term]:
    """Legs of all levels of the columns that have precisions of their own."""
    legs = structure.legs
    return [tuple(legs[site] for site in sorted(legs) if site[0] == d) for d in weighted]


def _by_digits(precision: Any, radices: Sequence[int]) -> NDArray:
    """Precisions (M,) of a column with one axis per level."""
    return precision.reshape(tuple(reversed(radices))).T


def outputs_of(structure: Structure) -> Term:
    """Return the leg of the outputs, the last edge, if there is one."""
    last = structure.edges[-1]
    is_outputs = last.name == OUTPUTS and last.site is not None
    return (len(structure.edges) - 1,) if is_outputs else ()


def legs_of(structure: Structure, vertex: int) -> Term:
    """Legs of a vertex that meet features."""
    others = outputs_of(structure)
    return tuple(e for e in structure.edges_of[vertex]
                 if structure.edges[e].site is not None and e not in others)  # fmt: skip


def _conjugate(structure: Structure) -> list[Term]:
    """Return the indices of the conjugate cores, which share legs but have their own bonds."""
    shift = len(structure.edges)
    return [tuple(e + shift * (structure.edges[e].site is None) for e in edges)
            for edges in structure.edges_of]  # fmt: skip


def _sizes(structure: Structure) -> dict[int, int]:
    return dict(enumerate([edge.size for edge in structure.edges] * 2))
