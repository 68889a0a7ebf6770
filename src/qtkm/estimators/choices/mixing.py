"""The network and the full-rank model together, as held-out rows ask for it.

Where rows are few enough, the model of all weights (`qtkm.objective.sections`) is solved with the
prior that the rows make likeliest (`qtkm.objective.evidence`).  It is fitted to the targets, or to
what the network leaves of them.  Held-out rows choose its target, its penalty and its share t:

    f = c·((1 - t)·network + t·full rank)        or        c·(network + t·full rank of what is left)

The first averages two models of noisy rows, the second adds details that a network cannot have.
Predictions of noise have no use for either: the factor c <= 1 is the slope of the held-out targets
over their predictions.  Where a kernel with fewer parts may explain the rows as well, f is averaged
with the model of that kernel, main effects alone.  The result is one CPD with main effects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ... import interruption
from ...data import Shard
from ...networks import Cores
from ...networks.algebra import Diagonal
from ...networks.moments import weights_of
from ...objective import evidence
from ...objective.sections import Part, Sections, factorize, solve
from ..rows import count_codes, joined
from .full_rank import full_prior

Array = NDArray[np.float64]

#: centres of the model, rows times centres, the same for losses that are not quadratic, whose steps
#: read them again and again, and rows times centres²
MOST_CENTRES, MOST_NUMBERS, MOST_NUMBERS_READ, MOST_WORK = 4000, 100_000_000, 20_000_000, 1.8e11
#: least and greatest penalty in units of one row
LEAST, GREATEST = 1e-7, 10.0
#: the least one where losses have probabilities: few held-out rows do not tell how sure a model of
#: classes may be that no row contradicts
LEAST_OF_CLASSES = 1e-3
#: rows that length scales are compared on, and the factor from one to the next
COMPARED, SHORTER = 1000, 0.5
#: folds that penalties are compared on
COMPARED_FOLDS = 2
#: parts of the full-rank model
SHARES = (0.25, 0.5, 0.75, 1.0)
#: relative gain of held-out rows below which nothing is mixed in
GAIN = 0.005
#: slopes above this are taken for 1
LEAST_SLOPE = 0.95


@dataclass
class FullRank:
    """The full-rank model of a prior on all rows, its penalty in units of one row."""

    sections: Sections
    parts: list[Part]
    size: float
    error: float

    def coefficients(self, loss: Any, offsets: Sequence[Array] = ()) -> Array:
        """Fit to all rows."""
        factor = factorize(self.parts, self.size, loss, self.sections.run)
        assert factor is not None  # fewer rows could be solved for
        return solve(factor, self.parts, self.size, loss, offsets)


@dataclass
class Mix:
    """What held-out rows ask for; see the module.

    `shards` are all rows, `share` and `kept` are the parts of the full-rank model and of the
    network, `weight` is that of the `simpler` model of main effects beside both, `centre` is what
    predictions are drawn to, `unseen` gives for every fold responses of rows that it has not seen,
    and `error` is the mean loss of the held-out rows.  A network that is kept as a whole leaves the
    full-rank model what it does not explain.
    """

    full: FullRank
    simpler: FullRank | None
    weight: float
    shards: list[Shard]
    share: float
    kept: float
    factor: float
    centre: Array
    unseen: list["Unseen"]
    error: float

    def cores(self, cores: Cores, iterate: Any, loss: Any) -> Cores:
        """Cores of the mix, of those of a network, main effects last.

        With terms of full rank there is one level per column.
        """
        rest = (1 - self.weight) * self.factor
        own = rest * self.kept
        *terms, effects = cores
        parts = [[own * each for each in effects]]
        if self.share:
            offsets = [iterate.responses(s).real for s in self.shards] if self.kept == 1 else ()
            found = self.full.coefficients(loss, offsets)
            *more, effects = self.full.sections.cores(rest * self.share * found)
            parts.append(effects)
            if terms and own:
                terms = self._scaled(one_level(terms), own)
                more = [join(a, b) for a, b in zip(terms, more, strict=True)]
            terms = more
        elif terms:
            terms = self._scaled(terms, own)
        if self.simpler is not None:
            found = self.simpler.coefficients(loss)
            parts += self.simpler.sections.cores(self.weight * found)
        effects = [sum(each) for each in zip(*parts, strict=True)]
        effects[-1] = effects[-1] + (1 - self.weight) * (1 - self.factor) * self.centre
        return [*terms, effects]

    def _scaled(self, terms: Cores, factor: float) -> Cores:
        """Terms times a factor, in the output core if there is one."""
        *others, last = terms
        if len(terms) > len(self.full.sections.columns):
            return [*others, factor * last]
        return [*others, [factor * last[0], *last[1:]]]


@dataclass
class Unseen:
    """Responses of the mix of one fold: those of a network and of models of full rank."""

    network: Any
    kept: float
    others: list[tuple[Sections, Array]]
    constant: Array

    def responses(self, shard: Shard) -> Array:
        """Responses of a shard's rows."""
        mixed = self.constant + self.kept * self.network.responses(shard).real
        return sum((each.design(shard.codes) @ own for each, own in self.others), start=mixed)


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
        self.loss, self.run = objective.loss, objective.engine.run
        self.shards = [joined(fold.held_out) for fold in self.folds]
        if len(self.folds) == 1:
            self.shards.append(joined(search.parts[0][0].shards))
        n_rows = sum(map(len, self.shards))
        self.columns = objective.columns
        self.counts = objective.engine.sum(count_codes, objective.shards)
        if n_rows > evidence.REFINED[0]:
            prior = self._compared(prior, min(1.0, COMPARED / n_rows))
        numbers = MOST_NUMBERS if self.loss.is_quadratic else MOST_NUMBERS_READ
        most = min(MOST_CENTRES, numbers // n_rows, int((MOST_WORK / n_rows) ** 0.5))
        self.prior, self.full = prior, self._solve(prior, self.shards, most)
        self.factors = self._factors(self.full, self.full.size, len(self.folds))
        self.simpler, self.simpler_factors = None, []
        if prior.simpler is not None:  # its likelihood has seen all rows, and so its noise stands
            simpler = self._sections(prior.simpler, self.shards, most)
            self.simpler_factors = self._factors(simpler, simpler.size, len(self.folds))
            if not any(each is None for each in self.simpler_factors):
                self.simpler = simpler

    def _solve(self, prior: Any, shards: Sequence[Shard], most: int) -> FullRank:
        """Return the model of a prior, at the penalty of the least error of held-out rows."""
        full = self._sections(prior, shards, most)
        least = least_penalty(self.loss)
        full.error, full.size = _lowest(partial(self._error_at, full), full.size, least)
        return full

    def _sections(self, prior: Any, shards: Sequence[Shard], most: int) -> FullRank:
        """Return the model of a prior, its penalty the noise."""
        every = np.concatenate([shard.codes for shard in shards])
        codes, places = np.unique(every, axis=0, return_inverse=True)
        chosen = _some(len(codes), most)
        kernel = full_prior(prior, self.columns, self.counts)
        sections = Sections(self.columns, kernel, codes[chosen], self.run)
        centre_of = np.full(len(codes), -1)
        centre_of[chosen] = np.arange(len(chosen))
        own = np.split(centre_of[places.ravel()], np.cumsum(list(map(len, shards)))[:-1])
        parts = [Part.of(sections, *each) for each in zip(shards, own, strict=True)]
        size = float(np.clip(prior.noise, least_penalty(self.loss), GREATEST))
        return FullRank(sections, parts, size, np.inf)

    def _compared(self, prior: evidence.Prior, part: float) -> evidence.Prior:
        """Return a prior with the smoothness and length scales that a part of the rows asks for.

        The prior was learned from fewer rows, and the closer rows are, the more neighbours tell.
        """
        shards = [shard.take(_alike(shard.codes, part)) for shard in self.shards]
        if min(map(len, shards)) < 2:
            return prior
        best = found = self._solve(prior, shards, COMPARED)
        steps = [prior.rough(), prior]
        while steps:
            other = steps.pop(0).scaled(SHORTER, found.size)
            found = self._solve(other, shards, COMPARED)
            if found.error < best.error * (1 - GAIN):
                prior, best, steps = other, found, [other]
        return prior.scaled(1.0, found.size)

    def _others(self, fold: int, every: Sequence[Any]) -> list[Any]:
        """Return what belongs to the parts that a fold does not hold out."""
        return [each for i, each in enumerate(every) if i != fold]

    def _factors(self, full: FullRank, size: float, count: int) -> list[Any]:
        """Return the factors of the problems of some folds."""

        def factor(fold: int) -> Any:
            return factorize(self._others(fold, full.parts), size, self.loss, self.run)

        return self.run(factor, range(count))

    def _fits(
        self, full: FullRank, factors: Sequence[Any], size: float, offsets: Sequence[Any] = ()
    ) -> list[Any]:
        """Return the coefficients of some folds, each of the rows that it does not hold out."""

        def fit(fold: int) -> Any:
            rest = self._others(fold, offsets[fold]) if offsets else ()
            return solve(factors[fold], self._others(fold, full.parts), size, self.loss, rest)

        return self.run(fit, range(len(factors)))

    def _error_at(self, full: FullRank, size: float) -> float:
        """Mean loss of the held-out rows of some folds at a penalty."""
        interruption.check()
        factors = self._factors(full, size, min(COMPARED_FOLDS, len(self.folds)))
        if any(each is None for each in factors):
            return np.inf
        unseen = self._unseen(full, self._fits(full, factors, size))
        return float(self._losses(unseen, full.parts).mean())

    def _unseen(self, full: FullRank, fits: Sequence[Any]) -> list[Array]:
        """Responses of the held-out rows of some folds."""
        return [part.design @ fit for part, fit in zip(full.parts, fits, strict=False)]

    def mix(self, best: Any) -> Mix | None:
        """Return the best mix with a trial; None where that alone is as good.

        Parameters
        ----------
        best : Trial
            Of a network, or of main effects alone.
        """
        if any(each is None for each in self.factors):
            return None
        pairs = zip(self.folds, best.states, strict=True)
        iterates = [fold.at(state)[1] for fold, state in pairs]
        responses = [[i.responses(shard).real for shard in self.shards] for i in iterates]
        own = [each[fold] for fold, each in enumerate(responses)]  # of the rows held out
        full, parts = self.full, self.full.parts
        alone = float(self._losses(own, parts).mean())
        found, fits = [(alone, 0.0, 1.0, own)], {}
        for of_rest in (False, True):
            offsets = responses if of_rest else ()
            fits[of_rest] = self._fits(full, self.factors, full.size, offsets)
            unseen = self._unseen(full, fits[of_rest])
            for share in SHARES:
                kept = 1.0 if of_rest else 1 - share
                both = [kept * a + share * b for a, b in zip(own, unseen, strict=True)]
                found.append((float(self._losses(both, parts).mean()), share, kept, both))
        error, share, kept, mixed = min(found, key=lambda each: each[0])
        if alone - error < GAIN * alone:
            error, share, kept, mixed = found[0]
        factor, centre = self._slope(mixed)
        if share == 0 and factor == 1 and self.simpler is None:
            return None
        weight = 0.0 if self.simpler is None else self.prior.weight
        rest = (1 - weight) * factor
        of_folds = [
            Unseen(iterate, rest * kept, [(full.sections, rest * share * fit)],
                   (1 - weight) * (1 - factor) * centre)
            for iterate, fit in zip(iterates, fits[kept == 1], strict=True)
        ]  # fmt: skip
        mixed = [(1 - weight) * (centre + factor * (each - centre)) for each in mixed]
        if self.simpler is not None:
            main = self._fits(self.simpler, self.simpler_factors, self.simpler.size)
            for each, fit in zip(of_folds, main, strict=True):
                each.others.append((self.simpler.sections, weight * fit))
            pairs = zip(mixed, self._unseen(self.simpler, main), strict=True)
            mixed = [a + weight * b for a, b in pairs]
        error = float(self._losses(mixed, parts).mean())
        return Mix(
            full, self.simpler, weight, self.shards, share, kept, factor, centre, of_folds, error
        )

    def _losses(self, unseen: Sequence[Any], parts: Sequence[Part]) -> Array:
        """Losses of held-out rows, times their weights over the mean weight."""
        losses, weights = [], []
        for response, part in zip(unseen, parts, strict=False):
            if self.limits is not None:
                response = np.clip(response, *self.limits)
            losses.append(self.loss.value(response, part.target))
            weights.append(part.weight)
        weight = np.concatenate(weights)
        return np.concatenate(losses) * weight / weight.mean()

    def _slope(self, unseen: Sequence[Array]) -> tuple[float, Array]:
        """Slope of held-out targets over predictions, at most 1, and the mean of the targets."""
        parts = self.full.parts[: len(unseen)]
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


def least_penalty(loss: Any) -> float:
    """Return the least penalty, in units of one row, that a search may choose."""
    return LEAST_OF_CLASSES if loss.has_probabilities else LEAST


def _lowest(error: Callable[[float], float], first: float, least: float) -> tuple[float, float]:
    """Return the least error on a path of the penalty, and where."""
    values = {first: error(first)}

    def follow(factor: float) -> None:
        size = min(values, key=lambda each: values[each])
        while least <= size * factor <= GREATEST:
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
