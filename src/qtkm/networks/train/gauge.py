"""Gauges and norms of cores (left, Q, right), in one list with the output core last."""

import numpy as np
from numpy.typing import NDArray

from ...protocols import Arrays

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
