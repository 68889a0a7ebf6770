"""Responses of a CPD at values that lie on no grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels import rows as kernels


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
        self.output_core = cores[n_columns] if len(cores) > n_columns else None
        self.stacked = [
            np.concatenate(levels if row is None else [*levels, row[None]])
            for levels, row in zip(cores[:n_columns], neutral, strict=True)
        ]
        self.radices = [np.array([len(core) for core in levels]) for levels in cores[:n_columns]]

    def responses(self, maps: Sequence[Any], values: Sequence[NDArray]) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values a column.

        Values are numbers in the unit box, or category codes with -1 for an unknown one.
        """
        phase = np.ones(len(values[0]), dtype=np.complex128)
        planes: list[NDArray | None] = []
        for feature_map, column in zip(maps, values, strict=True):
            if feature_map.is_categorical:
                planes.append(None)
                continue
            factors, turn = feature_map.lines(column)
            planes.append(factors)
            phase = phase if turn is None else phase * turn
        lines = kernels.start_lines(phase, self.rank, self.is_complex)
        for d, factors in enumerate(planes):
            if factors is None:
                kernels.multiply_rows(
                    lines, self.stacked[d], values[d] % len(self.stacked[d]), self.rank,
                    self.is_complex,
                )  # fmt: skip
            else:
                kernels.multiply_column(
                    lines, factors, self.radices[d], self.stacked[d], self.rank, self.is_complex
                )
        return self._mix(lines)

    def _mix(self, lines: NDArray) -> NDArray:
        if self.output_core is None:
            return kernels.sum_lines(lines, self.rank, self.is_complex)[:, None]
        half = len(lines) // 2
        terms = lines[: self.rank]
        if self.is_complex:
            terms = terms + 1j * lines[half : half + self.rank]
        return terms.T @ self.output_core.T
