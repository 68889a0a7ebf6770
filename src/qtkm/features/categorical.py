"""One-hot features of a categorical column: its table is its core."""

from typing import ClassVar

import numpy as np

from .feature_map import Array, FeatureMap

#: a column of more categories has no main effect of its own
MOST_CATEGORIES = 2000


class Categorical(FeatureMap):
    """One level with one entry per category.

    Parameters
    ----------
    n_categories : int or "auto"
        Number of categories, a missing value counting as one; "auto" takes those of the data.

    Notes
    -----
    A row selects one row of the core, so the local system of the core falls apart into
    one small system per category.
    """

    is_categorical: ClassVar[bool] = True

    def __init__(self, n_categories="auto"):
        self.n_categories = n_categories

    @property
    def radices(self) -> tuple[int, ...]:
        return (int(self.n_categories),)

    def factors(self, values: Array) -> Array:
        codes = np.asarray(values, dtype=np.int64)
        return (codes[:, None] == np.arange(self.n_categories)).astype(np.float64)

    def kind(self, conjugate: bool) -> str:
        return "each"

    def constant(self) -> list[Array]:
        return [np.ones(self.radices[0])]

    @property
    def n_main(self) -> int:
        return self.radices[0] if self.radices[0] <= MOST_CATEGORIES else 0

    def main_functions(self, values: Array) -> Array:
        return self.factors(values)[:, : self.n_main]

    def first_functions(self, values: Array) -> Array:
        return self.factors(values)

    def combine(self, coefficients: Array, constant: float) -> Array:
        return np.asarray(coefficients, dtype=np.float64) + constant

    def bin_error(self, width: float) -> float:
        return 0.0
