"""Importance of columns and pairs of columns: exact variances from the tables."""

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..networks.algebra import Diagonal, environments, partial_products
from .response import Response
from .results import Finding, largest
from .support import Rows, bridge, square

#: terms of a CPD beyond which second moments are averages over drawn rows, and how many of these
MOST_TERMS, SAMPLES = 400, 1000


@dataclass(repr=False)
class Importances(Finding):
    """Shares of the columns in the variance of the response.

    Attributes
    ----------
    names, response : list of str, str
        Names of the columns and of the response.
    main_variance : (n_columns,) array
        Variance of each main effect over the rows, in squared units of the response.
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
    """Compute exact importances of all columns, without sampling or permutations.

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
    `main_variance` is Var_n PD_d(x_nd), over the rows as they are.  The shares are Sobol's
    indices [1]_ [2]_ for columns that are independent of each other, each distributed as in
    the rows:

        first_order_d = Var E[f | x_d] / Var f,        total_d = E Var[f | x_{-d}] / Var f,
        second_order_de = Var(E[f | x_d, x_e] - E[f | x_d] - E[f | x_e]) / Var f.

    Moments of products of independent columns are products of the columns' moments: with
    G_d = E[T_d ⊗ T_d], m_d = E[T_d] and C_d = G_d - m_d ⊗ m_d the variances are closed products
    with C in the place of d, m ⊗ m (first and second order) or G (total) in all others.
    Re f of a complex f has E(Re f)² = ½ E|f|² + ½ Re E f².  The cost is O(n_rows·R²) per column
    for a CPD and O(n_rows·R⁴) for trains and rings.

    A CPD with more than 400 terms has too many pairs of terms for this; its total and second-order
    shares are averages over 1,000 sampled rows of independent columns, with relative errors of a
    few percent.

    If columns are correlated, shares describe the model rather than the data.

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
    outer = environments(algebra, means, response.closing)
    first = _variances(rows, outer)
    if isinstance(algebra, Diagonal) and len(response.closing) > MOST_TERMS:
        variance, total, second = _sampled(rows, means)
        total = np.maximum(total, first)  # which only chance lets it fall below
    else:
        halves = [_moments(rows, conjugate) for conjugate in (True, False)]
        variance, total, second = (sum(parts) / 2 for parts in zip(*halves, strict=True))
        # main effects beside the network add the same to all variances that a column is in
        added = first - _variances(rows, outer, has_main=False)
        variance, total = variance + added.sum(), total + added
    scale = 1 / variance if variance > 0 else 0.0
    own = _variances(rows, rows.environments()[0])
    return Importances(
        list(response.names), own, float(variance), scale * first, scale * total, scale * second,
        response.label,
    )  # fmt: skip


def _variances(rows: Rows, outer: list[NDArray], has_main: bool = True) -> NDArray[np.float64]:
    """Return the variances of columns' tables times environments, and of their main effects."""
    found = []
    for d, each in enumerate(outer):
        distinct, weight = rows.distinct(d)
        own = rows.response.alone(d, distinct, each)
        own -= 0.0 if has_main else rows.response.main(d, distinct)
        own -= own[0]  # so that a column of one value varies by nothing at all
        found.append(float(weight @ (own - weight @ own) ** 2))
    return np.array(found)


def _moments(rows: Rows, conjugate: bool) -> tuple[Any, Any, Any]:
    """Return variance, total and second-order variances of (conjugate) f · f.

    Of independent columns: from m ⊗ m, the means, and C, the spreads of all columns' tables.
    """
    response, algebra = rows.response, rows.response.algebra
    closing = square(algebra, response.closing[None], None, conjugate)
    means, spreads, n_columns = [], [], response.n_columns
    for d in range(n_columns):
        distinct, weight = rows.distinct(d)
        table = response.table(d, distinct)
        # from the first entry on, so that a column of one value varies by nothing at all, and of
        # centred tables: the difference of two moments would lose digits
        moved = table - table[0]
        shift = np.tensordot(weight, moved, 1)
        means.append(square(algebra, (table[0] + shift)[None], None, conjugate))
        spreads.append(square(algebra, moved - shift, weight, conjugate))
    both = [m + c for m, c in zip(means, spreads, strict=True)]  # G
    outer = environments(algebra, both, closing)
    total = np.array([np.sum(c * o).real for c, o in zip(spreads, outer, strict=True)])
    before, after = partial_products(algebra, means, closing)
    before_both, _ = partial_products(algebra, both, closing)
    # ΠG - Πm⊗m, as a sum over the last column that varies: no difference is taken
    variance = sum(
        float(np.sum(c * algebra.join(b, a)).real)
        for a, b, c in zip(before_both, after, spreads, strict=True)
    )
    second = np.zeros((n_columns, n_columns))
    for d in range(n_columns):
        state = algebra.multiply(before[d], spreads[d])
        for e in range(d + 1, n_columns):
            second[d, e] = second[e, d] = np.sum(spreads[e] * algebra.join(after[e], state)).real
            state = algebra.multiply(state, means[e])
    return variance, total, second


def _sampled(rows: Rows, means: list[NDArray]) -> tuple[Any, Any, Any]:
    """Return what `_moments` does from drawn rows, for a CPD of many terms."""
    response, rng = rows.response, np.random.default_rng(0)
    n_columns, p = response.n_columns, rows.weight / rows.weight.sum()
    drawn = [[v[rng.choice(len(p), SAMPLES, p=p)] for v in rows.values] for _ in range(2)]
    around = {
        pair: np.prod([m for c, m in enumerate(means) if c not in pair], axis=0) * response.closing
        for pair in combinations(range(n_columns), 2)
    }
    sums, total = np.zeros(2), np.zeros(n_columns)
    second = np.zeros((n_columns, n_columns))
    for (part, tables), (_, others) in zip(*map(response.blocks, drawn), strict=True):
        mains = [[response.main(d, v[part]) for d, v in enumerate(values)] for values in drawn]
        env = environments(response.algebra, tables, response.closing)
        moved = [table - mean for table, mean in zip(tables, means, strict=True)]
        f = np.sum(mains[0], axis=0) - rows.main_means.sum()
        f += (tables[0] * env[0]).sum(axis=1).real
        sums += f.sum(), (f**2).sum()
        for d in range(n_columns):
            change = ((others[d] - tables[d]) * env[d]).sum(axis=1).real
            total[d] += ((change + mains[1][d] - mains[0][d]) ** 2).sum() / 2
        for (d, e), rest in around.items():
            both = np.einsum("nr,nr,r->n", moved[d], moved[e], rest).real
            second[d, e] += (both**2).sum()
    variance = sums[1] / SAMPLES - (sums[0] / SAMPLES) ** 2
    return float(variance), total / SAMPLES, (second + second.T) / SAMPLES


@dataclass(repr=False)
class InteractionStrengths(Finding):
    """Strengths of the interactions of all pairs of columns.

    Attributes
    ----------
    names, response : list of str, str
        Names of the columns and of the response.
    h : (n_columns, n_columns) array
        Friedman's H between 0 and about 1; zero on the diagonal, and for constant columns.
    size : (n_columns, n_columns) array
        Root mean square of the interaction over the rows, in units of the response. A pair with
        hardly any effect may have a large H.
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
    """Compute Friedman's H of all pairs of columns in two passes over the rows.

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

    Computed naively, this takes n_rows² predictions per pair; from the tables of a CPD,
    O(n_rows·R) operations, and O(n_rows·R⁴) for trains and rings.

    References
    ----------
    .. [1] J. H. Friedman, B. E. Popescu, "Predictive learning via rule ensembles", Annals of
       Applied Statistics 2, 2008, equation 44.
    """
    response = Response(model, output)
    rows, n_columns = Rows(response, X, sample_weight), response.n_columns
    # a column that is the same in all rows would add rounding, and H a quotient of two such
    varying = [d for d, values in enumerate(rows.values)
               if response.maps[d].n_features > 1 and len(np.unique(values)) > 1]  # fmt: skip
    pairs = list(combinations(varying, 2))
    h, size = np.zeros((n_columns, n_columns)), np.zeros((n_columns, n_columns))
    for pair, total, rest in zip(pairs, *_pair_variances(rows, pairs), strict=True):
        h[pair] = h[pair[::-1]] = np.sqrt(rest / total) if total > 0 else 0.0
        size[pair] = size[pair[::-1]] = np.sqrt(rest)
    return InteractionStrengths(list(response.names), h, size, response.label)


def _pair_variances(rows: Rows, pairs: list[tuple[int, int]]) -> NDArray[np.float64]:
    """Return the variances over the rows of PD_de, and of PD_de - PD_d - PD_e."""
    response, (means, mean) = rows.response, rows.environments()
    mean -= response.offset + float(rows.main_means.sum())
    around, moments = rows.pairs(pairs), np.zeros((4, len(pairs)))
    for part, tables in rows.blocks():
        weight = rows.weight[part]
        flat = [table.reshape(len(weight), -1) for table in tables]
        # less the mean response, so that the moments lose no digits
        alone = [(t @ m.ravel()).real - mean for t, m in zip(flat, means, strict=True)]
        main = [response.main(d, values[part]) - rows.main_means[d]
                for d, values in enumerate(rows.values)]  # fmt: skip
        for i, (d, e) in enumerate(pairs):
            both = np.sum(bridge(tables[d], around[d, e]) * flat[e], axis=1).real - mean
            beyond = both - alone[d] - alone[e]
            both = both + main[d] + main[e]
            moments[:, i] += [weight @ v for v in (both, both**2, beyond, beyond**2)]
    return np.maximum(moments[1::2] - moments[::2] ** 2, 0.0)
