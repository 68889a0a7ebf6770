"""Estimators with parameters chosen by cross-validation."""

from sklearn.base import ClassifierMixin, RegressorMixin

from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.model import filled_from
from .search import SearchCV, by_best, is_refitted


class QTKMRegressorCV(RegressorMixin, SearchCV):
    """`QTKMRegressor` with parameters chosen by cross-validation.

    A default fit searches for its rank and penalty itself.  Without lists, this search compares
    the defaults with other penalties, scalings, basis sizes and periods on the same folds, and
    continues from settings that are clearly better; `message_` reports the outcome.

    Parameters
    ----------
    estimator : QTKMRegressor or None, default=None
        Estimator to tune; None for one with default parameters, `random_state` and `n_jobs`.
    alphas : sequence of float or "auto", default="auto"
        Penalties to choose from.
    periods : sequence of float or "auto", default="auto"
        Periods of the Fourier basis to choose from; an entry may be a sequence with one per column.
    n_basis : sequence of int or "auto", default="auto"
        Numbers of basis functions to choose from; an entry may be a sequence with one per column.
    ranks : sequence of int or "auto", default="auto"
        Ranks to choose from. For this and the three above, "auto" keeps the value of the estimator
        if it has one, or lets fits search for it; otherwise, as with ``penalty="ridge"``, it tries
        the default for these rows, half and twice that (for `alphas`, a hundredth and a hundred
        times), and continues if the best is at an end.
    cv : int, splitter, iterable of (train, test), float, "hold-out" or None, default=None
        Folds, as in scikit-learn: an integer splits the rows without shuffling, so shuffle sorted
        ones or pass ``KFold(3, shuffle=True)``. A float is the fraction of rows to hold out at
        random, "hold-out" a fifth. None is 3 folds, or "hold-out" if the search uses a sample.
    scoring : str, callable or None, default=None
        Score to maximize, as in scikit-learn; None is R².
    refit : bool, default=True
        Whether to fit a model with the best parameters to all rows.
    sample_rows : int, "auto" or None, default="auto"
        Number of rows of the search, sampled from larger tables; the last fit is to all rows.
        "auto" is 50,000 (`qtkm tune` without lists uses 20,000), None all rows.
    random_state : int, RandomState or None, default=None
        Seed for hold-out and sample, and for the estimator if it has none.
    n_jobs : int or None, default=None
        Number of threads, as in joblib, except that None means all cores.
    verbose : int, default=0
        1 shows a progress bar with the remaining time.

    Attributes
    ----------
    best_params_ : dict
        Chosen values of the parameters that were searched.
    best_score_ : float
        Their mean score over the folds.
    best_index_ : int
        Their index in `cv_results_`.
    message_ : str
        Outcome in a sentence: that the defaults are kept, or what is better and by how much.
    best_estimator_ : QTKMRegressor
        Model with these parameters, fitted to all rows; only with ``refit=True``.
    cv_results_ : dict of arrays
        One entry per candidate, as in `sklearn.model_selection.GridSearchCV`: ``param_alpha`` …,
        ``params``, ``split0_test_score`` …, ``mean_test_score``, ``std_test_score``,
        ``rank_test_score``, ``mean_fit_time`` …. Abandoned candidates have the scores of their
        last round, NaN on folds that were not fitted, and rank behind all that got further.
        ``n_epochs`` and ``n_rows`` are what they used; ``finished`` marks those fitted to
        convergence on all folds.
    n_splits_ : int
        Number of folds.
    scorer_ : callable
    refit_time_, search_time_ : float
        Seconds of the last fit, and of the search before it.
    n_features_in_, feature_names_in_
        Same as the estimator's.

    Notes
    -----
    Without lists, the defaults are fitted to all folds, then every setting that differs in one
    parameter, fold by fold; after each fold half of them remain, or two, and none that are behind.
    A setting replaces the defaults only if it is better on every fold, by more than a standard
    deviation of the differences and 1 % of the error.  The search then continues from there, in
    the same direction and combined with other settings that were ahead.

    A grid is searched by a race: all candidates get a few epochs on one fold, the best quarter
    three times as many on two folds, and so on; the best two are fitted to convergence on all
    folds, with the scores of a plain grid search.  Ctrl-C stops the search with a
    ConvergenceWarning and chooses the best candidate so far.

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
    # the estimator's AttributeError lists the losses that have some
    return is_refitted(search) and bool((search.estimator or QTKMClassifier()).predict_proba)


@filled_from(QTKMRegressorCV)
class QTKMClassifierCV(ClassifierMixin, SearchCV):
    """`QTKMClassifier` with parameters chosen by cross-validation, see `QTKMRegressorCV`.

    Parameters
    ----------
    estimator : QTKMClassifier or None, default=None
        Estimator to tune; None for one with default parameters, `random_state` and `n_jobs`.
    cv : int, splitter, iterable of (train, test), float, "hold-out" or None, default=None
        Folds as in `QTKMRegressorCV`, with equal shares of each class; shuffle sorted rows with
        ``StratifiedKFold(3, shuffle=True)``.
    scoring : str, callable or None, default=None
        Score to maximize, as in scikit-learn; None is the accuracy. "neg_log_loss" is more
        sensitive to small differences.

    Attributes
    ----------
    best_estimator_ : QTKMClassifier
        Model with these parameters, fitted to all rows; only with ``refit=True``.
    classes_ : array
        Classes in ascending order; only with ``refit=True``.
    """

    _kind = QTKMClassifier

    predict = by_best(QTKMClassifier.predict)
    decision_function = by_best(QTKMClassifier.decision_function)
    predict_proba = by_best(QTKMClassifier.predict_proba, _gives_probabilities)
    predict_log_proba = by_best(QTKMClassifier.predict_log_proba, _gives_probabilities)
    score = SearchCV.score  # by `scoring`, not the mixin's
