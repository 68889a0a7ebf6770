"""Base of both searches: from lists and rows to the best candidate, fitted to all rows.

Candidates are a grid of parameters with "auto" filled in, or steps away from the defaults.
"""

import re
import warnings
from collections.abc import Sequence
from functools import wraps
from numbers import Integral, Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import check_scoring
from sklearn.model_selection import ParameterGrid
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted
from tqdm.auto import tqdm

from .. import interruption
from ..escaping import visible
from ..estimators import defaults
from ..estimators.choices import automatic
from ..estimators.inputs import read_columns
from ..estimators.model import Model
from ..estimators.prepare import Prepared
from ..estimators.tables import THREADED_ROWS
from ..estimators.targets import check_weight, refuse_unequal
from ..estimators.wording import Shown, readable
from ..estimators.working import ended_by_interrupts, threads
from ..features.feature_map import SCALINGS
from ..parameters import (
    as_random_state,
    check_number,
    check_numbers,
    keep_parameters,
    plain_entries,
)
from ..penalties import Matern
from .race import Entrant, GivenRows, Race, split

#: lists of a search, each with the parameter of the estimator, and type and least of its entries
LISTS: dict[str, tuple[str, Any, float]] = {
    "alphas": ("alpha", Real, 0.0),
    "n_basis": ("n_basis", Integral, 1),
    "periods": ("period", Real, 1.0),
    "ranks": ("rank", Integral, 1),
}
#: "auto" of a list: the estimator's own choice times and over this
FACTORS: dict[str, Any] = {"alpha": 100.0, "n_basis": 2, "period": 2.0, "rank": 2}
#: steps from the defaults of a fit that searches for rank and penalty by itself: factors, or values
STEPS: dict[str, Any] = {
    "n_basis": 3,
    "penalty": ["matern", Matern(0.5), Matern(1.5), Matern(2.5), "rbf"],
    "period": 1.5,
    "scaling": [scaling for scaling in SCALINGS if scaling != defaults.AUTO],
}
#: rows from which sample_rows="auto" searches on a sample of this size
SAMPLE_ROWS = 50_000
#: most steps of a search beyond its lists, or away from the defaults
MOST_STEPS = 4
#: part of the error by which other settings must be better than the defaults
CLEAR = 0.01


def is_refitted(search: Any) -> bool:
    """Return True if a search has a model, else raise an AttributeError."""
    if not search.refit:
        raise AttributeError(
            f"This {type(search).__name__} has refit=False, so it cannot predict; fit a model with "
            "its best_params_, or use refit=True."
        )
    return True


def by_best(method: Any, condition: Any = is_refitted) -> Any:
    """Return a method of searches that calls that of the best model."""

    @available_if(condition)
    @wraps(method)
    def call(self: Any, *arguments: Any, **options: Any) -> Any:
        check_is_fitted(self)
        return getattr(self.best_estimator_, method.__name__)(*arguments, **options)

    return call


def name_score(search: Any) -> str:
    """Return the name of a search's score."""
    scoring = search.scoring
    if scoring is None:
        return "accuracy" if is_classifier(search) else "R²"
    if isinstance(scoring, str):
        return scoring
    # scikit-learn's scorers have no name, but their repr has the function they were made of
    made = re.match(r"make_scorer\((\w+)(, greater_is_better=False)?", repr(scoring))
    if made:
        return f"minus {made[1]}" if made[2] else made[1]
    return str(getattr(scoring, "__name__", type(scoring).__name__))


class Candidates:
    """Candidates of a search for these rows: a `grid`, and `steps` to vary parameters further.

    A step is a factor for numbers, a list for others.  `is_automatic` is True if fits search for
    rank or penalty themselves, `is_varied` if there are no lists either, so that the search
    proceeds step by step from the defaults.
    """

    def __init__(self, search: Any, estimator: Any, prepared: Prepared):
        self.estimator, self.prepared = estimator, prepared
        has_validation = prepared.validation is not None
        self.is_automatic = automatic.is_wanted(estimator, prepared.objective, has_validation)
        lists = {LISTS[name][0]: getattr(search, name) for name in LISTS}
        grid = {name: plain_entries(v) for name, v in lists.items() if not defaults.is_auto(v)}
        self.is_varied = self.is_automatic and not grid
        if not any(hasattr(each, "period") for each in prepared.inputs.maps):
            grid.pop("period", None)
        steps: dict[str, Any] = STEPS if self.is_varied else {} if self.is_automatic else FACTORS
        #: what "auto" stands for, from which steps begin
        self.resolved = {name: self._default(name) for name in steps if name not in grid}
        self.resolved = {name: own for name, own in self.resolved.items() if own is not None}
        self.steps = {name: steps[name] for name in self.resolved}
        for name, default in self.resolved.items():
            if self.is_varied:
                grid[name] = [getattr(estimator, name)]
            else:
                values = {default, *self._beside(name, default)}
                grid[name] = sorted(values, reverse=name == "alpha")
        self.grid = list(ParameterGrid(grid))

    def _default(self, name: str) -> Any:
        """Return what "auto" stands for; None if the estimator has a value of its own."""
        estimator, objective = self.estimator, self.prepared.objective
        own: list[Any] = [getattr(estimator, name)]
        found: Any = own[0]
        if name == "penalty":
            return found if isinstance(found, str) and found == "matern" else None
        if name == "scaling":
            found = defaults.scaling(estimator)
        elif name == "alpha":
            found = objective.alpha
        elif name == "rank":
            own.append(getattr(estimator.network, "rank", defaults.AUTO))
            found = getattr(getattr(objective.network, "network", objective.network), "rank", None)
        else:
            basis = estimator.basis
            bases = basis if isinstance(basis, list | tuple) else [basis]
            own += [getattr(each, name, defaults.AUTO) for each in bases]
            maps = [each for each in self.prepared.inputs.maps if hasattr(each, name)]
            found = max((getattr(each, name) for each in maps), default=None)
        return found if all(map(defaults.is_auto, own)) else None

    def _beside(self, name: str, value: Any) -> list[Any]:
        step, default = self.steps[name], self.resolved[name]
        if isinstance(step, list):
            return [other for other in step if other is not default]
        start: Any = default if defaults.is_auto(value) else value
        least = 0.0 if name == "alpha" else 1
        found = [max(least, type(start)(start * factor)) for factor in (1 / step, step)]
        return [other for other in found if other != default]

    def steps_from(self, params: dict[str, Any]) -> list[tuple[str, Any]]:
        steps = [(name, value) for name in self.steps for value in self._beside(name, params[name])]
        return [(name, value) for name, value in steps if value is not params[name]]

    def beyond(self, best: dict[str, Any], tried: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the steps from the best candidate to values beyond those tried."""
        ends = {name: sorted(each[name] for each in tried) for name in self.steps}
        steps = self.steps_from(best)
        return [best | {n: v} for n, v in steps if not ends[n][0] <= v <= ends[n][-1]]


class SearchCV(Shown, BaseEstimator):
    """Search for the best parameters of an estimator, and a model with them."""

    #: class of the estimators that are tuned
    _kind: Any

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
        keep_parameters(self, locals())

    @ended_by_interrupts()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        """Choose the parameters and fit a model to all rows.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array of shape (n_rows,), or (n_rows, n_outputs) for several outputs
        sample_weight : array of shape (n_rows,), optional
            Rows with zero weight are ignored; scores are weighted as well.

        Returns
        -------
        self
        """
        self._check_parameters()
        estimator, rows = self._make_estimator(), self._read(X, y, sample_weight)
        rng = as_random_state(self.random_state)
        trial = clone(estimator).set_params(
            n_jobs=1 if len(rows) < THREADED_ROWS else self.n_jobs,
            verbose=0, checkpoint=None, posterior=False, warm_start=False,
        )  # fmt: skip
        self.scorer_ = check_scoring(estimator, scoring=self.scoring)
        size = SAMPLE_ROWS if isinstance(self.sample_rows, str) else self.sample_rows
        folds = split(rows, self.cv, size, rng)
        begin, was_interrupted = perf_counter(), False
        bar = tqdm(total=0, desc="tune", unit="epoch", disable=not self.verbose)
        with bar, warnings.catch_warnings(), threads(self.n_jobs) as engine:
            # of single trials; the last fit has its own
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", UserWarning)
            race = Race(trial, rows, folds, self.scorer_, engine, bar)
            try:
                self._search(race)
                bar.update(bar.total - bar.n)
            except KeyboardInterrupt:
                if not any(candidate.is_tried for candidate in race.candidates):
                    raise  # there is nothing to choose from
                was_interrupted = True
            finally:
                race.is_stopped = True  # fits in other threads end with their epoch
        self.search_time_ = perf_counter() - begin
        self._store(race)
        if interruption.take() or was_interrupted:  # not to be taken by the last fit
            tried = sum(candidate.is_tried for candidate in race.candidates)
            self.message_ = (
                f"Interrupted after {tried} of {len(race.candidates)} candidates; the best of them "
                "is chosen. cv_results_ shows how far each candidate got."
            )
            warnings.warn(self.message_, ConvergenceWarning, stacklevel=2)
        if self.refit:
            begin = perf_counter()
            self.best_estimator_ = clone(estimator).set_params(**self.best_params_)
            self.best_estimator_.fit(rows.X, rows.y, rows.weight)
            self.refit_time_ = perf_counter() - begin
            if hasattr(self.best_estimator_, "classes_"):
                self.classes_ = self.best_estimator_.classes_
        return self

    def _check_parameters(self) -> None:
        for name, (_, kind, least) in LISTS.items():
            if not defaults.is_auto(given := getattr(self, name)):
                check_numbers(name, given, kind, least)
        defaults.check_parameters(self)
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

    def _read(self, X: Any, y: Any, sample_weight: Any) -> GivenRows:
        columns = read_columns(self, X, reset=True)
        target = self._kind._check_target(self, y)
        refuse_unequal(len(columns[0]), len(target))
        weight = None if sample_weight is None else check_weight(sample_weight, len(target))
        X = X if hasattr(X, "columns") else np.asarray(X)
        return GivenRows(X, target, weight, is_classifier(self))

    def _search(self, race: Race) -> None:
        train = race.rows.take(race.folds[0][0])
        with clone(race.estimator)._prepare(*train) as prepared:
            candidates = Candidates(self, race.estimator, prepared)
        race.add(candidates.grid)
        if candidates.is_varied:
            return self._vary(race, candidates)
        if candidates.is_automatic:
            race.run_folds(race.candidates)
        else:
            race.race()
        for _ in range(MOST_STEPS):  # beyond the ends of lists that were not given
            best, tried = race.best, [candidate.params for candidate in race.candidates]
            race.run(race.add(candidates.beyond(best.params, tried)))
            if race.best is best:
                break
        self.message_ = f"The best of {len(race.candidates)} candidates is chosen."

    def _vary(self, race: Race, candidates: Candidates) -> None:
        """Proceed step by step from the defaults to settings that are better on all folds."""
        race.chosen = best = default = race.candidates[0]
        race.run_folds([default])
        hopeful = candidates.steps_from(default.params)
        for _ in range(MOST_STEPS):
            near = race.add([best.params | {name: value} for name, value in hopeful])
            ahead = race.run_folds(near, best)
            clear = [each for each in ahead if self._is_clear(each, best)]
            if not clear:
                break
            last, best = best, clear[0]
            race.chosen = best
            # next: further in this direction, and combined with what else was ahead
            moved = _find_change(best, last)[0]
            hopeful = [_find_change(each, last) for each in ahead]
            hopeful = [step for step in hopeful if step[0] != moved]
            hopeful += [step for step in candidates.steps_from(best.params) if step[0] == moved]
        names, tried = ", ".join(candidates.steps), len(race.candidates) - 1
        if not tried:
            self.message_ = (
                "There was nothing to vary: the estimator has values of its own for "
                f"{', '.join(STEPS)}, and fits choose the rest."
            )
        elif best is default:
            self.message_ = (
                f"The defaults are kept: none of {tried} other settings of {names} is clearly "
                "better."
            )
        else:
            changed = ((n, v) for n, v in best.params.items() if v != default.params[n])
            said = ", ".join(f"{name} {_shown(value)}" for name, value in changed)
            self.message_ = (
                f"Better than the defaults on all folds: {said}, with {name_score(self)} "
                f"{readable(best.mean)} instead of {readable(default.mean)}."
            )

    def _is_clear(self, candidate: Entrant, best: Entrant) -> bool:
        gain = candidate.score - best.score
        error = 1 - best.mean if self.scoring is None else abs(best.mean)
        return bool((gain > 0).all() and gain.mean() > max(gain.std(), CLEAR * error))

    def _store(self, race: Race) -> None:
        best = race.best
        if np.isnan(best.mean):
            raise ValueError(
                f"All scores are NaN with scoring={self.scoring!r}; use another scoring, or check "
                "the predictions of one candidate."
            )
        self.n_splits_ = len(race.folds)
        self.cv_results_ = race.results()
        self.best_index_ = race.candidates.index(best)
        self.best_params_, self.best_score_ = best.params, best.mean

    def _learned(self) -> str:
        if not hasattr(self, "best_params_"):
            return ""
        tried = int((self.cv_results_["n_rows"] > 0).sum())
        ended = int(self.cv_results_["finished"].sum())
        folds = "1 fold" if self.n_splits_ == 1 else f"mean of {self.n_splits_} folds"
        times = (("search", "search_time_"), ("last fit", "refit_time_"))
        facts = [
            *((name, _shown(value)) for name, value in self.best_params_.items()),
            (name_score(self), f"{readable(self.best_score_)}, {folds}"),
            ("candidates", f"{tried:,} tried, {ended:,} fitted to convergence"),
            *((what, f"{_shown(getattr(self, n))} s") for what, n in times if hasattr(self, n)),
        ]
        width = max(len(name) for name, _ in facts) + 2
        return "\n".join(visible(f"{name:<{width}}{fact}") for name, fact in facts)

    @available_if(is_refitted)
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the score of the best model, by `scoring`.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array
        sample_weight : array of shape (n_rows,), optional
        """
        check_is_fitted(self)
        options = {} if sample_weight is None else {"sample_weight": sample_weight}
        return self.scorer_(self.best_estimator_, X, y, **options)

    save = by_best(Model.save)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        own = (self.estimator or self._kind()).__sklearn_tags__()
        tags.input_tags, tags.target_tags = own.input_tags, own.target_tags
        return tags


def _shown(value: Any) -> Any:
    return readable(value, 3) if isinstance(value, int | float) else value


def _find_change(candidate: Entrant, before: Entrant) -> tuple[str, Any]:
    """Return name and value of the parameter in which two candidates differ."""
    return next((k, v) for k, v in candidate.params.items() if v != before.params[k])
