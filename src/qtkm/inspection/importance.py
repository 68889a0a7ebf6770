"""How much each column, and each pair of columns, matters: exact variances from the tables."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .averages import (
    MOST_VALUES,
    Algebra,
    Diagonal,
    column_means,
    environments,
    mean_environments,
    mean_pairs,
    one_way,
    partial_products,
)
from .response import Response, Rows
from .results import Result, largest

#: terms of a CPD beyond which second moments are averages over drawn rows, and how many of these
MOST_TERMS, SAMPLES = 400, 1000


@dataclass(repr=False)
class Importances(Result):
    """Shares of the columns in the variance of the response.

    Attributes
    ----------
    names : list of str
    main_variance : (n_columns,) array
        Variance of each main effect over the rows, in squared units of the response.
    variance : float
        Variance of the response where the columns are independent.
    first_order : (n_columns,) array
        Share that each column explains alone.
    total : (n_columns,) array
        Share of all that a column has a part in, alone or with others.
    second_order : (n_columns, n_columns) array
        Share that two columns explain together beyond each alone; zero on the diagonal.
    response : str
        What the response is called.
    """

    names: list[str]
    main_variance: NDArray[np.float64]
    variance: float
    first_order: NDArray[np.float64]
    total: NDArray[np.float64]
    second_order: NDArray[np.float64]
    response: str

    def _gist(self) -> str:
        return f"total shares: {largest(self.names, self.total)}"

    def _table(self) -> dict[str, Any]:
        return {"column": self.names, "first_order": self.first_order, "total": self.total,
                "main_variance": self.main_variance}  # fmt: skip


def importances(
    model: Any, X: Any, *, output: Any = None, sample_weight: Any = None
) -> Importances:
    """Exact importances of all columns; nothing is drawn or permuted.

    Parameters
    ----------
    model, output, sample_weight
        As in `main_effects`.
    X : array or frame of shape (n_rows, n_columns)
        Rows that give the distribution of each column, as a rule those of the fit.

    Returns
    -------
    Importances

    Notes
    -----
    `main_variance` is Var_n PD_d(x_nd), over the rows as they are.  The shares are Sobol's
    indices [1]_ [2]_ for columns that are independent of each other, each distributed as in
    the rows:

        first_order_d = Var E[f | x_d] / Var f,        total_d = E Var[f | x_{-d}] / Var f,
        second_order_de = Var(E[f | x_d, x_e] - E[f | x_d] - E[f | x_e]) / Var f.

    Moments of products of independent columns are products of the columns' moments: with
    G_d = E[T_d ⊗ T_d], m_d = E[T_d] and C_d = G_d - m_d ⊗ m_d the variances are closed products
    with C in the place of d, m ⊗ m (first and second order) or G (total) in all others.
    Re f of a complex f has E(Re f)² = ½ E|f|² + ½ Re E f².  The cost is O(n_rows·R²) a column
    for a CPD and O(n_rows·R⁴) for trains and rings.

    A CPD of more than 400 terms has too many pairs of terms for this; its total and second-order
    shares are averages over 1,000 drawn rows of independent columns, good to a few hundredths of
    their size.

    Where columns depend on each other, so do their effects, and a share tells about the model
    and not about the data.

    References
    ----------
    .. [1] I. M. Sobol, "Sensitivity estimates for nonlinear mathematical models",
       Mathematical Modelling and Computational Experiment 1, 1993.
    .. [2] T. Homma, A. Saltelli, "Importance measures in global sensitivity analysis of
       nonlinear models", Reliability Engineering and System Safety 52, 1996.
    """
    response = Response(model, output)
    rows = response.read(X, sample_weight)
    if isinstance(response.algebra, Diagonal) and len(response.closing) > MOST_TERMS:
        variance, first, total, second = _sampled(response, rows)
    else:
        halves = [_Moments(response, rows, conjugate) for conjugate in (True, False)]
        variance, first, total, second = (
            sum(getattr(half, what)() for half in halves) / 2
            for what in ("variance", "first_order", "total", "second_order")
        )
        main = halves[0].main_effects()
        variance, first, total = variance + main.sum(), first + main, total + main
    scale = 1 / variance if variance > 0 else 0.0
    return Importances(
        list(response.names),
        main_variances(response, rows),
        float(variance),
        scale * first,
        scale * total,
        scale * second,
        response.label,
    )


def main_variances(response: Response, rows: Rows) -> NDArray[np.float64]:
    """Variance of every main effect over the rows."""
    means, _ = mean_environments(response, rows)
    result = np.empty(response.n_columns)
    for d, values in enumerate(rows.values):
        distinct, weight = _distinct(values, rows.weight)
        effect = one_way(response, rows, d, distinct, means[d])
        effect -= effect[0]
        result[d] = weight @ (effect - weight @ effect) ** 2
    return result


def _sampled(response: Response, rows: Rows) -> tuple[float, NDArray, NDArray, NDArray]:
    """Return variance, first-order, total and second-order variances of a CPD of many terms.

    First-order ones are exact; other squares are averaged over drawn rows of independent columns.
    """
    rng, n_columns = np.random.default_rng(0), response.n_columns
    p = rows.weight / rows.weight.sum()
    drawn = [
        Rows([], [v[rng.choice(len(p), SAMPLES, p=p)] for v in rows.values],
             np.full(SAMPLES, 1 / SAMPLES), SAMPLES)
        for _ in range(2)
    ]  # fmt: skip
    means, main_means = column_means(response, rows), response.main_means(rows)
    outer = environments(response.algebra, means, response.closing)
    pairs = list(combinations(range(n_columns), 2))
    around = [
        np.prod([m for c, m in enumerate(means) if c not in pair], axis=0) * response.closing
        for pair in pairs
    ]
    first = np.array([_alone(response, rows, d, outer[d]) for d in range(n_columns)])
    sums, total = np.zeros(2), np.zeros(n_columns)
    second = np.zeros((n_columns, n_columns))
    for (part, tables), (_, others) in zip(*map(response.blocks, drawn), strict=True):
        mains = [[response.main(d, v[part]) for d, v in enumerate(r.values)] for r in drawn]
        env = environments(response.algebra, tables, response.closing)
        moved = [table - mean for table, mean in zip(tables, means, strict=True)]
        f = np.sum(mains[0], axis=0) - main_means.sum() + (tables[0] * env[0]).sum(axis=1).real
        sums += f.sum(), (f**2).sum()
        for d in range(n_columns):
            change = ((others[d] - tables[d]) * env[d]).sum(axis=1).real
            total[d] += ((change + mains[1][d] - mains[0][d]) ** 2).sum() / 2
        for (d, e), rest in zip(pairs, around, strict=True):
            both = np.einsum("nr,nr,r->n", moved[d], moved[e], rest).real
            second[d, e] += (both**2).sum()
    variance = sums[1] / SAMPLES - (sums[0] / SAMPLES) ** 2
    total = np.maximum(total / SAMPLES, first)  # which only chance lets it fall below
    return float(variance), first, total, (second + second.T) / SAMPLES


def _alone(response: Response, rows: Rows, d: int, outer: NDArray) -> float:
    """Return the variance of the mean response given one column, all others independent."""
    distinct, weight = _distinct(rows.values[d], rows.weight)
    own = response.main(d, distinct)
    for first in range(0, len(distinct), MOST_VALUES):
        part = slice(first, first + MOST_VALUES)
        own[part] += (response.table(d, distinct[part]) @ outer).real
    return float(weight @ (own - weight @ own) ** 2)


class _Moments:
    """Second moments of all columns' tables, as if the columns were independent."""

    def __init__(self, response: Response, rows: Rows, conjugate: bool):
        self.algebra: Algebra = response.algebra
        one = np.ones(1)
        self.closing = self.algebra.square(response.closing[None], one, conjugate)
        self.means: list[NDArray] = []  # m ⊗ m
        self.spreads: list[NDArray] = []  # C
        centers: list[NDArray] = []
        for d, values in enumerate(rows.values):
            distinct, weight = _distinct(values, rows.weight)
            table = response.table(d, distinct)
            # from the first entry on, so that a column of one value varies by nothing at all
            moved = table - table[0]
            shift = np.tensordot(weight, moved, 1)
            # of centred tables: the difference of two moments would lose digits
            centers.append(table[0] + shift)
            self.means.append(self.algebra.square(centers[-1][None], one, conjugate))
            self.spreads.append(self.algebra.square(moved - shift, weight, conjugate))
        self.response, self.rows = response, rows
        self.outer = environments(self.algebra, centers, response.closing)
        self.seconds = [m + c for m, c in zip(self.means, self.spreads, strict=True)]  # G

    def _with_spread(self, others: Sequence[NDArray]) -> NDArray[np.float64]:
        outer = environments(self.algebra, others, self.closing)
        return np.array([np.sum(c * o).real for c, o in zip(self.spreads, outer, strict=True)])

    def first_order(self) -> NDArray[np.float64]:
        return self._with_spread(self.means)

    def total(self) -> NDArray[np.float64]:
        return self._with_spread(self.seconds)

    def variance(self) -> float:
        """ΠG - Πm⊗m, as a sum over the last column that varies: no difference is taken."""
        before, _ = partial_products(self.algebra, self.seconds, self.closing)
        _, after = partial_products(self.algebra, self.means, self.closing)
        return sum(
            float(np.sum(c * self.algebra.join(b, a)).real)
            for a, b, c in zip(before, after, self.spreads, strict=True)
        )

    def main_effects(self) -> NDArray[np.float64]:
        """Var h_d + 2 Cov(h_d, E[network | x_d]): what a main effect h_d adds to all variances."""
        added = np.zeros(len(self.means))
        for d, values in enumerate(self.rows.values):
            distinct, weight = _distinct(values, self.rows.weight)
            main = self.response.main(d, distinct)
            main = main - main[0]
            if main.any():
                main -= weight @ main
                table = self.response.table(d, distinct)
                alone = (table.reshape(len(table), -1) @ self.outer[d].ravel()).real
                added[d] = weight @ (main * (main + 2 * (alone - weight @ alone)))
        return added

    def second_order(self) -> NDArray[np.float64]:
        algebra, n_columns = self.algebra, len(self.means)
        before, after = partial_products(algebra, self.means, self.closing)
        result = np.zeros((n_columns, n_columns))
        for d in range(n_columns):
            state = algebra.multiply(before[d], self.spreads[d])
            for e in range(d + 1, n_columns):
                outer = algebra.join(after[e], state)
                result[d, e] = result[e, d] = np.sum(self.spreads[e] * outer).real
                state = algebra.multiply(state, self.means[e])
        return result


def _distinct(values: NDArray, weight: NDArray) -> tuple[NDArray, NDArray]:
    """Distinct values of a column and the weight of each."""
    distinct, inverse = np.unique(values, return_inverse=True)
    return distinct, np.bincount(inverse, weights=weight)


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

    def _table(self) -> dict[str, Any]:
        pairs = np.triu_indices(len(self.names), 1)
        names = np.array(self.names, dtype=object)
        return {"first": names[pairs[0]], "second": names[pairs[1]], "size": self.size[pairs],
                "h": self.h[pairs]}  # fmt: skip


def interaction_strengths(
    model: Any, X: Any, *, output: Any = None, sample_weight: Any = None
) -> InteractionStrengths:
    """Friedman's H of all pairs of columns, by two passes over the rows.

    Parameters
    ----------
    model, X, output, sample_weight
        As in `main_effects`.

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
               if response.maps[d].n_features > 1 and len(np.unique(values)) > 1]  # fmt: skip
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
    main_means = response.main_means(rows)
    mean -= response.offset + float(main_means.sum())
    around = mean_pairs(response, rows, pairs)
    moments = np.zeros((4, len(pairs)))
    for part, tables in response.blocks(rows):
        weight = rows.weight[part]
        flat = [table.reshape(len(weight), -1) for table in tables]
        # less the mean response, so that the moments lose no digits
        alone = [(t @ m.ravel()).real - mean for t, m in zip(flat, means, strict=True)]
        main = [response.main(d, values[part]) - main_means[d]
                for d, values in enumerate(rows.values)]  # fmt: skip
        for i, (d, e) in enumerate(pairs):
            reach = response.algebra.bridge(tables[d], around[d, e]).reshape(len(weight), -1)
            both = np.sum(reach * flat[e], axis=1).real - mean
            beyond = both - alone[d] - alone[e]
            both = both + main[d] + main[e]
            moments[:, i] += [weight @ v for v in (both, both**2, beyond, beyond**2)]
    both_mean, both_square, beyond_mean, beyond_square = moments
    return (
        np.maximum(both_square - both_mean**2, 0.0),
        np.maximum(beyond_square - beyond_mean**2, 0.0),
    )
