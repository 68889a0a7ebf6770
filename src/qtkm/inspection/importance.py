"""Importance of columns and pairs of columns: exact variances from the tables."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..networks.algebra import Diagonal, environments, partial_products
from .response import Response
from .results import Finding
from .support import Rows, square

#: terms of a CPD beyond which second moments are averages over drawn rows, and how many of these
MOST_TERMS, SAMPLES = 400, 1000


@dataclass(repr=False)
class Importances(Finding):
    """Shares of the columns in the variance of the response.

    Attributes
    ----------
    names, response : list of str, str
        Names of the columns and of the response.
    variance : float
        Variance of the response for independent columns.
    first_order : (n_columns,) array
        Share explained by each column alone.
    total : (n_columns,) array
        Share explained by each column alone or with others.
    second_order : (n_columns, n_columns) array
        Share explained by the interaction of each pair; zero on the diagonal.
    """

    names: list[str]
    variance: float
    first_order: NDArray[np.float64]
    total: NDArray[np.float64]
    second_order: NDArray[np.float64]
    response: str

    @property
    def order(self) -> NDArray[np.int64]:
        """Indices of the columns, largest total share first."""
        return np.argsort(-self.total, kind="stable")

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of indices of columns, strongest interaction first."""
        pairs = combinations(range(len(self.names)), 2)
        return sorted(pairs, key=lambda pair: -self.second_order[pair])

    @property
    def interactions(self) -> NDArray[np.float64]:
        """Standard deviation of each pair's interaction, in units of the response."""
        return np.sqrt(self.variance * self.second_order)

    def _table(self) -> dict[str, Any]:
        return {"column": [self.names[d] for d in self.order],
                "first_order": self.first_order[self.order],
                "total": self.total[self.order]}  # fmt: skip


def importances(
    model: Any, X: Any, *, output: Any = None, sample_weight: Any = None
) -> Importances:
    """Compute exact importances of all columns and pairs, without sampling or permutations.

    Parameters
    ----------
    model, output, sample_weight
        As in `main_effects`.
    X : array or frame of shape (n_rows, n_columns)
        Rows that define the distribution of each column, usually those of the fit.

    Returns
    -------
    Importances

    Notes
    -----
    The shares are Sobol's indices [1]_ [2]_ for columns that are independent of each other, each
    distributed as in the rows:

        first_order_d = Var E[f | x_d] / Var f,        total_d = E Var[f | x_{-d}] / Var f,
        second_order_de = Var(E[f | x_d, x_e] - E[f | x_d] - E[f | x_e]) / Var f.

    If columns are correlated, shares describe the model rather than the data.

    Moments of products of independent columns are products of the columns' moments: with
    G_d = E[T_d ⊗ T_d], m_d = E[T_d] and C_d = G_d - m_d ⊗ m_d the variances are closed products
    with C in the place of d, m ⊗ m (first and second order) or G (total) in all others.
    Re f of a complex f has E(Re f)² = ½ E|f|² + ½ Re E f².  The cost is O(n_rows·R²) per column
    for a CPD and O(n_rows·R⁴) for trains and rings.  A CPD with more than 400 terms has too many
    pairs of terms; its total and second-order shares are averages over 1,000 sampled rows of
    independent columns, with relative errors of a few percent.

    References
    ----------
    .. [1] I. M. Sobol, "Sensitivity estimates for nonlinear mathematical models",
       Mathematical Modelling and Computational Experiment 1, 1993.
    .. [2] T. Homma, A. Saltelli, "Importance measures in global sensitivity analysis of
       nonlinear models", Reliability Engineering and System Safety 52, 1996.
    """
    response = Response(model, output)
    rows, algebra = Rows(response, X, sample_weight), response.algebra
    means = rows.column_means()
    first = np.zeros(response.n_columns)
    for d, outer in enumerate(environments(algebra, means, response.closing)):
        distinct, weight = rows.distinct(d)
        own = response.alone(d, distinct, outer)
        own -= own[0]  # so that a column of one value varies by nothing at all
        first[d] = weight @ (own - weight @ own) ** 2
    if isinstance(algebra, Diagonal) and len(response.closing) > MOST_TERMS:
        variance, total, second = _sampled(rows, means)
        total = np.maximum(total, first)  # which only chance lets it fall below
    else:
        halves = [_moments(rows, means, conjugate) for conjugate in (True, False)]
        variance, total, second, network = (sum(h) / 2 for h in zip(*halves, strict=True))
        # main effects beside the network add the same to all variances that a column is in
        variance, total = variance + (first - network).sum(), total + (first - network)
    scale = 1 / variance if variance > 0 else 0.0
    return Importances(
        list(response.names), float(variance), scale * first, scale * total,
        scale * np.maximum(second, 0.0), response.label,
    )  # fmt: skip


def _moments(rows: Rows, means: list[NDArray], conjugate: bool) -> tuple[Any, Any, Any, Any]:
    """Return variance, total, second and first-order variances of (conjugate) f · f.

    Of the network and independent columns, from m ⊗ m and C, the spreads of the columns' tables.
    """
    response, algebra = rows.response, rows.response.algebra
    closing = square(algebra, response.closing[None], None, conjugate)
    squares = [square(algebra, mean[None], None, conjugate) for mean in means]
    spreads, n_columns = [], response.n_columns
    for d, mean in enumerate(means):
        distinct, weight = rows.distinct(d)
        # of centred tables: the difference of two moments would lose digits
        spreads.append(square(algebra, response.table(d, distinct) - mean, weight, conjugate))
    both = [m + c for m, c in zip(squares, spreads, strict=True)]  # G

    def closed(outer: list[NDArray]) -> NDArray[np.float64]:
        """Return the closed products with C in one place."""
        return np.array([np.sum(c * o).real for c, o in zip(spreads, outer, strict=True)])

    total = closed(environments(algebra, both, closing))
    before, after = partial_products(algebra, squares, closing)
    before_both, _ = partial_products(algebra, both, closing)
    first = closed([algebra.join(a, b) for b, a in zip(before, after, strict=True)])
    # ΠG - Πm⊗m, as a sum over the last column that varies: no difference is taken
    variance = closed([algebra.join(a, b) for b, a in zip(before_both, after, strict=True)]).sum()
    second = np.zeros((n_columns, n_columns))
    for d in range(n_columns):
        state = algebra.multiply(before[d], spreads[d])
        for e in range(d + 1, n_columns):
            second[d, e] = second[e, d] = np.sum(spreads[e] * algebra.join(after[e], state)).real
            state = algebra.multiply(state, squares[e])
    return variance, total, second, first


def _sampled(rows: Rows, means: list[NDArray]) -> tuple[Any, Any, Any]:
    """Return variance, total and second-order variances from drawn rows, for many terms."""
    response, rng, p = rows.response, np.random.default_rng(0), rows.weight / rows.weight.sum()
    drawn = [[v[rng.choice(len(p), SAMPLES, p=p)] for v in rows.values] for _ in range(2)]
    n_columns, f = response.n_columns, []
    around = {
        pair: np.prod([m for c, m in enumerate(means) if c not in pair], axis=0) * response.closing
        for pair in combinations(range(n_columns), 2)
    }
    total, second = np.zeros(n_columns), np.zeros((n_columns, n_columns))
    for (part, tables), (_, others) in zip(*map(response.blocks, drawn), strict=True):
        mains = [[response.main(d, v[part]) for d, v in enumerate(values)] for values in drawn]
        outer = environments(response.algebra, tables, response.closing)
        f.append(np.sum(mains[0], axis=0) + (tables[0] * outer[0]).sum(axis=1).real)
        for d in range(n_columns):
            change = ((others[d] - tables[d]) * outer[d]).sum(axis=1).real
            total[d] += ((change + mains[1][d] - mains[0][d]) ** 2).sum() / 2
        moved = [table - mean for table, mean in zip(tables, means, strict=True)]
        for (d, e), rest in around.items():
            second[d, e] += (((moved[d] * moved[e]) @ rest).real ** 2).sum()
    return np.var(np.concatenate(f)), total / SAMPLES, (second + second.T) / SAMPLES
