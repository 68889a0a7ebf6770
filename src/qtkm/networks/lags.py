"""Lags of a column: sums over the rows of all powers of one number of modulus 1.

    c(l) = Σ_n ω_n exp(2πi·l·t_n)        B(l) = Σ_n ω_n y_n exp(2πi·l·t_n)

All that a model with one Fourier column ever needs of the rows, computed once a fit.
"""

from math import isqrt, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from ..kernels import lags as kernels
from .network import Run

#: grid values that one task sums over
TASK_VALUES = 1024
#: grid values are split at this fraction of a turn, so that lags times the upper part are exact
SPLIT = 2.0**26


class Lags:
    """Lags of the only column of a fit.

    Parameters
    ----------
    column : Column
        With `turns`: function m of its basis is exp(2πi·turns·(m - ⌊M/2⌋)).
    setting : Setting
        Whose rows are summed.
    run : callable
        run(function, tasks), see `qtkm.engines`.

    Attributes
    ----------
    targets : (M,) array
        Σ_n ω_n y_n φ_m(x_n) of the basis functions φ_m.
    """

    def __init__(self, column: Any, setting: Any, run: Run):
        self.radices = column.radices
        self.n_basis = prod(self.radices)
        weight, target = setting.sum(_grid_sums)
        lags, target_lags = power_sums(column.turns, weight, target, self.n_basis, run)
        # lag M belongs to no pair of functions; as zero it keeps the transform real
        self._circular = np.concatenate([lags, [0], lags[:0:-1].conj()])
        half = self.n_basis // 2
        behind = target_lags[half:0:-1].conj()
        self.targets = np.concatenate([behind, target_lags[: self.n_basis - half]])
        self._spectra: dict[int, NDArray] = {}
        self._lines = np.empty(0)

    def n_points(self, level: int) -> int:
        """Points at which the digits from a level on are told apart."""
        return 2 * prod(self.radices[level:])

    def spectra(self, level: int) -> NDArray:
        """Transforms of c(e + B_k·l) over l, for each lag e between digits below the level.

        Σ_j spectra[e, j]·exp(2πi·j·l/n_points) = c(e + B_k·l): shape (B_k, n_points).
        """
        if level not in self._spectra:
            lags = self._circular.reshape(self.n_points(level), -1).T
            self._spectra[level] = fft.fft(np.ascontiguousarray(lags), norm="forward")
        return self._spectra[level]

    def lend(self, shape: tuple[int, ...]) -> NDArray[np.float64]:
        """Memory for lines: that of the last problem, if it was handed back."""
        lines, self._lines = self._lines, np.empty(0)
        return lines if lines.shape == shape else np.empty(shape)

    def take_back(self, lines: NDArray[np.float64]) -> None:
        """Keep memory for the next problem: new pages cost more than what is done with them."""
        self._lines = lines


def _grid_sums(shard: Any, run: Run) -> tuple[NDArray, NDArray]:
    """Weight and weighted target of the rows of each grid value."""
    codes, n_codes = shard.codes[:, 0], shard.n_codes[0]
    weight = np.ones(len(shard)) if shard.weight is None else shard.weight
    target = shard.target[:, 0] * weight
    return np.bincount(codes, weight, n_codes), np.bincount(codes, target, n_codes)


def power_sums(
    turns: NDArray, weight: NDArray, target: NDArray, count: int, run: Run
) -> tuple[NDArray, NDArray]:
    """Σ weight·exp(2πi·l·turns) for l = 0 … count-1, and Σ target·… for l = 0 … ⌊count/2⌋.

    A lag is a·step + b, so the powers of a value are the products of two short lists of them
    and the sums over the values one matrix product.
    """
    step = isqrt(count - 1) + 1
    coarse = step * np.arange(-(-count // step))
    n_target = (count // 2) // step + 1

    def partial(first: int) -> NDArray:
        part = slice(first, first + TASK_VALUES)
        powers = _powers(turns[part], coarse)
        left = [powers * weight[part], powers[:n_target] * target[part]]
        return np.concatenate(left) @ _powers(turns[part], np.arange(step)).T

    sums, *parts = run(partial, range(0, len(turns), TASK_VALUES))
    for part in parts:
        sums += part
    lags, target_lags = sums[: len(coarse)].ravel(), sums[len(coarse) :].ravel()
    return lags[:count], target_lags[: count // 2 + 1]


def _powers(turns: NDArray, lags: NDArray) -> NDArray:
    """exp(2πi·lag·turns), (n_lags, n), as exact for large lags as for small ones."""
    upper = np.floor(turns * SPLIT) / SPLIT
    product = np.multiply.outer(lags, upper)
    angle = product - np.floor(product) + np.multiply.outer(lags, turns - upper)
    return kernels.exponentials(angle)
