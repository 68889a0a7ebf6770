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
    frequencies : list of (n_categories,) arrays or None
        For a categorical column the shares of its categories, by which an unknown one takes
        the mean of the core's rows.
    """

    def __init__(self, cores: Sequence[Any], frequencies: Sequence[NDArray | None]):
        n_columns = len(frequencies)
        self.rank = cores[0][0].shape[1]
        self.is_complex = np.iscomplexobj(cores[0][0])
        self.output_core = cores[n_columns] if len(cores) > n_columns else None
        self.tables = [
            None if share is None else np.concatenate([levels[0], (share @ levels[0])[None]])
            for levels, share in zip(cores[:n_columns], frequencies, strict=True)
        ]
        numbers = [d for d in range(n_columns) if frequencies[d] is None]
        sites = [core for d in numbers for core in cores[d]]
        empty = np.empty((0, self.rank), dtype=cores[0][0].dtype)
        self.cores = np.concatenate([empty, *sites])
        self.radices = np.array([len(core) for core in sites], dtype=np.int64)

    def responses(self, maps: Sequence[Any], values: Sequence[NDArray]) -> NDArray:
        """Responses (n, n_outputs) of rows given as one array of values a column.

        Values are numbers in the unit box, or category codes with -1 for an unknown one.
        """
        n_rows, rank = len(values[0]), self.rank
        phase = np.ones(n_rows, dtype=np.complex128)
        planes = np.empty((len(self.cores), 2, n_rows))
        first = 0
        for feature_map, column in zip(maps, values, strict=True):
            if not feature_map.is_categorical:
                last = first + sum(feature_map.radices)
                feature_map.fill_lines(column, planes[first:last], phase)
                first = last
        lines = kernels.start_lines(phase, rank, self.is_complex)
        kernels.evaluate(lines, planes, self.radices, self.cores, rank, self.is_complex)
        for table, codes in zip(self.tables, values, strict=True):
            if table is not None:
                rows = codes % len(table)
                kernels.multiply_rows(lines, table, rows, rank, self.is_complex)
        return self._mix(lines)

    def _mix(self, lines: NDArray) -> NDArray:
        if self.output_core is None:
            return kernels.sum_lines(lines, self.rank, self.is_complex)[:, None]
        half = len(lines) // 2
        terms = lines[: self.rank]
        if self.is_complex:
            terms = terms + 1j * lines[half : half + self.rank]
        return terms.T @ self.output_core.T
