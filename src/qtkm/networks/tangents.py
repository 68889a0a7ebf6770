"""Tangents: how responses move with the entries of the cores, and what the penalty makes of it.

    f(x) + z(x)ᵀδ       response when the cores move by δ
    δᴴGδ                Σ precision·|·|² of the first-order change of the whole weight tensor

z has one entry for each entry of a core; G = JᴴΛJ includes the terms between different cores.
Directions that leave the weight tensor as it is, the gauges, are null in both.  The posterior of
a fit (`qtkm.objective.posterior`) needs nothing else of a network.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ..protocols import Arrays
from . import moments
from .algebra import Algebra, Diagonal, environments, partial_products
from .chain import ChainNetwork
from .network import Cores, flatten, unflatten


class ChainTangents:
    """Tangents of a CPD, train or ring, whose cores of some columns are held fixed."""

    def __init__(
        self,
        network: ChainNetwork,
        cores: Cores,
        precisions: Sequence[NDArray | None],
        is_held: Sequence[bool],
    ):
        self.network, self.all_cores = network, cores
        self.algebra, n_columns = network.algebra, len(is_held)
        self.cores = [list(levels) for levels in cores[:n_columns]]
        self.closing = network.closing(cores, n_columns)  # (n_outputs, …)
        self.has_outputs = len(cores) > n_columns
        self.precisions, self.is_held = precisions, is_held

    @property
    def is_complex(self) -> bool:
        """Whether the features are complex."""
        return np.iscomplexobj(self.cores[0][0])

    @property
    def n_parameters(self) -> int:
        """Number of entries of the cores that are not held."""
        free = zip(self.cores, self.is_held, strict=True)
        count = sum(core.size for levels, held in free if not held for core in levels)
        return count + self.has_outputs * self.closing.size

    def without_penalty(self) -> "ChainTangents":
        """Return the same tangents without precisions, which features do not need."""
        flat = [np.ascontiguousarray(core) for core in flatten(self.all_cores)]
        cores = unflatten(self.all_cores, flat)
        return ChainTangents(self.network, cores, [None] * len(self.cores), self.is_held)

    def features(self, factors: Sequence[Arrays]) -> NDArray:
        """Return the derivatives z (n, n_outputs, n_parameters) of rows; see `derivatives`."""
        return np.concatenate(list(self.derivatives(factors)), axis=2)

    def derivatives(self, factors: Sequence[Arrays], single: bool = False) -> Iterator[NDArray]:
        """Yield the derivatives (n, n_outputs, size) by the entries of every core that moves.

        `factors` (n, Q) are those of every column and level, the phase in the first.  With `single`
        only the last multiplication is in single precision.
        """
        n_rows, n_outputs = len(factors[0][0]), len(self.closing)
        flat = [factor for levels in factors for factor in levels]
        cores = [self.algebra.elements(core) for levels in self.cores for core in levels]
        elements = [
            (factor @ core.reshape(len(core), -1)).reshape(n_rows, 1, *core.shape[1:])
            for factor, core in zip(flat, cores, strict=True)
        ]
        closing = self.closing[None]
        outside = environments(self.algebra, [*elements, closing], self.algebra.last(closing))
        kind = np.result_type(*{factor.dtype for factor in flat}, self.closing)
        if single:
            kind = np.dtype(np.complex64 if kind.kind == "c" else np.float32)
        is_held = np.repeat(self.is_held, [len(levels) for levels in factors])
        for factor, core, held, around in zip(flat, cores, is_held, outside[:-1], strict=True):
            if not held:
                inside = around.astype(kind).reshape(*around.shape[:2], 1, -1)
                part = (factor.astype(kind)[:, None, :, None] * inside).reshape(
                    n_rows, -1, core.size
                )
                yield np.broadcast_to(part, (n_rows, n_outputs, core.size))
        if self.has_outputs:
            state = outside[-1].astype(kind).reshape(len(outside[-1]), -1)
            part = np.zeros((n_rows, n_outputs, n_outputs, state.shape[1]), dtype=kind)
            part[:, range(n_outputs), range(n_outputs)] = state[:, None]
            yield part.reshape(n_rows, n_outputs, -1)

    def gram(self) -> NDArray:
        """Return G, (n_parameters, n_parameters)."""
        algebra, blocks = self.algebra, self._blocks()
        squares = [block.square(algebra) for block in blocks]
        before, after = partial_products(algebra, squares, algebra.last(squares[-1]))
        sizes = [block.n_parameters for block in blocks]
        ends = np.cumsum([0, *sizes])
        gram = np.zeros((ends[-1], ends[-1]), dtype=np.result_type(blocks[0].weights))
        slices = [slice(*pair) for pair in pairwise(ends)]
        moves = [block.moves(algebra) if block.n_parameters else gram for block in blocks]
        for e, block in enumerate(blocks):
            if not sizes[e]:
                continue
            outside = algebra.join(after[e], before[e])
            gram[slices[e], slices[e]] = block.own(algebra.form(outside[None], block.shape)[0])
            turned = algebra.form(moves[e], block.shape).conj().swapaxes(-1, -2)
            behind = algebra.multiply(algebra.environment(turned, block.shape), after[e])
            for d in range(e - 1, -1, -1):
                if sizes[d]:
                    inside = algebra.join(behind, before[d])
                    inside = np.broadcast_to(inside, (sizes[e], *squares[d].shape))
                    part = moves[d].reshape(sizes[d], -1) @ inside.reshape(sizes[e], -1).T
                    gram[slices[d], slices[e]] = part
                    gram[slices[e], slices[d]] = part.conj().T
                behind = algebra.multiply(squares[d], behind)
        return gram

    def _blocks(self) -> list["MovedCores"]:
        """Return the blocks of the columns, then of what closes their product."""
        parts = zip(self.cores, self.precisions, self.is_held, strict=True)
        blocks = [MovedCores.of_column(self.algebra, *part) for part in parts]
        count, size = len(self.closing), math.prod(self.closing.shape[1:])
        jacobian = np.eye(count * size).reshape(count, size, -1).swapaxes(1, 2)
        free = jacobian[:, : count * size if self.has_outputs else 0]
        return [*blocks, MovedCores(self.closing, free, None)]


class MovedCores:
    """Weights of a column (or output core), and how they move with the entries of its cores."""

    def __init__(self, weights: NDArray, jacobian: NDArray, precision: NDArray | None):
        count, self.shape = len(weights), weights.shape[1:]  # of an element
        self.weights = weights.reshape(count, -1)  # (M, e)
        self.jacobian = jacobian  # (M, P, e)
        self.scaled = self.weights if precision is None else precision[:, None] * self.weights
        self.precision = np.ones(count) if precision is None else precision

    @classmethod
    def of_column(
        cls, algebra: Algebra, cores: Cores, precision: NDArray | None, is_held: bool
    ) -> "MovedCores":
        """Return the block of a column's levels."""
        weights = moments.weights_of(algebra, cores)
        count, moved = len(weights), []
        for level, core in enumerate([] if is_held else cores):
            shape = algebra.elements(core).shape
            for unit in np.eye(core.size).reshape(core.size, *shape):
                changed = [*cores[:level], algebra.core(unit), *cores[level + 1 :]]
                moved.append(moments.weights_of(algebra, changed).reshape(count, -1))
        none = np.zeros((count, 0, math.prod(weights.shape[1:])))
        return cls(weights, np.stack(moved, axis=1) if moved else none, precision)

    @property
    def n_parameters(self) -> int:
        """Number of entries that move."""
        return self.jacobian.shape[1]

    def square(self, algebra: Algebra) -> NDArray:
        """Return Σ_m precision·conj(w_m) ⊗ w_m."""
        return algebra.environment((self.weights.conj().T @ self.scaled)[None], self.shape)[0]

    def moves(self, algebra: Algebra) -> NDArray:
        """Return Σ_m precision·conj(∂w_m) ⊗ w_m for every entry."""
        flat, size = self.jacobian.conj().reshape(len(self.scaled), -1), self.scaled.shape[1]
        return algebra.environment((flat.T @ self.scaled).reshape(-1, size, size), self.shape)

    def own(self, form: NDArray) -> NDArray:
        """Return Σ_m precision·conj(∂w_m)·form·∂w_m for all pairs of entries."""
        count = self.n_parameters
        scaled = self.precision[:, None, None] * (self.jacobian @ form.T)
        left = self.jacobian.conj().swapaxes(0, 1).reshape(count, -1)
        return left @ scaled.swapaxes(0, 1).reshape(count, -1).T


def largest_terms(cores: Cores, n_columns: int, count: int) -> Cores:
    """Return the `count` terms of a CPD with the largest weights."""
    columns = [moments.weights_of(Diagonal(), levels) for levels in cores[:n_columns]]
    norms = [np.linalg.norm(weights, axis=0) for weights in columns + cores[n_columns:]]
    sizes = np.prod(norms, axis=0)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:count])
    return [
        [core[:, kept] for core in entry] if isinstance(entry, list) else entry[:, kept]
        for entry in cores
    ]
