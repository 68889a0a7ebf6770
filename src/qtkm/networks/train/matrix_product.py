"""Base of trains and rings: cores (left, Q, right) in a row, tables that are matrices.

    R₀ ─[W₁]─[W₂]─ … ─[W_n]─ R₀          f = tr Π_sites Σ_q s_q·W[:, q, :]
         │    │        │
         s₁   s₂       s_n

A column's table is the product of its levels' matrices, so a row costs O(D·R²) (O(D·R³) for a
ring), independent of the number of basis functions.
"""

import math
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from numbers import Integral

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from ...parameters import check_number, is_number
from ...protocols import Cores, Given, Levels, Radices
from ...structure import Edge, Structure
from ..algebra import Matrices
from ..chain import SMOOTH_NOISE, ChainNetwork, site_legs
from ..moments import digit_factors
from ..network import flatten, unflatten
from . import gauge


class MatrixProduct(ChainNetwork):
    """A train or a ring; see the subclasses."""

    is_ring = False
    algebra = Matrices()

    def __init__(self, rank="auto"):
        self.rank = rank

    def check(self) -> None:
        several = isinstance(self.rank, Sequence | np.ndarray) and not isinstance(self.rank, str)
        ranks = list(self.rank) if several else []
        if not ranks or not all(is_number(each, Integral) and each >= 1 for each in ranks):
            check_number("rank", self.rank, Integral, 1, hint=", or a sequence of these")

    def default_rank(self, n_rows: int, n_columns: int) -> int:
        # about as many parameters as a CPD has
        return max(2, round(super().default_rank(n_rows, n_columns) ** 0.5))

    def rank_of(self, cores: Given) -> list[int] | None:
        try:
            left = [int(np.shape(core)[0]) for core in flatten(list(cores))]
        except (IndexError, TypeError, ValueError):
            return None
        return (left if self.is_ring else left[1:]) or None

    def fitted_to(self, cores: Cores) -> "MatrixProduct":
        shapes = [core.shape for core in flatten(cores)]
        bonds = [shape[0] for shape in shapes] + [shapes[-1][2]]
        if bonds == self.bonds([shape[1] for shape in shapes]):
            return self
        return type(self)(self.rank_of(cores))

    def bonds(self, sizes: Sequence[int]) -> list[int]:
        """Return the bonds before, between and after sites of given sizes.

        A number is reduced to the ranks of the unfoldings; a sequence must fit them.
        """
        raise NotImplementedError

    def _ranks(self, count: int, why: str) -> list[int]:
        """Return a sequence of `count` ranks, or raise a ValueError."""
        ranks = [int(r) for r in self.rank]
        if len(ranks) != count:
            raise ValueError(
                f"rank has {len(ranks)} entries, but {count} are needed: {why}; use one number for "
                "all bonds."
            )
        return ranks

    def structure(self, radices: Radices, n_outputs: int) -> Structure:
        legs, names = site_legs(radices, n_outputs)
        bonds = self.bonds([leg.size for leg in legs])
        pairs = ((Edge(f"bond {k}", bonds[k], (k - 1, k)), leg) for k, leg in enumerate(legs))
        edges = [edge for pair in pairs for edge in pair][1:]
        if self.is_ring and len(names) > 1:
            edges.insert(0, Edge("bond 0", bonds[0], (0, len(names) - 1)))
        return Structure(names, tuple(edges))

    def shapes(self, radices: Radices, n_outputs: int) -> Cores:
        legs, _ = site_legs(radices, n_outputs)
        bonds = self.bonds([leg.size for leg in legs])
        flat = [(bonds[k], leg.size, bonds[k + 1]) for k, leg in enumerate(legs)]
        shapes: Cores = [[flat.pop(0) for _ in column] for column in radices]
        return shapes + flat

    def start(
        self, constants: Levels, n_outputs: int, is_complex: bool, kind: str, rng: RandomState
    ) -> Cores:
        shapes = self.shapes([[len(c) for c in column] for column in constants], n_outputs)
        flat = [c for column in constants for c in column]
        if n_outputs > 1:
            flat.append(np.zeros(n_outputs))
        sites = [
            self._core(constant, shape, is_complex, kind, rng)
            for constant, shape in zip(flat, flatten(shapes), strict=True)
        ]
        # the norm of the constant function 1, so that responses are of order one
        squares = [digit_factors(self.algebra, core, "uniform")[0] for core in sites]
        norm = float(self.algebra.close(reduce(np.matmul, squares)).real)
        scale = norm ** (-0.5 / len(sites))
        return unflatten(shapes, self.settle([scale * core for core in sites]))

    def _core(self, constant, shape, is_complex, kind, rng):
        noise = rng.standard_normal(shape)
        if is_complex:
            noise = noise + 1j * rng.standard_normal(shape)
        if kind == "random" or not constant.any():
            return noise / np.linalg.norm(noise)
        # noise that does not grow over many sites: a product of R×R matrices grows like √R each
        eye, size = np.eye(shape[0], shape[2]), SMOOTH_NOISE / max(shape[0], shape[2]) ** 0.5
        return constant[None, :, None] * eye[:, None, :] + size * noise

    push_right, push_left = staticmethod(gauge.push_right), staticmethod(gauge.push_left)


class TensorTrain(MatrixProduct):
    """Tensor train of the weights (a matrix product state).

         ┌──┐ R ┌──┐ R ┌──┐
         │W₁├───┤W₂├───┤W₃├─ …        sites in the order of columns and, in a column, levels
         └┬─┘   └┬─┘   └┬─┘
          Q      Q      Q

    Cores have shape (left, Q, right); the first and the last bond have size 1.

    Parameters
    ----------
    rank : int, sequence of int or "auto"
        Bonds between neighbouring sites: one number, reduced at each bond to the rank of the
        unfolding there, or a sequence with one entry per bond.

    Notes
    -----
    An epoch of alternating least squares begins with all cores but the first right-orthogonal,
    and leaves each core left-orthogonal behind it, so the penalty α‖w‖² is α times the squared
    entries of the current core.  A pass costs O(R⁴) per row by column statistics, for ranks up to
    about 8, and O(D·R²) per row and iteration by conjugate gradients above.
    """

    leave = staticmethod(gauge.left_orthogonal)

    def bonds(self, sizes: Sequence[int]) -> list[int]:
        places = range(len(sizes) + 1)
        full = [min(math.prod(sizes[:k]), math.prod(sizes[k:])) for k in places]
        if isinstance(self.rank, Integral):
            return [min(int(self.rank), most) for most in full]
        why = "a tensor train has one between any two of its sites"
        bonds = [1, *self._ranks(len(sizes) - 1, why), 1]
        for k in places[1:-1]:
            most = min(bonds[k - 1] * sizes[k - 1], full[k], sizes[k] * bonds[k + 1])
            if bonds[k] > most:
                raise ValueError(
                    f"rank[{k - 1}]={bonds[k]} between sites {k - 1} and {k} is larger than "
                    f"{most}, the rank of the unfolding there; use a smaller one, or one number "
                    "for all, which is reduced where needed."
                )
        return bonds

    def settle(self, sites: list[NDArray]) -> list[NDArray]:
        return gauge.center_at(sites, 0)


class TensorRing(MatrixProduct):
    """Tensor ring of the weights (a matrix product state with closed ends).

       ┌─────────────────────────┐
       │ ┌──┐ R ┌──┐ R     ┌──┐  │
       └─┤W₁├───┤W₂├─ … ───┤Wₙ├──┘
         └┬─┘   └┬─┘       └┬─┘
          Q      Q          Q

    Cores have shape (left, Q, right); the bond before the first is that after the last.

    Parameters
    ----------
    rank : int, sequence of int or "auto"
        Bonds before every site: one number, or a sequence with one entry per site.

    Notes
    -----
    A ring has no canonical gauge; its cores are kept at equal norms.  A row costs O(D·R³), a pass
    by column statistics O(R⁴) more.
    """

    is_ring = True
    settle = staticmethod(gauge.balance)

    def bonds(self, sizes: Sequence[int]) -> list[int]:
        count = len(sizes)
        if isinstance(self.rank, Integral):
            # of a bond that joins a single site to itself only the trace would matter
            return [int(self.rank) if count > 1 else 1] * (count + 1)
        ranks = self._ranks(count, "a tensor ring has one before each of its sites")
        if count == 1 and ranks[0] > 1:
            raise ValueError(
                f"rank[0]={ranks[0]} joins the only site to itself, where more than 1 adds weights "
                "but no functions; use 1."
            )
        bonds = [*ranks, ranks[0]]
        for k, ((a, b), size) in enumerate(zip(pairwise(bonds), sizes, strict=True)):
            if max(a, b) > size * min(a, b):
                raise ValueError(
                    f"The ranks {a} and {b} at site {k} of size {size} do not fit: one is larger "
                    f"than the other times {size}, which the unfolding of the core does not allow; "
                    f"use at most {size * min(a, b)}."
                )
        return bonds

    def leave(self, core: NDArray) -> tuple[NDArray, NDArray]:
        norm = np.linalg.norm(core) or 1.0
        return core / norm, norm * np.eye(core.shape[2], dtype=core.dtype)
