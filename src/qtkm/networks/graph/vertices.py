"""What a graph does with the rows of a shard: passes, and the local problem of a vertex.

The design row of a vertex is the Kronecker product of the features of its legs and of its
environment.  Three things make the least-squares problem of its core fall apart or grow:

- a vertex with the leg of the outputs solves one problem an output, all with one matrix;
- any other vertex sees each output of a row as a row of its own;
- a leg to categories selects a slice of the core, so each category has a problem of its own.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...protocols import Run, Setting, Shard
from .. import design
from ..local import LocalSystem, least_squares

#: entries of the matrices of a local problem; in double precision they take 400 MB, or twice that
LARGEST_MATRIX = 50_000_000
#: entries of all arrays that one block of rows makes
BLOCK_ENTRIES = 1 << 20
#: entries of all sums that the tasks of a shard hold at a time
SUM_ENTRIES = 1 << 25


def fill(rows: Any, shard: Shard, run: Run, respond: Callable[[Any], NDArray]) -> NDArray:
    """Responses (n_rows, n_outputs) of a shard from respond(factors), some rows at a time."""
    tables = rows.tables()
    kind = np.complex128 if rows.is_complex else np.float64
    out = np.empty((len(shard.codes), rows.n_outputs), dtype=kind)

    def task(bounds):
        for part in pieces(rows, *bounds):
            out[part] = respond(rows.factors(tables, shard.codes[part]))

    run(task, shard.blocks())
    return out


def add_up(
    rows: Any, shard: Shard, run: Run, accumulate: Callable[..., None], shapes: Sequence[Any]
) -> tuple[NDArray, ...]:
    """Arrays of some (shape, dtype), summed over a shard by accumulate(arrays, factors, part)."""
    tables = rows.tables()

    def task(blocks):
        total = tuple(np.zeros(shape, dtype=kind) for shape, kind in shapes)
        for bounds in blocks:
            for part in pieces(rows, *bounds):
                accumulate(total, rows.factors(tables, shard.codes[part]), part)
        return total

    first, *others = run(task, _deal(shard.blocks(), shapes))
    for other in others:
        for total, more in zip(first, other, strict=True):
            total += more
    return first


def pieces(rows: Any, begin: int, end: int) -> list[slice]:
    """Ranges of rows whose contraction takes a bounded amount of memory."""
    step = max(1, BLOCK_ENTRIES // rows.entries)
    return [slice(first, min(first + step, end)) for first in range(begin, end, step)]


def _deal(blocks: list[tuple[int, int]], shapes: Sequence[Any]) -> list[list[tuple[int, int]]]:
    """Blocks of rows dealt to tasks, so few that their sums fit into memory together."""
    numbers = sum(math.prod(shape) for shape, _ in shapes)
    count = min(len(blocks), max(1, SUM_ENTRIES // max(1, numbers)))
    return [blocks[len(blocks) * i // count : len(blocks) * (i + 1) // count]
            for i in range(count)]  # fmt: skip


class GradientPass:
    """Gradients of the loss with respect to all cores; carries only `Rows`."""

    def __init__(self, rows: Any):
        self.rows = rows

    def __call__(self, shard: Shard, slopes: NDArray, run: Run) -> tuple[NDArray, ...]:
        def accumulate(total, factors, part):
            for out, more in zip(total, self.rows.gradients(factors, slopes[part]), strict=True):
                out += more

        kind = np.complex128 if self.rows.is_complex else np.float64
        shapes = tuple((core.shape, kind) for core in self.rows.cores)
        return add_up(self.rows, shard, run, accumulate, shapes)


class ResponsePass:
    """Responses of the rows; carries only `Rows`."""

    def __init__(self, rows: Any):
        self.rows = rows

    def __call__(self, shard: Shard, run: Run) -> NDArray:
        return fill(self.rows, shard, run, self.rows.responses)


class TangentPass:
    """Change of the responses in a direction; carries only `Rows` and the direction."""

    def __init__(self, rows: Any, direction: Sequence[NDArray]):
        self.rows, self.direction = rows, direction

    def __call__(self, shard: Shard, run: Run) -> NDArray:
        def respond(factors):
            return self.rows.tangents(factors, self.direction)

        return fill(self.rows, shard, run, respond)


class NormalEquations:
    """Sums Σ z̄zᵀ, Σ z·y and maybe Σ zzᵀ over the design rows of a vertex.

    Parameters
    ----------
    rows : Rows
    block : int
        The vertex.
    category : (leg, column) or None
        A leg of the vertex that meets one-hot features; sums are kept apart by its categories.
    shape : (n_systems, n_categories, width)
        Right sides that share a matrix, matrices, unknowns.
    both : bool
        Whether Σ zzᵀ is asked for.
    """

    def __init__(
        self,
        rows: Any,
        block: int,
        category: tuple[int, int] | None,
        shape: tuple[int, int, int],
        both: bool,
    ):
        self.rows, self.block, self.category = rows, block, category
        self.shape, self.both = shape, both

    def __call__(self, shard: Shard, run: Run) -> tuple[NDArray, ...]:
        root, target = shard.scaled

        def accumulate(total, factors, part):
            codes = None if self.category is None else shard.codes[part, self.category[1]]
            self._add(total, factors, root[part] if len(root) else root, target[part], codes)

        kind = np.complex128 if self.rows.is_complex else np.float64
        _, count, width = self.shape
        matrix = ((count, width, width), kind)
        shapes = (matrix, (self.shape, kind), *([matrix] if self.both else []))
        return add_up(self.rows, shard, run, accumulate, shapes)

    def _add(self, total, factors, root, target, codes):
        legs, environment = self.rows.design(factors, self.block)
        parts = [factor for leg, factor in legs if self.category is None or leg != self.category[0]]
        if environment.ndim == 3:  # every output of a row is a row
            n_outputs = environment.shape[1]
            parts = [np.repeat(part, n_outputs, axis=0) for part in parts]
            environment = environment.reshape(-1, environment.shape[2])
            root, target = np.repeat(root, n_outputs), target.reshape(-1, 1)
            codes = None if codes is None else np.repeat(codes, n_outputs)
        parts.append(environment)
        if codes is None:
            self._add_category(total, 0, parts, root, target)
            return
        order = np.argsort(codes, kind="stable")
        found, first = np.unique(codes[order], return_index=True)
        for code, chosen in zip(found, np.split(order, first[1:]), strict=True):
            some = [part[chosen] for part in parts]
            self._add_category(
                total, code, some, root[chosen] if len(root) else root, target[chosen]
            )

    def _add_category(self, total, code, parts, root, target):
        hermitian, symmetric, products = design.gram(parts, root, target, self.both)
        total[0][code] += hermitian
        total[1][:, code] += products
        if self.both:
            total[2][code] += symmetric


class VertexProblem:
    """Local problem of a vertex: all other cores are fixed.

    Parameters
    ----------
    iterate : Iterate
    block : int
        The vertex.
    setting : object
        See `qtkm.networks.network.Iterate.problem`.
    """

    n_levels = 1

    def __init__(self, iterate: Any, block: int, setting: Setting):
        self.iterate, self.block, self.setting = iterate, block, setting
        self.split = bool(setting.real_part and iterate.is_complex)
        core, rows = iterate.cores[block], iterate.rows
        category = _category(rows, block)
        self.axes, shape = _layout(rows, block, category)
        self._refuse_large(shape)
        self.shape = tuple(core.shape[axis] for axis in self.axes)
        self.core = np.ascontiguousarray(core.transpose(self.axes)).reshape(shape)
        self.penalty = self._penalty(category) if setting.alpha > 0 else np.eye(1)[None]
        self.sums = setting.sum(NormalEquations(rows, block, category, shape, self.split))

    def systems(self) -> Iterator[LocalSystem]:
        """Local systems, one an output if the vertex tells them apart.

        Their blocks are the entries of the core as it is laid out here.
        """
        symmetric = self.sums[2] if self.split else None
        for products in self.sums[1]:
            yield least_squares(
                self.sums[0], symmetric, products.conj(), self.penalty[None], self.setting.scale,
                self.core.shape[1:],
            )  # fmt: skip

    def _penalty(self, category: tuple[int, int] | None) -> NDArray:
        """Penalty over the unknowns of a system: a block for all values of the legs."""
        form = self.iterate.penalty_form(self.block)
        structure = self.iterate.structure
        legs = self.iterate.legs(self.block)
        if category is not None:
            form = np.take(form, 0, axis=legs.index(category[0]))
            legs = [leg for leg in legs if leg != category[0]]
        sizes = [structure.edges[leg].size for leg in legs]
        size = form.shape[-1]
        return np.broadcast_to(form, (*sizes, size, size)).reshape(-1, size, size)

    def sweep(self) -> list[float]:
        """Update the core; returns the objective after it."""
        value, core = self.setting.constant, np.empty_like(self.core)
        for n, system in enumerate(self.systems()):
            core[n], least = system.minimize(self.core[n])
            value += least - self.setting.constant
        self.core = core
        return [value]

    def restart(self) -> None:
        """Begin another sweep: a single core has nothing to begin anew."""

    def finish(self) -> None:
        """Hand the core back."""
        back = np.argsort(self.axes)
        self.iterate.place(self.block, self.core.reshape(self.shape).transpose(back))

    def _refuse_large(self, shape: tuple[int, int, int]) -> None:
        _, count, width = shape
        if count * (width * (2 if self.split else 1)) ** 2 > LARGEST_MATRIX:
            name = self.iterate.structure.vertices[self.block]
            raise ValueError(
                f"The core of vertex {name!r} has {math.prod(shape):,} weights, too many for one "
                "least-squares problem of all of them. Lower the sizes of its edges, or use a "
                "solver that needs gradients alone, such as solver='lbfgs'."
            )


def _category(rows: Any, vertex: int) -> tuple[int, int] | None:
    """Return a leg of a vertex that meets categories, and its column, or None."""
    for leg in rows.structure.edges_of[vertex]:
        site = rows.structure.edges[leg].site
        if site is not None and leg != rows.outputs and rows.columns[site[0]].is_one_hot:
            return leg, site[0]
    return None


def _layout(
    rows: Any, vertex: int, category: tuple[int, int] | None
) -> tuple[tuple[int, ...], tuple[int, int, int]]:
    """Axes of a core in the order outputs, category, legs, bonds; sizes of 1st, 2nd and rest."""
    edges, shape = rows.structure.edges_of[vertex], rows.cores[vertex].shape
    outputs = [a for a, e in enumerate(edges) if e == rows.outputs]
    chosen = [a for a, e in enumerate(edges) if category is not None and e == category[0]]
    others = [a for a in range(len(edges)) if a not in outputs and a not in chosen]
    n_outputs, n_categories, width = (
        math.prod(shape[a] for a in axes) for axes in (outputs, chosen, others)
    )
    return (*outputs, *chosen, *others), (n_outputs, n_categories, width)
