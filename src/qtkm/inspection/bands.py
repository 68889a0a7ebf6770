"""How sure an effect is: standard deviations of means over rows, by the posterior of the weights.

The posterior gives every response a factor g whose inner products are covariances, so that a mean
of responses has the mean of their factors.  Means are over a few rows: what differs from row to
row is the response, not much how sure it is.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .response import Response, Rows

#: rows that means are taken over, for one column and for two
ROWS, PAIR_ROWS = 32, 12


class Band:
    """Factors of the posterior at `count` rows with some columns set."""

    def __init__(self, response: Response, rows: Rows, count: int):
        self.response = response
        self.known = response.uncertainty()
        n_rows = len(rows.weight)
        chosen = np.random.RandomState(0).choice(n_rows, min(count, n_rows), False, rows.weight)
        self.values = [column[chosen] for column in rows.values]
        self.mean = self._factors(self.values).mean(axis=0)

    def _factors(self, values: Sequence[NDArray]) -> NDArray[np.float64]:
        found = self.known.posterior.directions(self.response.maps, values)
        unit = self.response.output_weight * np.sqrt(self.known.spread)
        return np.einsum("nok,o->nk", found, unit, dtype=np.float64)

    def at(self, columns: Sequence[int], values: Sequence[NDArray]) -> NDArray[np.float64]:
        """Return the mean factors (n, k) with columns set to each of n combinations of values."""
        count, each = len(values[0]), len(self.values[0])
        own = [np.tile(column, count) for column in self.values]
        for d, value in zip(columns, values, strict=True):
            own[d] = np.repeat(value, each)
        return self._factors(own).reshape(count, each, -1).mean(axis=1)


def effect_std(response: Response, rows: Rows, d: int, values: NDArray) -> NDArray[np.float64]:
    """Return the standard deviations of a column's effect at some values, as its map reads them."""
    band = Band(response, rows, ROWS)
    return np.linalg.norm(band.at([d], [values]) - band.mean, axis=1)


def interaction_std(
    response: Response, rows: Rows, pair: Sequence[int], values: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Return the standard deviations (n_first, n_second) of the interaction of two columns."""
    band: Any = Band(response, rows, PAIR_ROWS)
    first, second = (band.at([d], [v]) for d, v in zip(pair, values, strict=True))
    counts = [len(v) for v in values]
    both = band.at(pair, [np.repeat(values[0], counts[1]), np.tile(values[1], counts[0])])
    both = both.reshape(*counts, -1) - first[:, None] - second[None] + band.mean
    return np.linalg.norm(both, axis=2)
