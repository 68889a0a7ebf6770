"""Canonical polyadic decomposition: cores (Q, R) that share one index of size R.

     s₁ ─[W₁]─┐
     s₂ ─[W₂]─┼─ r        f = Σ_r Π_sites (sᵀW)_r   (· V_kr for output k)
     s₃ ─[W₃]─┘

A column's table is the R-vector of the products of its levels' responses; the environment
of a column is the product of the other columns' tables.
"""

from numbers import Integral

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from ..parameters import check_number
from ..protocols import Cores, Given, Levels, Radices
from ..structure import Edge, Structure
from .algebra import Diagonal
from .chain import SMOOTH_NOISE, ChainNetwork, site_legs


class CPD(ChainNetwork):
    """Canonical polyadic decomposition of the weights.

    Parameters
    ----------
    rank : int or "auto"
        Number R of rank-one terms.
    """

    algebra = Diagonal()

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        check_number("rank", self.rank, Integral, 1)

    def rank_of(self, cores: Given) -> int | None:
        try:
            return int(np.shape(cores[0][0])[1])
        except (IndexError, KeyError, TypeError, ValueError):
            return None

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        legs, names = site_legs(radices, n_outputs)
        rank = Edge("rank", int(self.rank), tuple(range(len(names))))
        return Structure(names, (*legs, rank))

    def start(
        self, constants: Levels, n_outputs: int, is_complex: bool, kind: str, rng: RandomState
    ) -> Cores:
        cores: Cores = [[self._core(c, is_complex, kind, rng) for c in levels]
                        for levels in constants]  # fmt: skip
        if n_outputs > 1:
            cores.append(self._core(np.zeros(n_outputs), is_complex, "random", rng))
        return cores

    def _core(self, constant, is_complex, kind, rng):
        noise = rng.standard_normal((len(constant), self.rank))
        if is_complex and kind == "smooth":
            noise = noise + 1j * rng.standard_normal(noise.shape)
        core = noise if kind == "random" else constant[:, None] + SMOOTH_NOISE * noise
        core = core / np.linalg.norm(core, axis=0)
        return core.astype(np.complex128 if is_complex else np.float64)

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        norm = np.sqrt(np.add.reduce((core * core.conj()).real, axis=0))
        if not norm.all():
            norm[norm == 0] = 1
        return core / norm, norm

    def push_right(self, factor: NDArray, core: NDArray) -> NDArray:
        return core * factor

    push_left = push_right
