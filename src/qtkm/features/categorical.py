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
    pooled : bool
        Whether there is a constant function beside the categories. Their prior then is
        k = (1 - a) + a·δ: a rare category stays near the mean of all.

    Notes
    -----
    A row selects one row of the core, so the local system of the core falls apart into
    one small system per category, and one of the constant.
    """

    is_categorical: ClassVar[bool] = True

    def __init__(self, n_categories="auto", pooled=False):
        self.n_categories = n_categories
        self.pooled = pooled

    @property
    def radices(self) -> tuple[int, ...]:
        return (int(self.n_categories) + bool(self.pooled),)

    def factors(self, values: Array) -> Array:
        found = self.first_functions(values)
        if not self.pooled:
            return found
        return np.concatenate([np.ones((len(found), 1)), found], axis=1)

    def kind(self, conjugate: bool) -> str:
        return "pairs" if self.pooled else "each"

    def constant(self) -> list[Array]:
        size = self.radices[0]
        return [np.eye(size)[0] if self.pooled else np.ones(size)]

    def spread(self, weights: Array) -> Array:
        """Return the table (n_categories, …) of weights (M, …)."""
        return weights[:1] + weights[1:] if self.pooled else weights

    def collect(self, sums: Array) -> Array:
        """Return the sums (M, …) over all functions of sums (n_categories, …) over rows."""
        return np.concatenate([sums.sum(axis=0)[None], sums]) if self.pooled else sums

    @property
    def n_main(self) -> int:
        count = int(self.n_categories)
        return count if count <= MOST_CATEGORIES else 0

    def main_functions(self, values: Array) -> Array:
        return self.first_functions(values)[:, : self.n_main]

    def first_functions(self, values: Array) -> Array:
        codes = np.asarray(values, dtype=np.int64)
        return (codes[:, None] == np.arange(self.n_categories)).astype(np.float64)

    def combine(self, coefficients: Array, constant: float) -> Array:
        weights = np.asarray(coefficients, dtype=np.float64)
        return np.concatenate([[constant], weights]) if self.pooled else weights + constant

    def bin_error(self, width: float) -> float:
        return 0.0
