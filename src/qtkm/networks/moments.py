"""Moments: all that the M functions of a column can see of its statistics.

The local problems of a column's levels are quadratic in its weights w[m], with the matrices

    P[m, m'] = Σ_u conj(φ_m(u)) φ_m'(u) S[u]        p[m] = Σ_u conj(φ_m(u)) b[u]

and most of the products of two functions coincide.  Which do is the *kind* of the products:

    lags     depend on m' - m       complex exponentials                    2M-1 matrices
    sums     depend on m' + m       powers; exponentials not conjugated     2M-1
    each     only m = m' counts     categories; a penalty of each function  M
    uniform  m = m', all the same   a penalty that treats all alike         1
    pairs    all differ             any other basis                         M²

A function's number has digits, m = q₁ + Q₁·(q₂ + Q₂·(…)), and so has the place of a product: the
place e of two digits' product plus Q times the place of the rest.  Digits are therefore summed
out one after the other, from the lowest up as a sweep advances and from the highest down in
advance, and what is left is the system of one level.  Neither rows nor grid are needed for it,
and right-hand sides, gradients and penalties all go the same way.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy import fft

from ..protocols import AnyColumn, Arrays, Run
from .algebra import Algebra

if TYPE_CHECKING:
    from .column_tables import Statistics

#: values at a time whose functions are summed up where the environment is a number
LAG_VALUES = 4096
#: numbers of the largest array of environments of a column whose own environment is a number
MOST_PLACES = 2_000_000
#: operations of a product of matrices from which on threads share it
SHARED_OPERATIONS = 20_000_000
#: kinds whose places coincide across digits
OVERLAPPING = ("lags", "sums")


def _sizes(kind: str, radices: Sequence[int], has_gaps: bool) -> list[tuple[int, int]]:
    """Return every digit's places, and the distance of places whose higher digits are neighbours.

    The place of digits q, q' is Q - 1 + q' - q for lags, q + q' for sums, q + Q·q' for pairs.
    """
    if kind not in OVERLAPPING:
        power = {"uniform": 0, "pairs": 2}.get(kind, 1)
        return [(radix**power, radix**power) for radix in radices]
    sizes = [(2 * radix - 1, radix) for radix in radices]
    if has_gaps:
        sizes[-2] = sizes[-2][0], 2 * sizes[-2][1]
    return sizes


def digit_factors(algebra: Algebra, core: NDArray, kind: str, conjugate: bool = True) -> NDArray:
    """Return what a digit contributes at each of its places, (count, …).

    That is its conjugate elements for a linear form, else sums of squares over the pairs of digits
    that share a place.
    """
    elements = algebra.elements(core)
    if kind == "linear":
        return elements.conj()
    if kind == "each":
        return algebra.squares(elements, elements, conjugate)
    if kind == "uniform":
        return algebra.sum_squares(elements, elements[None], conjugate)
    radix = len(elements)
    if kind == "pairs":
        pairs = algebra.squares(elements[None], elements[:, None], conjugate)
        return pairs.reshape(radix * radix, *pairs.shape[2:])
    padded = np.zeros((3 * radix - 2, *elements.shape[1:]), dtype=elements.dtype)
    padded[radix - 1 : 2 * radix - 1] = elements
    step = padded.strides[0]
    shape, strides = (2 * radix - 1, radix, *elements.shape[1:]), (step, *padded.strides)
    windows = np.ndarray(shape, padded.dtype, padded, 0, strides)
    return algebra.sum_squares(elements[::-1] if kind == "sums" else elements, windows, conjugate)


class Digits:
    """An environment (n, …) at the places of a column's functions, whose digits are summed out.

    Its kind is that of the products, or "linear" for a linear form. With gaps the highest digit is
    no part of a frequency or power.
    """

    def __init__(
        self,
        algebra: Algebra,
        places: NDArray,
        cores: Arrays,
        kind: str,
        conjugate: bool = True,
        has_gaps: bool = False,
    ):
        self.algebra, self.kind, self.conjugate = algebra, kind, conjugate
        self.sizes = _sizes(kind, [len(algebra.elements(core)) for core in cores], has_gaps)
        self.above: list[NDArray | None] = [None]
        for core, (_, step) in zip(cores[:0:-1], self.sizes[:0:-1], strict=True):
            factor = digit_factors(algebra, core, kind, conjugate)
            above = self.above[0]
            self.above.insert(0, factor if above is None else self._extend(factor, above, step))
        self._put(0, places)

    def _extend(self, factor: NDArray, above: NDArray, step: int) -> NDArray:
        """Products of a digit with those above it: at e + step·l those of e and l."""
        count, length = len(factor), len(above)
        product = self.algebra.multiply(factor[None], above[:, None])  # (l, e, …)
        shape = product.shape[2:]
        if count == step:
            return product.reshape(length * count, *shape)
        n_shifts = -(-count // step)
        whole = np.zeros((length + n_shifts - 1, step, *shape), dtype=product.dtype)
        for n in range(n_shifts):
            part = product[:, n * step : (n + 1) * step]
            whole[n : n + length, : part.shape[1]] += part
        return whole.reshape(-1, *shape)[: step * (length - 1) + count]

    def _put(self, level: int, places: NDArray) -> None:
        """Put in environments whose lowest digit is that of a level.

        Their windows (e, l, …) are those at the place e of that digit and l of those above.
        """
        self.places = places = np.ascontiguousarray(places)
        count, step = self.sizes[level]
        first, *rest = places.strides
        shape = (count, max(0, (len(places) - count) // step + 1), *places.shape[1:])
        strides = (first, step * first, *rest)  # places may overlap
        self.windows = np.ndarray(shape, places.dtype, places, 0, strides)

    def at(self, level: int) -> NDArray:
        """Environments (count, …) of a level, those below it having been summed out."""
        above = self.above[level]
        return self.places if above is None else self.algebra.sum_right(self.windows, above)

    def levels(self, cores: Arrays) -> Iterator[NDArray]:
        """Yield the environments of all levels, lower ones summed out by these cores."""
        for level, core in enumerate(cores):
            yield self.at(level)
            if level + 1 < len(cores):
                self.advance(level, core)

    def advance(self, level: int, core: NDArray) -> None:
        """Sum out a level, the lowest that is left."""
        factor = digit_factors(self.algebra, core, self.kind, self.conjugate)
        self._put(level + 1, self.algebra.sum_left(factor, self.windows))


class LagDigits(Digits):
    """Digits of a column of very many exponentials whose environment is a number.

    `kept` is for what follows from the lags (2M-1, 1, 1) alone.  Environments of all places would
    be an array (M, R, R).  At the lowest levels, digits above enter instead by their Fourier
    transform: whᴴTwh = Σ_f t̂[f]·conj(ŵ[f])ŵ[f]ᵀ for every Toeplitz matrix T of lags a step apart;
    digits below by the products of their weights, a lag apart.  From `turn` on the environments
    are small, and `Digits` goes on.
    """

    def __init__(self, algebra: Algebra, lags: NDArray, cores: Arrays, kept: dict[int, NDArray]):
        self.lags, self.cores, self.kept = lags.ravel(), list(cores), kept
        rank, n_lags = cores[0].shape[1], len(self.lags)
        self.steps = np.cumprod([1, *map(len, cores)])
        is_small = n_lags // self.steps * rank**2 <= MOST_PLACES
        is_small[len(cores) - 1 :] = True  # nothing is left to be transformed at the last level
        self.turn = int(np.argmax(is_small))
        super().__init__(algebra, np.empty((0, rank, rank)), cores[self.turn :], "lags")

    def at(self, level: int) -> NDArray:
        if level >= self.turn:
            return super().at(level - self.turn)
        step, whole = self.steps[level : level + 2]
        beside = self._correlations(level)
        across = self._across(weights_of(self.algebra, self.cores[level + 1 :]), int(whole))
        parts = (across[first : first + len(beside)] for first in range(0, 2 * whole - step, step))
        return np.stack([(beside * part).sum(axis=0) for part in parts])

    def _across(self, high: NDArray, step: int) -> NDArray:
        """Σ conj(w_h) w_h'ᵀ c(o + step·(h' - h)) for all offsets |o| < step."""
        n = len(high)
        if step not in self.kept:  # transforms of the lags o + step·j, |j| < n, for o >= 0
            lines, places = np.zeros((step, 2 * n), dtype=complex), np.arange(1 - n, n)
            offsets = len(self.lags) // 2 + np.arange(step)
            lines[:, places] = self.lags[offsets[:, None] + step * places]
            self.kept[step] = 2 * n * fft.fft(lines, axis=1)
        spectra = fft.ifft(high, 2 * n, axis=0)
        upper = [(spectra.conj() * line[:, None]).T @ spectra for line in self.kept[step]]
        return _both_sides(np.array(upper))

    def _correlations(self, level: int) -> NDArray:
        """Σ_m conj(w_m) w_{m+lag}ᵀ of all levels below one, for all their lags: (2n-1, R, R)."""
        if level == 0:
            return np.ones((1, *self.places.shape[1:]))
        low = weights_of(self.algebra, self.cores[:level])
        n = len(low)
        return _both_sides(np.array([low[: n - lag].conj().T @ low[lag:] for lag in range(n)]))

    def advance(self, level: int, core: NDArray) -> None:
        if level >= self.turn:
            super().advance(level - self.turn, core)
            return
        self.cores[level] = core
        if level + 1 == self.turn:  # make the environments from which `Digits` goes on
            beside = self._correlations(self.turn)
            windows = sliding_window_view(self.lags, len(beside))[:: self.steps[self.turn]]
            flat = windows @ beside.reshape(len(beside), -1)
            self._put(0, flat.reshape(-1, *beside.shape[1:]))


def _both_sides(upper: NDArray) -> NDArray:
    """Matrices at all lags from those at lags >= 0: the others are their adjoints."""
    return np.concatenate([upper[:0:-1].conj().swapaxes(1, 2), upper])


def matrix_of(kind: str, forms: NDArray, radix: int) -> NDArray:
    """View (1, Q, P, Q, P) of forms (count, P, P) at the places of two digits."""
    forms = np.ascontiguousarray(forms)
    place, row, item = forms.strides
    first, second, offset = {
        "lags": (-place, place, (radix - 1) * place),
        "sums": (place, place, 0),
        "pairs": (place, radix * place, 0),
    }[kind]
    size = forms.shape[-1]
    shape, strides = (1, radix, size, radix, size), (0, first, row, second, item)
    return np.ndarray(shape, forms.dtype, forms, offset, strides)


def weights_of(algebra: Algebra, cores: Arrays) -> NDArray:
    """Weights (M, …) of a column's functions, the lowest digit running fastest."""
    weights = algebra.elements(cores[0])
    for core in cores[1:]:
        weights = algebra.multiply(weights[None], algebra.elements(core)[:, None])
        weights = weights.reshape(-1, *weights.shape[2:])
    return weights


def column_square(algebra: Algebra, cores: Arrays, kind: str, places: NDArray) -> NDArray:
    """Sum over the places of a penalty of its precision times the weights' square."""
    factors = [digit_factors(algebra, core, kind) for core in cores]
    places = places * algebra.last(factors[-1])
    for factor in reversed(factors):
        parts = places.reshape(len(factor), -1, *places.shape[1:])
        places = algebra.multiply(factor[:, None], parts).sum(axis=0)
    return places[0]


@dataclass
class Moments:
    """Environments at every place of ḡgᵀ, maybe of ggᵀ, and of every function's right-hand side."""

    matrices: list[NDArray]
    products: NDArray
    kept: dict[int, NDArray] = field(default_factory=dict)


def column_moments(
    algebra: Algebra, column: AnyColumn, sums: "Statistics", shape: tuple[int, ...], run: Run
) -> Moments:
    """Moments of a column from its statistics; `shape` is that of its elements."""
    is_number = sums.size == 1 and sums.mixing is None and len(sums.grams) == 1
    if is_number and column.kind(True) == "lags" and not column.has_gaps:
        return _lag_sums(column, sums, shape)
    totals = [np.zeros(())] * len(sums.grams)
    right = np.zeros(())
    for part in column.chunks():
        right = right + column.functions(part, None).T @ sums.rhs[part]
        for i, (packed, conjugate) in enumerate(zip(sums.grams, (True, False), strict=False)):
            numbers = packed[part].view(np.float64)
            more = _matrix_product(column.functions(part, conjugate), numbers, run)
            totals[i] = totals[i] + more.view(packed.dtype)
    return finish(algebra, column, replace(sums, grams=totals, rhs=right), shape)


def finish(
    algebra: Algebra, column: AnyColumn, sums: "Statistics", shape: tuple[int, ...]
) -> Moments:
    """Moments of a column whose `sums` are over products of functions instead of grid values.

    Real parts of products are above their imaginary ones; `shape` is that of the elements.
    """
    matrices, right, size = [], sums.rhs, sums.size
    for total, conjugate in zip(sums.grams, (True, False), strict=False):
        kind = column.kind(conjugate)
        has_gaps = column.has_gaps and kind in OVERLAPPING
        upper, lower = total, total.conj() if conjugate else total
        if column.feature_map.is_complex:
            real, imaginary = total.reshape(2, 1 + has_gaps, -1, total.shape[1])
            upper = real + 1j * imaginary
            if kind == "sums":  # products of the lower half may be conjugates of the upper one's
                others = (real - 1j * imaginary)[:, -2::-1]
                n_places = 2 * (len(right) >> has_gaps) - 1
                upper = np.concatenate([upper, others], axis=1)[:, :n_places]
            lower = real.conj() + 1j * imaginary.conj() if conjugate else upper
            upper, lower = (each.reshape(-1, total.shape[1]) for each in (upper, lower))
        whole = mix(unpack(upper, lower, size), sums.mixing, conjugate)
        if has_gaps:
            # functions of the digit are (1, 1), and (1, -1) for a gap: products of two unequal
            # ones change their sign at gaps
            every, gaps = (complete(half, kind, conjugate, ()) for half in np.split(whole, 2))
            pad, odd = np.zeros_like(every[:1]), every - 2 * gaps
            one, two = (odd, every) if kind == "lags" else (every, odd)
            whole = np.concatenate([one, pad, two, pad, one])
        else:
            whole = complete(whole, kind, conjugate, column.radices)
        matrices.append(algebra.environment(whole, shape) if size > 1 else whole)
    return Moments(matrices, right.conj().reshape(len(right), *shape[:-1], -1))


def _lag_sums(column: AnyColumn, sums: "Statistics", shape: tuple[int, ...]) -> Moments:
    """Moments of a column whose environment is a number: products of two short lists of functions.

    With thousands of functions and values there is no room for all functions at all values.
    """
    lags = np.zeros(())
    right = np.zeros(())
    for first in range(0, len(column), LAG_VALUES):
        part = slice(first, first + LAG_VALUES)
        low, *groups = column.feature_map.group_features(column.values[part])
        high = np.ones((len(low), 1))
        for group in groups:
            high = (group[:, :, None] * high[:, None]).reshape(len(low), -1)
        turned = high * high[:, :1].conj()
        lags = lags + (low * low[:, :1].conj() * sums.grams[0][part]).T @ turned
        right = right + (low * sums.rhs[part]).T @ high
    matrices = complete(lags.T.reshape(-1, 1, 1), "lags", True, column.radices)
    return Moments([matrices], right.T.reshape(-1, *shape[:-1], 1).conj())


def products(features: NDArray, kind: str, conjugate: bool, has_gaps: bool = False) -> NDArray:
    """Distinct products (n, n_grid) of a column's functions (n_grid, M).

    For lags those of m' >= m; for all pairs those of m <= m' row by row; for sums about half of
    them where function ⌊M/2⌋ is 1 and all have size 1, so that the others are their conjugates.
    Where a digit of gaps is no part of a frequency or power, those of the other digits, then the
    same at gaps alone.
    """
    if has_gaps and kind in OVERLAPPING:
        inner, signed = np.split(features, 2, axis=1)
        found = products(inner, kind, conjugate)
        return np.concatenate([found, found * (signed[:, 0] != inner[:, 0])])
    n_features = features.shape[1]
    if kind == "lags":
        return (features[:, :1].conj() * features).T
    if kind == "sums":
        ends = features[:, n_features // 2], np.abs(features[:, 0])
        is_centred = np.iscomplexobj(features) and np.allclose(ends, 1)
        place = np.arange(2 * (n_features // 2) + 1 if is_centred else 2 * n_features - 1)
        m, p = place // 2, (place + 1) // 2
    else:
        m, p = np.triu_indices(n_features)
    first = features[:, m].conj() if conjugate else features[:, m]
    return (first * features[:, p]).T


def mix(matrices: NDArray, mixing: NDArray | None, conjugate: bool) -> NDArray:
    """Multiply matrices by the square of an output core, where there is one."""
    if mixing is None:
        return matrices
    return matrices * ((mixing.conj() if conjugate else mixing).T @ mixing)


def unpack(upper: NDArray, lower: NDArray, size: int) -> NDArray:
    """Matrices (n, P, P) of packed upper and (transposed) lower triangles."""
    rows, columns = triangle(size)
    matrices = np.empty((len(upper), size, size), dtype=upper.dtype)
    matrices[:, columns, rows] = lower
    matrices[:, rows, columns] = upper
    return matrices


@lru_cache(maxsize=64)
def triangle(size: int) -> tuple[NDArray, NDArray]:
    """Rows and columns of the entries of an upper triangle, row by row."""
    return np.triu_indices(size)


def _matrix_product(left: NDArray, right: NDArray, run: Run) -> NDArray:
    """Product of real matrices, in fixed parts for threads where it is large."""
    operations = 2 * left.shape[0] * right.size
    count = min(8, operations // SHARED_OPERATIONS)
    if count < 2:
        return left @ right
    ends = np.linspace(0, right.shape[1], count + 1).astype(int)
    parts = run(lambda ends: left @ right[:, slice(*ends)], pairwise(ends))
    return np.concatenate(parts, axis=1)


def complete(moments: NDArray, kind: str, conjugate: bool, radices: Sequence[int]) -> NDArray:
    """Moments at all places from those of the distinct products."""
    if kind == "lags":
        return _both_sides(moments)
    if kind != "pairs":
        return moments
    at = _all_places("pairs", radices)
    m, p = np.triu_indices(len(at))
    whole = np.empty((at.size, *moments.shape[1:]), dtype=moments.dtype)
    turned = moments.swapaxes(1, 2)
    whole[at[p, m]] = turned.conj() if conjugate else turned
    whole[at[m, p]] = moments
    return whole


def regroup(known: Moments, column: AnyColumn, merged: AnyColumn) -> Moments:
    """Return moments of a column for the same column with other levels."""
    matrices = []
    for places, conjugate in zip(known.matrices, (True, False), strict=False):
        if merged.kind(conjugate) == "pairs":  # other places do not depend on the levels
            there = _all_places(column.kind(conjugate), column.radices)
            moved = np.empty((there.size, *places.shape[1:]), dtype=places.dtype)
            moved[_all_places("pairs", merged.radices)] = places[there]
            places = moved
        matrices.append(places)
    return Moments(matrices, known.products)


def _all_places(kind: str, radices: Sequence[int]) -> NDArray[np.int64]:
    """Place of every pair of functions, (M, M); the highest digit of lags and sums is of gaps."""
    place, step = np.zeros((1, 1), dtype=np.int64), 1
    for radix, (_, own) in zip(radices, _sizes(kind, radices, True), strict=True):
        q, p = np.ogrid[:radix, :radix]
        digit = {"lags": radix - 1 + p - q, "sums": q + p, "pairs": q + radix * p}[kind]
        size = radix * len(place)
        place = (step * digit[:, None, :, None] + place[None, :, None, :]).reshape(size, size)
        step *= own
    return place
