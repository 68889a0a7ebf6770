"""Exact effects of columns: partial dependence, interactions, and contributions to a prediction.

The response is a sum of products of the columns' tables.  One pass over the rows computes the mean
of what all others contribute to each column, after which more values are almost free.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..networks.algebra import closed_product, environments
from .response import Response, find_column
from .results import Finding
from .support import NEAR, Range, Rows, count_near, inner_range, shown_range, steps

#: effects below this part of the response are rounding
ROUNDING = 1e-12
#: rows that standard deviations of effects are averaged over, for one column and for two, and
#: values that are looked at together: for each row and value there are thousands of numbers
ROWS, PAIR_ROWS, VALUES = 32, 12, 256


@dataclass(repr=False)
class MainEffect(Finding):
    """Dependence of the mean response on one column.

    Attributes
    ----------
    name, response : str
        Names of the column and of the response.
    values : (n_grid,) array
        Values of the column: numbers, times, or categories.
    partial_dependence : (n_grid,) array
        Mean response over the rows, with the column set to each value.
    mean : float
        Mean response over the rows.
    deciles : (9,) array or None
        Unweighted deciles of the column's numbers in the rows; None for categories.
    inner : (float, float) or None
        Range of all but the outermost hundredth of the rows on either side, or of all rows of at
        most twelve distinct numbers; None for categories.
    support : (n_grid,) array
        Number of rows near each value, or the sum of their weights: of its category, or within
        a twentieth of the column's range, which for heavy tails is that of `inner`.
    missing : float or None
        Mean response with the column missing; None if no value was missing in the fit.
    std : (n_grid,) array or None
        Posterior standard deviation of the effect; only with ``std=True``.
    """

    name: str
    values: NDArray
    partial_dependence: NDArray[np.float64]
    mean: float
    deciles: NDArray[np.float64] | None
    response: str
    inner: Range | None
    support: NDArray[np.float64]
    missing: float | None = None
    std: NDArray[np.float64] | None = None

    @property
    def effect(self) -> NDArray[np.float64]:
        """Partial dependence minus the mean response."""
        return self.partial_dependence - self.mean

    @property
    def is_supported(self) -> NDArray[np.bool_]:
        """Whether each value is near rows and not outermost; other effects are guesses."""
        supported = self.support > 0
        if self.inner is not None:
            supported &= (self.values >= self.inner[0]) & (self.values <= self.inner[1])
        return supported

    def _table(self) -> dict[str, Any]:
        return {"column": self.name, "value": self.values, "effect": self.effect,
                "partial_dependence": self.partial_dependence, "support": self.support,
                "std": self.std}  # fmt: skip


@dataclass(repr=False)
class Interaction(Finding):
    """Joint effect of two columns beyond their main effects.

    Attributes
    ----------
    names, response : (str, str), str
        Names of the columns and of the response.
    values : (array, array)
        Values of the two columns.
    partial_dependence : (n_first, n_second) array
        Mean response over the rows, with both columns set.
    alone : (array, array)
        Partial dependence on each column.
    mean : float
        Mean response over the rows.
    inner, support, std : pairs, (n_first, n_second) array, (n_first, n_second) array
        Of both columns or each pair of values, as in `MainEffect`.
    """

    names: tuple[str, str]
    values: tuple[NDArray, NDArray]
    partial_dependence: NDArray[np.float64]
    alone: tuple[NDArray[np.float64], NDArray[np.float64]]
    mean: float
    response: str
    inner: tuple[Range | None, Range | None]
    support: NDArray[np.float64]
    std: NDArray[np.float64] | None = None

    @property
    def effect(self) -> NDArray[np.float64]:
        """Interaction: PD_de - PD_d - PD_e + mean."""
        first, second = self.alone
        return self.partial_dependence - first[:, None] - second[None, :] + self.mean

    @property
    def is_supported(self) -> NDArray[np.bool_]:
        """Whether each pair of values is near rows; other effects are guesses."""
        return self.support > 0

    def _table(self) -> dict[str, Any]:
        first, second = self.values
        found = {"effect": self.effect.ravel(),
                 "partial_dependence": self.partial_dependence.ravel(),
                 "support": self.support.ravel(),
                 "std": None if self.std is None else self.std.ravel()}  # fmt: skip
        names = [f"column {name}" if name in found else name for name in self.names]
        values = np.repeat(first, len(second)), np.tile(second, len(first))
        return dict(zip(names, values, strict=True)) | found


def main_effects(
    model: Any, X: Any, columns: Any = None, *, grid: Mapping[Any, Any] | None = None,
    n_grid: int = 100, output: Any = None, sample_weight: Any = None, std: bool = False,
) -> list[MainEffect]:  # fmt: skip
    """Compute exact main effects of columns in one pass over the rows.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        Fitted model whose network is a CPD, a train or a ring. The response of a classifier is
        its decision function.
    X : array or frame of shape (n_rows, n_columns)
        Rows to average over, usually those of the fit.
    columns : a name or index, a sequence of these, or None
        Columns to compute; None is all of them.
    grid : dict, optional
        Values to evaluate, by column; numbers are sorted. By default all categories, all
        distinct numbers if there are at most `n_grid`, and otherwise equal steps. If heavy tails
        take more than two thirds of a range, half of the steps exclude them.
    n_grid : int, default=100
    output : int or class, optional
        Output of a regressor with several, or class of a classifier; of two classes, the second
        is the default, and the first reverses the sign.
    sample_weight : array of shape (n_rows,), optional
    std : bool, default=False
        Whether to compute standard deviations of the effects.

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
    chosen, grids = response.find(columns), _by_number(response, grid)
    rows = Rows(response, X, sample_weight)
    means, mean = rows.environments()
    effects = []
    for d in chosen:
        look, missing = Look(rows, d, grids.get(d), n_grid, means[d]), None
        if response.maps[d].has_gaps:
            missing = float(rows.one_way(d, np.full(1, np.nan), means[d])[0])
        effects.append(MainEffect(
            response.names[d], look.shown, look.dependence, mean, look.deciles, response.label,
            look.inner, count_near([look.near], rows.weight * rows.total), missing,
            effect_std(rows, [d], [look.values]) if std else None,
        ))  # fmt: skip
    return effects


def interaction(
    model: Any, X: Any, columns: Sequence[Any], *, grid: Mapping[Any, Any] | None = None,
    n_grid: int = 50, output: Any = None, sample_weight: Any = None, std: bool = False,
) -> Interaction:  # fmt: skip
    """Compute the exact interaction of two columns in one pass over the rows.

    Parameters
    ----------
    model, X, grid, n_grid, output, sample_weight, std
        As in `main_effects`.
    columns : (name or number, name or number)

    Returns
    -------
    Interaction
    """
    response = Response(model, output)
    pair = response.find(columns)
    if len(set(pair)) != 2 or len(pair) != 2:
        raise ValueError(f"columns={columns!r} must be two different columns, such as (0, 1).")
    grids, rows = _by_number(response, grid), Rows(response, X, sample_weight)
    means, mean = rows.environments()
    first, second = (Look(rows, d, grids.get(d), n_grid, means[d]) for d in pair)
    values = [first.values, second.values]
    return Interaction(
        (response.names[pair[0]], response.names[pair[1]]), (first.shown, second.shown),
        rows.two_way(pair, values), (first.dependence, second.dependence), mean,
        response.label, (first.inner, second.inner),
        count_near([first.near, second.near], rows.weight * rows.total),
        effect_std(rows, pair, values) if std else None,
    )  # fmt: skip


def is_rounding(effect: float, dependence: NDArray) -> bool:
    """Return True if an effect is no larger than rounding errors of the response."""
    return bool(effect <= ROUNDING * np.abs(dependence).max())


def _by_number(response: Response, grid: Mapping[Any, Any] | None) -> dict[int, Any]:
    return {find_column(response.names, column): given for column, given in (grid or {}).items()}


class Look:
    """Values of a column to evaluate: raw, as its map reads them, and their support."""

    def __init__(self, rows: Rows, d: int, given: Any, n_grid: int, mean: NDArray):
        response = rows.response
        self.inner: Any = None
        self.deciles: Any = None
        if response.is_categorical[d]:
            self.shown = response.categories(d) if given is None else np.asarray(given)
            self.values = response.values(d, self.shown)
            self.near = self.values, rows.values[d], 0.0
        else:
            known, inner = rows.known(d)[0], inner_range(*rows.known(d))
            numbers = np.unique(known).astype(np.float64)
            if given is not None:
                numbers = np.sort(response.numbers(d, given))
            elif len(numbers) > n_grid:
                numbers = steps(numbers, inner, n_grid)
            self.shown, self.values = response.raw(d, numbers), response.values(d, numbers)
            self.inner = tuple(response.raw(d, np.array(inner)))
            self.deciles = response.raw(d, np.quantile(known, np.arange(0.1, 0.95, 0.1)))
            self.near = numbers, rows.arrays[d], NEAR * np.ptp(shown_range(known, inner, 0.0))
        self.dependence = rows.one_way(d, self.values, mean)


def effect_std(
    rows: Rows, columns: Sequence[int], values: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Return standard deviations of the effect of a column, or of the interaction of two.

    A mean of responses has the mean of their factors, which vary little over the rows: a few are
    enough.
    """
    response, n_rows = rows.response, len(rows.weight)
    known = response.model._known_uncertainty()
    count = min(ROWS if len(columns) == 1 else PAIR_ROWS, n_rows)
    chosen = np.random.RandomState(0).choice(n_rows, count, False, rows.weight)
    unit = response.output_weight * np.sqrt(known.spread)

    def factors(columns: Sequence[int], values: Sequence[NDArray]) -> NDArray[np.float64]:
        """Return the mean factors (n, k) with columns set to each of n combinations of values."""
        parts = []
        for start in range(0, len(values[0]) if values else 1, VALUES):
            some = [value[start : start + VALUES] for value in values]
            n = len(some[0]) if some else 1
            own = [np.tile(column[chosen], n) for column in rows.values]
            for d, value in zip(columns, some, strict=True):
                own[d] = np.repeat(value, count)
            found = known.posterior.directions(response.maps, own)
            flat = np.einsum("nok,o->nk", found, unit, dtype=np.float64)
            parts.append(flat.reshape(n, count, -1).mean(axis=1))
        return np.concatenate(parts)

    mean = factors([], [])
    alone = [factors([d], [v]) - mean for d, v in zip(columns, values, strict=True)]
    if len(columns) == 1:
        return np.linalg.norm(alone[0], axis=1)
    first, second = map(len, values)
    both = factors(columns, [np.repeat(values[0], second), np.tile(values[1], first)]) - mean
    both = both.reshape(first, second, -1) - alone[0][:, None] - alone[1]
    return np.linalg.norm(both, axis=2)


@dataclass(repr=False)
class Explanation(Finding):
    """Contributions of the columns to the responses of rows.

    Attributes
    ----------
    names, response : list of str, str
        Names of the columns and of the response.
    values : list of (n_rows,) arrays
        Values of each column in the rows: numbers or categories.
    contributions : (n_rows, n_columns) array
        Shapley value of each column, in units of the response. ``base`` and the contributions
        of a row sum to its prediction.
    prediction : (n_rows,) array
        Responses of the rows: predictions of a regressor without `prediction_margin`, their
        logarithms for a loss with a logarithmic link, decisions or log-odds of a classifier.
    base : float
        Mean response for independent columns, distributed as in the background.
    """

    names: list[str]
    values: list[NDArray]
    contributions: NDArray[np.float64]
    prediction: NDArray[np.float64]
    base: float
    response: str

    def _table(self) -> dict[str, Any]:
        n_rows, n_columns = self.contributions.shape
        return {
            "row": np.repeat(np.arange(n_rows), n_columns),
            "column": self.names * n_rows,
            "value": [values[n] for n in range(n_rows) for values in self.values],
            "contribution": self.contributions.ravel(),
        }


def explain(
    model: Any, X: Any, background: Any, *, output: Any = None, sample_weight: Any = None
) -> Explanation:
    """Explain predictions by exact contributions of the columns.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        Fitted model whose network is a CPD, a train or a ring, or only has main effects.
    X, background : arrays or frames with one column per column of the fit
        Rows to explain, and rows that define the distribution of each column, usually those of
        the fit.
    output : int, str or class, optional
        Output of a regressor with several, or class of a classifier.
    sample_weight : array of shape (n_background,), optional
        Weights of the background.

    Returns
    -------
    Explanation

    Notes
    -----
    Contributions are Shapley values for independent columns: the mean gain of column d over all
    orders in which columns with values T_d(x_d) replace columns with means m_d = E T_d.  As the
    response is linear in every column, it is an integral [1]_

        φ_d = ∫₀¹ (T_d - m_d) · Π_{e≠d} (t·T_e + (1-t)·m_e) dt,

    of a polynomial of degree D-1 in t, which ⌈D/2⌉ nodes of Gauss and Legendre integrate exactly.
    The cost is O(D²·R) per row for a CPD.

    References
    ----------
    .. [1] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
    """
    response = Response(model, output)
    known, rows = Rows(response, background, sample_weight), Rows(response, X)
    means, main_means = known.column_means(), known.main_means
    nodes, weights = np.polynomial.legendre.leggauss((response.n_columns + 1) // 2)
    nodes, weights = (nodes + 1) / 2, weights / 2
    mains = [response.main(d, v) for d, v in enumerate(rows.values)]
    shapley = np.stack(mains, axis=1) - main_means
    for part, tables in rows.blocks():
        moved = [table - mean for table, mean in zip(tables, means, strict=True)]
        for t, weight in zip(nodes, weights, strict=True):
            between = [mean + t * move for mean, move in zip(means, moved, strict=True)]
            outer = environments(response.algebra, between, response.closing)
            for d, (move, other) in enumerate(zip(moved, outer, strict=True)):
                gain = (move * other).reshape(len(move), -1).sum(axis=1).real
                shapley[part, d] += weight * gain
    whole = closed_product(response.algebra, means, response.closing)
    base = response.offset + float(main_means.sum()) + float(whole.real)
    values = [response.raw(d, array) for d, array in enumerate(rows.arrays)]
    return Explanation(
        list(response.names), values, shapley, base + shapley.sum(axis=1), base, response.label
    )
