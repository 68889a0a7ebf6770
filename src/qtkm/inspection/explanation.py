"""Why a row has its prediction: exact contributions of its columns, from the tables.

With all columns independent, the mean response given some columns S of a row x is a closed
product with T_d(x_d) for the columns in S and the mean m_d = E T_d for the others.  The Shapley
value of column d, its mean gain over all orders in which columns may be made known, would take
2^D such products; as the response is linear in every column it is an integral [1]_,

    φ_d = ∫₀¹ (T_d - m_d) · Π_{e≠d} (t·T_e + (1-t)·m_e) dt,

of a polynomial of degree D-1 in t, which ⌈D/2⌉ nodes of Gauss and Legendre integrate exactly.

References
----------
.. [1] G. Owen, "Multilinear extensions of games", Management Science 18, 1972.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..networks.algebra import closed_product, environments
from .response import Response
from .results import Finding, largest
from .rows import Rows


@dataclass(repr=False)
class Explanation(Finding):
    """Contributions of the columns to the responses of rows.

    Attributes
    ----------
    names : list of str
    values : list of (n_rows,) arrays
        Values of every column in the rows: numbers or categories.
    contributions : (n_rows, n_columns) array
        Shapley value of each column, in units of the response. ``base`` and the contributions
        of a row add up to its prediction.
    alone : (n_rows, n_columns) array
        The part of it that is the column's main effect; the rest is its share in interactions.
    prediction : (n_rows,) array
        Responses of the rows: predictions of a regressor without `prediction_margin`, their
        logarithms for a loss with a logarithmic link, decisions or log-odds of a classifier.
    base : float
        Mean response where the columns are independent, distributed as in the background.
    response : str
        What the response is called.
    """

    names: list[str]
    values: list[NDArray]
    contributions: NDArray[np.float64]
    alone: NDArray[np.float64]
    prediction: NDArray[np.float64]
    base: float
    response: str

    def _gist(self) -> str:
        mean = np.abs(self.contributions).mean(axis=0)
        return f"mean magnitudes of the contributions: {largest(self.names, mean)}"

    def _table(self) -> dict[str, Any]:
        n_rows, n_columns = self.contributions.shape
        return {
            "row": np.repeat(np.arange(n_rows), n_columns),
            "column": self.names * n_rows,
            "value": [values[n] for n in range(n_rows) for values in self.values],
            "contribution": self.contributions.ravel(),
            "alone": self.alone.ravel(),
        }


def explain(
    model: Any, X: Any, background: Any, *, output: Any = None, sample_weight: Any = None
) -> Explanation:
    """Explain predictions by exact contributions of the columns.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        A fitted one whose network is a CPD, a train or a ring, or main effects alone.
    X : array or frame of shape (n_rows, n_columns)
        Rows to explain.
    background : array or frame of shape (n_background, n_columns)
        Rows that give the distribution of each column, as a rule those of the fit.
    output : int, str or class, optional
        Which output of a regressor with several, or the decision for which class.
    sample_weight : array of shape (n_background,), optional
        Weights of the background.

    Returns
    -------
    Explanation

    Notes
    -----
    Contributions are Shapley values of the mean response given some of the columns, where
    columns are independent.  The cost is O(D²·R) for a row of a CPD.
    """
    response = Response(model, output)
    known, rows = Rows(response, background, sample_weight), Rows(response, X)
    means, main_means = known.column_means(), known.main_means
    nodes, weights = np.polynomial.legendre.leggauss((response.n_columns + 1) // 2)
    nodes, weights = (nodes + 1) / 2, weights / 2
    main = np.stack([response.main(d, v) for d, v in enumerate(rows.values)], axis=1) - main_means
    shapley, alone = main.copy(), main.copy()
    for part, tables in rows.blocks():
        moved = [table - mean for table, mean in zip(tables, means, strict=True)]
        for t, weight in zip(nodes, weights, strict=True):
            between = [mean + t * move for mean, move in zip(means, moved, strict=True)]
            shapley[part] += weight * _gains(response, moved, between)
        alone[part] += _gains(response, moved, [mean[None] for mean in means])
    whole = closed_product(response.algebra, means, response.closing)
    base = response.offset + float(main_means.sum()) + float(whole.real)
    values = [response.raw(d, array) for d, array in enumerate(rows.arrays)]
    return Explanation(
        list(response.names), values, shapley, alone, rows.responses(), base, response.label
    )


def _gains(
    response: Response, moved: Sequence[NDArray], others: Sequence[NDArray]
) -> NDArray[np.float64]:
    """Return what each column's move adds where all others are as given: (n, n_columns)."""
    outer = environments(response.algebra, others, response.closing)
    parts = [(m * o).reshape(len(m), -1).sum(axis=1).real
             for m, o in zip(moved, outer, strict=True)]  # fmt: skip
    return np.stack(parts, axis=1)
