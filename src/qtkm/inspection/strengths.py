"""Friedman's H: how strongly pairs of columns interact in the rows as they are."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .means import mean_environments, mean_pairs
from .response import Response, Rows
from .results import Result, largest


@dataclass(repr=False)
class InteractionStrengths(Result):
    """Strengths of the interactions of all pairs of columns.

    Attributes
    ----------
    names : list of str
    h : (n_columns, n_columns) array
        Friedman's H between 0 and about 1; zero on the diagonal, and for a column that is the
        same in all rows.
    size : (n_columns, n_columns) array
        Root mean square of the interaction over the rows, in units of the response: a pair
        that does next to nothing may well have a large H.
    response : str
        What the response is called.
    """

    names: list[str]
    h: NDArray[np.float64]
    size: NDArray[np.float64]
    response: str

    def _gist(self) -> str:
        pairs = list(combinations(range(len(self.names)), 2))
        names = [f"{self.names[d]} × {self.names[e]}" for d, e in pairs]
        sizes = np.array([self.size[pair] for pair in pairs])
        return f"sizes: {largest(names, sizes)}" if pairs else "one column"


def interaction_strengths(
    model: Any, X: Any, *, output: Any = None, sample_weight: Any = None
) -> InteractionStrengths:
    """Friedman's H of all pairs of columns, by two passes over the rows.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        A fitted one whose network is a CPD, a train or a ring.
    X : array or frame of shape (n_rows, n_columns)
        Rows to average over, as a rule those of the fit.
    output : int or class, optional
        Which output of a regressor with several, or the decision for which class; of two
        classes it is the second one, and the first turns the sign.
    sample_weight : array of shape (n_rows,), optional

    Returns
    -------
    InteractionStrengths

    Notes
    -----
    With partial dependences PD less their means over the rows [1]_,

        H_de² = Σ_n (PD_de - PD_d - PD_e)² / Σ_n PD_de²,    all at the values of row n.

    Computed the usual way this takes n_rows² predictions for a pair; from the tables of a CPD,
    O(n_rows·R) sums.  For trains and rings it is O(n_rows·R⁴).

    References
    ----------
    .. [1] J. H. Friedman, B. E. Popescu, "Predictive learning via rule ensembles", Annals of
       Applied Statistics 2, 2008, equation 44.
    """
    response = Response(model, output)
    rows, n_columns = response.read(X, sample_weight), response.n_columns
    # a column that is the same in all rows would add rounding, and H a quotient of two such
    varying = [d for d, values in enumerate(rows.values)
               if response.maps[d].n_features > 1 and np.ptp(values) > 0]  # fmt: skip
    pairs = list(combinations(varying, 2))
    both, beyond = _pair_variances(response, rows, pairs)
    h, size = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    for pair, total, rest in zip(pairs, both, beyond, strict=True):
        h[pair] = h[pair[::-1]] = np.sqrt(rest / total) if total > 0 else 0.0
        size[pair] = size[pair[::-1]] = np.sqrt(rest)
    return InteractionStrengths(list(response.names), h, size, response.label)


def _pair_variances(
    response: Response, rows: Rows, pairs: list[tuple[int, int]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Variances over the rows of PD_de, and of PD_de - PD_d - PD_e."""
    means, mean = mean_environments(response, rows)
    mean -= response.offset
    around = mean_pairs(response, rows, pairs)
    moments = np.zeros((4, len(pairs)))
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        flat = [table.reshape(len(weight), -1) for table in tables]
        # less the mean response, so that the moments lose no digits
        alone = [(t @ m.ravel()).real - mean for t, m in zip(flat, means, strict=True)]
        for i, (d, e) in enumerate(pairs):
            reach = response.algebra.bridge(tables[d], around[d, e]).reshape(len(weight), -1)
            both = np.sum(reach * flat[e], axis=1).real - mean
            beyond = both - alone[d] - alone[e]
            moments[:, i] += [weight @ v for v in (both, both**2, beyond, beyond**2)]
    both_mean, both_square, beyond_mean, beyond_square = moments
    return (
        np.maximum(both_square - both_mean**2, 0.0),
        np.maximum(beyond_square - beyond_mean**2, 0.0),
    )
