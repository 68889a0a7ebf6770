"""What a search has found out about every candidate."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import is_classifier

#: parameters of the candidates, in the order of the columns of a table
PARAMETERS = ("alpha", "n_basis", "period", "rank")


def name_score(search: Any) -> str:
    """Return the name of a search's score.

    Parameters
    ----------
    search : QTKMRegressorCV or QTKMClassifierCV
    """
    scoring = search.scoring
    if scoring is None:
        return "accuracy" if is_classifier(search) else "R²"
    if isinstance(scoring, str):
        return scoring
    # scikit-learn's scorers have no name, but say which function they were made of
    made = re.match(r"make_scorer\((\w+)(, greater_is_better=False)?", repr(scoring))
    if made:
        return f"minus {made[1]}" if made[2] else made[1]
    return str(getattr(scoring, "__name__", type(scoring).__name__))


class ScoreTable:
    """Scores, epochs and seconds of candidates on folds.

    Parameters
    ----------
    n_candidates, n_folds : int

    Attributes
    ----------
    score, fit_seconds, score_seconds : (n_candidates, n_folds) arrays
        As they stand; NaN where a fold was not used.
    n_epochs, n_rows : (n_candidates, n_folds) arrays of int
        Epochs of the fits, and rows they were made to.
    mean, std : (n_candidates,) arrays
        Of the scores on the folds of the last round that a candidate has finished.
    round : (n_candidates,) array of int
        That round, from 1; 0 for none.
    """

    def __init__(self, n_candidates: int, n_folds: int):
        shape = (n_candidates, n_folds)
        self.score, self.fit_seconds, self.score_seconds = (np.full(shape, np.nan) for _ in "123")
        self.n_epochs, self.n_rows = np.zeros(shape, dtype=int), np.zeros(shape, dtype=int)
        self.mean, self.std = np.full(n_candidates, np.nan), np.full(n_candidates, np.nan)
        self.round = np.zeros(n_candidates, dtype=int)
        self._done = np.zeros(shape, dtype=int)

    def enter(
        self, candidate: int, fold: int, course: Any, n_rows: int, score: float, seconds: float
    ) -> None:
        """Note how a fit stands."""
        where = candidate, fold
        self.score[where], self.score_seconds[where] = score, seconds
        self.fit_seconds[where], self.n_epochs[where] = course.seconds, course.n_epochs
        self.n_rows[where] = n_rows

    def finish(self, candidate: int, fold: int, number: int) -> None:
        """Say that a candidate has had its round on a fold."""
        self._done[candidate, fold] = number

    def settle(self, number: int, folds: slice) -> None:
        """Judge those candidates that have had their round on all of its folds."""
        through = np.flatnonzero((self._done[:, folds] == number).all(axis=1))
        scores = self.score[through, folds]
        self.mean[through], self.std[through] = scores.mean(axis=1), scores.std(axis=1)
        self.round[through] = number

    def order(self) -> NDArray[np.int64]:
        """Candidates, the best first: those of later rounds, then those of better scores."""
        return np.lexsort((-self._comparable, -self.round))

    @property
    def best(self) -> float | None:
        """Best score of the round that is under way; None before the first is known."""
        score = np.where(self._done == self._done.max(), self.score, np.nan)
        known = score[np.isfinite(score)]
        return float(known.max()) if len(known) else None

    @property
    def _comparable(self) -> NDArray[np.float64]:
        return np.where(np.isnan(self.mean), -np.inf, self.mean)

    def results(self, candidates: Sequence[dict[str, Any]], n_rounds: int) -> dict[str, Any]:
        """Return the table as scikit-learn's dict of arrays."""
        result: dict[str, Any] = {}
        for name, times in (("fit", self.fit_seconds), ("score", self.score_seconds)):
            known = np.ma.masked_invalid(times)
            result[f"mean_{name}_time"] = known.mean(axis=1).filled(np.nan)
            result[f"std_{name}_time"] = known.std(axis=1).filled(np.nan)
        for name in PARAMETERS:
            if candidates and name in candidates[0]:
                result[f"param_{name}"] = _as_array([entry[name] for entry in candidates])
        result["params"] = list(candidates)
        for fold, scores in enumerate(self.score.T):
            result[f"split{fold}_test_score"] = scores.copy()
        result |= {
            "mean_test_score": self.mean.copy(),
            "std_test_score": self.std.copy(),
            "rank_test_score": self._ranks(),
            "round": self.round.copy(),
            "finished": self.round == n_rounds,
            "n_epochs": self.n_epochs.max(axis=1),
            "n_rows": self.n_rows.max(axis=1),
        }
        return result

    def _ranks(self) -> NDArray[np.int32]:
        """Places from 1; equal scores of one round share a place."""
        place = np.empty(len(self.round))
        place[self.order()] = np.arange(len(place))
        for number in np.unique(self.round):
            same = self.round == number
            first = place[same].min()
            place[same] = first + rankdata(-self._comparable[same], method="min") - 1
        return (place + 1).astype(np.int32)


def _as_array(values: list[Any]) -> NDArray:
    """Values of a parameter; objects where there is an entry for each column."""
    if not any(isinstance(value, tuple) for value in values):
        return np.array(values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
