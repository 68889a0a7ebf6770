"""Fourier spectrum of a column: how large the weights of its frequencies are."""

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .algebra import environments
from .response import Response
from .results import Result, largest


@dataclass(repr=False)
class Spectrum(Result):
    """Weights of a model by the frequency of one column.

    Attributes
    ----------
    name : str
        The column.
    numbers : (M,) int array
        Frequencies of the basis: -⌊M/2⌋ … ⌈M/2⌉-1.
    frequencies : (M,) array
        The same in periods a unit of the column.
    magnitudes : (M,) array
        Norm of all weights of each frequency, in units of the response.
    coefficients : (M,) array or None
        The weights themselves where there is no other column.
    response : str
        What the response is called.
    """

    name: str
    numbers: NDArray[np.int64]
    frequencies: NDArray[np.float64]
    magnitudes: NDArray[np.float64]
    coefficients: NDArray | None
    response: str

    def _gist(self) -> str:
        names = [f"{number}" for number in self.numbers]
        return f"{self.name}: norms of the weights by frequency {largest(names, self.magnitudes)}"


def spectrum(model: Any, column: Any = 0, *, output: Any = None) -> Spectrum:
    """Exact spectrum of one column with a Fourier basis.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        A fitted one whose network is a CPD, a train or a ring.
    column : name or number, default=0
    output : int or class, optional
        Which output of a regressor with several, or the decision for which class; of two
        classes it is the second one, and the first turns the sign.

    Returns
    -------
    Spectrum

    Notes
    -----
    The magnitude of frequency m is (Σ |w[m, …]|²)^½ over the basis functions of all other
    columns, from the Gram matrices of their cores; their squares add up to ‖w‖², in units of
    the response.

    What it does not tell.  A prediction is Re f, to which frequencies m and -m contribute
    together: their weights need not mirror each other, and a spectrum may well rise at one edge
    only.  With a period above 1 the waves are not orthogonal on the column's range, so that
    large weights may cancel each other there.  Whether M is large enough is for validation to
    say, and not for the edges of a spectrum.
    """
    response = Response(model, output)
    d = response.column(column)
    feature_map = response.maps[d]
    if not feature_map.is_complex:
        raise ValueError(
            f"The column {response.names[d]!r} has the basis {type(feature_map).__name__}, and a "
            "spectrum needs Fourier; choose another column or look at its main effect."
        )
    algebra, weights = response.algebra, response.weights(d)
    squares = [column_square(response, e) for e in range(response.n_columns)]
    closing = algebra.square(response.closing[None], np.ones(1), True)
    outer = environments(algebra, squares, closing)[d]
    flat = weights.reshape(len(weights), -1)
    form = algebra.form(outer, weights.shape[1:])
    magnitudes = np.sqrt(np.maximum(np.sum((flat.conj() @ form) * flat, axis=1).real, 0.0))
    coefficients = None
    if response.n_columns == 1:
        coefficients = algebra.close(algebra.multiply(weights, response.closing))
        magnitudes = np.abs(coefficients)
    numbers = np.arange(len(weights)) - len(weights) // 2
    frequencies = numbers / (float(feature_map.period) * response.width(d))
    return Spectrum(
        response.names[d], numbers, frequencies, magnitudes, coefficients, response.label
    )


def column_square(response: Response, d: int) -> NDArray:
    """Sum over the basis functions of a column of its weights' Kronecker squares."""
    squares = [response.algebra.square(level, np.ones(len(level)), True)
               for level in response.levels[d]]  # fmt: skip
    return reduce(response.algebra.multiply, squares)
