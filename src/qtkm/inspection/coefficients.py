"""The largest weights of a model, found without forming the weight tensor.

Digits are fixed one site after the other, from the last column's highest digit on.  What is
fixed so far leaves a slice of the tensor, whose norm follows from Gram matrices and is a bound on
every weight in it.  Only the slices of the largest norms are followed; the largest norm that
was left aside tells which of the weights found are certain.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..escaping import visible
from .plotting import shorten
from .response import Response
from .results import Result, largest

#: numbers that are looked at together
BLOCK_NUMBERS = 1 << 20


@dataclass(repr=False)
class Coefficients(Result):
    """The largest weights of products of basis functions.

    Attributes
    ----------
    names : list of str
        The columns.
    indices : (n_coefficients, n_columns) int array
        Basis function of each column: its frequency (Fourier), exponent (power), or the number
        of its category.
    values : (n_coefficients,) array
        The weights in units of the response, largest magnitude first.
    bound : float
        No weight that was not looked at is larger than this.
    n_certain : int
        So many of the first are the largest there are, up to rounding; the others are large, but
        larger ones may exist.
    labels : list of str
        The basis functions in words.
    response : str
        What the response is called.
    """

    names: list[str]
    indices: NDArray[np.int64]
    values: NDArray
    bound: float
    n_certain: int
    labels: list[str]
    response: str

    def _gist(self) -> str:
        return f"magnitudes: {largest(self.labels, np.abs(self.values))}"

    @property
    def is_exact(self) -> bool:
        """Whether these are the largest weights, for certain."""
        return self.n_certain == len(self.values)


def largest_coefficients(
    model: Any, n_coefficients: int = 10, *, max_slices: int = 4096, output: Any = None
) -> Coefficients:
    """Find the largest entries of the weight tensor.

    Parameters
    ----------
    model : QTKMRegressor or QTKMClassifier
        A fitted one whose network is a CPD, a train or a ring.
    n_coefficients : int, default=10
    max_slices : int, default=4096
        How many slices are followed at a time. More take longer and make more certain; the
        search is exhaustive for tensors with no more entries than this.
    output : int or class, optional
        Which output of a regressor with several, or the decision for which class; of two
        classes it is the second one, and the first turns the sign.

    Returns
    -------
    Coefficients
    """
    if not isinstance(n_coefficients, Integral):
        raise TypeError(
            f"n_coefficients is a {type(n_coefficients).__name__}, where a whole number is "
            "expected; weights are those of the model alone, so no X is needed."
        )
    if n_coefficients < 1 or max_slices < n_coefficients:
        raise ValueError(
            f"n_coefficients={n_coefficients} and max_slices={max_slices}, where "
            "1 <= n_coefficients <= max_slices is expected; use a larger max_slices."
        )
    response = Response(model, output)
    states, indices, bound = _search(response, max_slices)
    values = response.algebra.close(states)
    order = np.argsort(-np.abs(values), kind="stable")[:n_coefficients]
    values, indices = values[order], indices[order]
    for d, feature_map in enumerate(response.maps):
        if feature_map.is_complex:
            indices[:, d] -= feature_map.n_features // 2
    certain = int(np.sum(np.abs(values) >= bound))
    labels = [_label(response, index) for index in indices]
    return Coefficients(
        list(response.names), indices, values, bound, certain, labels, response.label
    )


def _search(response: Response, max_slices: int) -> tuple[NDArray, NDArray[np.int64], float]:
    """Products of cores and indices of the entries found; largest norm that was left aside."""
    algebra, bound = response.algebra, 0.0
    sites = [(d, level) for d, levels in enumerate(response.levels) for level in levels]
    grams = _grams_before(response, [level for _, level in sites])
    states = response.closing[None]
    indices = np.zeros((1, response.n_columns), dtype=np.int64)
    for (d, entries), gram in zip(reversed(sites), reversed(grams), strict=True):
        norms = _norms(response, entries, states, gram)  # (n_slices, Q)
        kept = np.arange(norms.size)
        if len(kept) > max_slices:
            order = np.argsort(-norms.ravel(), kind="stable")
            kept, bound = order[:max_slices], max(bound, float(norms.ravel()[order[max_slices]]))
        slices, digits = np.divmod(kept, len(entries))
        states = algebra.multiply(entries[digits], states[slices])
        indices = indices[slices]
        # the highest digit comes first
        indices[:, d] = indices[:, d] * len(entries) + digits
    return states, indices, bound


def _grams_before(response: Response, levels: list[NDArray]) -> list[NDArray]:
    """Kronecker squares of all sites before each one, summed over their digits."""
    algebra = response.algebra
    first = algebra.first(levels[0][:1])
    gram = np.ones(len(first) ** 2) if first.ndim == 1 else np.eye(len(first) ** 2)
    grams = [gram]
    for level in levels[:-1]:
        gram = algebra.multiply(gram, algebra.square(level, np.ones(len(level)), True))
        grams.append(gram)
    return grams


def _norms(response: Response, entries: NDArray, states: NDArray, gram: NDArray) -> NDArray:
    """Norms of the slices that every state and digit leave, with a margin for rounding."""
    step = max(1, BLOCK_NUMBERS // (entries.size * max(1, states[0].size // entries.shape[-1])))
    norms = np.empty((len(states), len(entries)))
    for start in range(0, len(states), step):
        part = slice(start, start + step)
        product = response.algebra.multiply(entries[None], states[part][:, None])
        form = response.algebra.suffix_form(gram, product.shape[2:])
        flat = product.reshape(-1, len(form))
        squares = np.sum((flat.conj() @ form) * flat, axis=1).real
        # terms that cancel may make the sum smaller than it is, by no more than this
        terms = np.abs(flat) @ np.sqrt(np.abs(np.diag(form)))
        margin = 4 * np.finfo(np.float64).eps * terms**2
        norms[part] = np.sqrt(np.maximum(squares, 0) + margin).reshape(-1, len(entries))
    return norms


def _label(response: Response, index: NDArray[np.int64]) -> str:
    """Basis functions in words, without those that are constant."""
    words = []
    for d, feature_map in enumerate(response.maps):
        name, number = shorten(response.names[d], 16), int(index[d])
        if feature_map.n_features == 1:
            continue  # the column has no choice
        if feature_map.is_categorical:
            words.append(f"{name}={visible(str(response.grid(d, 0)[number]))}")
        elif number and feature_map.is_complex:
            words.append(f"{name}:{number:+d}")
        elif number:
            words.append(f"{name}^{number}" if number > 1 else name)
    return " · ".join(words) or "constant"
