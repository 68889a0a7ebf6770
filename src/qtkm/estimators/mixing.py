"""The network and the full-rank model side by side, as held-out rows ask for it.

Where rows are few enough, the model of all weights (`qtkm.objective.sections`) is solved with the
length scales and shares that the search has learned, somewhat shorter or longer ones, and another
smoothness.  Held-out rows say which, how large its penalty is, and how much of it is mixed with
the network:

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
from ..objective.sections import Part, Sections, solve
from .defaults import is_auto

Array = NDArray[np.float64]

#: rows beyond which there is no full-rank model
MOST_ROWS = 60_000
#: rows up to which a full-rank model that is best alone at first remains so: with more rows its
#: centres are a part of them, and a larger network may do better
MOST_ALONE = 5000
#: centres of the last model, rows times centres, and rows that kernels are compared on
MOST_CENTRES, MOST_NUMBERS, COMPARED = 2500, 80_000_000, 900
#: smoothness to compare, and the shortest and longest factor of the length scales
SMOOTHNESS, SHORTEST = (0.5, 1.5, 4.5), 1 / 4
#: first penalty in units of one row, and its ends
FIRST, LEAST, GREATEST = 1e-2, 1e-6, 10.0
#: folds that kernels are compared on
COMPARED_FOLDS = 2
#: parts of the full-rank model in the mix
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
#: relative gain of held-out rows, and standard errors of it, below which nothing is mixed in
GAIN, ERRORS = 0.005, 2.0
#: slopes above this are taken for 1
LEAST_SLOPE = 0.95


def is_possible(search: Any) -> bool:
    """Return True if a search may mix the full-rank model with its network."""
    objective = search.prepared.objective
    loss = objective.loss
    return (
        isinstance(search.model.rank, str)
        and search.size is None
        and is_auto(search.model.quantization)
        and objective.rows_are_here
        and objective.n_rows <= MOST_ROWS
        and objective.families is not None
        and (loss.is_quadratic or loss.has_constant_bound)
    )


@dataclass
class Mix:
    """What held-out rows ask for; see the module.

    Attributes
    ----------
    sections : Sections
    parts : list of Part
        All rows.
    shards : list of Shard
        The same, coded.
    size : float
        Penalty of the full-rank model in units of one row.
    share : float
        Part t of the full-rank model.
    factor : float
        c.
    centre : (n_outputs,) array
        What predictions are drawn to.
    unseen : list of Unseen
        Of every fold, responses of rows that it has not seen.
    error : float
        Mean loss of the held-out rows.
    """

    sections: Sections
    parts: list[Part]
    shards: list[Shard]
    size: float
    share: float
    factor: float
    centre: Array
    unseen: list["Unseen"]
    error: float

    def cores(self, cores: Cores, main: Any, loss: Any) -> Cores:
        """Cores of the mix, one level per column, main effects last.

        Parameters
        ----------
        cores : list
            Of the network and its main effects, or of main effects alone.
        main : AdditiveIterate
            Main effects alone, fitted to all rows.
        loss : Loss
        """
        bases = [main.responses(shard).real for shard in self.shards]
        found = solve(self.parts, bases, self.size, loss)
        assert found is not None  # fewer rows could be solved for
        own, other = self.factor * (1 - self.share), self.factor * self.share
        *inner, effects = self.shrunk([*one_level(cores[:-1]), cores[-1]], own)
        terms = self.sections.cores(other * found)
        if inner and own > 0:
            terms = [join(a, b) for a, b in zip(inner, terms, strict=True)]
        return [*terms, [a + other * b for a, b in zip(effects, main.cores[-1], strict=True)]]

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
    main: Any
    sections: Sections
    coefficients: Array
    share: float
    factor: float
    centre: Array

    def responses(self, shard: Shard) -> Array:
        """Responses of a shard's rows."""
        other = self.main.responses(shard).real
        other = other + self.sections.design(shard.codes) @ self.coefficients
        mixed = (1 - self.share) * self.network.responses(shard).real + self.share * other
        return self.centre + self.factor * (mixed - self.centre)


class Mixer:
    """Choice of a mix by the rows that a search holds out.

    Parameters
    ----------
    search : Search
    network : Trial
        The best network so far, whose priors are taken.
    """

    def __init__(self, search: Any, network: Any):
        self.folds, self.limits = search.folds, search.limits
        objective = search.prepared.objective
        self.loss, self.columns = objective.loss, objective.columns
        self.families, self.penalties = objective.families, objective.penalties
        self.states = network.states
        self.shards = [_whole(fold.held_out) for fold in self.folds]
        if len(self.folds) == 1:
            self.shards.append(_whole(search.parts[0][0].shards))
        self.n_rows = sum(map(len, self.shards))
        self.found = self._solve()

    def _solve(self) -> Any:
        """Solve the full-rank model of every fold at the best prior and penalty."""
        kernel = self._compare()
        if kernel is None:
            return None
        factors, nu, size = kernel
        trials = []
        for factor in factors:
            trials.append(self._solve_with(factor, nu, size))
            size = trials[0][3]
        error, *found = min(trials, key=lambda each: each[0])
        if not np.isfinite(error):
            return None
        sections, parts, size, bases = found
        fits = [self._fit(parts, bases, fold, size) for fold in range(len(self.folds))]
        if any(each is None for each in fits):
            return None
        return sections, parts, size, self._unseen(parts, bases, fits), fits

    def _solve_with(self, factor: float, nu: float | None, first: float) -> tuple[Any, ...]:
        """Return the least error of the full-rank model at a prior, and what led to it."""
        precisions = [self._precision(d, factor, nu) for d in range(len(self.columns))]
        most = min(MOST_CENTRES, MOST_NUMBERS // self.n_rows)
        sections = self._sections(self.shards, precisions, most)
        parts = [Part.of(sections, [shard]) for shard in self.shards]
        bases = self._bases(self.shards)
        few = self.n_rows <= COMPARED
        least, size = self._lowest(parts, bases, self.shards, first, is_refined=True, few=few)
        return least, sections, parts, size, bases

    def _lowest(
        self, parts: Any, bases: Any, shards: Any, first: float, is_refined: bool, few: bool
    ) -> tuple[float, float]:
        """Return the least error on a path of decades of the penalty, and where."""
        folds = range(len(self.folds) if few else min(COMPARED_FOLDS, len(self.folds)))

        def error(size: float) -> float:
            interruption.check()
            fits = [self._fit(parts, bases, fold, size) for fold in folds]
            if any(each is None for each in fits):
                return np.inf
            return self._error(self._unseen(parts, bases, fits), shards)

        return _lowest(error, first, is_refined)

    def mix(self, best: Any) -> Mix | None:
        """Return the best mix with a trial; None where that alone is as good.

        Parameters
        ----------
        best : Trial
            Of a network, or of main effects alone.
        """
        if self.found is None:
            return None
        sections, parts, size, unseen, fits = self.found
        pairs = zip(self.folds, best.states, strict=True)
        iterates = [fold.at(state)[1] for fold, state in pairs]
        seen = zip(iterates, self.shards, strict=False)
        network = [iterate.responses(shard).real for iterate, shard in seen]
        found = []
        for share in SHARES:
            mixed = [(1 - share) * a + share * b for a, b in zip(network, unseen, strict=True)]
            found.append((self._error(mixed), share, mixed))
        error, share, mixed = min(found, key=lambda each: each[0])
        change = self._losses(network) - self._losses(mixed)
        least = max(GAIN * found[0][0], ERRORS * float(change.std()) / np.sqrt(len(change)))
        if found[0][0] - error < least:
            error, share, mixed = found[0]
        factor, centre = self._slope(mixed)
        if share == 0 and factor == 1:
            return None
        mixed = [centre + factor * (each - centre) for each in mixed]
        mains = [fold.at(fold.main)[1] for fold in self.folds]
        of_folds = [
            Unseen(iterate, main, sections, fit, share, factor, centre)
            for iterate, main, fit in zip(iterates, mains, fits, strict=True)
        ]
        return Mix(
            sections, parts, self.shards, size, share, factor, centre, of_folds, self._error(mixed)
        )

    # -- priors -------------------------------------------------------------------------------

    def _compare(self) -> tuple[list[float], float | None, float] | None:
        """Return the best prior on some of the rows.

        Returns
        -------
        factors : list of float
            Of the length scales; the two best ones where there are more rows.
        nu : float or None
        size : float
            Penalty.
        """
        part = min(1.0, COMPARED / self.n_rows)
        shards = [shard.take(_alike(shard.codes, part)) for shard in self.shards]
        if min(map(len, shards)) < 2:
            return None
        bases = self._bases(shards)
        tried: dict[tuple[float, float | None], tuple[float, float]] = {}
        is_open = any(self._is_open(d, "nu") for d in range(len(self.columns)))
        smoothness: tuple[float | None, ...] = SMOOTHNESS if is_open else (None,)

        def judge(factor: float, nu: float | None) -> None:
            interruption.check()
            precisions = [self._precision(d, factor, nu) for d in range(len(self.columns))]
            sections = self._sections(shards, precisions, COMPARED)
            parts = [Part.of(sections, [shard]) for shard in shards]
            first = min(tried.values())[1] if tried else FIRST
            tried[factor, nu] = self._lowest(parts, bases, shards, first, False, False)

        for nu in smoothness:
            judge(1.0, nu)
        factor, nu = min(tried, key=lambda each: tried[each][0])
        for step in (0.5, 2.0):
            while SHORTEST <= step * factor <= 1 / SHORTEST and (step * factor, nu) not in tried:
                judge(step * factor, nu)
                if tried[step * factor, nu][0] >= tried[factor, nu][0]:
                    break
                factor *= step
        error, size = tried[factor, nu]
        if not np.isfinite(error):
            return None
        nearest = [each for each in (factor / 2, 2 * factor) if (each, nu) in tried]
        if part == 1 or not nearest:
            return [factor], nu, size
        return [factor, min(nearest, key=lambda each: tried[each, nu][0])], nu, size

    def _is_open(self, d: int, name: str) -> bool:
        return isinstance(getattr(self.penalties[d], name, None), str)

    def _precision(self, d: int, factor: float, nu: float | None) -> Any:
        """Precision of a column: what the folds have learned, with another scale and smoothness."""
        family = self.families[d]
        members = [family.member_of(state.precisions[d]) for state in self.states]
        if family.precisions is None:
            return self.states[0].precisions[d]
        chosen = {}
        if self._is_open(d, "length_scale"):
            chosen["length_scale"] = factor * _mean([each.length_scale for each in members])
        if self._is_open(d, "share"):
            chosen["share"] = _mean([each.share for each in members])
        if nu is not None and self._is_open(d, "nu"):
            chosen["nu"] = nu
        return members[0]._with(chosen).precision(self.columns[d].feature_map)

    # -- responses ----------------------------------------------------------------------------

    def _sections(self, shards: Sequence[Shard], precisions: list[Any], most: int) -> Sections:
        codes = np.unique(np.concatenate([shard.codes for shard in shards]), axis=0)
        return Sections(self.columns, precisions, codes[_some(len(codes), most)])

    def _bases(self, shards: Sequence[Shard]) -> list[list[Array]]:
        """Return the main effects of every fold at the rows of every part."""
        iterates = [fold.at(fold.main)[1] for fold in self.folds]
        return [[iterate.responses(shard).real for shard in shards] for iterate in iterates]

    def _fit(
        self, parts: list[Part], bases: list[list[Array]], fold: int, size: float
    ) -> Array | None:
        """Coefficients of the rows that a fold does not hold out."""
        others = [i for i in range(len(parts)) if i != fold]
        return solve([parts[i] for i in others], [bases[fold][i] for i in others], size, self.loss)

    def _unseen(
        self, parts: list[Part], bases: list[list[Array]], fits: Sequence[Any]
    ) -> list[Array]:
        """Responses of the held-out rows of some folds."""
        return [bases[i][i] + parts[i].design @ found for i, found in enumerate(fits)]

    def _losses(self, unseen: Sequence[Any], shards: Sequence[Shard] | None = None) -> Array:
        """Losses of held-out rows, times their weights over the mean weight."""
        losses, weights = [], []
        for response, shard in zip(unseen, self.shards if shards is None else shards, strict=False):
            if self.limits is not None:
                response = np.clip(response, *self.limits)
            losses.append(self.loss.value(response, shard.target))
            weights.append(np.ones(len(shard)) if shard.weight is None else shard.weight)
        weight = np.concatenate(weights)
        return np.concatenate(losses) * weight / weight.mean()

    def _error(self, unseen: Sequence[Any], shards: Sequence[Shard] | None = None) -> float:
        """Mean loss of held-out rows."""
        return float(self._losses(unseen, shards).mean())

    def _slope(self, unseen: Sequence[Array]) -> tuple[float, Array]:
        """Slope of held-out targets over predictions, at most 1, and the mean of the targets."""
        shards = self.shards[: len(unseen)]
        target = np.concatenate([shard.target for shard in shards])
        weight = np.concatenate([
            np.ones(len(shard)) if shard.weight is None else shard.weight for shard in shards
        ])  # fmt: skip
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


def _lowest(
    error: Callable[[float], float], first: float, is_refined: bool = False
) -> tuple[float, float]:
    """Return the least error on a path of decades of the penalty, and where."""
    values = {first: error(first)}

    def follow(factor: float) -> None:
        size = min(values, key=lambda each: values[each])
        while LEAST < size * factor < GREATEST:
            values[size * factor] = error(size * factor)
            if values[size * factor] >= values[size]:
                break
            size *= factor

    follow(0.1)
    if len(values) <= 2:
        follow(10.0)
    if is_refined:
        best = min(values, key=lambda each: values[each])
        for factor in (10**-0.5, 10**0.5):
            values[best * factor] = error(best * factor)
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


def _mean(values: Sequence[float]) -> float:
    return float(np.exp(np.mean(np.log(values))))
