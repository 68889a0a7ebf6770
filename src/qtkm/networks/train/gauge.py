"""Gauges of trains, and the tangent space of those of fixed ranks: retraction and transport.

    U ─ U ─ δ ─ V ─ V          a tangent vector is a sum of these over the place of δ,
    │   │   │   │   │          with U left-orthogonal, V right-orthogonal and Uᴴδ = 0
                               for all δ but the last

In these coordinates, a δ in the place of every core, inner products of tangent vectors are
plain ones: a `TrainFrame` offers the derivatives of an iterate (see `networks.network`) with
respect to them, so that an objective's gradient is the Riemannian gradient and its
curvature products stay in the tangent space [1]_.

References
----------
.. [1] Steinlechner, "Riemannian optimization for high-dimensional tensor completion", SIAM
   Journal on Scientific Computing 38, 2016.
"""

from copy import copy
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...protocols import Arrays, Cores, Pass
from ..chain import ChainIterate
from ..column_tables import Tables
from ..network import Point, flatten, unflatten

Sites = list[NDArray]


def left_orthogonal(core: NDArray) -> tuple[NDArray, NDArray]:
    """Return a core of orthonormal columns, and the factor for the next one."""
    left, size, right = core.shape
    q, r = np.linalg.qr(core.reshape(left * size, right))
    return q.reshape(left, size, -1), r


def right_orthogonal(core: NDArray) -> tuple[NDArray, NDArray]:
    """Return a core of orthonormal rows, and the factor for the one before."""
    left, size, right = core.shape
    q, r = np.linalg.qr(core.reshape(left, size * right).conj().T)
    return q.conj().T.reshape(-1, size, right), r.conj().T


def push_right(factor: NDArray, core: NDArray) -> NDArray:
    """Multiply a core by a factor over its left bond."""
    return np.tensordot(factor, core, (1, 0))


def push_left(core: NDArray, factor: NDArray) -> NDArray:
    """Multiply a core by a factor over its right bond."""
    return np.tensordot(core, factor, (2, 0))


def center_at(sites: Sites, k: int) -> Sites:
    """Make a train left-orthogonal before site k and right-orthogonal after it."""
    sites = list(sites)
    for i in range(k):
        sites[i], factor = left_orthogonal(sites[i])
        sites[i + 1] = push_right(factor, sites[i + 1])
    for i in range(len(sites) - 1, k, -1):
        sites[i], factor = right_orthogonal(sites[i])
        sites[i - 1] = push_left(sites[i - 1], factor)
    return sites


def balance(sites: Arrays) -> Sites:
    """Scale cores to equal norms, keeping their product, so that no product of some runs away."""
    norms = np.array([np.linalg.norm(core) for core in sites])
    if not norms.all() or not np.isfinite(norms).all():
        return list(sites)
    mean = np.exp(np.log(norms).mean())
    return [core * (mean / norm) for core, norm in zip(sites, norms, strict=True)]


class TrainFrame(Point):
    """A train's tangent space, as coordinates for derivatives.

    The iterate's cores are brought to the gauge U, …, U, W.
    """

    def __init__(self, iterate: ChainIterate):
        sites = center_at(iterate.sites, len(iterate.sites) - 1)
        iterate.put_sites(sites)
        self.iterate, self.left, self.cores = iterate, sites, iterate.cores
        self.right = center_at(sites, 0)
        self.turned = ChainIterate(
            iterate.network, iterate.columns, unflatten(iterate.cores, self.right), iterate.dtype,
            iterate.run, iterate.precisions,
        )  # fmt: skip
        self.is_complex, self.token, self.run = iterate.is_complex, iterate.token, iterate.run

    def response_pass(self) -> Pass:
        return self.iterate.response_pass()

    def penalty(self) -> float:
        return float(np.linalg.norm(self.left[-1]) ** 2)

    def project(self, deltas: Sites) -> Sites:
        """Remove from all δ but the last what lies in the span of U."""
        result = []
        for core, delta in zip(self.left[:-1], deltas, strict=False):
            size = core.shape[0] * core.shape[1]
            u, d = core.reshape(size, -1), delta.reshape(size, -1)
            result.append((d - u @ (u.conj().T @ d)).reshape(delta.shape))
        return [*result, deltas[-1]]

    def gradient_pass(self) -> Pass:
        return self._mixed.gradient

    @property
    def _mixed(self) -> Tables:
        """Tables of U before those of V."""
        mixed, turned = copy(self.iterate.tables), self.turned.tables
        mixed.later, mixed.closing = turned.elements, turned.closing
        return mixed

    def gradient(self, sums: Arrays) -> Cores:
        whole = self.iterate.chain_rule(sums, self.cores, self.turned.cores)
        return unflatten(self.cores, self.project(flatten(whole)))

    def tangent(self, direction: Cores) -> Pass:
        moves, closing = self.iterate.changes(direction, self.turned.cores)
        return partial(self._mixed.tangents, moves=moves, closing=closing)

    def penalty_gradient(self) -> Cores:
        return unflatten(self.cores, [0 * core for core in self.left[:-1]] + [2 * self.left[-1]])

    def penalty_product(self, direction: Cores) -> Cores:
        return unflatten(direction, [2 * delta for delta in flatten(direction)])

    def retract(self, direction: Cores, step: float) -> Sites:
        """Return the cores of the train of these ranks nearest to a step along a tangent."""
        sites = tangent_train(self.left, self.right, [step * d for d in flatten(direction)])
        # the train itself is U, …, U, W: it goes with the last δ
        last = self.left[-1]
        sites[-1][-last.shape[0] :] += last
        sites = center_at(sites, 0)
        for k, core in enumerate(self.left[:-1]):
            rank, (a, q, b) = core.shape[2], sites[k].shape
            u, s, vh = np.linalg.svd(sites[k].reshape(a * q, b), full_matrices=False)
            sites[k] = u[:, :rank].reshape(a, q, -1)
            sites[k + 1] = push_right(s[:rank, None] * vh[:rank], sites[k + 1])
        return sites

    def transport(self, left: Sites, right: Sites, direction: Cores) -> Cores:
        """Project a tangent vector to this frame from that of other U and V."""
        sites = tangent_train(left, right, flatten(direction))
        return unflatten(self.cores, self.project(self._components(sites)))

    def _components(self, sites: Sites) -> Sites:
        """Return U_<ᴴ·Z·V_>ᴴ at every site, for a train Z."""
        after = [np.ones((1, 1), dtype=sites[0].dtype)]
        for z, v in zip(sites[:0:-1], self.right[:0:-1], strict=True):
            moved = np.tensordot(z, after[0], (2, 0))  # (z, q, v)
            after.insert(0, np.tensordot(moved, v.conj(), ((1, 2), (1, 2))))
        before, result = np.ones((1, 1), dtype=sites[0].dtype), []
        for z, u, closing in zip(sites, self.left, after, strict=True):
            moved = np.tensordot(before, z, (1, 0))  # (u, q, z)
            result.append(np.tensordot(moved, closing, (2, 0)))
            before = np.tensordot(u.conj(), moved, ((0, 1), (0, 1)))
        return result


def tangent_train(left: Sites, right: Sites, deltas: Sites) -> Sites:
    """Write a tangent vector as a train of twice the ranks: [δ U], [[V 0], [δ U]], …, [V; δ]."""
    if len(deltas) == 1:
        return [deltas[0].copy()]
    sites = [np.concatenate([deltas[0], left[0]], axis=2)]
    for u, v, delta in zip(left[1:-1], right[1:-1], deltas[1:-1], strict=True):
        top = np.concatenate([v, np.zeros_like(u)], axis=2)
        sites.append(np.concatenate([top, np.concatenate([delta, u], axis=2)], axis=0))
    return [*sites, np.concatenate([right[-1], deltas[-1]], axis=0)]
