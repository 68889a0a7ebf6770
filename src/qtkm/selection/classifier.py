"""Classification with parameters that are chosen by cross-validation."""

from typing import Any

from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ..estimators import QTKMClassifier
from ..estimators.docstrings import filled_from
from ..estimators.labels import check_labels
from .regressor import QTKMRegressorCV
from .search import Search, is_refitted


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
