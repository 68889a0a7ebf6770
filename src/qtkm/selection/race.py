"""Folds, and a race in which fewer and fewer candidates get more and more epochs and folds.

    round 1    all                 few epochs on one fold
    round 2    the best ninth      some epochs on two folds; joined by the neighbours of the best
    round 3    the best twelfth    more epochs on all folds
    last       the best 27th       to convergence, on all folds and rows: the best one first, then
                                   others fold by fold, as long as they may overtake it

Candidates are fitted by the estimator itself, so those of the last round have the same scores as
in scikit-learn's GridSearchCV.  A narrow band learns slowly at first and may be the best in the
end, so the first round keeps the best candidate of every band and period; and candidates next to
the best one get a second chance.  See docs/decisions/0011-a-race-of-candidates.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing

from ..engines import Threads
from ..engines.remote import serial
from ..estimators.defaults import as_callbacks
from ..limits import LIMITS

#: share of the rows that cv="hold-out" tests on, and the number of folds of cv=None
HOLD_OUT, FOLDS = 0.2, 3
#: rows to train and to test on
Pair = tuple[NDArray[np.integer], NDArray[np.integer]]
#: parameters of the candidates, in the order of the columns of a table
PARAMETERS = ("alpha", "n_basis", "penalty", "period", "rank", "scaling")


@dataclass
class GivenRows:
    """Data given to `fit`; `by_class` if folds and samples are stratified."""

    X: Any
    y: Any
    weight: NDArray[np.float64] | None
    by_class: bool = False

    def __len__(self) -> int:
        return len(self.y)

    def take(self, numbers: NDArray[np.integer]) -> tuple[Any, Any, NDArray | None]:
        """Return X, y and weights of the selected rows."""
        weight = None if self.weight is None else self.weight[numbers]
        return _safe_indexing(self.X, numbers), self.y[numbers], weight


@dataclass
class TrainTest:
    """Rows to train and to test on, by their indices."""

    rows: GivenRows
    train: NDArray[np.integer]
    test: NDArray[np.integer]

    @cached_property
    def trained(self) -> tuple[Any, Any, NDArray | None]:
        """X, y and weights to fit to."""
        return self.rows.take(self.train)

    @cached_property
    def _tested(self) -> tuple[Any, Any, NDArray | None]:
        return self.rows.take(self.test)

    def score(self, model: Any, scorer: Any) -> float:
        X, y, weight = self._tested
        options = {} if weight is None else {"sample_weight": weight}
        with config_context(skip_parameter_validation=True):  # of metrics, which takes longer
            score = scorer(model, X, y, **options)
        if not isinstance(score, Real):
            raise ValueError(f"scoring must return one number per fold, got {score!r}.")
        return float(score)


def split(rows: GivenRows, cv: Any, is_large: bool, rng: np.random.RandomState) -> list[Pair]:
    """Return the row indices of every fold, without rows of zero weight."""
    splitter = _make_splitter(rows, cv, is_large, rng)
    there = np.ones(len(rows), dtype=bool) if rows.weight is None else rows.weight > 0
    pairs = _take(splitter.split(rows.X, rows.y), there, f"cv={cv!r}", "fewer folds")
    if not pairs:
        raise ValueError(f"cv={cv!r} gives no folds; use a number of folds, or 'hold-out'.")
    return pairs


def _make_splitter(rows: GivenRows, cv: Any, is_large: bool, rng: np.random.RandomState) -> Any:
    if cv is None:
        cv = "hold-out" if is_large else FOLDS
    if isinstance(cv, str):
        if cv != "hold-out":
            raise ValueError(
                f"cv={cv!r} is unknown; use a number of folds, a splitter, (train, test) pairs, "
                "'hold-out' or the fraction of rows to hold out."
            )
        cv = HOLD_OUT
    if not isinstance(cv, Real) or isinstance(cv, Integral):
        return check_cv(cv, rows.y, classifier=rows.by_class)
    if not 0 < float(cv) < 1:
        raise ValueError(f"cv={cv!r} must be a fraction between 0 and 1.")
    # every class needs two rows, one for each part
    by_class = rows.by_class and np.unique(rows.y, return_counts=True)[1].min() > 1
    kind = StratifiedShuffleSplit if by_class else ShuffleSplit
    return kind(1, test_size=float(cv), random_state=rng)


def sample(
    pairs: Sequence[Pair], rows: GivenRows, size: int, rng: np.random.RandomState
) -> list[Pair]:
    """Sample about `size` rows of the folds in total."""
    # not rng itself: shuffled folds of the same seed have its very order, and rows of whole folds
    # would be the sample
    order = np.random.RandomState(rng.randint(2**31 - 1)).permutation(len(rows))
    chosen = np.zeros(len(rows), dtype=bool)
    labels = rows.y[order] if rows.by_class else np.zeros(len(rows))
    for label in np.unique(labels):
        group = order[labels == label]
        chosen[group[: int(np.ceil(size * len(group) / len(rows)))]] = True
    return _take(pairs, chosen, f"sample_rows={size}", "more, or None for all rows")


def _take(pairs: Iterable[Any], chosen: NDArray[np.bool_], what: str, hint: str) -> list[Pair]:
    """Return the chosen rows of folds, which may be masks; raise an error for an empty fold."""
    found: list[Pair] = []
    for pair in pairs:
        parts = (np.asarray(part) for part in pair)
        numbers = (np.flatnonzero(part) if part.dtype == bool else part for part in parts)
        train, test = (part[chosen[part]] for part in numbers)
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Fold {len(found)} of {what} leaves {len(train)} rows to train and {len(test)} "
                f"to test on, not counting rows of zero weight; use {hint}."
            )
        found.append((train, test))
    return found


@dataclass(frozen=True)
class Round:
    """Epochs and folds of a round, and how many candidates remain."""

    n_folds: int | None  # None for all
    epochs: float | None  # share of max_iter; None fits to the end
    kept: int  # one in so many of all candidates remains
    is_varied: bool = False  # whether the best of every band and period remains before others
    n_climbs: int = 0  # how often neighbours of the best candidate join in


#: rounds where epochs are what a fit costs, and where every fit searches for rank and penalty
ROUNDS = (
    Round(1, 0.05, 9, is_varied=True),
    Round(2, 0.1, 12, n_climbs=3),
    Round(None, 0.3, 27),
)
WHOLE_FITS = (Round(1, None, 2), Round(2, None, 4))
LAST = Round(None, None, 1)


class Entrant:
    """Parameters, and their scores, seconds, epochs and rows on each fold."""

    def __init__(self, params: dict[str, Any], n_folds: int):
        self.params = params
        self.score, self.fit_seconds, self.score_seconds = np.full((3, n_folds), np.nan)
        self.n_epochs, self.n_rows = np.zeros((2, n_folds), dtype=int)
        #: last round on each fold, and on all of its folds; mean and deviation of the scores there
        self.rounds, self.round = np.zeros(n_folds, dtype=int), 0
        self.mean = self.std = np.nan

    def settle(self, number: int, n_folds: int) -> None:
        """Take the mean over the folds of a round that the candidate has completed."""
        if (self.rounds[:n_folds] == number).all():
            scores, self.round = self.score[:n_folds], number
            self.mean, self.std = float(scores.mean()), float(scores.std())

    @property
    def place(self) -> tuple[float, float]:
        """Sort key, best first: later rounds, then better scores."""
        return -self.round, math.inf if math.isnan(self.mean) else -self.mean


@dataclass
class Race:
    """Search over candidates; `sampled` are folds with fewer rows, used before the last round.

    `report(epochs)` is called with the number of epochs that were run or became unnecessary.
    """

    estimator: Any
    folds: list[TrainTest]
    scorer: Any
    engine: Threads
    sampled: list[TrainTest] | None = None
    report: Callable[[int], None] = lambda epochs: None
    candidates: list[Entrant] = field(default_factory=list)
    rounds: tuple[Round, ...] = (LAST,)
    is_stopped: bool = False

    def add(self, params: Sequence[dict[str, Any]]) -> list[Entrant]:
        """Add and return candidates that are new."""
        known = [candidate.params for candidate in self.candidates]
        new = [Entrant(each, len(self.folds)) for each in params if each not in known]
        self.candidates += new
        return new

    @property
    def n_epochs(self) -> int:
        alive, total = len(self.candidates), 0
        for each in self.rounds:
            total += alive * self._n_folds(each) * self._epochs(each)
            alive = self._n_kept(each)
        return total

    def order(self) -> list[Entrant]:
        """Return the candidates, best first."""
        return sorted(self.candidates, key=lambda candidate: candidate.place)

    def run(self, rounds: Sequence[Round]) -> None:
        """Run all rounds; a KeyboardInterrupt leaves the candidates as they are."""
        is_large = len(self.candidates) > LIMITS.fewest_candidates
        self.rounds = (*rounds, LAST) if is_large else (LAST,)
        alive, adjacent = list(self.candidates), find_adjacent([c.params for c in self.candidates])
        for number, each in enumerate(self.rounds[:-1], 1):
            self.run_round(alive, each)
            for _ in range(each.n_climbs):
                best = self.order()[0]
                near = [self.candidates[i] for i in adjacent[self.candidates.index(best)]]
                self.run_round([c for c in near if c.round < number], each)
                if self.order()[0] is best:
                    break
            alive = self._leaders(number, each)
        self._run_last(alive)

    def run_folds(self, some: Sequence[Entrant], best: Entrant | None = None) -> list[Entrant]:
        """Fit candidates to convergence, fold by fold; return those that are ahead of `best`.

        After each fold at most half of them remain, and none that are behind.
        """
        alive, n_folds = list(some), len(self.folds)
        for fold in range(n_folds):
            self.run_round(alive, self.rounds[0], [fold])
            if best is not None:
                gains = {id(c): (c.score - best.score)[: fold + 1].mean() for c in alive}
                ahead = sorted((c for c in alive if gains[id(c)] > 0), key=lambda c: -gains[id(c)])
                alive = ahead[: -(-len(alive) // 2)] if fold + 1 < n_folds else ahead
        for candidate in some:
            if candidate.rounds.all():
                candidate.rounds[:] = len(self.rounds)
                candidate.settle(len(self.rounds), n_folds)
        return alive

    def run_round(
        self, some: Sequence[Entrant], each: Round = LAST, folds: Sequence[int] | None = None
    ) -> None:
        """Fit candidates on folds of a round, by default all of its folds.

        They are fitted in parallel if there are enough of them, else one by one on all threads.
        """
        number, n_folds = self.rounds.index(each) + 1, self._n_folds(each)
        jobs = [(c, fold) for c in some for fold in (range(n_folds) if folds is None else folds)]

        def do(job: tuple[Entrant, int]) -> None:
            try:
                self._fit(*job, number, each)
            except KeyboardInterrupt:
                self.is_stopped = True  # other threads end with their epoch
                raise

        try:
            (self.engine.run if 2 * len(jobs) > self.engine.n_threads else serial)(do, jobs)
        finally:
            for candidate in some:
                candidate.settle(number, n_folds)

    def _run_last(self, alive: list[Entrant]) -> None:
        """Fit the best candidate to convergence, and others that may still overtake it."""
        self.sampled = None
        number, (best, *others) = len(self.rounds), alive
        if number == 1:  # nothing tells which one may win
            return self.run_round(alive)
        before = {id(c): c.score.copy() for c in alive}
        self.run_round([best])
        gain = LIMITS.most_gain * np.abs(best.score - before[id(best)])
        for fold in range(len(self.folds)):
            others = [
                c for c in others
                if _may_win(np.where(c.rounds == number, c.score, before[id(c)] + gain), best)
            ]  # fmt: skip
            self.run_round(others, folds=[fold])

    def _epochs(self, each: Round) -> int:
        return math.ceil((each.epochs or 1.0) * self.estimator.max_iter)

    def _n_folds(self, each: Round) -> int:
        if each is not LAST and len((self.sampled or self.folds)[0].test) >= LIMITS.large_fold:
            return 1
        return min(each.n_folds or len(self.folds), len(self.folds))

    def _n_kept(self, each: Round) -> int:
        return max(LIMITS.fewest_candidates, -(-len(self.candidates) // each.kept))

    def _leaders(self, number: int, each: Round) -> list[Entrant]:
        """Return the candidates that remain, best first."""
        order = [candidate for candidate in self.order() if candidate.round == number]
        if each.is_varied:
            first: dict[str, Entrant] = {}
            for candidate in order:
                band = {k: v for k, v in candidate.params.items() if k not in ("alpha", "rank")}
                first.setdefault(repr(band), candidate)
            ahead = list(first.values())
            order = [*ahead, *(c for c in order if c not in ahead)]
        return sorted(order[: self._n_kept(each)], key=lambda candidate: candidate.place)

    def _fit(self, candidate: Entrant, number: int, round_number: int, each: Round) -> None:
        if self.is_stopped:
            return
        fold, begin = (self.sampled or self.folds)[number], perf_counter()
        model = clone(self.estimator).set_params(**candidate.params, max_iter=self._epochs(each))
        model.callbacks = (*as_callbacks(model.callbacks), lambda progress: self.is_stopped)
        model.fit(*fold.trained)
        if model.status_ == "interrupted":
            raise KeyboardInterrupt
        if self.is_stopped:
            return
        fitted = perf_counter()
        candidate.score[number] = fold.score(model, self.scorer)
        candidate.fit_seconds[number] = fitted - begin
        candidate.score_seconds[number] = perf_counter() - fitted
        candidate.n_epochs[number], candidate.n_rows[number] = model.n_iter_, len(fold.train)
        candidate.rounds[number] = round_number
        self.report(self._epochs(each))

    def results(self) -> dict[str, Any]:
        every, result = self.candidates, {}
        for name in ("fit", "score"):
            times = np.ma.masked_invalid([getattr(c, f"{name}_seconds") for c in every])
            result[f"mean_{name}_time"] = times.mean(axis=1).filled(np.nan)
            result[f"std_{name}_time"] = times.std(axis=1).filled(np.nan)
        for name in PARAMETERS:
            if name in every[0].params:
                result[f"param_{name}"] = _as_array([c.params[name] for c in every])
        result["params"] = [c.params for c in every]
        for fold in range(len(self.folds)):
            result[f"split{fold}_test_score"] = np.array([c.score[fold] for c in every])
        rounds = np.array([c.round for c in every])
        places = sorted(c.place for c in every)
        ranks = [places.index(c.place) + 1 for c in every]  # equal ones share the first place
        return result | {
            "mean_test_score": np.array([c.mean for c in every]),
            "std_test_score": np.array([c.std for c in every]),
            "rank_test_score": np.array(ranks, dtype=np.int32),
            "round": rounds,
            "finished": rounds == len(self.rounds),
            "n_epochs": np.array([c.n_epochs.max() for c in every]),
            "n_rows": np.array([c.n_rows.max() for c in every]),
        }


def _may_win(hoped: NDArray, best: Entrant) -> bool:
    """Return True if hoped-for scores are ahead on the folds that have some."""
    known = np.isfinite(hoped)
    return not known.any() or bool(hoped[known].mean() > best.score[known].mean())


def find_adjacent(candidates: Sequence[dict[str, Any]]) -> list[list[int]]:
    """Return for every candidate those that are one step away in one parameter."""
    places = np.zeros((len(candidates), len(candidates[0])), dtype=int)
    for k, name in enumerate(candidates[0]):
        entries = [candidate[name] for candidate in candidates]
        values = [v for i, v in enumerate(entries) if v not in entries[:i]]
        if all(isinstance(value, Real) for value in values):
            values.sort()
        places[:, k] = [values.index(entry) for entry in entries]
    steps = np.abs(places[:, None] - places).sum(axis=2)  # (n_candidates, n_candidates)
    return [np.flatnonzero(row == 1).tolist() for row in steps]


def _as_array(values: list[Any]) -> NDArray:
    """Return the values of a parameter as an array of numbers, of texts or of objects."""
    if all(isinstance(value, Real) for value in values):
        return np.array(values)
    is_text = any(isinstance(value, str) for value in values)
    array = np.empty(len(values), dtype=object)
    array[:] = list(map(str, values)) if is_text else values
    return array
