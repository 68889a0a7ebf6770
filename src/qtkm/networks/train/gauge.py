"""Gauges, norms and ranks of cores (left, Q, right), in one list with the output core last."""

import math
from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from ...parameters import check_number, is_number
from ...protocols import Arrays, Given

Sites = list[NDArray]


def bonds_of_train(rank: Given, sizes: Sequence[int]) -> list[int]:
    """Return the bonds of a train before, between and after the sites of given sizes.

    A number is cut to what the unfoldings allow; a sequence must fit them.
    """
    count = len(sizes)
    left = [min(math.prod(sizes[:k]), 1 << 40) for k in range(count + 1)]
    right = [min(math.prod(sizes[k:]), 1 << 40) for k in range(count + 1)]
    if isinstance(rank, Integral):
        return [min(int(rank), a, b) for a, b in zip(left, right, strict=True)]
    ranks = _inner(rank, count - 1, "a tensor train has one between any two of its sites")
    bonds = [1, *ranks, 1]
    for k in range(1, count):
        most = min(bonds[k - 1] * sizes[k - 1], left[k], right[k], sizes[k] * bonds[k + 1])
        if bonds[k] > most:
            raise ValueError(
                f"rank[{k - 1}]={bonds[k]} between sites {k - 1} and {k} is larger than the "
                f"unfolding there allows, which has rank {most} at most; use a smaller one, or one "
                "number for all, which is cut to what is allowed."
            )
    return bonds


def bonds_of_ring(rank: Given, sizes: Sequence[int]) -> list[int]:
    """Return the bonds of a ring before, between and after the sites; the first is also the last.

    Of a bond that joins a single site to itself only the trace would matter: it has size 1.
    """
    count = len(sizes)
    if isinstance(rank, Integral):
        return [int(rank) if count > 1 else 1] * (count + 1)
    ranks = _inner(rank, count, "a tensor ring has one before each of its sites")
    if count == 1 and ranks[0] > 1:
        raise ValueError(
            f"rank[0]={ranks[0]} joins the only site to itself, where more than 1 adds weights but "
            "no functions; use 1."
        )
    bonds = [*ranks, ranks[0]]
    for k in range(count):
        a, b = bonds[k], bonds[k + 1]
        if a > sizes[k] * b or b > sizes[k] * a:
            raise ValueError(
                f"The ranks {a} and {b} at site {k} of size {sizes[k]} do not fit: one is larger "
                f"than the other times {sizes[k]}, which the unfolding of the core does not "
                f"allow; use at most {sizes[k] * min(a, b)}."
            )
    return bonds


def _inner(rank: Sequence[int], count: int, why: str) -> list[int]:
    ranks = [int(r) for r in rank]
    if len(ranks) != count:
        raise ValueError(
            f"rank has {len(ranks)} entries, and {count} are needed: {why}; give one number to use "
            "it everywhere."
        )
    return ranks


def check_rank(rank: Given) -> None:
    """Raise a ValueError unless a rank is a whole number >= 1, or a sequence of these."""
    several = isinstance(rank, Sequence | np.ndarray) and not isinstance(rank, str) and len(rank)
    if not several or not all(is_number(each, Integral) and each >= 1 for each in rank):
        check_number("rank", rank, Integral, 1, hint=", or a sequence of these")


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
