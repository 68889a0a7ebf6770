"""Tangents: how responses move with the entries of the cores, and what the penalty makes of it.

    f(x) + z(x)ᵀδ       response when the cores move by δ
    δᴴGδ                Σ precision·|·|² of the first-order change of the whole weight tensor

z has one entry for each entry of a core; G = JᴴΛJ includes the terms between different cores.
Directions that leave the weight tensor as it is, the gauges, are null in both.  The posterior of
a fit (`qtkm.objective.posterior`) needs nothing else of a network.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import moments
from .algebra import Diagonal, environments, partial_products
from .network import Cores, flatten, unflatten


class ChainTangents:
    """Tangents of a CPD, train or ring.

    Parameters
    ----------
    network : ChainNetwork
    cores : list
    precisions : sequence of (M,) arrays or None
        What the penalty multiplies squared weights by; None for 1.
    is_held : sequence of bool
        Columns whose cores are held fixed.
    """

    def __init__(
        self,
        network: Any,
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

    def features(self, factors: Sequence[Sequence[NDArray]]) -> NDArray:
        """Return the derivatives z (n, n_outputs, n_parameters) of rows.

        Parameters
        ----------
        factors : list of list of (n, Q) arrays
            Of every column and level, the phase in the first level.
        """
        n_rows, n_outputs = len(factors[0][0]), len(self.closing)
        flat = [factor for levels in factors for factor in levels]
        dtype = np.result_type(*{factor.dtype for factor in flat})
        cores = [self.algebra.elements(core) for levels in self.cores for core in levels]
        elements = []
        for factor, core in zip(flat, cores, strict=True):
            found = factor @ core.reshape(len(core), -1).astype(dtype, copy=False)
            elements.append(found.reshape(n_rows, 1, *core.shape[1:]))
        closing = self.closing.astype(dtype, copy=False)[None]
        last = self.algebra.last(closing).astype(dtype)
        outside = environments(self.algebra, [*elements, closing], last)
        out = np.empty((n_rows, n_outputs, self.n_parameters), dtype=dtype)
        is_held = np.repeat(self.is_held, [len(levels) for levels in factors])
        first = 0
        for n, (factor, core) in enumerate(zip(flat, cores, strict=True)):
            if is_held[n]:
                continue
            size = core.size // len(core)
            inside = outside[n].reshape(*outside[n].shape[:2], 1, size)
            part = out[:, :, first : first + core.size]
            # a view: the last axis is split, not moved
            part = part.reshape(n_rows, n_outputs, len(core), size)
            np.multiply(factor[:, None, :, None], inside, out=part)
            first += core.size
        if self.has_outputs:
            state = outside[-1].reshape(len(outside[-1]), -1)
            part = out[:, :, first:].reshape(n_rows, n_outputs, n_outputs, -1)
            part[:] = 0
            part[:, range(n_outputs), range(n_outputs)] = state[:, None]
        return out

    def gram(self) -> NDArray:
        """Return G, (n_parameters, n_parameters)."""
        algebra, blocks = self.algebra, self._blocks()
        squares = [block.square(algebra) for block in blocks]
        before, after = partial_products(algebra, squares, algebra.last(squares[-1]))
        sizes = [block.n_parameters for block in blocks]
        ends = np.cumsum([0, *sizes])
        gram = np.zeros((ends[-1], ends[-1]), dtype=np.result_type(blocks[0].weights))
        slices = [slice(*pair) for pair in pairwise(ends)]
        moves: list[Any] = [
            block.moves(algebra) if size else None
            for block, size in zip(blocks, sizes, strict=True)
        ]
        for e, block in enumerate(blocks):
            if not sizes[e]:
                continue
            outside = algebra.join(after[e], before[e])
            gram[slices[e], slices[e]] = block.own(algebra.form(outside[None], block.shape)[0])
            behind = algebra.multiply(_swapped(algebra, moves[e], block.shape), after[e])
            for d in range(e - 1, -1, -1):
                if sizes[d]:
                    inside = algebra.join(behind, before[d])
                    inside = np.broadcast_to(inside, (sizes[e], *squares[d].shape))
                    part = moves[d].reshape(sizes[d], -1) @ inside.reshape(sizes[e], -1).T
                    gram[slices[d], slices[e]] = part
                    gram[slices[e], slices[d]] = part.conj().T
                behind = algebra.multiply(squares[d], behind)
        return gram

    def _blocks(self) -> list["Block"]:
        """Columns, then what closes their product."""
        parts = zip(self.cores, self.precisions, self.is_held, strict=True)
        blocks = [Block.of_column(self.algebra, *part) for part in parts]
        n_outputs = len(self.closing)
        return [*blocks, Block.of_output(self.closing, n_outputs if self.has_outputs else 0)]


class Block:
    """Weights of a column (or output core), and how they move with the entries of its cores.

    Attributes
    ----------
    weights : (M, e) array
        Elements of every function, flat.
    jacobian : (M, P, e) array
    precision : (M,) array
    shape : tuple
        Of an element.
    """

    def __init__(self, weights: NDArray, jacobian: NDArray, precision: NDArray, shape: Any):
        self.weights, self.jacobian, self.precision, self.shape = (
            weights, jacobian, precision, tuple(shape),
        )  # fmt: skip

    @classmethod
    def of_column(cls, algebra: Any, cores: Any, precision: Any, is_held: bool) -> "Block":
        """Block of a column's levels."""
        weights = moments.weights_of(algebra, cores)
        count, shape = len(weights), weights.shape[1:]
        parts = []
        for level in range(0 if is_held else len(cores)):
            core = algebra.elements(cores[level])
            radix, own = len(core), core.shape[1:]
            size = int(np.prod(own))
            moved = np.eye(size).reshape(1, size, *own)  # (below, entry, …)
            if level:
                below = moments.weights_of(algebra, cores[:level])
                moved = algebra.multiply(below[:, None], moved)
            moved = moved[None]  # (above, below, entry, …)
            if level + 1 < len(cores):
                above = moments.weights_of(algebra, cores[level + 1 :])
                moved = algebra.multiply(moved, above[:, None, None])
            n_above, n_below = moved.shape[:2]
            flat = moved.reshape(n_above, 1, n_below, 1, size, -1)
            part = np.zeros(
                (n_above, radix, n_below, radix, size, flat.shape[-1]), dtype=weights.dtype
            )
            for digit in range(radix):
                part[:, digit, :, digit] = flat[:, 0, :, 0]
            parts.append(part.reshape(count, radix * size, -1))
        flat = weights.reshape(count, -1)
        jacobian = np.concatenate(parts, axis=1) if parts else np.zeros((count, 0, flat.shape[1]))
        return cls(flat, jacobian, np.ones(count) if precision is None else precision, shape)

    @classmethod
    def of_output(cls, closing: NDArray, n_free: int) -> "Block":
        """Block of the output core; of a fixed closing where none of its entries is free."""
        count = len(closing)
        flat = closing.reshape(count, -1)
        size = flat.shape[1]
        jacobian = np.eye(count * size).reshape(count, size, -1).swapaxes(1, 2)[:, : n_free * size]
        return cls(flat, jacobian, np.ones(count), closing.shape[1:])

    @property
    def n_parameters(self) -> int:
        """Number of entries that move."""
        return self.jacobian.shape[1]

    def square(self, algebra: Any) -> NDArray:
        """Return Σ_m precision·conj(w_m) ⊗ w_m."""
        scaled = self.precision[:, None] * self.weights
        return algebra.environment((self.weights.conj().T @ scaled)[None], self.shape)[0]

    def moves(self, algebra: Any) -> NDArray:
        """Return Σ_m precision·conj(∂w_m) ⊗ w_m for every entry."""
        scaled = self.precision[:, None] * self.weights
        flat = self.jacobian.conj().reshape(len(scaled), -1)
        size = scaled.shape[1]
        return algebra.environment((flat.T @ scaled).reshape(-1, size, size), self.shape)

    def own(self, form: NDArray) -> NDArray:
        """Return Σ_m precision·conj(∂w_m)·form·∂w_m for all pairs of entries."""
        count = self.n_parameters
        scaled = self.precision[:, None, None] * (self.jacobian @ form.T)
        left = self.jacobian.conj().swapaxes(0, 1).reshape(count, -1)
        return left @ scaled.swapaxes(0, 1).reshape(count, -1).T


def _swapped(algebra: Any, moves: Any, shape: Any) -> NDArray:
    """Return Σ_m precision·conj(w_m) ⊗ ∂w_m from what `Block.moves` returns."""
    flat = algebra.form(moves, shape)
    return algebra.environment(flat.conj().swapaxes(-1, -2), shape)


def largest_terms(cores: Cores, n_columns: int, count: int) -> Cores:
    """Return the terms of a CPD with the largest weights.

    Parameters
    ----------
    cores : list
    n_columns : int
    count : int
        Number of terms to keep.
    """
    sizes: Any = 1.0
    for levels in cores[:n_columns]:
        sizes = sizes * np.linalg.norm(moments.weights_of(Diagonal(), levels), axis=0)
    if len(cores) > n_columns:
        sizes = sizes * np.linalg.norm(cores[-1], axis=0)
    kept = np.sort(np.argsort(-sizes, kind="stable")[:count])
    return [
        [core[:, kept] for core in entry] if isinstance(entry, list) else entry[:, kept]
        for entry in cores
    ]
