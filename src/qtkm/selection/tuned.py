"""Regression and classification with parameters that are chosen by cross-validation."""

from sklearn.base import ClassifierMixin, RegressorMixin

from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.model import filled_from
from .search import SearchCV, by_best, is_refitted


class QTKMRegressorCV(RegressorMixin, SearchCV):
    """`QTKMRegressor` with parameters chosen by cross-validation.

    A default fit searches for its rank and penalty itself.  Without lists, this search compares
    such fits with others of other penalties, scalings, basis sizes and periods on the same folds,
    continues from what is clearly better, and says so if nothing is.

    Parameters
    ----------
    estimator : QTKMRegressor or None, default=None
        What is tuned; None for one with default parameters and this `random_state` and `n_jobs`.
    alphas : sequence of float or "auto", default="auto"
        Penalties to choose from.
    periods : sequence of float or "auto", default="auto"
        Periods of the Fourier basis to choose from; an entry may be a sequence with one period
        per column.
    n_basis : sequence of int or "auto", default="auto"
        Numbers of basis functions to choose from; an entry may be a sequence with one number
        per column.
    ranks : sequence of int or "auto", default="auto"
        Ranks to choose from. "auto" of this and the three above leaves a parameter to the
        estimator if it has a value or if fits search for it; otherwise, as with
        ``penalty="ridge"``, it is the default for these rows, half and double of it (of `alphas`,
        a hundredth and a hundred times), and further if the best is at an end.
    cv : int, splitter, iterable of (train, test), float, "hold-out" or None, default=None
        Folds, as in scikit-learn: an integer cuts the rows in their order, so shuffle
        sorted ones or pass ``KFold(3, shuffle=True)``. A float is the share of rows to hold out,
        at random; "hold-out" is a fifth of them. None is 3 folds, and a hold-out where the
        search sees a sample.
    scoring : str, callable or None, default=None
        Score to be maximised, as in scikit-learn; None is R².
    refit : bool, default=True
        Whether to fit a model with the best parameters to all rows.
    sample_rows : int, "auto" or None, default="auto"
        Rows that the search sees; of more rows it sees a random sample, and only the best few
        candidates of a grid are compared on all rows. "auto" is 50,000, None all rows.
    random_state : int, RandomState or None, default=None
        Seed of hold-out and sample, and of the estimator if it has none.
    n_jobs : int or None, default=None
        Number of threads, as in joblib, except that None means all cores.
    verbose : int, default=0
        1 shows a progress bar with the remaining time.

    Attributes
    ----------
    best_params_ : dict
        Chosen parameters of the estimator, those that were searched.
    best_score_ : float
        Their mean score over the folds.
    best_index_ : int
        Their place in `cv_results_`.
    message_ : str
        What was found: that the defaults have nothing to gain, or what is better and by how much.
    best_estimator_ : QTKMRegressor
        The model with these parameters, fitted to all rows; with ``refit=True``.
    cv_results_ : dict of arrays
        One entry per candidate, as in `sklearn.model_selection.GridSearchCV`: ``param_alpha`` …,
        ``params``, ``split0_test_score`` …, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``, ``mean_fit_time`` …. Candidates that were given up have the scores
        they had then, NaN on folds they never saw, and rank behind all that came further:
        ``round`` says how far (the mean is over its folds), ``n_epochs`` and ``n_rows`` with how
        many epochs and rows. ``finished`` are those fitted to the end on all folds.
    n_splits_ : int
        Number of folds.
    scorer_ : callable
    refit_time_ : float
        Seconds of the last fit.
    search_time_ : float
        Seconds of the search, without the last fit.
    n_features_in_, feature_names_in_
        As of the estimator.

    Notes
    -----
    Without lists the defaults are fitted to all folds, then every setting that differs in one
    parameter, fold by fold; after a fold half of them remain, and none that has fallen behind.
    Another setting replaces the defaults only if it is better on every fold, by more than a
    standard deviation of the differences and 1 % of the error.  From there the search continues,
    further in the same direction and combined with what else was ahead.

    A grid is searched by a race: all candidates get a few epochs on one fold, the best ninth some
    more on two folds, and so on; the best of the last few is fitted to its end on all folds, and so
    are others that may still overtake it, so that theirs are the scores of a plain grid search.
    docs/decisions/0011-a-race-of-candidates.md has what that saves, and what it misses.

    Ctrl-C ends the search with a ConvergenceWarning: the best candidate so far is chosen.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm import QTKMRegressorCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> search = QTKMRegressorCV(
    ...     ranks=[1, 4], n_basis=[8], periods=[2.0], alphas=[1.0, 1e-4], random_state=0
    ... ).fit(X, y)
    >>> search.best_params_
    {'alpha': 0.0001, 'n_basis': 8, 'period': 2.0, 'rank': 4}
    >>> search.score(X, y) > 0.99
    True
    """

    _kind = QTKMRegressor

    predict = by_best(QTKMRegressor.predict)
    score = SearchCV.score  # by `scoring`, not the mixin's


def _gives_probabilities(search: "QTKMClassifierCV") -> bool:
    # an AttributeError of the estimator's says which losses give some
    return is_refitted(search) and bool((search.estimator or QTKMClassifier()).predict_proba)


@filled_from(QTKMRegressorCV)
class QTKMClassifierCV(ClassifierMixin, SearchCV):
    """`QTKMClassifier` with parameters chosen by cross-validation, see `QTKMRegressorCV`.

    Parameters
    ----------
    estimator : QTKMClassifier or None, default=None
        What is tuned; None for one with default parameters and this `random_state` and `n_jobs`.
    cv : int, splitter, iterable of (train, test), float, "hold-out" or None, default=None
        Folds, as in scikit-learn: an integer cuts the rows of each class in their order, so
        shuffle sorted ones or pass ``StratifiedKFold(3, shuffle=True)``. A float is the share of
        rows to hold out, at random from each class; "hold-out" is a fifth of them. None is 3
        folds, and a hold-out where the search sees a sample.
    scoring : str, callable or None, default=None
        Score to be maximised, as in scikit-learn; None is the accuracy. "neg_log_loss" sees
        smaller differences.

    Attributes
    ----------
    best_estimator_ : QTKMClassifier
        The model with these parameters, fitted to all rows; with ``refit=True``.
    classes_ : array
        The classes, in ascending order; with ``refit=True``.

    Notes
    -----
    As in `QTKMRegressorCV`.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm import QTKMClassifierCV
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(400, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "even", "odd")
    >>> search = QTKMClassifierCV(
    ...     ranks=[1, 3], n_basis=[8], periods=[3.0], alphas=[1e-3], scoring="neg_log_loss",
    ...     random_state=0,
    ... ).fit(X, y)
    >>> search.best_params_["rank"]
    3
    >>> search.predict([[0.5, 0.5], [0.5, -0.5]])
    array(['even', 'odd'], dtype='<U4')
    """

    _kind = QTKMClassifier

    predict = by_best(QTKMClassifier.predict)
    decision_function = by_best(QTKMClassifier.decision_function)
    predict_proba = by_best(QTKMClassifier.predict_proba, _gives_probabilities)
    predict_log_proba = by_best(QTKMClassifier.predict_log_proba, _gives_probabilities)
    score = SearchCV.score  # by `scoring`, not the mixin's
