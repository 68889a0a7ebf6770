"""Folds: the rows that a candidate is fitted to, and those that it is scored on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing

#: share of the rows that cv="hold-out" tests on, and the number of folds of cv=None
HOLD_OUT, FOLDS = 0.2, 3

Pair = tuple[NDArray[np.integer], NDArray[np.integer]]


@dataclass
class GivenRows:
    """All that was given to `fit`."""

    X: Any
    y: Any
    weight: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, numbers: NDArray[np.integer]) -> tuple[Any, Any, NDArray | None]:
        """Return X, y and weights of the selected rows."""
        weight = None if self.weight is None else self.weight[numbers]
        return _safe_indexing(self.X, numbers), self.y[numbers], weight


@dataclass
class TrainTest:
    """Rows to train and rows to test on, by their numbers."""

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
            raise ValueError(f"scoring must return one number per fold; it returned {score!r}.")
        return float(score)


def split(
    rows: GivenRows, cv: Any, by_class: bool, is_large: bool, rng: np.random.RandomState
) -> list[Pair]:
    """Row numbers of every fold, without rows of weight zero."""
    splitter = _make_splitter(cv, rows, by_class, is_large, rng)
    there = np.ones(len(rows), dtype=bool) if rows.weight is None else rows.weight > 0
    pairs = _take(splitter.split(rows.X, rows.y), there, f"cv={cv!r}", "fewer folds")
    if not pairs:
        raise ValueError(f"cv={cv!r} gives no folds; use a number of folds, or 'hold-out'.")
    return pairs


def _make_splitter(
    cv: Any, rows: GivenRows, by_class: bool, is_large: bool, rng: np.random.RandomState
) -> Any:
    if cv is None:
        cv = "hold-out" if is_large else FOLDS
    if isinstance(cv, str):
        if cv != "hold-out":
            raise ValueError(
                f"cv={cv!r} is not known; use a number of folds, a splitter, (train, test) pairs, "
                "'hold-out' or the share of rows to hold out."
            )
        cv = HOLD_OUT
    if not isinstance(cv, Real) or isinstance(cv, Integral):
        return check_cv(cv, rows.y, classifier=by_class)
    if not 0 < float(cv) < 1:
        raise ValueError(f"cv={cv!r} must be a share of the rows between 0 and 1.")
    # every class needs two rows, one for each part
    by_class = by_class and np.unique(rows.y, return_counts=True)[1].min() > 1
    kind = StratifiedShuffleSplit if by_class else ShuffleSplit
    return kind(1, test_size=float(cv), random_state=rng)


def sample(
    pairs: Sequence[Pair], rows: GivenRows, size: int, by_class: bool, rng: np.random.RandomState
) -> list[Pair]:
    """Sample about `size` rows of the folds in all, stratified if asked for."""
    # not rng itself: shuffled folds of the same seed have its very order, and rows of whole folds
    # would be the sample
    order = np.random.RandomState(rng.randint(2**31 - 1)).permutation(len(rows))
    chosen = np.zeros(len(rows), dtype=bool)
    labels = rows.y[order] if by_class else np.zeros(len(rows))
    for label in np.unique(labels):
        group = order[labels == label]
        chosen[group[: int(np.ceil(size * len(group) / len(rows)))]] = True
    return _take(pairs, chosen, f"sample_rows={size}", "more, or None for all rows")


def _take(pairs: Iterable[Any], chosen: NDArray[np.bool_], what: str, hint: str) -> list[Pair]:
    """Return the chosen rows of folds, which may be masks; a fold without rows is an error."""
    found: list[Pair] = []
    for pair in pairs:
        parts = (np.asarray(part) for part in pair)
        numbers = (np.flatnonzero(part) if part.dtype == bool else part for part in parts)
        train, test = (part[chosen[part]] for part in numbers)
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Fold {len(found)} of {what} leaves {len(train)} rows to train and {len(test)} "
                f"to test on, not counting rows of weight zero; use {hint}."
            )
        found.append((train, test))
    return found
