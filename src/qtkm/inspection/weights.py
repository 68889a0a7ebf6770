"""Weights of a model: the largest ones, spectra of columns, and rank-one terms of a CPD."""

from dataclasses import dataclass, field
from functools import reduce
from itertools import accumulate
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..escaping import shorten, visible
from ..networks.algebra import Diagonal
from .response import Response, find_column
from .results import Finding
from .support import square

#: numbers that are looked at together
BLOCK_NUMBERS = 1 << 20


@dataclass(repr=False)
class Coefficients(Finding):
    """The largest weights of products of basis functions, excluding main effects.

    Attributes
    ----------
    labels, response : list of str, str
        Names of the basis functions of each weight, and of the response.
    indices : (n_coefficients, n_columns) int array
        Basis function of each column: its frequency (Fourier), exponent (power), or the number
        of its category.
    values : (n_coefficients,) array
        Weights in units of the response, largest magnitude first.
    bound : float
        Upper bound on the weights that were not searched.
    n_certain : int
        Number of leading weights that are certain to be the largest, up to rounding.
    """

    indices: NDArray[np.int64]
    values: NDArray
    bound: float
    n_certain: int
    labels: list[str]
    response: str

    def _table(self) -> dict[str, Any]:
        certain = np.arange(len(self.values)) < self.n_certain
        return {"functions": self.labels, "weight": self.values, "certain": certain}

    @property
    def is_exact(self) -> bool:
        """Whether all of these are certain to be the largest weights."""
        return self.n_certain == len(self.values)


def largest_coefficients(
    model: Any, n_coefficients: int = 10, *, max_slices: int = 4096, output: Any = None
) -> Coefficients:
    """Find the largest entries of the weight tensor.

    Parameters
    ----------
    model, output
        As in `main_effects`.
    n_coefficients : int, default=10
    max_slices : int, default=4096
        Number of slices searched at a time, enough for all of a tensor with as many entries. More
        take longer and give more certain results.

    Returns
    -------
    Coefficients
    """
    if not isinstance(n_coefficients, Integral) or not 1 <= n_coefficients <= max_slices:
        given: Any = n_coefficients
        shown = given if isinstance(given, int) else type(given).__name__
        raise ValueError(
            f"n_coefficients={shown} must be an integer from 1 to max_slices={max_slices}; weights "
            "need no X, and for more of them use a larger max_slices."
        )
    response = Response(model, output)
    if not response.closing.size:
        raise ValueError("The model has main effects alone (rank 0); use main_effects.")
    states, indices, bound = _search(response, max_slices)
    values = response.algebra.close(states)
    order = np.argsort(-np.abs(values), kind="stable")[:n_coefficients]
    values, indices = values[order], indices[order]
    certain, labels = int(np.sum(np.abs(values) >= bound)), _name(response, indices)
    return Coefficients(indices, values, bound, certain, labels, response.label)


def _search(response: Response, max_slices: int) -> tuple[NDArray, NDArray[np.int64], float]:
    """Products of cores and indices of the entries found; largest norm that was left aside."""
    algebra, bound = response.algebra, 0.0
    sites = [(d, level) for d, levels in enumerate(response.levels) for level in levels]
    # Kronecker squares of all sites before each one, summed over their digits
    squares = [square(algebra, level) for _, level in sites]
    unit = square(algebra, algebra.first(sites[0][1])[None])
    grams = accumulate(squares[:-1], algebra.multiply, initial=unit)
    states = response.closing[None]
    indices = np.zeros((1, response.n_columns), dtype=np.int64)
    for (d, entries), gram in zip(reversed(sites), reversed(list(grams)), strict=True):
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


def _norms(response: Response, entries: NDArray, states: NDArray, gram: NDArray) -> NDArray:
    """Norms of the slices that every state and digit leave, with a margin for rounding."""
    algebra = response.algebra
    outer = algebra.join(algebra.first(gram[None]), gram)  # what stands before a slice
    step = max(1, BLOCK_NUMBERS // (entries.size * max(1, states[0].size // entries.shape[-1])))
    norms = np.empty((len(states), len(entries)))
    for start in range(0, len(states), step):
        part = slice(start, start + step)
        product = algebra.multiply(entries[None], states[part][:, None])
        form = algebra.form(outer, product.shape[2:])
        flat = product.reshape(-1, len(form))
        squares = np.sum((flat.conj() @ form) * flat, axis=1).real
        # terms that cancel may make the sum smaller than it is, by no more than this
        terms = np.abs(flat) @ np.sqrt(np.abs(np.diag(form)))
        margin = 4 * np.finfo(np.float64).eps * terms**2
        norms[part] = np.sqrt(np.maximum(squares, 0) + margin).reshape(-1, len(entries))
    return norms


def _name(response: Response, indices: NDArray[np.int64]) -> list[str]:
    """Return basis functions in words, without constant ones; frequencies become those they are."""
    words: list[list[str]] = [[] for _ in indices]
    for d, feature_map in enumerate(response.maps):
        inner = feature_map.inner if feature_map.has_gaps else feature_map
        # with gaps there are as many functions again, for whether a value is there
        gaps, indices[:, d] = np.divmod(indices[:, d], inner.n_features)
        if feature_map.is_complex:
            indices[:, d] -= inner.n_features // 2
        if feature_map.n_features == 1:
            continue  # the column has no choice
        name, is_categorical = shorten(response.names[d], 16), feature_map.is_categorical
        # the first of pooled functions is a constant
        numbers = indices[:, d] - (is_categorical and feature_map.pooled)
        for own, number, gap in zip(words, numbers.tolist(), gaps.tolist(), strict=True):
            if is_categorical and number >= 0:
                own.append(f"{name}={visible(str(response.categories(d)[number]))}")
            elif number and not is_categorical:
                power = f"{name}^{number}" if number > 1 else name
                own.append(f"{name}:{number:+d}" if feature_map.is_complex else power)
            if gap:
                own.append(f"{name} missing or not")
    return [" · ".join(own) or "constant" for own in words]


@dataclass(repr=False)
class Spectrum(Finding):
    """Weights of a model by the frequency of one column.

    Attributes
    ----------
    name, response : str
        Names of the column and of the response.
    numbers : (M,) int array
        Frequencies of the basis: -⌊M/2⌋ … ⌈M/2⌉-1.
    frequencies : (M,) array
        The same in periods per unit of the column.
    magnitudes : (M,) array
        Norm of all weights of each frequency in the network, in units of the response.
    main : (M,) array or None
        Magnitudes of the weights of the column's main effect, without its slope, if the model has
        main effects.
    """

    name: str
    numbers: NDArray[np.int64]
    frequencies: NDArray[np.float64]
    magnitudes: NDArray[np.float64]
    response: str
    main: NDArray[np.float64] | None

    def _table(self) -> dict[str, Any]:
        return {"number": self.numbers, "frequency": self.frequencies,
                "magnitude": self.magnitudes, "main": self.main}  # fmt: skip


def spectrum(model: Any, column: Any = 0, *, output: Any = None) -> Spectrum:
    """Compute the exact spectrum of one column with a Fourier basis.

    Parameters
    ----------
    model, output
        As in `main_effects`.
    column : name or number, default=0

    Returns
    -------
    Spectrum

    Notes
    -----
    The magnitude of frequency m is (Σ |w[m, …]|²)^½ over the basis functions of all other
    columns, from the Gram matrices of their cores; their squares sum to ‖w‖².

    Spectra need care.  A prediction is Re f, to which frequencies m and -m contribute together:
    a spectrum need not be symmetric and may rise at one edge only.  With a period above 1 the
    waves are not orthogonal on the column's range, so large weights may cancel each other there.
    Validation, not the edges of a spectrum, shows whether M is large enough.
    """
    response = Response(model, output)
    d = find_column(response.names, column)
    feature_map = response.maps[d]
    if not feature_map.is_complex:
        raise ValueError(
            f"The column {response.names[d]!r} has the basis {type(feature_map).__name__}, but a "
            "spectrum needs Fourier; choose another column, or use its main effect."
        )
    algebra, weights = response.algebra, response.weights(d)
    if feature_map.has_gaps:  # where a value is there
        weights = weights.reshape(2, len(weights) // 2, *weights.shape[1:]).sum(axis=0)
    zero = len(weights) // 2
    # what the column's elements are multiplied with, in the order of a cycle
    others = *response.levels[d + 1 :], [response.closing[None]], *response.levels[:d]
    product = reduce(algebra.multiply, (square(algebra, each) for own in others for each in own))
    form = algebra.form(algebra.join(product, algebra.last(product)), weights.shape[1:])
    flat = weights.reshape(len(weights), -1)
    magnitudes = np.sqrt(np.maximum(np.sum((flat.conj() @ form) * flat, axis=1).real, 0.0))
    numbers = np.arange(len(weights)) - zero
    box = response.inputs.columns[d].box
    width = box.high - box.low if box.low < box.high else 1.0
    frequencies = numbers / (float(feature_map.period) * width)
    main = None
    if response.main_weights:  # √2·(a·cos + b·sin) is a wave of either sign, of (a ∓ ib)/√2
        count = len(response.main_weights[d]) - feature_map.has_gaps
        waves = response.main_weights[d][1:count].reshape(-1, 2)
        sizes = np.hypot(*waves.T) / np.sqrt(2)
        main = np.zeros(len(weights))
        main[zero + 1 : zero + 1 + len(sizes)] = sizes
        main[zero - len(sizes) : zero] = sizes[::-1]
    return Spectrum(response.names[d], numbers, frequencies, magnitudes, response.label, main)


@dataclass(repr=False)
class RankOneTerms(Finding):
    """A CPD as a sum of products of functions of one column each.

    Attributes
    ----------
    names, response : list of str, str
        Names of the columns and of the response.
    sizes : (n_terms,) array
        Norm of each term's weights in units of the response, largest first.
    coefficients : (n_terms,) array
        Coefficients of the products of functions; their magnitudes are `sizes`.
    values : list of (n_grid,) arrays
        Values of each column: equal steps over its range, or its categories.
    functions : list of (n_terms, n_grid) arrays
        Functions of each column at these values, with weights of norm 1. Complex ones are rotated
        to be as real as possible, and positive where they are largest.
    offset, main : float, list of (n_grid,) arrays
        Constant and main effects, if any, that are added to the terms.

    Notes
    -----
    f(x) = offset + Σ_d main_d(x_d) + Re Σ_t coefficients_t · Π_d functions_d,t(x_d) over all terms.
    """

    names: list[str]
    sizes: NDArray[np.float64]
    coefficients: NDArray
    values: list[NDArray]
    functions: list[NDArray]
    offset: float
    response: str
    main: list[NDArray] = field(default_factory=list)

    def _table(self) -> dict[str, Any]:
        return {"term": np.arange(1, len(self.sizes) + 1), "size": self.sizes,
                "coefficient": self.coefficients}  # fmt: skip


def rank_one_terms(
    model: Any, n_terms: int | None = None, *, n_grid: int = 200, output: Any = None
) -> RankOneTerms:
    """Return the rank-one terms of a CPD, sorted by the norm of their weights.

    Parameters
    ----------
    model, output
        As in `main_effects`; the network must be a CPD.
    n_terms : int, optional
        Number of terms; None is all of them.
    n_grid : int, default=200
        Number of values of a numeric column.

    Returns
    -------
    RankOneTerms

    Notes
    -----
    The terms of a CPD are unique up to scale and order under mild conditions [1]_, but need
    not be orthogonal: large ones may cancel each other, so their sizes cannot be added.

    References
    ----------
    .. [1] T. G. Kolda, B. W. Bader, "Tensor decompositions and applications", SIAM Review 51,
       2009, section 3.2.
    """
    response = Response(model, output)
    if not isinstance(response.algebra, Diagonal):
        raise ValueError(
            "The network of the model is a train or ring, but only a CPD is a sum of rank-one "
            "terms; use network='cpd'."
        )
    norms = np.array([
        np.prod([np.linalg.norm(level, axis=0) for level in levels], axis=0)
        for levels in response.levels
    ])  # (n_columns, rank)  # fmt: skip
    sizes = np.abs(response.closing) * norms.prod(axis=0)
    order = np.argsort(-sizes, kind="stable")[:n_terms]
    safe = np.where(norms > 0, norms, 1.0)
    coefficients = (response.closing * norms.prod(axis=0))[order]
    values, functions, main = [], [], []
    for d, column in enumerate(response.inputs.columns):
        box = column.box
        values.append(
            response.categories(d) if box is None
            else np.linspace(box.low, box.high, n_grid if box.low < box.high else 1)
        )  # fmt: skip
        units = response.values(d, values[d])
        main.append(response.main(d, units))
        turned, turn = _turn((response.table(d, units) / safe[d])[:, order].T)
        functions.append(turned)
        coefficients = coefficients / turn
    return RankOneTerms(
        list(response.names), sizes[order], coefficients, values, functions, response.offset,
        response.label, main,
    )  # fmt: skip


def _turn(functions: NDArray) -> tuple[NDArray, NDArray]:
    """Functions (n_terms, n_grid) as real as they can be, and what each was multiplied by."""
    turn = np.ones(len(functions), dtype=functions.dtype)
    if np.iscomplexobj(functions):
        turn = np.exp(-0.5j * np.angle(np.sum(functions**2, axis=1)))
    real = (functions * turn[:, None]).real
    largest = np.take_along_axis(real, np.abs(real).argmax(axis=1)[:, None], axis=1)[:, 0]
    turn = np.where(largest < 0, -turn, turn)
    return functions * turn[:, None], turn
