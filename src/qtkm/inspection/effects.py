"""Exact main effects and interactions: partial dependence without a pass for every value.

The response is a sum of products of the columns' tables, so its mean over the rows with one
column held is the table of that column times the mean of what all others contribute.  One
pass over the rows gives this mean for every column, and any number of values then costs nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algebra import environments, partial_products
from .response import Response, Rows


@dataclass
class MainEffect:
    """How the mean response depends on one column.

    Attributes
    ----------
    name : str
        The column.
    values : (n_grid,) array
        Its values: numbers, or categories.
    partial_dependence : (n_grid,) array
        Mean response over the rows, with the column set to each value.
    mean : float
        Mean response over the rows.
    deciles : (9,) array or None
        Deciles of the column's numbers in the rows, all of weight 1; None for categories.
    response : str
        What the response is called.
    """

    name: str
    values: NDArray
    partial_dependence: NDArray[np.float64]
    mean: float
    deciles: NDArray[np.float64] | None
    response: str

    @property
    def effect(self) -> NDArray[np.float64]:
        """Partial dependence above the mean response."""
        return self.partial_dependence - self.mean


@dataclass
class Interaction:
    """What two columns do together beyond what each does alone.

    Attributes
    ----------
    names : (str, str)
    values : (array, array)
        Values of the two columns.
    partial_dependence : (n_first, n_second) array
        Mean response over the rows, with both columns set.
    alone : (array, array)
        Partial dependence on each of the two.
    mean : float
        Mean response over the rows.
    response : str
        What the response is called.
    """

    names: tuple[str, str]
    values: tuple[NDArray, NDArray]
    partial_dependence: NDArray[np.float64]
    alone: tuple[NDArray[np.float64], NDArray[np.float64]]
    mean: float
    response: str

    @property
    def effect(self) -> NDArray[np.float64]:
        """Interaction: PD_de - PD_d - PD_e + mean."""
        first, second = self.alone
        return self.partial_dependence - first[:, None] - second[None, :] + self.mean


def main_effects(
    model: Any,
    X: Any,
    columns: Any = None,
    *,
    grid: Mapping[Any, Any] | None = None,
    n_grid: int = 100,
    output: Any = None,
    sample_weight: Any = None,
) -> list[MainEffect]:
    """Exact main effects of columns, by one pass over the rows for all of them.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        A fitted one whose network is a CPD, a train or a ring. The response of a classifier
        is its decision function.
    X : array or frame of shape (n_rows, n_columns)
        Rows to average over, as a rule those of the fit.
    columns : a name or number, a sequence of these, or None
        Which columns; None is all of them.
    grid : dict, optional
        Values to look at, by column. Those of the other columns are all categories, all
        distinct numbers if there are no more than `n_grid`, and else equal steps.
    n_grid : int, default=100
    output : int or class, optional
        Which output of a regressor with several, or which of more than two classes.
    sample_weight : array of shape (n_rows,), optional

    Returns
    -------
    list of MainEffect

    Notes
    -----
    PD_d(x) = Σ_n ω_n f(x_n with column d set to x) / Σ ω_n, which for a CPD is
    Re Σ_r T_d(x)_r · mean over n of Π_{e≠d} T_e(x_ne)_r.  These are the numbers that
    ``sklearn.inspection.partial_dependence(method="brute")`` finds by n_grid predictions of
    all rows [1]_.

    References
    ----------
    .. [1] J. H. Friedman, "Greedy function approximation: a gradient boosting machine",
       Annals of Statistics 29, 2001, section 8.2.
    """
    response = Response(model, output)
    chosen, grids = response.columns(columns), _grids(response, grid)
    rows = response.read(X, sample_weight)
    means, mean = mean_environments(response, rows)
    effects = []
    for d in chosen:
        values = grids.get(d, response.grid(d, n_grid, rows.arrays[d]))
        dependence = one_way(response, d, response.values(d, values), means[d])
        deciles = None
        if not response.is_categorical(d):
            deciles = np.quantile(rows.arrays[d], np.arange(0.1, 0.95, 0.1))
        name = response.names[d]
        effects.append(MainEffect(name, values, dependence, mean, deciles, response.label))
    return effects


def interaction(
    model: Any,
    X: Any,
    columns: Sequence[Any],
    *,
    grid: Mapping[Any, Any] | None = None,
    n_grid: int = 50,
    output: Any = None,
    sample_weight: Any = None,
) -> Interaction:
    """Exact interaction of two columns, by one pass over the rows.

    Parameters
    ----------
    model, X, grid, n_grid, output, sample_weight
        As in `main_effects`.
    columns : (name or number, name or number)

    Returns
    -------
    Interaction
    """
    response = Response(model, output)
    first, second = check_pair(response, columns)
    grids, rows = _grids(response, grid), response.read(X, sample_weight)
    means, mean = mean_environments(response, rows)
    values = [grids.get(d, response.grid(d, n_grid, rows.arrays[d])) for d in (first, second)]
    units = [response.values(d, v) for d, v in zip((first, second), values, strict=True)]
    alone = [one_way(response, d, u, means[d]) for d, u in zip((first, second), units, strict=True)]
    both = two_way(response, rows, (first, second), units)
    return Interaction(
        (response.names[first], response.names[second]),
        (values[0], values[1]),
        both,
        (alone[0], alone[1]),
        mean,
        response.label,
    )


# -- means over rows --------------------------------------------------------------------------


def mean_environments(response: Response, rows: Rows) -> tuple[list[NDArray], float]:
    """Weighted mean of what all other columns contribute, for every column; mean response."""
    totals: list[Any] = [0.0] * response.n_columns
    mean = response.offset
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        outer = environments(response.algebra, tables, response.closing)
        for d, table in enumerate(tables):
            totals[d] = totals[d] + np.tensordot(weight, np.broadcast_to(outer[d], table.shape), 1)
        own = (tables[0] * outer[0]).reshape(len(weight), -1).sum(axis=1)
        mean += float(weight @ own.real)
    return totals, mean


def mean_pairs(
    response: Response, rows: Rows, pairs: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], NDArray]:
    """Weighted mean of what all but two columns contribute, for pairs (d, e) with d < e."""
    algebra, wanted = response.algebra, set(pairs)
    totals: dict[tuple[int, int], Any] = dict.fromkeys(pairs, 0.0)
    for part, tables in response.blocks(rows):
        before, after = partial_products(algebra, tables, response.closing)
        for d in {d for d, _ in pairs}:
            # one of the element's kind, so that the middle of neighbours is the identity
            middle = algebra.first(tables[d + 1])
            for e in range(d + 1, response.n_columns):
                if (d, e) in wanted:
                    outer = algebra.multiply(after[e], before[d])
                    totals[d, e] = totals[d, e] + algebra.sum_pair(middle, outer, rows.weight[part])
                middle = algebra.multiply(middle, tables[e])
    return totals


def one_way(response: Response, d: int, values: NDArray, mean: NDArray) -> NDArray[np.float64]:
    """Partial dependence on one column, from its mean environment."""
    table = response.table(d, values)
    return response.offset + (table.reshape(len(table), -1) @ mean.ravel()).real


def two_way(
    response: Response, rows: Rows, pair: tuple[int, int], values: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Partial dependence on two columns at all pairs of their values."""
    first, second = pair
    if first > second:
        return two_way(response, rows, (second, first), values[::-1]).T
    mean = mean_pairs(response, rows, [pair])[pair]
    reach = response.algebra.bridge(response.table(first, values[0]), mean)
    table = response.table(second, values[1])
    product = reach.reshape(len(reach), -1) @ table.reshape(len(table), -1).T
    return response.offset + product.real


def check_pair(response: Response, columns: Any) -> tuple[int, int]:
    """Numbers of two different columns."""
    chosen = response.columns(columns)
    if len(set(chosen)) != 2 or len(chosen) != 2:
        raise ValueError(f"columns={columns!r} must be two different columns, such as (0, 1).")
    return chosen[0], chosen[1]


def _grids(response: Response, grid: Mapping[Any, Any] | None) -> dict[int, NDArray]:
    return {response.column(column): np.asarray(v) for column, v in (grid or {}).items()}
