"""The model that a low rank is compared with: all M weights free, by least squares.

The functions are powers of one number of modulus 1, so the normal equations are a Toeplitz
system: as many numbers as functions, whatever the number of rows.
"""

from math import isqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, matmul_toeplitz, solve_toeplitz

#: largest residual of the normal equations, relative to their right side; 5e-15 on the sound
ACCURACY = 1e-6
#: values that are evaluated at a time
BLOCK = 4096


def solve(turns: NDArray, target: NDArray, n_basis: int) -> NDArray:
    """Find the weights of all functions by least squares.

    Parameters
    ----------
    turns : ndarray of shape (n_rows,)
        Positions, in periods.
    target : ndarray of shape (n_rows,)
    n_basis : int
        Number M of functions exp(2πi·turns·(m - ⌊M/2⌋)).

    Returns
    -------
    ndarray of shape (n_basis,)
        Complex weights, that of the lowest frequency first.

    Raises
    ------
    ValueError
        If the rows do not determine the weights.

    Notes
    -----
    Σ_m' c(m' - m) w(m') = Σ_n y_n exp(-2πi·t_n·(m - ⌊M/2⌋)) with c(l) = Σ_n exp(2πi·l·t_n).
    """
    lags, targets = _sums(turns, target, n_basis)
    half = n_basis // 2
    right = np.concatenate([targets[half:0:-1], targets[: n_basis - half].conj()])
    matrix = lags.conj(), lags  # first column and first row
    try:
        weights = solve_toeplitz(matrix, right)
        residual = float(np.linalg.norm(matmul_toeplitz(matrix, weights) - right))
    except LinAlgError:
        residual = np.inf
    # a singular system may look solved, by luck of rounding: fewer points than weights never are
    is_singular = len(np.unique(turns % 1)) < n_basis
    if is_singular or not residual <= ACCURACY * np.linalg.norm(right):
        raise ValueError(
            f"{len(turns)} rows do not determine {n_basis} weights: the normal equations are "
            "singular; use fewer functions, or rows without wide gaps"
        )
    return weights


def _sums(turns: NDArray, target: NDArray, n_basis: int) -> tuple[NDArray, NDArray]:
    """Return Σ exp(2πi·l·turns) and Σ target·exp(2πi·l·turns) for l = 0 … n_basis-1.

    A lag is a·step + b, so the sums over the values are one product of two short lists.
    """
    step = isqrt(n_basis - 1) + 1
    coarse, fine = step * np.arange(-(-n_basis // step)), np.arange(step)
    sums: Any = 0.0
    for first in range(0, len(turns), BLOCK):
        part, own = turns[first : first + BLOCK], target[first : first + BLOCK]
        high = _powers(part, coarse)
        sums = sums + np.stack([high.T, (own[:, None] * high).T]) @ _powers(part, fine)
    lags, targets = sums.reshape(2, -1)[:, :n_basis]
    return lags, targets


def respond(weights: NDArray, turns: NDArray) -> NDArray:
    """Evaluate Σ_m w(m) exp(2πi·turns·(m - ⌊M/2⌋)).

    Parameters
    ----------
    weights : ndarray of shape (n_basis,)
    turns : ndarray of shape (n,)

    Returns
    -------
    ndarray of shape (n,)
        Complex responses.

    Notes
    -----
    A frequency is a·step + b, so the powers of a value are the products of two short lists.
    """
    n_basis = len(weights)
    step = isqrt(n_basis - 1) + 1
    n_coarse = -(-n_basis // step)
    table = np.zeros((n_coarse, step), dtype=np.complex128)
    table.ravel()[:n_basis] = weights
    coarse, fine = step * np.arange(n_coarse) - n_basis // 2, np.arange(step)
    out = np.empty(len(turns), dtype=np.complex128)
    for first in range(0, len(turns), BLOCK):
        part = turns[first : first + BLOCK]
        sums = _powers(part, fine) @ table.T  # (n, n_coarse)
        out[first : first + BLOCK] = (sums * _powers(part, coarse)).sum(axis=1)
    return out


def _powers(turns: NDArray, frequencies: NDArray) -> NDArray:
    return np.exp(2j * np.pi * np.multiply.outer(turns, frequencies))
