"""Tensor train: a chain of cores with open ends."""

from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from . import product_cores as gauge
from .chain import ChainIterate
from .matrix_product import MatrixProduct
from .product_pairs import PairProblem, Truncation
from .train_frame import TrainFrame


class TensorTrain(MatrixProduct):
    """Tensor train of the weights (a matrix product state).

         ┌──┐ R ┌──┐ R ┌──┐
         │W₁├───┤W₂├───┤W₃├─ …        sites in the order of columns and, in a column, levels
         └┬─┘   └┬─┘   └┬─┘
          Q      Q      Q

    Cores have the shape (left, Q, right); the first and the last bond have size 1.

    Parameters
    ----------
    rank : int, sequence of int or "auto"
        Bonds between neighbouring sites: one number, cut at each bond to what the unfolding
        there allows, or a sequence with one entry a bond.

    Notes
    -----
    An epoch of alternating least squares begins with all cores but the first right-orthogonal,
    and leaves each core left-orthogonal behind it, so the penalty α‖w‖² is α times the squared
    entries of the core at hand.  A pass costs O(R⁴) a row by column statistics, for ranks to
    about 8, and O(D·R²) a row and iteration by conjugate gradients above.
    """

    def bonds(self, sizes: Sequence[int]) -> list[int]:
        """Bonds before, between and after sites of given sizes."""
        return gauge.bonds_of_train(self.rank, sizes)

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        """Return a left-orthogonal core, and the factor of the next."""
        return gauge.left_orthogonal(core)

    def settle(self, sites: list[NDArray]) -> list[NDArray]:
        """Make all cores but the first right-orthogonal."""
        return gauge.center_at(sites, 0)

    def truncation(self, max_rank: int, tol: float) -> Truncation:
        """Rule by which two-site problems choose bonds."""
        return Truncation(max_rank, tol)

    def pair_problem(
        self, iterate: ChainIterate, block: int, setting: Any, truncation: Truncation
    ) -> PairProblem:
        """Two-site problems of a column, and of its last core with the next column's."""
        return PairProblem(iterate, block, setting, truncation)

    def frame(self, iterate: ChainIterate) -> TrainFrame:
        """Tangent space of the trains of an iterate's ranks."""
        return TrainFrame(iterate)
