"""Canonical polyadic decomposition: cores (Q, R) that share one index of size R.

     s₁ ─[W₁]─┐
     s₂ ─[W₂]─┼─ r        f = Σ_r Π_sites (sᵀW)_r   (· V_kr for output k)
     s₃ ─[W₃]─┘

A column's table is the R-vector of the products of its levels' responses; the environment
of a column is the product of the other columns' tables.
"""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algebra import Diagonal
from .chain import SMOOTH_NOISE, ChainNetwork, site_legs
from .cpd_tables import CPDTables
from .network import Cores
from .structure import Edge, Structure


class CPD(ChainNetwork):
    """Canonical polyadic decomposition of the weights.

    Parameters
    ----------
    rank : int or "auto"
        Number R of rank-one terms.
    """

    algebra = Diagonal()
    tables = CPDTables

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        """Raise a ValueError for parameters that make no sense."""
        whole = isinstance(self.rank, Integral) and not isinstance(self.rank, bool)
        if not whole or self.rank < 1:
            raise ValueError(f"rank={self.rank!r} must be a whole number >= 1.")

    def rank_of(self, cores: Any) -> int | None:
        """Rank of cores that a user gives, or None where it cannot be seen."""
        try:
            return int(np.shape(cores[0][0])[1])
        except (IndexError, KeyError, TypeError, ValueError):
            return None

    def structure(self, radices: Sequence[Sequence[int]], n_outputs: int) -> Structure:
        """Vertices and edges for the sites of a fit."""
        legs, names = site_legs(radices, n_outputs)
        rank = Edge("rank", int(self.rank), tuple(range(len(names))))
        return Structure(names, (*legs, rank))

    def start(
        self,
        constants: Sequence[Sequence[NDArray]],
        n_outputs: int,
        is_complex: bool,
        kind: str,
        rng: np.random.RandomState,
    ) -> Cores:
        """Cores to start from, their columns of unit norm; see `Network.start`."""
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
        """Return a core with columns of unit norm, and their norms."""
        norm = np.sqrt((core.real**2 + core.imag**2).sum(axis=0))
        norm[norm == 0] = 1
        return core / norm, norm

    def push_right(self, factor: NDArray, core: NDArray) -> NDArray:
        """Multiply the columns of a core by norms."""
        return core * factor

    def push_left(self, core: NDArray, factor: NDArray) -> NDArray:
        """Multiply the columns of a core by norms."""
        return core * factor

    def numbers_held(
        self, sizes: Sequence[int], radices: Sequence[Sequence[int]], n_outputs: int, planes: int
    ) -> tuple[int, int]:
        """Numbers that a fit from sums over shards holds; see `Network.numbers_held`."""
        square = planes**2 * self.rank * (self.rank + 1) // 2
        return planes * self.rank * sum(sizes), max(sizes) * (square + planes * self.rank)
