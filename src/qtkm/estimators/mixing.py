"""The network and the full-rank model side by side, as held-out rows ask for it.

Where rows are few enough, the model of all weights (`qtkm.objective.sections`) is solved with the
prior that the rows make likeliest (`qtkm.objective.evidence`).  Held-out rows say how large its
penalty is, and how much of it is mixed with the network:

    f = c·((1 - t)·network + t·full rank)

Predictions of noise have no use for either: the factor c <= 1 is the slope of the held-out targets
over their predictions.  The result is one CPD with main effects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from .. import interruption, penalties
from ..data import Shard
from ..networks import Additive, Cores
from ..networks.algebra import Diagonal
from ..networks.moments import weights_of
from ..objective import Column, evidence
from ..objective.sections import FullPrior, Part, Sections, solve
from ..penalties.priors import GAP_SHARE
from . import defaults
from .defaults import is_auto
from .rows import count_codes

Array = NDArray[np.float64]

#: rows beyond which there is no full-rank model
MOST_ROWS = 60_000
#: rows up to which a full-rank model that is best alone at first remains so: with more rows its
#: centres are a part of them, and a larger network may do better
MOST_ALONE = 5000
#: centres of the model, and rows times centres
MOST_CENTRES, MOST_NUMBERS = 2500, 80_000_000
#: least and greatest penalty in units of one row
LEAST, GREATEST = 1e-7, 10.0
#: rows that length scales are compared on, and the factor from one to the next
COMPARED, SHORTER = 1000, 0.5
#: folds that penalties are compared on
COMPARED_FOLDS = 2
#: parts of the full-rank model in the mix
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: relative gain of held-out rows below which nothing is mixed in
GAIN = 0.005
#: slopes above this are taken for 1
LEAST_SLOPE = 0.95
#: least factor by which the series of a kernel is multiplied, where it is nearly constant
LEAST_FACTOR = 0.1
#: periods and numbers of functions of a column to choose from: the first whose kernel differs by
#: less than a part, which is larger for rough ones; few functions where there are many columns
BASES = ((2.0, 27), (4.0, 27), (2.0, 81), (4.0, 81), (8.0, 81), (16.0, 81))
MANY_COLUMNS = 30
CLOSE, CLOSE_IF_ROUGH = 0.01, 0.05
#: distances at which kernels are compared
DISTANCES = np.linspace(0, 1, 65)


def is_possible(search: Any) -> bool:
    """Return True if a search may mix the full-rank model with its network."""
    objective = search.prepared.objective
    loss = objective.loss
    return (
        isinstance(search.model.rank, str)
        and is_auto(search.model.alpha)
        and is_auto(search.model.quantization)
        and objective.rows_are_here
        and objective.n_rows <= MOST_ROWS
        and objective.families is not None
        and all(map(_has_kernel, objective.columns, objective.penalties))
        and (loss.is_quadratic or loss.has_constant_bound)
    )


def _has_kernel(column: Any, penalty: Any) -> bool:
    """Whether the prior of a column is that of a Matérn kernel or of pooled categories."""
    is_spectral = isinstance(penalty, penalties.Matern | penalties.RBF)
    if column.is_categorical:
        return is_spectral and not column.is_one_hot
    return is_spectral and hasattr(column.feature_map, "period")


# -- the prior --------------------------------------------------------------------------------


def learn_prior(search: Any) -> evidence.Prior | None:
    """Return the likeliest prior of the rows, the columns of the fit scaled as it says."""
    prepared, model = search.prepared, search.model
    objective = prepared.objective
    whole = _whole(objective.shards)
    chosen = np.random.RandomState(0).permutation(len(whole))[: evidence.REFINED[0]]
    rows = whole.take(chosen)
    zero = np.zeros_like(rows.target)
    target = -objective.loss.gradient(zero, rows.target).real
    target = target / np.asarray(objective.loss.bound(zero, rows.target)).reshape(-1, 1)
    weight: Array = np.ones(len(rows))
    weight = weight if rows.weight is None else np.asarray(rows.weight, dtype=np.float64)
    target = target - weight @ target / weight.sum()
    size = float(np.sqrt((weight @ target**2).mean() / weight.sum()))
    if len(rows) < 3 or not size > 0:
        return None
    scalings = [defaults.scaling(model)]
    is_small = objective.n_rows <= MOST_ALONE
    is_moved = any(_warp(column) is not None for column in objective.columns)
    if is_auto(model.scaling) and is_moved and is_small:
        scalings.append("range")
    candidates = [_candidate(objective, rows.codes, scaling) for scaling in scalings]
    scatter = objective.scatter * len(rows) / len(whole) / size**2
    prior = evidence.learn(candidates, target / size, weight, scatter, interruption.check)
    if prior is None:
        return None
    prior.parameters[-4:] += 2 * np.log(size)
    if is_small:  # of more rows a few hundred do not tell what a large network needs
        _reshape(prepared, model, prior)
    return prior


def _warp(column: Any) -> Any:
    return getattr(column.feature_map, "warp", None)


def _candidate(objective: Any, codes: NDArray, scaling: str) -> evidence.Candidate:
    """Return the columns of some rows as a prior sees them."""
    columns, given = objective.columns, objective.penalties
    places, plain, missing = [], [], []
    for d, column in enumerate(columns):
        own, values = column.feature_map, column.values[codes[:, d]]
        missing.append(np.isnan(values))
        values = np.where(missing[-1], own.place, values) if own.has_gaps else values
        plain.append(np.zeros(len(values)) if column.is_categorical else values)
        is_moved = _warp(column) is not None and scaling != "range"
        places.append(own.unwarped(values)[0] if is_moved else values)
    numbers = np.array([not column.is_categorical for column in columns])

    def known(name: str) -> Array:
        values = [getattr(each, name, np.inf) for each in given]
        return np.array([np.nan if isinstance(value, str) else float(value) for value in values])

    smoothness = np.where(np.isfinite(known("nu")), np.round(known("nu") - 0.5) + 0.5, known("nu"))
    return evidence.Candidate(
        np.column_stack(places), np.column_stack(plain), np.column_stack(missing), numbers,
        np.array([getattr(c.feature_map, "period", 2.0) == 1 for c in columns]),
        known("length_scale"), known("share"), smoothness, GAP_SHARE, scaling,
    )  # fmt: skip


def _reshape(prepared: Any, model: Any, prior: evidence.Prior) -> None:
    """Scale the columns as a prior asks for, and give them periods that suit its length scales."""
    objective = prepared.objective
    maps = []
    for d, column in enumerate(objective.columns):
        own = clone(column.feature_map)
        inner = own.inner if own.has_gaps else own
        if not column.is_categorical:
            if _warp(column) is not None and prior.scaling == "range":
                inner.set_params(warp=None)
            is_usual = inner.n_basis == defaults.N_BASIS and inner.period == defaults.PERIOD
            if is_auto(model.period) and is_auto(model.n_basis) and is_usual:
                nu, scale = prior.smoothness[d], prior.scales[d]
                most = np.inf if len(objective.columns) <= MANY_COLUMNS else defaults.N_BASIS
                bases = [clone(inner).set_params(period=L, n_basis=min(M, most)) for L, M in BASES]
                errors = np.array([_fit(each, nu, scale)[0] for each in bases])
                close = CLOSE if nu > 1 else CLOSE_IF_ROUGH
                best = bases[int(np.argmax(errors < max(close, 1.0001 * errors.min())))]
                inner.set_params(period=best.period, n_basis=best.n_basis)
        maps.append(own)
    inputs = prepared.inputs.with_maps(maps)
    counts = objective.engine.sum(count_codes, objective.shards)
    columns = []
    for own, column, count in zip(inputs.columns, objective.columns, counts, strict=True):
        columns.append(Column(column.name, own.feature_map, column.box, column.grid))
        own.weigh(columns[-1].values, count, prior.scaling)
    network = Additive(objective.network.network, [each.n_main for each in maps])
    prepared.objective = replace(objective, columns=columns, network=network)
    prepared.reading = replace(prepared.reading, inputs=inputs)


def _fit(feature_map: Any, nu: float, scale: float) -> tuple[float, float]:
    """Compare a Matérn kernel with its series of exponentials: k ≈ a + b·series.

    Returns
    -------
    error : float
        Largest difference over the kernel's range.
    slope : float
        b.
    """
    frequencies = feature_map.frequencies
    series = np.cos(np.multiply.outer(DISTANCES, frequencies))
    series = series @ _member(nu, scale, 1.0).variances(frequencies)
    exact = evidence.matern(DISTANCES / scale, nu)[0]
    centred = series - series.mean()
    slope = float(centred @ exact) / max(float(centred @ centred), 1e-300)
    rest = exact - exact.mean() - slope * centred
    return np.abs(rest).max() / max(exact[0] - exact[-1], 1e-300), max(slope, LEAST_FACTOR)


def _member(nu: float, scale: float, share: float) -> Any:
    if np.isinf(nu):
        return penalties.RBF(scale, share)
    return penalties.Matern(nu, scale, share)


def full_prior(prior: evidence.Prior, columns: Sequence[Any], counts: Sequence[Array]) -> FullPrior:
    """Return a prior in the functions of the columns.

    Parameters
    ----------
    prior : Prior
    columns : sequence of Column
    counts : sequence of (n_grid,) arrays
        Weights of the grid values.
    """
    product, slope, _, smooth = prior.variances
    smooth, constant = smooth / len(columns), evidence.CONSTANT
    precisions, main, means = [], [], []
    for d, (column, count) in enumerate(zip(columns, counts, strict=True)):
        own, scale, share, nu = column.feature_map, prior.scales[d], prior.shares[d], 0.0
        if column.is_categorical:
            precisions.append(_member(1.5, scale, share).precision(own))
            main.append(np.full(column.n_main, smooth))
            means.append(np.zeros(column.n_main))
            continue
        nu = prior.smoothness[d]
        inner = own.inner if own.has_gaps else own
        factor = 1.0 if inner.period == 1 else _fit(inner, nu, scale)[1]
        precisions.append(_member(nu, scale, min(1.0, factor * share)).precision(own))
        functions, weight = column.main_features, count / count.sum()
        mean = weight @ functions[:, 0]
        spread = float(weight @ (functions[:, 0] - mean) ** 2)
        density = _member(nu, scale, 1.0).variances(inner.frequencies)
        half = smooth * factor * density[len(density) // 2 + 1 :][: (inner.n_main - 1) // 2]
        own_slope = slope / spread if spread > 1e-12 else 0.0
        gaps = [smooth] if own.has_gaps else []
        main.append(np.concatenate([[own_slope], np.repeat(half, 2), gaps]))
        means.append(np.concatenate([[mean], np.zeros(len(main[-1]) - 1)]))
    return FullPrior(precisions, product, main, means, constant)


# -- the mix ----------------------------------------------------------------------------------


@dataclass
class Mix:
    """What held-out rows ask for; see the module.

    `parts` are all rows, `size` the penalty of the full-rank model in units of one row, `centre`
    what predictions are drawn to, `unseen` gives for every fold responses of rows that it has not
    seen, and `error` is the mean loss of the held-out rows.
    """

    sections: Sections
    parts: list[Part]
    size: float
    share: float
    factor: float
    centre: Array
    unseen: list["Unseen"]
    error: float

    def cores(self, cores: Cores, loss: Any) -> Cores:
        """Cores of the mix, one level per column, of those of a network, main effects last."""
        found = solve(self.parts, self.size, loss)
        assert found is not None  # fewer rows could be solved for
        own, other = self.factor * (1 - self.share), self.factor * self.share
        *inner, effects = self.shrunk([*one_level(cores[:-1]), cores[-1]], own)
        *terms, more = self.sections.cores(other * found)
        if inner and own > 0:
            terms = [join(a, b) for a, b in zip(inner, terms, strict=True)]
        return [*terms, [a + b for a, b in zip(effects, more, strict=True)]]

    def shrunk(self, cores: Cores, factor: float) -> Cores:
        """Cores with a multiple of the response, drawn to the centre by the factor c."""
        *inner, effects = cores
        effects = [factor * each for each in effects]
        effects[-1] = effects[-1] + (1 - self.factor) * self.centre
        last = len(self.sections.columns)
        if len(inner) > last:
            inner[last] = factor * inner[last]
        elif inner:
            inner[0] = [factor * inner[0][0], *inner[0][1:]]
        return [*inner, effects]


@dataclass
class Unseen:
    """Responses of the mix of one fold."""

    network: Any
    sections: Sections
    coefficients: Array
    share: float
    factor: float
    centre: Array

    def responses(self, shard: Shard) -> Array:
        """Responses of a shard's rows."""
        other = self.sections.design(shard.codes) @ self.coefficients
        mixed = (1 - self.share) * self.network.responses(shard).real + self.share * other
        return self.centre + self.factor * (mixed - self.centre)


class Mixer:
    """Choice of a mix by the rows that a search holds out.

    Parameters
    ----------
    search : Search
    prior : Prior
        Of the full-rank model.
    """

    def __init__(self, search: Any, prior: evidence.Prior):
        self.folds, self.limits = search.folds, search.limits
        objective = search.prepared.objective
        self.loss = objective.loss
        self.shards = [_whole(fold.held_out) for fold in self.folds]
        if len(self.folds) == 1:
            self.shards.append(_whole(search.parts[0][0].shards))
        n_rows = sum(map(len, self.shards))
        self.columns = objective.columns
        self.counts = objective.engine.sum(count_codes, objective.shards)
        if n_rows > evidence.REFINED[0]:
            prior = self._compared(prior, min(1.0, COMPARED / n_rows))
        most = min(MOST_CENTRES, MOST_NUMBERS // n_rows)
        self.prior, (self.error, self.size) = prior, self._solve(prior, self.shards, most)
        fits = [self._fit(fold, self.size) for fold in range(len(self.folds))]
        self.fits = [each for each in fits if each is not None]

    def _solve(self, prior: Any, shards: Sequence[Shard], most: int) -> tuple[float, float]:
        """Make the sections of a prior; return the least error of held-out rows and its penalty."""
        codes = np.unique(np.concatenate([shard.codes for shard in shards]), axis=0)
        kernel = full_prior(prior, self.columns, self.counts)
        self.sections = Sections(self.columns, kernel, codes[_some(len(codes), most)])
        self.parts = [Part.of(self.sections, [shard]) for shard in shards]
        return _lowest(self._error_at, float(np.clip(prior.noise, LEAST, GREATEST)))

    def _compared(self, prior: evidence.Prior, part: float) -> evidence.Prior:
        """Return a prior with the smoothness and length scales that a part of the rows asks for.

        The prior was learned from fewer rows, and the closer rows are, the more neighbours tell.
        """
        shards = [shard.take(_alike(shard.codes, part)) for shard in self.shards]
        if min(map(len, shards)) < 2:
            return prior
        error, size = self._solve(prior, shards, COMPARED)
        steps = [prior.rough(), prior]
        while steps:
            other = steps.pop(0).scaled(SHORTER, size)
            new, size = self._solve(other, shards, COMPARED)
            if new < error * (1 - GAIN):
                prior, error, steps = other, new, [other]
        return prior

    def _fit(self, fold: int, size: float) -> Array | None:
        """Coefficients of the rows that a fold does not hold out."""
        others = [part for i, part in enumerate(self.parts) if i != fold]
        return solve(others, size, self.loss)

    def _error_at(self, size: float) -> float:
        """Mean loss of the held-out rows of some folds at a penalty."""
        interruption.check()
        fits = [self._fit(fold, size) for fold in range(min(COMPARED_FOLDS, len(self.folds)))]
        if any(each is None for each in fits):
            return np.inf
        return float(self._losses(self._unseen(fits)).mean())

    def _unseen(self, fits: Sequence[Any]) -> list[Array]:
        """Responses of the held-out rows of some folds."""
        return [part.design @ fit for part, fit in zip(self.parts, fits, strict=False)]

    def mix(self, best: Any) -> Mix | None:
        """Return the best mix with a trial; None where that alone is as good.

        Parameters
        ----------
        best : Trial
            Of a network, or of main effects alone.
        """
        if len(self.fits) < len(self.folds):
            return None
        unseen = self._unseen(self.fits)
        pairs = zip(self.folds, best.states, strict=True)
        iterates = [fold.at(state)[1] for fold, state in pairs]
        seen = zip(iterates, self.shards, strict=False)
        network = [iterate.responses(shard).real for iterate, shard in seen]
        found = []
        for share in SHARES:
            mixed = [(1 - share) * a + share * b for a, b in zip(network, unseen, strict=True)]
            found.append((float(self._losses(mixed).mean()), share, mixed))
        error, share, mixed = min(found, key=lambda each: each[0])
        if found[0][0] - error < GAIN * found[0][0]:
            error, share, mixed = found[0]
        factor, centre = self._slope(mixed)
        if share == 0 and factor == 1:
            return None
        mixed = [centre + factor * (each - centre) for each in mixed]
        of_folds = [
            Unseen(iterate, self.sections, fit, share, factor, centre)
            for iterate, fit in zip(iterates, self.fits, strict=True)
        ]
        error = float(self._losses(mixed).mean())
        return Mix(self.sections, self.parts, self.size, share, factor, centre, of_folds, error)

    def _losses(self, unseen: Sequence[Any]) -> Array:
        """Losses of held-out rows, times their weights over the mean weight."""
        losses, weights = [], []
        for response, part in zip(unseen, self.parts, strict=False):
            if self.limits is not None:
                response = np.clip(response, *self.limits)
            losses.append(self.loss.value(response, part.target))
            weights.append(part.weight)
        weight = np.concatenate(weights)
        return np.concatenate(losses) * weight / weight.mean()

    def _slope(self, unseen: Sequence[Array]) -> tuple[float, Array]:
        """Slope of held-out targets over predictions, at most 1, and the mean of the targets."""
        parts = self.parts[: len(unseen)]
        target = np.concatenate([part.target for part in parts])
        weight = np.concatenate([part.weight for part in parts])
        centre = weight @ target / weight.sum()
        if not self.loss.is_quadratic:
            return 1.0, centre
        response = np.concatenate(list(unseen)) - centre
        if self.limits is not None:
            response = np.clip(response, self.limits[0] - centre, self.limits[1] - centre)
        square = float((weight @ response**2).sum())
        product = float((weight @ (response * (target - centre))).sum())
        slope = min(1.0, max(0.0, product / square)) if square > 0 else 1.0
        return (1.0 if slope > LEAST_SLOPE else slope), centre


def _lowest(error: Callable[[float], float], first: float) -> tuple[float, float]:
    """Return the least error on a path of the penalty, and where."""
    values = {first: error(first)}

    def follow(factor: float) -> None:
        size = min(values, key=lambda each: values[each])
        while LEAST <= size * factor <= GREATEST:
            values[size * factor] = error(size * factor)
            if values[size * factor] >= values[size]:
                break
            size *= factor

    follow(10**-0.5)
    if len(values) <= 2:
        follow(10**0.5)
    best = min(values, key=lambda each: values[each])
    return values[best], best


def one_level(cores: Cores) -> Cores:
    """Cores of a CPD with all levels of a column multiplied out."""
    return [[weights_of(Diagonal(), each)] if isinstance(each, list) else each for each in cores]


def join(a: Any, b: Any) -> Any:
    """Put terms of two CPDs side by side: cores of a column, or the output core."""
    if isinstance(a, list):
        return [np.concatenate(pair, axis=1) for pair in zip(a, b, strict=True)]
    return np.concatenate([a, b], axis=1)


def _whole(shards: Sequence[Any]) -> Shard:
    """All rows of some shards in one."""
    if len(shards) == 1:
        return shards[0]
    weights = [np.ones(len(s)) if s.weight is None else s.weight for s in shards]
    return Shard(
        np.concatenate([shard.codes for shard in shards]),
        np.concatenate([shard.target for shard in shards]),
        np.concatenate(weights),
        shards[0].n_codes,
    )


def _some(count: int, most: int) -> NDArray[np.int64]:
    """Numbers of rows, all or some at about equal distances."""
    return np.unique(np.linspace(0, count - 1, min(count, most)).round().astype(np.int64))


def _alike(codes: NDArray, part: float) -> NDArray[np.int64]:
    """Return numbers of about a part of the rows, the same for equal rows."""
    if part >= 1:
        return np.arange(len(codes))
    hashes = np.zeros(len(codes), dtype=np.uint64)
    for column in codes.T:
        hashes = (hashes + column.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        hashes ^= hashes >> np.uint64(29)
    return np.flatnonzero((hashes >> np.uint64(32)) < part * 2**32)
