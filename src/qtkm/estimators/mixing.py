"""The network and the full-rank model side by side, as held-out rows ask for it.

Where rows are few enough, the model of all weights (`qtkm.objective.sections`) is solved with the
prior that the rows make likeliest (`qtkm.objective.evidence`).  Held-out rows say how large its
penalty is, and how much of it is mixed with the network:

    f = c·((1 - t)·network + t·full rank)

Predictions of noise have no use for either: the factor c <= 1 is the slope of the held-out targets
over their predictions.  The result is one CPD with main effects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import interruption
from ..data import Shard
from ..networks import Cores
from ..networks.algebra import Diagonal
from ..networks.moments import weights_of
from ..objective import evidence
from ..objective.sections import Part, Sections, solve
from .full_rank import full_prior
from .rows import count_codes, joined

Array = NDArray[np.float64]

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
        self.shards = [joined(fold.held_out) for fold in self.folds]
        if len(self.folds) == 1:
            self.shards.append(joined(search.parts[0][0].shards))
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
