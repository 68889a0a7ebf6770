"""Tensor ring: a chain of cores whose ends are joined."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from . import product_cores as gauge
from .matrix_product import MatrixProduct


class TensorRing(MatrixProduct):
    """Tensor ring of the weights (a matrix product state with closed ends).

       ┌─────────────────────────┐
       │ ┌──┐ R ┌──┐ R     ┌──┐  │
       └─┤W₁├───┤W₂├─ … ───┤Wₙ├──┘
         └┬─┘   └┬─┘       └┬─┘
          Q      Q          Q

    Cores have the shape (left, Q, right); the bond before the first is that after the last.

    Parameters
    ----------
    rank : int, sequence of int or "auto"
        Bonds before every site: one number, or a sequence with one for each site.

    Notes
    -----
    A ring has no canonical gauge; its cores are kept at one norm.  A row costs O(D·R³), a
    pass by column statistics O(R⁴) more.
    """

    def bonds(self, sizes: Sequence[int]) -> list[int]:
        """Bonds before, between and after sites of given sizes."""
        return gauge.bonds_of_ring(self.rank, sizes)

    is_ring = True

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        """Return a core of norm 1, and its norm as the factor of the next."""
        norm = np.linalg.norm(core) or 1.0
        return core / norm, norm * np.eye(core.shape[2], dtype=core.dtype)

    def settle(self, sites: list[NDArray]) -> list[NDArray]:
        """Scale the cores to equal norms."""
        return gauge.balance(sites)
