"""What both searches share: from lists and rows to the best candidate, fitted to all rows."""

import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .. import interruption
from ..engines import Threads
from ..estimators.html import Shown, found
from ..estimators.inputs import read_columns
from ..estimators.tables import THREADED_ROWS
from ..estimators.targets import check_weight
from ..estimators.wording import readable
from ..estimators.working import ended_by_interrupts, threads
from ..parameters import as_random_state, check_n_jobs, check_number
from .candidates import check_lists, make_candidates
from .folds import Fold, Rows, sample, split
from .race import Race
from .table import name_score

#: rows from which sample_rows="auto" searches on a sample of so many
SAMPLE_ROWS = 50_000


def is_refitted(search: Any) -> bool:
    """Whether a search comes with a model; else an AttributeError says why not."""
    if not search.refit:
        raise AttributeError(
            f"This {type(search).__name__} has refit=False and so no model to predict with; fit "
            "one with its best_params_, or use refit=True."
        )
    return True


class Search(Shown, BaseEstimator):
    """A search for the best parameters of an estimator, and a model with them."""

    #: class of the estimators that are tuned
    _kind: type
    #: candidates of the first round start from their neighbours' cores
    _uses_paths = True

    def __init__(
        self,
        estimator=None,
        *,
        alphas="auto",
        periods="auto",
        n_basis="auto",
        ranks="auto",
        cv=None,
        scoring=None,
        refit=True,
        sample_rows="auto",
        random_state=None,
        n_jobs=None,
        verbose=0,
    ):
        self.estimator = estimator
        self.alphas = alphas
        self.periods = periods
        self.n_basis = n_basis
        self.ranks = ranks
        self.cv = cv
        self.scoring = scoring
        self.refit = refit
        self.sample_rows = sample_rows
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _check_target(self, y: Any) -> NDArray:
        raise NotImplementedError

    @ended_by_interrupts()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Choose the parameters, and fit to all rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array of shape (n_rows,), or (n_rows, n_outputs) for several numbers a row
        sample_weight : array of shape (n_rows,), optional
            Rows of weight zero are as if they were not there; scores are weighted, too.

        Returns
        -------
        self
        """
        self._check_parameters()
        estimator, rows = self._make_estimator(), self._read(X, y, sample_weight)
        rng = as_random_state(self.random_state)
        n_jobs = 1 if len(rows) < THREADED_ROWS else self.n_jobs
        trial = clone(estimator).set_params(n_jobs=n_jobs, verbose=0, checkpoint=None)
        self.scorer_ = check_scoring(estimator, scoring=self.scoring)
        begin = perf_counter()
        with threads(self.n_jobs) as engine:
            race, was_interrupted = self._search(trial, rows, engine, rng)
        self.search_time_ = perf_counter() - begin
        self._store(race)
        if interruption.take() or was_interrupted:  # not to be taken by the last fit
            self._warn(race)
        if self.refit:
            begin = perf_counter()
            self.best_estimator_ = clone(estimator).set_params(**self.best_params_)
            self.best_estimator_.fit(rows.X, rows.y, rows.weight)
            self.refit_time_ = perf_counter() - begin
            if hasattr(self.best_estimator_, "classes_"):
                self.classes_ = self.best_estimator_.classes_
        return self

    def _check_parameters(self) -> None:
        check_lists(self)
        check_n_jobs("n_jobs", self.n_jobs)
        check_number("verbose", self.verbose, Integral, 0, flag=True)
        if self.sample_rows is not None:
            hint = ", 'auto', or None for all rows"
            check_number("sample_rows", self.sample_rows, Integral, 2, or_word="auto", hint=hint)
        if self.estimator is not None and not isinstance(self.estimator, self._kind):
            raise ValueError(
                f"estimator={self.estimator!r} must be a {self._kind.__name__}, or None for one "
                "with default parameters."
            )

    def _make_estimator(self) -> Any:
        if self.estimator is not None:
            estimator = clone(self.estimator)
            if estimator.random_state is None:
                estimator.random_state = self.random_state
            return estimator
        return self._kind(random_state=self.random_state, n_jobs=self.n_jobs)

    def _read(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        columns, _ = read_columns(self, X, reset=True)
        target = self._check_target(y)
        if len(columns[0]) != len(target):
            raise ValueError(
                f"X and y have inconsistent numbers of rows: {len(columns[0])} and {len(target)}."
            )
        weight = None if sample_weight is None else check_weight(sample_weight, len(target))
        return Rows(X if hasattr(X, "columns") else np.asarray(X), target, weight)

    def _search(
        self, trial: Any, rows: Rows, engine: Threads, rng: np.random.RandomState
    ) -> tuple[Race, bool]:
        """Run the race; return it and whether it was interrupted."""
        size = SAMPLE_ROWS if isinstance(self.sample_rows, str) else self.sample_rows
        is_large = size is not None and len(rows) > size
        by_class = is_classifier(trial)
        pairs = split(rows, self.cv, by_class, is_large, rng)
        folds, sampled = [Fold(rows, *pair) for pair in pairs], None
        if is_large:
            pairs = sample(pairs, rows, size, by_class, rng)
            sampled = [Fold(rows, *pair) for pair in pairs]
        posed = (sampled or folds)[0].posed(trial)
        candidates = make_candidates(self, posed, len(rows))
        for candidate in candidates:
            posed.check(posed.model(candidate))
        race = Race(trial, candidates, folds, self.scorer_, engine, sampled, self._uses_paths)
        with _progress(race) if self.verbose else nullcontext():
            try:
                race.run()
            except KeyboardInterrupt:
                if not race.table.round.any():  # nothing to choose from
                    raise
                return race, True
        return race, False

    def _store(self, race: Race) -> None:
        table = race.table
        if np.isnan(table.mean[table.round == table.round.max()]).all():
            raise ValueError(
                f"Every score is NaN with scoring={self.scoring!r}; use another scoring, or look "
                "at what one candidate predicts."
            )
        self.n_splits_ = len(race.folds)
        self.cv_results_ = table.results(race.candidates, len(race.rounds))
        self.best_index_ = int(table.order()[0])
        self.best_params_ = race.candidates[self.best_index_]
        self.best_score_ = float(table.mean[self.best_index_])

    def _warn(self, race: Race) -> None:
        tried = int((race.table.round > 0).sum())
        warnings.warn(
            f"Interrupted when {tried} of {len(race.candidates)} candidates had been tried; the "
            "best of them is chosen. cv_results_ tells how far each came.",
            ConvergenceWarning,
            stacklevel=3,
        )

    def _learned_html(self) -> str:
        if not hasattr(self, "best_params_"):
            return ""
        tried = int((self.cv_results_["round"] > 0).sum())
        ended = int(self.cv_results_["finished"].sum())
        times = [("search", f"{readable(self.search_time_, 3)} s")]
        if hasattr(self, "refit_time_"):
            times.append(("last fit", f"{readable(self.refit_time_, 3)} s"))
        folds = "1 fold" if self.n_splits_ == 1 else f"mean of {self.n_splits_} folds"
        chosen = [(name, value if isinstance(value, tuple) else readable(value, 3))
                  for name, value in self.best_params_.items()]  # fmt: skip
        return found([
            *chosen,
            (name_score(self), f"{readable(self.best_score_)}, {folds}"),
            ("candidates", f"{tried:,} tried, {ended:,} fitted to the end"),
            *times,
        ])  # fmt: skip

    @available_if(is_refitted)
    def predict(self, X: Any) -> NDArray:
        """Predict with the best model.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array
            As of the estimator.
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(is_refitted)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Score of the best model, by `scoring`.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array
        sample_weight : array of shape (n_rows,), optional
        """
        check_is_fitted(self)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.scorer_(self.best_estimator_, X, y, **options)

    @available_if(is_refitted)
    def save(self, path: str | os.PathLike[str]) -> None:
        """Save the best model to one file, which `qtkm.load` reads.

        Parameters
        ----------
        path : path-like
        """
        check_is_fitted(self)
        self.best_estimator_.save(path)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = (self.estimator or self._kind()).__sklearn_tags__()
        tags.input_tags, tags.target_tags = own.input_tags, own.target_tags
        return tags


@contextmanager
def _progress(race: Race) -> Iterator[None]:
    """Show a progress bar with the remaining time during a search."""
    lock = threading.Lock()
    with tqdm(total=race.n_epochs, desc="tune", unit="epoch") as bar:

        def report(epochs: int) -> None:
            with lock:
                best = race.table.best
                bar.set_postfix_str("" if best is None else f"best {best:.4g}", refresh=False)
                bar.total = max(bar.total, bar.n + epochs)
                bar.update(epochs)

        race.report = report
        yield
        bar.update(bar.total - bar.n)
