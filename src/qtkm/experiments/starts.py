"""Starts of a quantized model and of its non-quantized counterpart at the same function.

The paper draws the cores of a quantized model; the model that is not quantized begins at their
Kronecker product, so that neither has an advantage at the start.  Both are lists in the layout
of `cores_`, to be given as ``init``.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..networks import CPD

#: what distinguishes the model of the paper from the defaults, beside what it says of its sets
PAPER = {"penalty": "ridge", "main_effects": False, "scaling": "range", "prediction_margin": None}
#: one list of cores for each column, lowest digit first; a core is (Q, rank)
Start = list[list[NDArray]]


def quantized_start(
    radices: Iterable[Sequence[int]], rank: int, seed: int, is_complex: bool = True
) -> Start:
    """Draw Gaussian cores with columns of norm 1, as ``init="random"`` does.

    Parameters
    ----------
    radices : iterable of sequences of int
        Radices of the levels of each column, lowest digit first.
    rank : int
        Rank R of the model.
    seed : int
        Seed of the draw.
    is_complex : bool, default=True
        Type of the cores, as the basis has it; the numbers drawn are real in either case.

    Returns
    -------
    list of lists of arrays of shape (Q, rank)
    """
    legs = [[np.zeros(radix) for radix in levels] for levels in radices]
    return CPD(rank).start(legs, 1, is_complex, "random", np.random.RandomState(seed))


def unquantized(cores: Start) -> Start:
    """Merge the cores of each column into one: the same function, not quantized.

    Parameters
    ----------
    cores : list of lists of arrays of shape (Q, rank)
        Lowest digit first.

    Returns
    -------
    list of lists of one array of shape (M, rank)

    Notes
    -----
    Row m = Σ_k q_k·B_k of a column's core is the product Π_k W_k[q_k] of the rows of its levels.
    """
    return [[_merge(levels)] for levels in cores]


def _merge(levels: Sequence[NDArray]) -> NDArray:
    merged = np.ones_like(levels[0][:1])
    for core in levels:  # a later digit varies more slowly
        merged = (core[:, None] * merged).reshape(-1, core.shape[1])
    return merged
