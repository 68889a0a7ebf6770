"""Ridge regression on explicit features that arrive in blocks of rows.

No more is kept than the square of the number of features, however many rows there are.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

#: features of a block and their targets, each times the root of the row's weight
Block = tuple[NDArray, NDArray]
#: ridge per row from which the normal equations of features of norm 1 give at least seven digits
LEAST_RIDGE = 1e-8


def ridge_weights(blocks: Iterable[Block], shape: tuple[int, int], alpha: float) -> NDArray:
    """Minimise (1/n)·‖Z w - y‖² + alpha·‖w‖², of least norm where that leaves a choice.

    Parameters
    ----------
    blocks : iterable of (Z, y)
        Rows of the features, of norm about 1, and of the targets.
    shape : (n_rows, n_features)
    alpha : float

    Returns
    -------
    array of shape (n_features, n_outputs)
    """
    n_rows, n_features = shape
    ridge = n_rows * alpha
    if alpha < LEAST_RIDGE:
        return _by_singular_values(*_compress(blocks, n_features), ridge)
    if n_features > n_rows:
        return _by_rows(*_stack(list(blocks)), ridge)
    return _by_normal_equations(blocks, n_features, ridge)


def _by_normal_equations(blocks: Iterable[Block], n_features: int, ridge: float) -> NDArray:
    gram: NDArray = np.diag(np.full(n_features, ridge))
    right: NDArray = np.zeros((n_features, 1))
    for features, target in blocks:
        adjoint = features.conj().T
        gram = gram + adjoint @ features
        right = right + adjoint @ target
    return cho_solve(cho_factor(gram, lower=True), right)


def _by_rows(features: NDArray, target: NDArray, ridge: float) -> NDArray:
    """Solve for one coefficient per row, for fewer rows than features."""
    adjoint = features.conj().T
    gram = features @ adjoint
    gram.flat[:: len(gram) + 1] += ridge
    return adjoint @ cho_solve(cho_factor(gram, lower=True), target)


def _compress(blocks: Iterable[Block], n_features: int) -> Block:
    """Reduce to at most as many rows as features by QR, which squares nothing."""
    kept: list[Block] = []
    for block in blocks:
        kept.append(block)
        if sum(len(features) for features, _ in kept) > n_features:
            features, target = _stack(kept)
            orthogonal, triangle = np.linalg.qr(features)
            kept = [(triangle, orthogonal.conj().T @ target)]
    return _stack(kept)


def _by_singular_values(features: NDArray, target: NDArray, ridge: float) -> NDArray:
    left, values, right = np.linalg.svd(features, full_matrices=False)
    keep = values > max(features.shape) * np.finfo(np.float64).eps * values[0]
    left, values, right = left[:, keep], values[keep], right[keep]
    turned = left.conj().T @ target
    return right.conj().T @ ((values / (values**2 + ridge))[:, None] * turned)


def _stack(blocks: list[Block]) -> Block:
    return np.vstack([block[0] for block in blocks]), np.vstack([block[1] for block in blocks])
