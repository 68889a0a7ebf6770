"""Folds, and a race in which fewer and fewer candidates get more and more epochs and folds.

Of 81 candidates:

    round 1    all            1/27 of the epochs, on one fold
    round 2    the best 21    1/9, on two folds
    round 3    the best 6     1/3, on three folds
    last       the best 2     to convergence, on all folds

Candidates are fitted by the estimator itself, so those of the last round have the same scores as
in scikit-learn's GridSearchCV.  See docs/decisions/0011-a-race-of-candidates.md.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing, resample

from ..engines import Threads
from ..engines.remote import serial
from ..estimators.defaults import as_callbacks
from ..limits import LIMITS
from ..parameters import check_folds

#: share of the rows that cv="hold-out" tests on, and the number of folds of cv=None
HOLD_OUT, FOLDS = 0.2, 3
#: of so many candidates one remains after a round, with so many times the epochs
FEWER, LONGER = 4, 3
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


def split(rows: GivenRows, cv: Any, size: int | None, rng: np.random.RandomState) -> list[Pair]:
    """Return the row numbers of every fold, of a sample of `size` rows if there are more.

    Rows of zero weight are in no fold.
    """
    is_large = size is not None and len(rows) > size
    splitter = _make_splitter(rows, cv, is_large, rng)
    is_used = np.ones(len(rows), dtype=bool) if rows.weight is None else rows.weight > 0
    if size is not None and is_large:
        # not rng itself: shuffled folds of the same seed have its very order, and rows of whole
        # folds would be the sample
        known = np.flatnonzero(is_used)
        sample = resample(
            known, replace=False, n_samples=min(size, len(known)),
            random_state=rng.randint(2**31 - 1), stratify=rows.y[known] if rows.by_class else None,
        )  # fmt: skip
        is_used = np.bincount(sample, minlength=len(rows)) > 0
    return check_folds(cv, splitter.split(rows.X, rows.y), is_used)


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


class Entrant:
    """Parameters, and their scores, seconds, epochs and rows on each fold."""

    def __init__(self, params: dict[str, Any], n_folds: int):
        self.params = params
        self.score, self.fit_seconds, self.score_seconds = np.full((3, n_folds), np.nan)
        self.n_epochs, self.n_rows = np.zeros((2, n_folds), dtype=int)
        #: share of the epochs on each fold, 0 before the first fit
        self.share = np.zeros(n_folds)

    @property
    def is_tried(self) -> bool:
        """Whether there is a score."""
        return bool(self.share.any())

    @property
    def latest(self) -> NDArray[np.float64]:
        """Scores on the folds with the most epochs."""
        return self.score[self.share == self.share.max()]

    @property
    def mean(self) -> float:
        """Mean of these scores; NaN before the first fit."""
        return float(self.latest.mean())

    @property
    def place(self) -> tuple[float, ...]:
        """Sort key, best first: more epochs, then more folds, then better scores."""
        score = math.inf if math.isnan(self.mean) else -self.mean
        return -self.share.max(), -len(self.latest), score


@dataclass
class Race:
    """Search over candidates, whose epochs are counted by a progress bar."""

    estimator: Any
    rows: GivenRows
    folds: list[Pair]
    scorer: Any
    engine: Threads
    bar: Any
    candidates: list[Entrant] = field(default_factory=list)
    #: the best candidate, if not the one in first place
    chosen: Entrant | None = None
    is_stopped: bool = False

    def add(self, params: Sequence[dict[str, Any]]) -> list[Entrant]:
        """Add and return candidates that are new."""
        known = [candidate.params for candidate in self.candidates]
        new = [Entrant(each, len(self.folds)) for each in params if each not in known]
        self.candidates += new
        return new

    @property
    def best(self) -> Entrant:
        """The best candidate so far."""
        return self.chosen or min(self.candidates, key=lambda candidate: candidate.place)

    def race(self) -> None:
        """Run rounds of more and more epochs, until a KeyboardInterrupt."""
        size, n_rounds = len(self.candidates), 1
        while size > LIMITS.fewest_candidates:
            size, n_rounds = -(-size // FEWER), n_rounds + 1
        self.run(self.candidates, [float(LONGER) ** -left for left in range(n_rounds)][::-1])

    def run_folds(self, some: Sequence[Entrant], best: Entrant | None = None) -> list[Entrant]:
        """Fit candidates to convergence, fold by fold; see `run`."""
        return self.run(some, [1.0] * len(self.folds), 2, best)

    def run(
        self,
        some: Sequence[Entrant],
        shares: Sequence[float] = (1.0,),
        fewer: int = FEWER,
        best: Entrant | None = None,
    ) -> list[Entrant]:
        """Fit candidates in rounds, and return those that remain, best first.

        Round i has the i-th share of the epochs, on i folds, and the last round has all folds.
        After a round one in `fewer` remains, at least two, and none that are behind `best`.
        """
        alive, n_folds = list(some), len(self.folds)
        # the scores of large folds differ less between folds than between candidates
        is_large = len(self.folds[0][1]) >= LIMITS.large_fold
        counts = [1 if is_large and share < 1 else min(i, n_folds)
                  for i, share in enumerate(shares, 1)]  # fmt: skip
        counts[-1] = n_folds
        sizes = [len(alive)]
        for _ in shares[1:]:
            sizes.append(min(sizes[-1], max(LIMITS.fewest_candidates, -(-sizes[-1] // fewer))))
        plan = list(zip(sizes, counts, shares, strict=True))
        is_by_fold = len(set(shares)) < len(shares)  # a round adds a fold to those before
        epochs = sum(
            size * (1 if is_by_fold else count) * self._epochs(share) for size, count, share in plan
        )
        self.bar.total = max(self.bar.total, self.bar.n + epochs)
        for size, count, share in plan:
            alive = sorted(alive, key=lambda candidate: candidate.place)[:size]
            self._fit_all(alive, range(count), share)
            if best is not None:
                least = best.score[:count].mean()
                alive = [candidate for candidate in alive if candidate.mean > least]
        return sorted(alive, key=lambda candidate: candidate.place)

    def _fit_all(self, some: Sequence[Entrant], folds: Sequence[int], share: float) -> None:
        """Fit candidates on some folds, with a share of the epochs.

        They are fitted in parallel if there are enough of them, else one by one on all threads.
        """
        jobs = [(c, fold) for c in some for fold in folds if c.share[fold] < share]

        def do(job: tuple[Entrant, int]) -> None:
            try:
                self._fit(*job, share)
            except KeyboardInterrupt:
                self.is_stopped = True  # other threads end with their epoch
                raise

        (self.engine.run if 2 * len(jobs) > self.engine.n_threads else serial)(do, jobs)

    def _epochs(self, share: float) -> int:
        return math.ceil(share * self.estimator.max_iter)

    def _fit(self, candidate: Entrant, fold: int, share: float) -> None:
        if self.is_stopped:
            return
        (train, test), begin, epochs = self.folds[fold], perf_counter(), self._epochs(share)
        model = clone(self.estimator).set_params(**candidate.params, max_iter=epochs)
        model.callbacks = (*as_callbacks(model.callbacks), lambda progress: self.is_stopped)
        model.fit(*self.rows.take(train))
        if model.status_ == "interrupted":
            raise KeyboardInterrupt
        if self.is_stopped:
            return
        fitted = perf_counter()
        candidate.score[fold] = self._score(model, test)
        candidate.fit_seconds[fold] = fitted - begin
        candidate.score_seconds[fold] = perf_counter() - fitted
        candidate.n_epochs[fold], candidate.n_rows[fold] = model.n_iter_, len(train)
        candidate.share[fold] = share
        known = [np.nanmax(c.score) for c in self.candidates if np.isfinite(c.score).any()]
        self.bar.set_postfix_str(f"best {max(known, default=np.nan):.4g}", refresh=False)
        self.bar.update(epochs)

    def _score(self, model: Any, test: NDArray[np.integer]) -> float:
        X, y, weight = self.rows.take(test)
        options = {} if weight is None else {"sample_weight": weight}
        with config_context(skip_parameter_validation=True):  # of metrics, which takes longer
            score = self.scorer(model, X, y, **options)
        if not isinstance(score, Real):
            raise ValueError(f"scoring must return one number per fold, got {score!r}.")
        return float(score)

    def results(self) -> dict[str, Any]:
        """Return the table of candidates."""
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
        places = sorted(c.place for c in every)
        ranks = [places.index(c.place) + 1 for c in every]  # equal ones share the first place
        return result | {
            "mean_test_score": np.array([c.mean for c in every]),
            "std_test_score": np.array([c.latest.std() for c in every]),
            "rank_test_score": np.array(ranks, dtype=np.int32),
            "finished": np.array([(c.share == 1).all() for c in every]),
            "n_epochs": np.array([c.n_epochs.max() for c in every]),
            "n_rows": np.array([c.n_rows.max() for c in every]),
        }


def _as_array(values: list[Any]) -> NDArray:
    """Return the values of a parameter as an array of numbers, of texts or of objects."""
    if all(isinstance(value, Real) for value in values):
        return np.array(values)
    is_text = any(isinstance(value, str) for value in values)
    array = np.empty(len(values), dtype=object)
    array[:] = list(map(str, values)) if is_text else values
    return array
