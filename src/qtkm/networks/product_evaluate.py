"""Responses of a train or ring at values that lie on no grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class ProductEvaluator:
    """Cores made ready for evaluation.

    Parameters
    ----------
    cores : list
    frequencies : list of (n_categories,) arrays or None
        For a categorical column the shares of its categories, which stand in for the feature of
        an unknown one.
    """

    def __init__(self, cores: Sequence[Any], frequencies: Sequence[NDArray | None]):
        n_columns = len(frequencies)
        self.cores, self.frequencies = cores[:n_columns], frequencies
        self.output_core = cores[n_columns] if len(cores) > n_columns else None

    def responses(self, maps: Sequence[Any], values: Sequence[NDArray]) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values a column.

        Values are numbers in the unit box, or category codes with -1 for an unknown one.
        """
        n_rows, outer = len(values[0]), self.cores[0][0].shape[0]
        state = np.broadcast_to(np.eye(outer, dtype=self.cores[0][0].dtype), (n_rows, outer, outer))
        for d, (feature_map, column) in enumerate(zip(maps, values, strict=True)):
            share = self.frequencies[d]
            if share is not None:
                state = state @ self._rows(self.cores[d][0], share, column)
                continue
            factors = feature_map.factors(column)
            phase = feature_map.phase(column)
            if phase is not None:
                state = state * phase[:, None, None]
            for core, part in zip(self.cores[d], feature_map.slices, strict=True):
                state = _advance(state, core, factors[:, part])
        if self.output_core is None:
            return np.einsum("naa->n", state)[:, None]
        return np.einsum("nai,ika->nk", state, self.output_core, optimize=True)

    def _rows(self, core: NDArray, share: NDArray, codes: NDArray) -> NDArray:
        table = core.transpose(1, 0, 2)
        unknown = np.tensordot(share, table, 1)[None]
        return np.concatenate([table, unknown])[codes % (len(table) + 1)]


def _advance(state: NDArray, core: NDArray, factors: NDArray) -> NDArray:
    """State (n, R₀, left) times Σ_q s_q·core[:, q, :]."""
    n, outer, left = state.shape
    _, radix, right = core.shape
    moved = state.reshape(n * outer, left) @ core.reshape(left, radix * right)
    moved = moved.reshape(n, outer, radix, right)
    out = factors[:, 0, None, None] * moved[:, :, 0]
    for q in range(1, radix):
        out += factors[:, q, None, None] * moved[:, :, q]
    return out
