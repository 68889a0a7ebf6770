"""Folds: which rows a candidate is fitted to, and which tell how good it is."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.model_selection import ShuffleSplit, StratifiedShuffleSplit, check_cv
from sklearn.utils import _safe_indexing

from .posed import Posed

#: share of the rows that cv="hold-out" tests on, and the number of folds of cv=None
HOLD_OUT, FOLDS = 0.2, 3

Pair = tuple[NDArray[np.integer], NDArray[np.integer]]


@dataclass
class Rows:
    """All that was given to `fit`.

    Attributes
    ----------
    X : array or frame
    y : array
    weight : (n_rows,) array or None
    """

    X: Any
    y: Any
    weight: NDArray[np.float64] | None

    def __len__(self) -> int:
        return len(self.y)

    def take(self, numbers: NDArray[np.integer]) -> tuple[Any, Any, NDArray | None]:
        """Return X, y and weights of the selected rows."""
        weight = None if self.weight is None else self.weight[numbers]
        return _safe_indexing(self.X, numbers), self.y[numbers], weight


class Fold:
    """Rows to train and rows to test on.

    Parameters
    ----------
    rows : Rows
    train, test : arrays of row numbers
    """

    def __init__(self, rows: Rows, train: NDArray[np.integer], test: NDArray[np.integer]):
        self._rows, self.train, self.test = rows, train, test
        self._posed: Posed | None = None
        self._tested: Any = None
        self._lock = threading.Lock()

    def posed(self, estimator: Any) -> Posed:
        """Return the training rows, read once."""
        with self._lock:
            if self._posed is None:
                self._posed = Posed(estimator, *self._rows.take(self.train))
            return self._posed

    def score(self, model: Any, scorer: Any) -> float:
        """Score of a model on the test rows, as scikit-learn has it."""
        if self._tested is None:
            self._tested = self._rows.take(self.test)
        X, y, weight = self._tested
        options = {} if weight is None else {"sample_weight": weight}
        with config_context(skip_parameter_validation=True):  # of metrics, which takes longer
            score = scorer(model, X, y, **options)
        if not isinstance(score, Real):
            raise ValueError(f"scoring must give one number a fold; it gave {score!r}.")
        return float(score)


def split(
    rows: Rows, cv: Any, by_class: bool, is_large: bool, rng: np.random.RandomState
) -> list[Pair]:
    """Row numbers of every fold, without rows of weight zero.

    Parameters
    ----------
    rows : Rows
    cv : int, splitter, iterable, float, "hold-out" or None
    by_class : bool
        Whether y holds classes, which all folds are to have.
    is_large : bool
        Whether None is to be a hold-out.
    rng : RandomState
        Of a hold-out.
    """
    pairs: list[Pair] = []
    for pair in _make_splitter(cv, rows, by_class, is_large, rng).split(rows.X, rows.y):
        train, test = (_of_weight(_as_numbers(part), rows) for part in pair)
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"Fold {len(pairs)} of cv={cv!r} leaves {len(train)} rows to train and {len(test)} "
                "to test on, not counting rows of weight zero; use fewer folds."
            )
        pairs.append((train, test))
    if not pairs:
        raise ValueError(f"cv={cv!r} gives no folds; use a number of folds, or 'hold-out'.")
    return pairs


def _make_splitter(
    cv: Any, rows: Rows, by_class: bool, is_large: bool, rng: np.random.RandomState
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
    if isinstance(cv, Real) and not isinstance(cv, Integral):
        share = float(cv)
        if not 0 < share < 1:
            raise ValueError(f"cv={cv!r} must be a share of the rows between 0 and 1.")
        kind = StratifiedShuffleSplit if by_class and _has_pairs(rows.y) else ShuffleSplit
        return kind(1, test_size=share, random_state=rng)
    return check_cv(cv, rows.y, classifier=by_class)


def _has_pairs(y: Any) -> bool:
    """Whether every class has two rows, one for each part of a hold-out."""
    return bool(np.unique(y, return_counts=True)[1].min() > 1)


def _as_numbers(part: Any) -> NDArray[np.integer]:
    part = np.asarray(part)
    return np.flatnonzero(part) if part.dtype == bool else part


def _of_weight(part: NDArray[np.integer], rows: Rows) -> NDArray[np.integer]:
    return part if rows.weight is None else part[rows.weight[part] > 0]


def sample(
    pairs: Sequence[Pair], rows: Rows, size: int, by_class: bool, rng: np.random.RandomState
) -> list[Pair]:
    """Sample about `size` rows of the folds in all, stratified if asked for."""
    # not rng itself: shuffled folds of the same seed have its very order, and rows of whole folds
    # would be the sample
    order = np.random.RandomState(rng.randint(2**31 - 1)).permutation(len(rows))
    chosen = np.zeros(len(rows), dtype=bool)
    for members in _groups(rows.y[order]) if by_class else [slice(None)]:
        group = order[members]
        chosen[group[: int(np.ceil(size * len(group) / len(rows)))]] = True
    sampled: list[Pair] = []
    for train, test in pairs:
        train, test = train[chosen[train]], test[chosen[test]]
        if len(train) == 0 or len(test) == 0:
            raise ValueError(
                f"sample_rows={size} leaves {len(train)} rows of fold {len(sampled)} to train and "
                f"{len(test)} to test on; use more, or None for all rows."
            )
        sampled.append((train, test))
    return sampled


def _groups(labels: NDArray) -> Iterator[NDArray[np.integer]]:
    for label in np.unique(labels):
        yield np.flatnonzero(labels == label)
