"""Regression and classification with parameters that are chosen by cross-validation."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..estimators import QTKMClassifier, QTKMRegressor
from ..estimators.docstrings import filled_from
from ..estimators.labels import check_labels
from ..estimators.targets import check_target
from .search import Search, is_refitted


class QTKMRegressorCV(RegressorMixin, Search):
    """`QTKMRegressor` with penalty, period, basis size and rank chosen by cross-validation.

    Parameters
    ----------
    estimator : QTKMRegressor or None, default=None
        What is tuned; None for one with default parameters and this `random_state` and `n_jobs`.
    alphas : sequence of float or "auto", default="auto"
        Penalties to choose from.
    periods : sequence of float or "auto", default="auto"
        Periods of the Fourier basis to choose from; an entry may be a sequence with one period
        for each column.
    n_basis : sequence of int or "auto", default="auto"
        Numbers of basis functions to choose from; an entry may be a sequence with one number
        for each column.
    ranks : sequence of int or "auto", default="auto"
        Ranks to choose from. "auto" of this and the three above is the estimator's own parameter
        if that is set, else its default for these rows, half and double of it (of `alphas`, a
        hundredth and a hundred times).
    cv : int, splitter, iterable of (train, test), float, "hold-out" or None, default=None
        Folds, as scikit-learn has them: an integer cuts the rows in their order, so shuffle
        sorted ones or pass ``KFold(3, shuffle=True)``. A float is the share of rows to hold out,
        at random; "hold-out" is a fifth of them. None is 3 folds, and a hold-out where the
        search sees a sample.
    scoring : str, callable or None, default=None
        Score to be maximised, as scikit-learn has it; None is R².
    refit : bool, default=True
        Whether to fit a model with the best parameters to all rows.
    sample_rows : int, "auto" or None, default="auto"
        Rows that the search sees; where there are more, it sees a random sample, and only the
        best few candidates are compared on all rows. "auto" is 50,000, None all rows.
    random_state : int, RandomState or None, default=None
        Seed of hold-out and sample, and of the estimator where it has none.
    n_jobs : int or None, default=None
        Number of threads, as in joblib, except that None means all cores.
    verbose : int, default=0
        1 shows a progress bar with the time that is left.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the estimator that were chosen: ``alpha``, ``n_basis``, ``period``, ``rank``,
        those of them that were searched.
    best_score_ : float
        Their mean score over the folds.
    best_index_ : int
        Their place in `cv_results_`.
    best_estimator_ : QTKMRegressor
        The model with these parameters, fitted to all rows; with ``refit=True``.
    cv_results_ : dict of arrays
        One entry for each candidate, in the order of scikit-learn's ParameterGrid, as
        `sklearn.model_selection.GridSearchCV` has it: ``param_alpha`` …, ``params``,
        ``split0_test_score`` …, ``mean_test_score``, ``std_test_score``, ``rank_test_score``,
        ``mean_fit_time`` …. Candidates that were given up have the scores they had then, NaN on
        folds they never saw, and rank behind all that came further: ``round`` tells how far (the
        mean is of its folds), ``n_epochs`` and ``n_rows`` with how many epochs and rows.
        ``finished`` are those whose fits came to their end on all folds.
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
    The search is a race: all candidates get two epochs on one fold, the best ninth some more on
    two folds, and so on; the best of the last few is fitted to its end on all folds, and so are
    others that may still come out ahead of it, so that theirs are the scores of a plain grid
    search.  In the first round a candidate starts from the cores of its
    neighbour with the next larger penalty or the next smaller rank; in the second, neighbours of
    the best candidate get another chance.  Codes, sorts and features are made once a fold.
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

    score = Search.score  # by `scoring`, not the mixin's

    def _check_target(self, y: Any) -> NDArray:
        return check_target(self, y)


def _gives_probabilities(search: "QTKMClassifierCV") -> bool:
    # an AttributeError of the estimator's says which losses give some
    return is_refitted(search) and bool((search.estimator or QTKMClassifier()).predict_proba)


@filled_from(QTKMRegressorCV)
class QTKMClassifierCV(ClassifierMixin, Search):
    """`QTKMClassifier` with penalty, period, basis size and rank chosen by cross-validation.

    Parameters
    ----------
    estimator : QTKMClassifier or None, default=None
        What is tuned; None for one with default parameters and this `random_state` and `n_jobs`.
    cv : int, splitter, iterable of (train, test), float, "hold-out" or None, default=None
        Folds, as scikit-learn has them: an integer cuts the rows of each class in their order, so
        shuffle sorted ones or pass ``StratifiedKFold(3, shuffle=True)``. A float is the share of
        rows to hold out, at random from each class; "hold-out" is a fifth of them. None is 3
        folds, and a hold-out where the search sees a sample.
    scoring : str, callable or None, default=None
        Score to be maximised, as scikit-learn has it; None is the accuracy. "neg_log_loss" sees
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
    ...     ranks=[1, 3], n_basis=[8], periods=[3.0], scoring="neg_log_loss", random_state=0
    ... ).fit(X, y)
    >>> search.best_params_["rank"]
    3
    >>> search.predict([[0.5, 0.5], [0.5, -0.5]])
    array(['even', 'odd'], dtype='<U4')
    """

    _kind = QTKMClassifier

    score = Search.score  # by `scoring`, not the mixin's

    def _check_target(self, y: Any) -> NDArray:
        return check_labels(y, type(self).__name__)

    @available_if(is_refitted)
    def decision_function(self, X: Any) -> NDArray:
        """Give the best model's response, by which the classes are told apart.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> NDArray:
        """Predict the probabilities of the classes with the best model.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows, n_classes)
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray:
        """Predict the logarithms of what `predict_proba` gives."""
        check_is_fitted(self)
        return self.best_estimator_.predict_log_proba(X)
