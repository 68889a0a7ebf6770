"""The posterior of a fit: how far responses may move before rows or penalty object.

Around the fitted cores the model is linear in them, and the objective's Gauss-Newton matrix is

    H = Σ ω·c·zzᵀ / Σω + 2α·G + (penalty of main effects)

with z the derivatives of a response, c the curvature of the loss and G the Gram matrix of the
penalty (`qtkm.networks.tangents`).  Responses then have the covariance z H⁺ zᴴ times the noise.
Gauges are null in z and G alike, and a small ridge keeps them there.

    rows, tangents ──► features whitened by G ──► information of all rows
                   ──► a thin factor: variance = ‖factorᵀz‖²

Only Re f is observed.  A complex weight has as much freedom in its imaginary part, so the prior
covariance of two rows is the real part of their kernel.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from ..networks import CPD, Additive, flatten
from ..networks.tangents import ChainTangents, largest_terms
from ..protocols import Given, Map, Pass, Precisions, Span

Array = NDArray

#: entries of cores that move; a CPD keeps its largest terms, other networks hold columns
MOST_PARAMETERS = 1600
#: directions of the posterior that are kept, random combinations of all others, and rows by which
#: they are chosen; the combinations leave variances with a relative error of √(2/64) of the part
#: that the kept directions do not carry
DIRECTIONS, SKETCHES, PROBES = 128, 64, 400
#: rows that the information is summed over unless all are asked for, the least of them, and the
#: operations that their features and sums may take
SAMPLE, LEAST_SAMPLE, MOST_WORK = 6000, 500, 1.2e10
#: power of the number of rows by which squared errors of small tables fall at least
RATE = 1.5
#: ridge on G relative to its diagonal, and on the intercept relative to a row
RIDGE, FREE = 1e-11, 1e-8
#: numbers of the largest array of features that is made at a time
MOST_NUMBERS = 1_000_000
#: rows whose derivatives by a core are multiplied at a time, so that they stay in cache
STEP = 512
#: rows of a factor above which products may be in single precision, which takes half the time, and
#: the relative error of standard deviations that they may make
SMALL, EXACT = 512, 1e-7


class Tangents:
    """Derivatives of the responses of a model with or without main effects.

    `chain` (ChainTangents) is None for main effects alone; `is_main` says which main functions
    move, the intercept last, and is None without main effects; `shares` of categories stand in for
    the feature of an unknown one.
    """

    def __init__(self, chain: Given, is_main: Array | None, shares: Precisions, n_outputs: int):
        self.chain, self.is_main, self.shares = chain, is_main, shares
        self.n_outputs = n_outputs
        self.n_chain: int = 0 if chain is None else chain.n_parameters
        self.n_main = 0 if is_main is None else int(is_main.sum())
        #: real numbers per derivative
        self.planes = 2 if self.n_chain and chain.is_complex else 1
        self.n_features = self.planes * self.n_chain + n_outputs * self.n_main

    def factors(self, maps: Sequence[Map], values: Sequence[Array]) -> list[list[Array]]:
        """Return the factors (n, Q) of the levels of all columns, which the network multiplies."""
        found = []
        for own, column, share in zip(maps, values, self.shares, strict=True):
            entries = _functions(own, own.factors, column, share)
            found.append([entries[:, part] for part in own.slices])
        return found

    def of_main(self, maps: Sequence[Map], values: Sequence[Array]) -> Array:
        """Return the main functions (n, n_main) that move."""
        assert self.is_main is not None
        parts, first = [], 0
        for own, column, share in zip(maps, values, self.shares, strict=True):
            used = self.is_main[first : first + own.n_main]
            first += own.n_main
            if used.any():
                parts.append(_functions(own, own.main_functions, column, share)[:, used])
        if self.is_main[-1]:
            parts.append(np.ones((len(values[0]), 1)))
        return np.concatenate(parts, axis=1)


def _functions(own: Map, functions: Pass, values: Array, share: Array | None) -> Array:
    """Functions of a map at values; those of -1, an unknown category, are the mean of all."""
    if not own.is_categorical:
        return functions(values)
    table = functions(np.arange(own.n_categories))
    table = table if share is None else np.vstack([table, share @ table])
    return table[np.asarray(values, dtype=np.int64)]


@dataclass
class Posterior:
    """A thin factor of the covariance of responses, which is all that a file keeps of it.

    With z the derivatives of a response by the entries of the cores that move, real and imaginary
    parts by turns, and m the main functions that move, the factor of a row is

        g = zᵀ·chain + mᵀ·main[output]        covariance of two rows: g·g'
    """

    #: of cores of their own: those of the model, or of one of those whose mean it is
    tangents: Tangents
    chain: Array  # (planes·n_chain, k), in the precision in which it is multiplied
    main: Array  # (n_outputs·n_main, k)
    #: effective number of parameters
    freedom: float
    #: entries of cores that were held fixed, because there are so many
    n_held: int

    def directions(self, maps: Sequence[Map], values: Sequence[Array]) -> Array:
        """Return the factor g (n, n_outputs, k) of rows: numbers in the box or category codes."""
        tangents, n_rows = self.tangents, len(values[0])
        n_outputs, k = tangents.n_outputs, self.main.shape[1]
        total = np.zeros((n_rows, n_outputs, k))
        for first in range(0, n_rows, STEP):
            part = slice(first, first + STEP)
            some = [column[part] for column in values]
            if tangents.n_main:
                own = tangents.of_main(maps, some)
                for output, factor in enumerate(self.main.reshape(n_outputs, -1, k)):
                    total[part, output] = own @ factor
            if tangents.n_chain:  # core by core, in double precision whatever that of products
                factors, place = tangents.factors(maps, some), 0
                for z in tangents.chain.derivatives(factors, self.chain.dtype == np.float32):
                    flat = z.reshape(-1, z.shape[2]).view(z.real.dtype)
                    own = flat @ self.chain[place : place + flat.shape[1]]
                    total[part] += own.reshape(-1, n_outputs, k)
                    place += flat.shape[1]
        return total

    def variances(self, maps: Sequence[Map], values: Sequence[Array]) -> Array:
        """Return the variances (n, n_outputs) of the responses of rows."""
        found = self.directions(maps, values)
        return np.einsum("nok,nok->no", found, found)

    def rounded(self, maps: Sequence[Map], values: Sequence[Array]) -> "Posterior":
        """Return one with products in single precision, if that keeps the rows' deviations."""
        if len(self.chain) <= SMALL:
            return self
        single = replace(self, chain=self.chain.astype(np.float32))
        double = replace(self, chain=single.chain.astype(np.float64))
        ratio = (1 + single.variances(maps, values)) / (1 + double.variances(maps, values))
        return single if np.abs(np.sqrt(ratio) - 1).max() < EXACT else self


class Laplace:
    """Computes a posterior around fitted cores.

    `precisions` are those of the network's columns, then of the main effects; `shares` as of
    `Tangents`; `total` is the total weight of the rows of the fit, in units of rows.
    """

    def __init__(
        self, network: Given, cores: Given, precisions: Precisions, maps: Sequence[Map],
        shares: Precisions, alpha: float, total: float, loss: Given,
    ):  # fmt: skip
        # a squared loss is twice the logarithm of a likelihood, in units of the noise
        factor = 1.0 if loss.is_quadratic else 2.0
        self.maps, self.alpha, self.total, self.loss = maps, factor * alpha, total, loss
        n_columns, n_outputs = len(maps), 0
        inner, own, is_main, price = network, cores, None, np.empty(0)
        if isinstance(network, Additive):
            inner, own, n_outputs = network.network, cores[:-1], len(cores[-1][-1])
            known = [
                np.full(len(weights), np.inf) if p is None else p
                for p, weights in zip(precisions[n_columns:], cores[-1][:-1], strict=True)
            ]
            price = np.concatenate([*known, [FREE]])
            is_main = np.isfinite(price)
        chain, self.n_held = None, 0
        if inner is not None:
            chain, self.n_held = _free(inner, own, precisions[:n_columns], n_columns)
            n_outputs = len(chain.closing)
        self.tangents = Tangents(chain, is_main, shares, n_outputs)
        #: roots of the prior variances of the main functions of all outputs
        price = np.tile(price[np.isfinite(price)], n_outputs)
        self.sizes = 1 / np.sqrt(total * factor * price)

    def affordable(self, n_rows: int) -> int:
        """Return the number of rows, of so many, that the information should be summed over."""
        size, counts = self.tangents.n_features, np.arange(LEAST_SAMPLE, SAMPLE + 1)
        seen = counts * self.tangents.n_outputs
        work = seen * (4.0 * self.tangents.n_chain**2 + size * np.minimum(seen, size))
        return min(n_rows, int(counts[max(1, int(np.sum(work <= MOST_WORK))) - 1]))

    def solve(
        self, values: Sequence[Array], target: Array, weight: Array, group: Array,
        responses: Array, rng: RandomState, part: float = 1.0,
    ) -> tuple[Posterior, Array]:  # fmt: skip
        """Return the posterior, and the variances of rows given those of other groups.

        Rows have values in the unit box or category codes; each stands for `weight` rows of weight
        1 and is held out with those of its group, or never in group -1.

        Both are in units of the noise of a row of weight 1 for squared losses; variances
        (n, n_outputs) of rows in no group are NaN.  The loss is curved as at `responses`
        (n, n_outputs), and models of held-out groups have seen `part` of the rows of the fit.

        Where weights are about as many as rows, the linear model overstates what the last rows
        bring.  So the variance of unseen rows is at least that of held-out groups in the geometric
        mean times `part` to a power, by which errors were found to fall with the number of rows.
        """
        self._whiten(values)
        n_outputs, size = self.tangents.n_outputs, self.tangents.n_features
        n_rows, n_seen, seen, whole = len(weight), n_outputs * len(weight), None, None
        features: Pass = partial(self.features, values)
        numbers = (2 * self.tangents.n_chain + self.tangents.n_main) * n_outputs
        step = max(32, MOST_NUMBERS // max(1, numbers))
        chunks = [slice(i, i + step) for i in range(0, n_rows, step)]
        if n_seen < size:  # all that rows can see lies in the span of their features
            seen = np.concatenate([features(chunk) for chunk in chunks])
            kernel = seen @ seen.T
            kernel[np.diag_indices(n_seen)] += 1e-13 * np.trace(kernel)
            whole = cholesky(kernel, lower=True, overwrite_a=True)
            features = partial(_rows_of, whole.reshape(n_rows, n_outputs, n_seen))
        # Σ ω·c·features·featuresᵀ of every group, and the features of rows of groups
        information: dict[int, Array] = {}
        kept = []
        for chunk in chunks:
            found = features(chunk)
            curved = self._curved(found, responses[chunk], target[chunk])
            curved = np.repeat(np.sqrt(weight[chunk]), n_outputs)[:, None] * curved
            owners = np.repeat(group[chunk], n_outputs)
            for number in np.unique(owners).tolist():
                own = curved[owners == number]
                information[number] = information.get(number, 0.0) + own.T @ own
            kept.append(found[owners >= 0])
        lower = cholesky(np.eye(min(size, n_seen)) + sum(information.values()), lower=True)
        inverse = solve_triangular(lower, np.eye(len(lower)), lower=True).T
        freedom = len(inverse) - float((inverse**2).sum())
        variances = self._without_own(group, information, np.concatenate(kept))
        some = np.sort(rng.permutation(n_rows)[: max(1, PROBES // n_outputs)])
        half = features(some) @ inverse
        factor = _thin(half, inverse, rng)
        if seen is not None and whole is not None:
            factor = _unfolded(factor, seen, whole, rng)
        if part < 1:
            ratio = part**RATE * _ratio(half, weight[some], variances[some])
            factor *= np.sqrt(max(1.0, ratio))
        posterior = self._posterior(factor, freedom)
        return posterior.rounded(self.maps, [column[some] for column in values]), variances

    def _whiten(self, values: Sequence[Array]) -> None:
        """Factor the penalty: features have covariance 1 in units of the noise."""
        chain = self.tangents.chain
        if chain is None or not chain.n_parameters:
            return
        gram = chain.gram()
        scale = 1 / np.sqrt(np.maximum(np.diagonal(gram).real, 1e-300))
        gram *= scale[:, None] * scale
        gram[np.diag_indices(len(gram))] += RIDGE * len(gram)
        self.scale, self.lower = scale, cholesky(gram, lower=True, overwrite_a=True)
        alpha, self.root = self.alpha, 1.0
        if alpha <= 0:  # no prior: one that the rows overrule
            whitened = self._chain_features([column[:200] for column in values])
            alpha = 1e-9 * float(np.mean(whitened**2)) * whitened.shape[1]
        self.root = 1 / np.sqrt(self.total * alpha)

    def _chain_features(self, values: Sequence[Array]) -> Array:
        """Whitened real features (n·n_outputs, planes·n_chain)."""
        z = self.tangents.chain.features(self.tangents.factors(self.maps, values))
        flat = z.reshape(-1, len(self.scale))
        found = solve_triangular(self.lower, (flat * self.scale).conj().T, lower=True)
        both = [found.real, found.imag] if np.iscomplexobj(found) else [found]
        return self.root * np.concatenate(both).T

    def features(self, values: Sequence[Array], some: Span | Array) -> Array:
        """Whitened features (n·n_outputs, P) of some rows."""
        parts, n_outputs = [], self.tangents.n_outputs
        values = [column[some] for column in values]
        if self.tangents.n_chain:
            parts.append(self._chain_features(values))
        if self.tangents.n_main:
            own = self.tangents.of_main(self.maps, values)
            each = np.einsum("nm,op->nopm", own, np.eye(n_outputs))
            parts.append(each.reshape(len(own) * n_outputs, -1) * self.sizes)
        return np.concatenate(parts, axis=1)

    def _curved(self, features: Array, response: Array, target: Array) -> Array:
        """Features times the root of the loss's curvature (of half of it for squared losses)."""
        if self.loss.is_quadratic:
            return features
        units = [np.broadcast_to(unit, response.shape) for unit in np.eye(response.shape[1])]
        product = partial(self.loss.curvature_product, response, target)
        sizes, axes = np.linalg.eigh(np.stack([product(unit).real for unit in units], axis=2))
        roots = np.sqrt(np.maximum(sizes, 0))[:, :, None] * axes.swapaxes(1, 2)
        return (roots @ features.reshape(*response.shape, -1)).reshape(features.shape)

    def _without_own(self, group: Array, information: dict[int, Array], features: Array) -> Array:
        """Variances of rows by a posterior that their own group has no part in."""
        variances = np.full((len(group), self.tangents.n_outputs), np.nan)
        owners = np.repeat(group[group >= 0], self.tangents.n_outputs)
        for number in np.unique(owners).tolist():
            others = sum(own for name, own in information.items() if name != number)
            lower = cholesky(np.eye(features.shape[1]) + others, lower=True, overwrite_a=True)
            half = solve_triangular(lower, features[owners == number].T, lower=True)
            own = (half**2).sum(axis=0)
            variances[group == number] = own.reshape(-1, self.tangents.n_outputs)
        return variances

    def _posterior(self, factor: Array, freedom: float) -> Posterior:
        """Turn a factor of whitened features into one of derivatives."""
        tangents, k = self.tangents, factor.shape[1]
        planes, n_chain = tangents.planes, tangents.n_chain
        chain, main = factor[: planes * n_chain], factor[planes * n_chain :]
        if n_chain:
            whole = chain[:n_chain] - 1j * chain[n_chain:] if planes == 2 else chain
            whole = solve_triangular(self.lower, whole, lower=True, trans="T")
            # The ridge leaves gauges large. Derivatives are blind to them but for rounding.
            gauges = solve_triangular(self.lower.conj(), whole, lower=True)
            gauges = solve_triangular(self.lower, gauges, lower=True, trans="T")
            whole = self.root * self.scale[:, None] * (whole - RIDGE * n_chain * gauges)
            # Re(conj(z)ᵀ·whole) as a product of real numbers
            chain = np.stack([whole.real, whole.imag], axis=1) if planes == 2 else whole
            chain = chain.reshape(planes * n_chain, k)
        if tangents.n_main:
            main = main * self.sizes[:, None]
        chain, main = np.ascontiguousarray(chain), np.ascontiguousarray(main)
        moving = None if tangents.chain is None else tangents.chain.without_penalty()
        own = Tangents(moving, tangents.is_main, tangents.shares, tangents.n_outputs)
        return Posterior(own, chain, main, freedom, self.n_held)


def _rows_of(features: Array, part: Span | Array) -> Array:
    return features[part].reshape(-1, features.shape[2])


def _ratio(half: Array, weight: Array, variances: Array) -> float:
    """Variance of held-out groups over that of single rows left out, in the geometric mean."""
    own = (half**2).sum(axis=1).reshape(variances.shape)
    alone = own / np.maximum(1 - weight[:, None] * own, 0.01)
    judged = np.isfinite(variances) & (variances > 0) & (alone > 0)
    ratio = np.log(variances[judged]) - np.log(alone[judged])
    return float(np.exp(ratio.mean())) if len(ratio) else 1.0


def is_possible(network: Given) -> bool:
    """Return True if a network has tangents: a CPD, train or ring, and main effects."""
    inner = network.network if isinstance(network, Additive) else network
    return inner is None or hasattr(inner, "algebra")


def _free(
    network: Given, cores: Given, precisions: Precisions, n_columns: int
) -> tuple[ChainTangents, int]:
    """Tangents of as many entries as can be afforded, and how many are held."""
    total = sum(core.size for core in flatten(cores))
    is_held = [False] * n_columns
    if isinstance(network, CPD) and total > MOST_PARAMETERS:
        count = max(1, MOST_PARAMETERS // (total // network.rank))
        cores = largest_terms(cores, n_columns, count)
        network = CPD(len(cores[0][0][0]))
    left = MOST_PARAMETERS - sum(core.size for core in cores[n_columns:])
    sizes = [sum(core.size for core in levels) for levels in cores[:n_columns]]
    for d in sorted(range(n_columns), key=lambda d: sizes[d]):  # small columns first
        left -= sizes[d]
        is_held[d] = left < 0
    chain = ChainTangents(network, cores, precisions, is_held)
    return chain, total - chain.n_parameters


def _unfolded(factor: Array, found: Array, whole: Array, rng: RandomState) -> Array:
    """Turn a factor in the span of rows into one of all features.

    `found` (n, P) are features of rows, `whole` (n, n) the same in their span.  Random combinations
    stand for what no row has seen.
    """
    unseen = rng.standard_normal((found.shape[1], SKETCHES)) / np.sqrt(SKETCHES)
    seen = solve_triangular(whole, found @ unseen, lower=True)
    both = np.concatenate([factor, -seen], axis=1)
    both = found.T @ solve_triangular(whole, both, lower=True, trans="T")
    whole_factor, rest = both[:, :-SKETCHES], both[:, -SKETCHES:] + unseen
    if len(factor) <= DIRECTIONS + SKETCHES:
        return np.concatenate([whole_factor, rest], axis=1)
    whole_factor[:, -SKETCHES:] += rest
    return whole_factor


def _thin(half: Array, inverse: Array, rng: RandomState) -> Array:
    """Return a factor (m, k) of few directions that stands for the whole one, `inverse` (m, m).

    `half` (n, m) are rows times the whole factor.  Directions that carry most of their variance are
    kept; of the rest there are random combinations, which keep any row's variance in the mean.
    """
    size = len(inverse)
    if size <= DIRECTIONS + SKETCHES:
        return inverse
    unit = half / np.maximum(np.sqrt((half**2).sum(axis=1)), 1e-300)[:, None]
    kept = np.linalg.qr(unit.T @ rng.standard_normal((len(unit), DIRECTIONS)))[0]
    for _ in range(2):
        kept = np.linalg.qr(unit.T @ (unit @ kept))[0]
    rest = rng.standard_normal((size, SKETCHES)) / np.sqrt(SKETCHES)
    rest -= kept @ (kept.T @ rest)
    return inverse @ np.concatenate([kept, rest], axis=1)
