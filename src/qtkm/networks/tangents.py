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
from .algebra import Diagonal, environments, partial_products
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

        `factors` (n, Q) are those of every column and level.  With `single`
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
                part = factor.astype(kind)[:, None, :, None] * inside
                part = part.reshape(n_rows, -1, core.size)
                yield np.broadcast_to(part, (n_rows, n_outputs, core.size))
        if self.has_outputs:
            state = outside[-1].astype(kind).reshape(len(outside[-1]), -1)
            part = np.zeros((n_rows, n_outputs, n_outputs, state.shape[1]), dtype=kind)
            part[:, range(n_outputs), range(n_outputs)] = state[:, None]
            yield part.reshape(n_rows, n_outputs, -1)

    def gram(self) -> NDArray:
        """Return G, (n_parameters, n_parameters)."""
        algebra, blocks = self.algebra, self._blocks()
        shapes = [weights.shape[1:] for weights, _ in blocks]
        flat = [weights.reshape(len(weights), -1) for weights, _ in blocks]
        moves, squares = [], []  # sums over m of conj(∂w_m) ⊗ w_m, and of conj(w_m) ⊗ w_m
        for weights, (_, jacobian), shape in zip(flat, blocks, shapes, strict=True):
            moved = np.tensordot(jacobian.conj(), weights, (1, 0))
            moves.append(algebra.environment(moved, shape))
            squares.append(algebra.environment((weights.conj().T @ weights)[None], shape)[0])
        before, after = partial_products(algebra, squares, algebra.last(squares[-1]))
        ends = np.cumsum([0, *map(len, moves)])
        slices = [slice(*pair) for pair in pairwise(ends)]
        gram = np.zeros((ends[-1], ends[-1]), dtype=flat[0].dtype)
        for e, (_, jacobian) in enumerate(blocks):
            if not len(jacobian):
                continue
            form = algebra.form(algebra.join(after[e], before[e])[None], shapes[e])[0]
            own = np.tensordot(jacobian.conj(), jacobian @ form.T, ((1, 2), (1, 2)))
            gram[slices[e], slices[e]] = own
            turned = algebra.form(moves[e], shapes[e]).conj().swapaxes(-1, -2)
            behind = algebra.multiply(algebra.environment(turned, shapes[e]), after[e])
            for d in range(e - 1, -1, -1):
                if len(moves[d]):
                    inside = algebra.join(behind, before[d])
                    inside = np.broadcast_to(inside, (len(jacobian), *squares[d].shape))
                    part = moves[d].reshape(len(moves[d]), -1) @ inside.reshape(len(inside), -1).T
                    gram[slices[d], slices[e]] = part
                    gram[slices[e], slices[d]] = part.conj().T
                behind = algebra.multiply(squares[d], behind)
        return gram

    def _blocks(self) -> list[tuple[NDArray, NDArray]]:
        """Return for all columns, then for the closing, weights (M, …) and derivatives (P, M, e).

        These are of the weights by the entries that move, both times roots of the precisions.
        """
        algebra, blocks = self.algebra, []
        for cores, precision, is_held in zip(
            self.cores, self.precisions, self.is_held, strict=True
        ):
            weights = moments.weights_of(algebra, cores)
            moved = [
                moments.weights_of(algebra, [*cores[:k], algebra.core(unit), *cores[k + 1 :]])
                for k, core in enumerate([] if is_held else cores)
                for unit in _units(algebra.elements(core).shape)
            ]
            whole = np.array([weights, *moved])
            if precision is not None:
                whole = np.sqrt(precision).reshape(-1, *[1] * (weights.ndim - 1)) * whole
            blocks.append((whole[0], whole[1:].reshape(len(moved), len(weights), weights[0].size)))
        count, size = len(self.closing), self.closing[0].size
        units = _units((count, size)) if self.has_outputs else np.empty((0, count, size))
        return [*blocks, (self.closing, units)]


def _units(shape: tuple[int, ...]) -> NDArray:
    """Arrays of a shape with one entry of 1 each."""
    return np.eye(math.prod(shape)).reshape(-1, *shape)


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
