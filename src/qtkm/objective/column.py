"""A column of the fit: its feature map at its grid values."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data import Box, Grid, blocks
from ..features import FeatureMap
from ..kernels.lines import padded_length

#: factors are kept between passes up to this many entries, else computed anew each time
KEPT_ENTRIES = 20_000_000
#: grid values of one task in a loop over the grid
GRID_BLOCK = 256


class Column:
    """One input dimension: what it is called, its box, its feature map and its grid.

    Parameters
    ----------
    name : str
    feature_map : FeatureMap
    box : Box or None
        None for categories.
    grid : Grid or int
        Grid values, or the number of categories.
    """

    def __init__(self, name: str, feature_map: FeatureMap, box: Box | None, grid: Grid | int):
        self.name, self.feature_map, self.box, self.grid = name, feature_map, box, grid
        self.is_categorical = feature_map.is_categorical
        self.radices = feature_map.radices
        self.slices = feature_map.slices

    def __len__(self) -> int:
        return self.grid if isinstance(self.grid, int) else len(self.grid)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        """Grid values in the unit box."""
        if self.box is None or isinstance(self.grid, int):
            return np.arange(len(self), dtype=np.float64)
        return self.box.to_unit(self.grid.values)

    @property
    def factors(self) -> NDArray:
        """Factor entries of all levels at the grid values."""
        return self._make_factors() if self._are_many else self._factors

    @property
    def _are_many(self) -> bool:
        return len(self) * sum(self.radices) > KEPT_ENTRIES

    @cached_property
    def _factors(self) -> NDArray:
        return self._make_factors()

    def _make_factors(self) -> NDArray:
        factors = self.feature_map.factors(self.values)
        expected = (len(self), sum(self.radices))
        if np.shape(factors) != expected:
            raise ValueError(
                f"The factors of {self.feature_map!r} have the shape {np.shape(factors)}; "
                f"{expected} were expected, one line a value and one entry for each of the "
                f"radices {self.radices}."
            )
        if np.iscomplexobj(factors) and not self.feature_map.is_complex:
            raise ValueError(
                f"The factors of {self.feature_map!r} are complex, but its class does not say "
                "is_complex = True."
            )
        return factors

    @cached_property
    def phase(self) -> NDArray:
        """Phase at the grid values; empty where the map has none."""
        phase = self.feature_map.phase(self.values)
        return np.empty(0) if phase is None else phase

    @property
    def turns(self) -> NDArray | None:
        """Turns of the grid values where the basis has them, see `FeatureMap.turns`."""
        return self.feature_map.turns(self.values)

    @cached_property
    def lines(self) -> tuple[NDArray, ...]:
        """The column as `kernels.column.sweep` reads it, in the layout of `kernels.lines`.

        Factor entries, phase and pairs of all levels as lines, where the pairs of each level
        end, which two entries are which pair, and the radices.
        """
        factors, places, pairs = self.factors.T, [], []
        for level, part in enumerate(self.slices):
            chosen, index = self.products(level, True)
            found = factors[part][chosen[:, 0]].conj() * factors[part][chosen[:, 1]]
            pairs.append(np.vstack([found, np.zeros((len(found) % 2, len(self)))]))
            places.append(np.ravel(index))
        return (
            _to_lines(factors),
            _to_lines(self.phase[None] if len(self.phase) else np.ones((1, len(self))))[0],
            _to_lines(np.concatenate(pairs)),
            np.cumsum([len(found) for found in pairs]),
            np.concatenate(places),
            np.asarray(self.radices, dtype=np.int64),
        )

    @cached_property
    def n_lines(self) -> int:
        """Lines that `lines` has, each of two numbers a grid value."""
        n_pairs = (len(self.products(level, True)[0]) for level in range(len(self.radices)))
        return sum(self.radices) + 1 + sum(n + n % 2 for n in n_pairs)

    def products(self, level: int, conjugate: bool) -> tuple[NDArray, NDArray]:
        """Distinct products of two factor entries, see `FeatureMap.products`."""
        key = (level, conjugate)
        if key not in self._products:
            self._products[key] = self.feature_map.products(level, conjugate)
        return self._products[key]

    @cached_property
    def _products(self) -> dict:
        return {}

    def merged(self, level: int) -> "Column":
        """The same column with a level and the next one joined to one level."""
        return Column(self.name, self.feature_map.merged(level), self.box, self.grid)

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of grid values for tasks that do not depend on each other."""
        return list(blocks(len(self), GRID_BLOCK))

    @property
    def bin_error(self) -> float:
        """Worst relative error of the features by binning; 0 where the grid is exact."""
        if isinstance(self.grid, int) or not self.grid.is_binned:
            return 0.0
        return float(self.feature_map.bin_error(self.values[1] - self.values[0]))


def _to_lines(values: NDArray) -> NDArray[np.float64]:
    """Numbers (n, n_grid) as planes (n, 2, padded), with zeros at the end."""
    lines = np.zeros((len(values), 2, padded_length(values.shape[1])))
    lines[:, 0, : values.shape[1]] = values.real
    lines[:, 1, : values.shape[1]] = values.imag
    return lines
