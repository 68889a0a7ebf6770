"""QTKMClassifier: the model of QTKMRegressor with losses for classes."""

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.metaestimators import available_if

from ..parameters import check_fraction
from . import parts, targets
from .dask import predict_lazily
from .model import Model, filled_from
from .regressor import QTKMRegressor
from .uncertainty import flattened
from .working import ended_by_interrupts


def _gives_probabilities(estimator: "QTKMClassifier") -> bool:
    if parts.has_probabilities(estimator.loss):
        return True
    raise AttributeError(
        f"loss={estimator.loss!r} has no probabilities; use one of "
        f"{parts.losses_with_probabilities()}, or sklearn.calibration.CalibratedClassifierCV."
    )


@filled_from(
    QTKMRegressor,
    without=("residual", "prediction_margin", "normalize_y"),
    loss="logistic",
    class_weight=None,
)
class QTKMClassifier(ClassifierMixin, Model):
    """Classification with a quantized tensor-network kernel machine.

    The model is that of `QTKMRegressor` with losses for classes.  Two classes are separated by
    the sign of the response; more than two share a network with one output per class, and the
    largest output wins.

    Parameters
    ----------
    loss : {"logistic", "softmax", "squared_hinge", "hinge", "squared"} or Loss, default="logistic"
        Loss of a row. With more than two classes, "logistic" means "softmax", and all others,
        including an object `Logistic()`, are one-vs-rest. Only "logistic" and "softmax" have
        probabilities.
    class_weight : "balanced", dict or None, default=None
        Weights of the classes, which multiply those of their rows: a dict from labels to weights
        (1 for missing labels), or "balanced" for weights inversely proportional to the total
        weight of each class.

    Attributes
    ----------
    classes_ : array of shape (n_classes,)
        Labels of the classes in ascending order.

    Notes
    -----
    The fit minimizes the mean loss of the rows, weighted by ω, plus a penalty,

        (1/Σω) Σ_n ω_n·ℓ(f(x_n), y_n) + alpha·‖w‖²,

    with f as in `QTKMRegressor` [1]_.  The classes enter as signs: y = +1 for ``classes_[1]``
    and -1 for ``classes_[0]``, or +1 in the output of the row's class and -1 in all others.  In
    terms of the margin m = y·Re f, the losses are

        logistic log(1 + exp(-m)),  hinge max(0, 1 - m),  squared_hinge max(0, 1 - m)²,

    summed over the outputs; squared is |f - y|², and softmax -log p, where p = exp(Re f_y) /
    Σ_j exp(Re f_j) is the probability of the row's class y.  Logistic, softmax and squared_hinge
    add ⅛, ¼ and 1 times (Im f)²; the hinge of two classes is ½(1 - m + |y - f|), its corner
    slightly rounded, see `Hinge`.

    "als" minimizes a quadratic model of the loss, updated for every column, which majorizes the
    loss if a step would otherwise raise the objective.  Classes without rows of positive weight
    are ignored; see `QTKMRegressor` for weights, duplicates and Ctrl-C.

    References
    ----------
    .. [1] F. Wesel, K. Batselier, "Quantized Fourier and Polynomial Features for more
       Expressive Tensor Network Models", AISTATS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm import QTKMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, size=(300, 2))
    >>> y = np.where(X[:, 0] * X[:, 1] > 0, "even", "odd")
    >>> model = QTKMClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.5, 0.5], [0.5, -0.5]])
    array(['even', 'odd'], dtype='<U4')
    >>> model.predict_proba([[0.5, 0.5], [0.5, -0.5]]).round(1)
    array([[1., 0.],
           [0., 1.]])

    Three classes share one network, here that of the paper, whose last core is for the outputs:

    >>> y = np.digitize(X.sum(axis=1), [-0.5, 0.5])
    >>> model = QTKMClassifier(rank=5, penalty="ridge", random_state=0).fit(X, y)
    >>> model.loss_, model.cores_[-1].shape, model.decision_function(X).shape
    (Softmax(residual='complex'), (3, 5), (300, 3))
    """

    @ended_by_interrupts()
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> "QTKMClassifier":
        """Fit to data.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
            Or a Dask array or frame, like y and sample_weight, with the same partitions: the fit
            then runs on the current Dask client, and the rows stay on its workers.
        y : array of shape (n_rows,)
            Labels: numbers, strings or bools.
        sample_weight : array of shape (n_rows,), optional
            Rows with zero weight are ignored.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight)
        return self

    _check_target = targets.check_labels

    def _target_reader(
        self, names: list[str], offset: str | None = None, is_vector: bool = True, kind: Any = None
    ) -> targets.LabelTarget:
        if offset is not None:
            raise ValueError("offset is for regression, not for classes; remove it.")
        if len(names) != 1:
            raise ValueError(f"{type(self).__name__} needs one target column, got {names}.")
        known = self.classes_ if self._goes_on else None
        make_loss = partial(parts.make_classification_loss, self.loss)  # goes to Dask workers
        make_loss(2)  # refuses an unknown loss before rows are read
        return targets.LabelTarget(
            names[0], type(self).__name__, self.class_weight, known, make_loss, kind
        )

    def decision_function(self, X: Any) -> NDArray:
        """Return the response that separates the classes.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,) or (n_rows, n_classes)
            With two classes, positive for ``classes_[1]``: Re f, or the difference of the two
            outputs of a softmax. Otherwise one column per class; the largest wins.
        """
        if self._is_lazy(X):
            width = len(self.classes_) if len(self.classes_) > 2 else None
            return predict_lazily(self, "decision_function", X, np.float64, width)
        response = self._responses(X)
        if len(self.classes_) > 2:
            return response
        return response[:, 0] if response.shape[1] == 1 else response[:, 1] - response[:, 0]

    def predict(self, X: Any) -> NDArray:
        """Predict the class of each row.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)

        Returns
        -------
        array of shape (n_rows,)
            Labels from `classes_`.
        """
        if self._is_lazy(X):
            return predict_lazily(self, "predict", X, self.classes_.dtype, None)
        codes = targets.to_codes(self._responses(X))
        return self.classes_[codes]

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any, *, average: bool = False) -> NDArray:
        """Predict the probabilities of the classes, with ``loss="logistic"`` or "softmax".

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        average : bool
            Average over the posterior of the weights, which makes probabilities more alike where
            there are few training rows.

        Returns
        -------
        array of shape (n_rows, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        if self._is_lazy(X):
            width = len(self.classes_)
            return predict_lazily(self, "predict_proba", X, np.float64, width, average=average)
        response = self._responses(X)
        if average:
            response = flattened(response, self._variances(X))
        return self.loss_.link(response)

    @available_if(_gives_probabilities)
    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray:
        """Predict intervals of the probabilities from the posterior of the weights.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        coverage : float
            Posterior probability of the interval, between 0 and 1.

        Returns
        -------
        array of shape (n_rows, n_classes, 2)
            Lower and upper ends. With more than two classes, only the response of the class itself
            varies.
        """
        check_fraction("coverage", coverage)
        response, half = self._responses(X), np.sqrt(self._variances(X)) * ndtri(0.5 + coverage / 2)
        outputs = np.arange(response.shape[1])
        found = np.empty((len(response), len(self.classes_), 2))
        for k in range(len(self.classes_)):
            step = half if len(outputs) == 1 else half * (outputs == k)
            for end, sign in enumerate((-1, 1)):
                found[:, k, end] = self.loss_.link(response + sign * step)[:, k]
        return np.sort(found, axis=-1)

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> NDArray:
        """Predict the logarithms of the probabilities."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array of shape (n_rows,)
            Labels in `classes_`; others raise a ValueError.
        sample_weight : array of shape (n_rows,), optional
        """
        predicted = self.predict(X)
        y = targets.check_labels(self, y)
        known, what = self.classes_, "y has the labels "
        targets.refuse_unknown(y.tolist(), known, what, " Remove their rows.")
        return accuracy_score(y, predicted, sample_weight=sample_weight)
