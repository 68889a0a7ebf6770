"""Responses of a chain at values that lie on no grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import moments

#: numbers of the largest array of functions that is made at a time
MOST_NUMBERS = 1_000_000


class Evaluator:
    """Cores made ready for evaluation.

    Parameters
    ----------
    network : ChainNetwork
    cores : list
    frequencies : list of (n_categories,) arrays or None
        For a categorical column the shares of its categories, by which an unknown one takes
        the mean of the core's entries; None for numbers.
    """

    def __init__(self, network: Any, cores: Sequence[Any], frequencies: Sequence[NDArray | None]):
        self.algebra = network.algebra
        n_columns = len(frequencies)
        self.cores = cores[:n_columns]
        self.closing = network.closing(cores, n_columns)
        self.tables = [
            None if share is None else self._with_unknown(levels[0], share)
            for levels, share in zip(self.cores, frequencies, strict=True)
        ]

    def _with_unknown(self, core: NDArray, share: NDArray) -> NDArray:
        elements = self.algebra.elements(core)
        return np.concatenate([elements, np.tensordot(share, elements, 1)[None]])

    def responses(self, maps: Sequence[Any], values: Sequence[NDArray]) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values per column.

        Values are numbers in the unit box, or category codes with -1 for an unknown one.
        """
        widest = max(max(m.slices[-1].stop, 1) * m.n_features for m in maps)
        step = max(64, MOST_NUMBERS // max(1, min(widest, 4096)))
        parts = []
        for first in range(0, max(1, len(values[0])), step):
            some = [column[first : first + step] for column in values]
            parts.append(self._responses(maps, some))
        return np.concatenate(parts)

    def _responses(self, maps: Sequence[Any], values: Sequence[NDArray]) -> NDArray:
        product: Any = None
        for d, (feature_map, column) in enumerate(zip(maps, values, strict=True)):
            elements = self._elements(d, feature_map, column)
            product = elements if product is None else self.algebra.multiply(product, elements)
        closed = self.algebra.multiply(product[:, None], self.closing[None])
        return self.algebra.close(closed)

    def _elements(self, d: int, feature_map: Any, values: NDArray) -> NDArray:
        table = self.tables[d]
        if table is not None:
            return table[np.asarray(values, dtype=np.int64)]
        product: Any = None
        groups = zip(feature_map.groups, feature_map.group_features(values), strict=True)
        for levels, functions in groups:
            weights = moments.weights_of(self.algebra, self.cores[d][levels])
            flat = functions @ weights.reshape(len(weights), -1)
            part = flat.reshape(-1, *weights.shape[1:])
            product = part if product is None else self.algebra.multiply(product, part)
        return product
