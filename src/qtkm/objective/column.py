"""A column of the fit: its feature map at its grid values."""

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..data import Box, Grid, blocks
from ..features import FeatureMap
from ..networks.moments import products
from ..penalties import Matern
from ..protocols import Span

#: numbers of functions or their products at the grid values that are kept, or made at a time
KEPT_NUMBERS = 4_000_000

#: smoothness and length scales of main effects to choose from
MAIN_SMOOTHNESS, MAIN_SCALES = (0.5, 1.5, 2.5), (0.3, 1.0, 3.0)
#: further length scales where there are more functions than these
SHORT_SCALES, MANY_FUNCTIONS = (0.01, 0.03, 0.1), 26


class Column:
    """One input dimension: its name, its feature map, its box and its grid.

    Categories have no box (None), and their number for a grid.
    """

    def __init__(self, name: str, feature_map: FeatureMap, box: Box | None, grid: Grid | int):
        self.name, self.feature_map, self.box, self.grid = name, feature_map, box, grid
        self.is_categorical, self.has_gaps = feature_map.is_categorical, feature_map.has_gaps
        self.is_one_hot = feature_map.is_one_hot
        self.radices = feature_map.radices
        self.slices, self.groups = feature_map.slices, feature_map.groups
        #: what the products of two functions depend on, and how many the main effect is made of
        self.kind, self.n_main = feature_map.kind, feature_map.n_main
        self._kept: dict[bool | None, NDArray] = {}

    def __len__(self) -> int:
        return self.grid if isinstance(self.grid, int) else len(self.grid)

    @cached_property
    def values(self) -> NDArray[np.float64]:
        if self.box is None or isinstance(self.grid, int):
            return np.arange(len(self), dtype=np.float64)
        return self.box.to_unit(self.grid.values)

    @cached_property
    def group_features(self) -> list[NDArray]:
        return self.feature_map.group_features(self.values)

    @cached_property
    def factors(self) -> NDArray:
        return self.feature_map.factors(self.values)

    def chunks(self) -> list[Span]:
        """Return ranges of grid values whose functions are made at a time."""
        n_features = self.feature_map.n_features
        each = n_features**2 if self.kind(True) == "pairs" else 4 * n_features
        return [slice(*part) for part in blocks(len(self), max(1, KEPT_NUMBERS // each))]

    @property
    def is_kept(self) -> bool:
        return len(self.chunks()) == 1

    def functions(self, places: Span | NDArray, conjugate: bool | None) -> NDArray:
        """Return all functions (n, M) at grid values of some codes, or of one of the chunks.

        If `conjugate` is not None, return the distinct products (n_products, n) of two of them, of
        complex ones real parts above imaginary ones.
        """
        if not self.is_kept:
            return self._functions(places, conjugate)
        if conjugate not in self._kept:
            self._kept[conjugate] = self._functions(slice(None), conjugate)
        found = self._kept[conjugate]
        if isinstance(places, slice):  # all of them
            return found
        return np.take(found, places, axis=0 if conjugate is None else 1)

    def _functions(self, places: Span | NDArray, conjugate: bool | None) -> NDArray:
        features = self.feature_map.features(self.values[places])
        if conjugate is None:
            return features
        found = products(features, self.kind(conjugate), conjugate, self.has_gaps)
        if np.iscomplexobj(found):
            found = np.concatenate([found.real, found.imag])
        return np.ascontiguousarray(found)

    @cached_property
    def main_features(self) -> NDArray[np.float64]:
        """Functions of the main effect at the grid values, (n_grid, n_main)."""
        return self.feature_map.main_functions(self.values)

    def main_table(self, weights: NDArray) -> NDArray[np.float64]:
        if not weights.any():
            return np.zeros((len(self), weights.shape[1]))
        return weights if self.is_categorical else self.main_features @ weights

    def main_sums(self, parts: NDArray) -> NDArray[np.float64]:
        return parts[: self.n_main] if self.is_categorical else self.main_features.T @ parts

    @cached_property
    def main_blocks(self) -> list[tuple[NDArray[np.int64], NDArray[np.float64]]]:
        """Blocks of main functions with a variance of their own, slopes left out.

        For each their numbers, and prior variances to choose from, up to factors.
        """
        n_smooth = self.n_main - self.has_gaps
        places = np.arange(not self.is_categorical, n_smooth)
        frequencies = None if self.is_categorical else self.feature_map.main_frequencies
        family = np.ones((1, len(places)))
        if frequencies is not None:
            scales = MAIN_SCALES + (SHORT_SCALES if len(frequencies) > MANY_FUNCTIONS else ())
            members = [Matern(nu, scale, 1.0) for nu in MAIN_SMOOTHNESS for scale in scales]
            family = np.array([member.density(frequencies) for member in members])
        gaps = [(np.array([n_smooth]), np.ones((1, 1)))] if self.has_gaps else []
        return [(places, family), *gaps]

    def merged(self, level: int) -> "Column":
        return Column(self.name, self.feature_map.merged(level), self.box, self.grid)

    @property
    def bin_error(self) -> float:
        """Worst relative error of the features by binning; 0 where the grid is exact."""
        if isinstance(self.grid, int) or not self.grid.is_binned:
            return 0.0
        return float(self.feature_map.bin_error(np.nanmax(np.diff(self.values))))
