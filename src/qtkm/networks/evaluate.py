"""Responses of a CPD at values that lie on no grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import levels as kernels
from .planes import from_planes, to_planes

_NOTHING = np.empty(0)


class Evaluator:
    """Cores made ready for evaluation.

    Parameters
    ----------
    cores : list
        As in `Iterate`.
    neutral : list of (R,) arrays or None
        For a categorical column, what an unknown category contributes.
    """

    def __init__(self, cores: Sequence[Any], neutral: Sequence[NDArray | None]):
        n_columns = len(neutral)
        self.rank = cores[0][0].shape[1]
        self.is_complex = np.iscomplexobj(cores[0][0])
        self.width = self.rank * (2 if self.is_complex else 1)
        self.output_core = cores[n_columns] if len(cores) > n_columns else None
        self.neutral = neutral
        self.stacked = [to_planes(np.concatenate(levels), self.width) for levels in cores[:n_columns]]
        self.radices = [np.array([len(core) for core in levels]) for levels in cores[:n_columns]]

    def responses(self, maps: Sequence[Any], values: Sequence[NDArray]) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values a column.

        Values are numbers in the unit box, or category codes with -1 for an unknown one.
        """
        product = kernels.phases(_NOTHING, len(values[0]), self.rank, self.width)
        for d, (feature_map, column) in enumerate(zip(maps, values, strict=True)):
            if feature_map.is_categorical:
                product = kernels.multiply(product, self._rows(d, column), self.rank)
                continue
            phase = feature_map.phase(column)
            kernels.multiply_tables(
                feature_map.factors(column), _NOTHING if phase is None else phase,
                self.radices[d], self.stacked[d], self.rank, product,
            )  # fmt: skip
        terms = from_planes(product, self.rank)
        if self.output_core is None:
            return terms.sum(axis=1, keepdims=True)
        return terms @ self.output_core.T

    def _rows(self, d: int, codes: NDArray) -> NDArray:
        neutral = self.neutral[d]
        assert neutral is not None
        table = np.vstack([self.stacked[d], to_planes(neutral[None], self.width)])
        return table[codes]
