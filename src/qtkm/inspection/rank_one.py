"""The rank-one terms of a CPD: products of one function a column, the largest first."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algebra import Diagonal
from .response import Response, fitted
from .results import Result, largest


@dataclass(repr=False)
class RankOneTerms(Result):
    """A CPD as a sum of products of functions of one column each.

    Attributes
    ----------
    names : list of str
        The columns.
    sizes : (n_terms,) array
        Norm of each term's weights in units of the response, largest first.
    coefficients : (n_terms,) array
        What the product of the functions is multiplied by; of magnitude `sizes`.
    values : list of (n_grid,) arrays
        Values of every column: equal steps over its range, or its categories.
    functions : list of (n_terms, n_grid) arrays
        Functions of every column at these values, with weights of norm 1. The complex ones are
        turned to be as real as they can be, and positive where they are largest.
    offset : float
        What is added to the terms.
    is_categorical : list of bool
        Which columns hold categories.
    response : str
        What the response is called.

    Notes
    -----
    f(x) = offset + Re Σ_t coefficients_t · Π_d functions_d,t(x_d), if all terms are there.
    """

    names: list[str]
    sizes: NDArray[np.float64]
    coefficients: NDArray
    values: list[NDArray]
    functions: list[NDArray]
    offset: float
    is_categorical: list[bool]
    response: str

    def _gist(self) -> str:
        names = [f"term {t + 1}" for t in range(len(self.sizes))]
        return f"norms of the weights: {largest(names, self.sizes)}"


def rank_one_terms(
    model: Any, n_terms: int | None = None, *, n_grid: int = 200, output: Any = None
) -> RankOneTerms:
    """Sort the rank-one terms of a CPD by the norm of their weights.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        A fitted one whose network is a CPD.
    n_terms : int, optional
        How many to give; None is all of them.
    n_grid : int, default=200
        Number of values to look at in a numeric column.
    output : int or class, optional
        Which output of a regressor with several, or the decision for which class; of two
        classes it is the second one, and the first turns the sign.

    Returns
    -------
    RankOneTerms

    Notes
    -----
    The terms of a CPD are unique up to scale and order under mild conditions [1]_, but need
    not be orthogonal: large ones may cancel each other, and their sizes do not add up.

    References
    ----------
    .. [1] T. G. Kolda, B. W. Bader, "Tensor decompositions and applications", SIAM Review 51,
       2009, section 3.2.
    """
    response = Response(model, output)
    if not isinstance(response.algebra, Diagonal):
        network = type(fitted(model).network_).__name__
        raise ValueError(
            f"The model has the network {network}, and only a CPD is a sum "
            "of rank-one terms; use network='cpd'."
        )
    norms = np.array([_norms(levels) for levels in response.levels])  # (n_columns, rank)
    sizes = np.abs(response.closing) * norms.prod(axis=0)
    order = np.argsort(-sizes, kind="stable")[:n_terms]
    safe = np.where(norms > 0, norms, 1.0)
    coefficients = (response.closing * norms.prod(axis=0))[order]
    values = [response.grid(d, n_grid) for d in range(response.n_columns)]
    functions = []
    for d, raw in enumerate(values):
        table = response.table(d, response.values(d, raw)) / safe[d]
        turned, turn = _turn(table[:, order].T)
        functions.append(turned)
        coefficients = coefficients / turn
    categorical = [response.is_categorical(d) for d in range(response.n_columns)]
    return RankOneTerms(
        list(response.names), sizes[order], coefficients, values, functions, response.offset,
        categorical, response.label,
    )  # fmt: skip


def _norms(levels: list[NDArray]) -> NDArray[np.float64]:
    """Norm of a column's weights in every term."""
    return np.prod([np.linalg.norm(level, axis=0) for level in levels], axis=0)


def _turn(functions: NDArray) -> tuple[NDArray, NDArray]:
    """Functions (n_terms, n_grid) as real as they can be, and what each was multiplied by."""
    turn = np.ones(len(functions), dtype=functions.dtype)
    if np.iscomplexobj(functions):
        turn = np.exp(-0.5j * np.angle(np.sum(functions**2, axis=1)))
    real = (functions * turn[:, None]).real
    largest = np.take_along_axis(real, np.abs(real).argmax(axis=1)[:, None], axis=1)[:, 0]
    turn = np.where(largest < 0, -turn, turn)
    return functions * turn[:, None], turn
