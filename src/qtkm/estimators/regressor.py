"""QTKMRegressor: regression with quantized tensor-network kernel machines."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted

from ..losses import Loss
from ..parameters import keep_parameters
from . import defaults, parts
from .dask import predict_lazily
from .model import Model
from .targets import NumberTarget, check_offset, check_target, check_weight, refuse_unequal
from .uncertainty import half_widths, samples
from .working import ended_by_interrupts


class QTKMRegressor(RegressorMixin, Model):
    """Regression with a quantized tensor-network kernel machine.

    The response f(x) = ⟨φ(x), w⟩ is linear in exponentially many features φ(x), the products of
    Fourier or polynomial features of the columns.  Their weights w are never formed: they are a
    tensor network of small cores, one per digit of each column, fitted in turn by least squares.

    Parameters
    ----------
    basis : {"fourier", "power"}, Fourier, Power, or a sequence of these, default="fourier"
        Basis of the numeric columns, or one per column. Parameters of an object take precedence;
        those it leaves at "auto" are taken from `n_basis` and `period`.
    n_basis : int, "auto" or a sequence of these, default="auto"
        Number M of basis functions per column. "auto" is 27 for Fourier features under a prior,
        more for columns with fine detail; otherwise it grows slowly with the number of rows.
    period : float, "auto" or a sequence of these, default="auto"
        Period L ≥ 1 of the Fourier basis, in units of the column's box; longer is smoother.
        "auto" is 2 under a prior.
    quantization : int, "prime", sequence of int, None or "auto", default="auto"
        How M splits into digits: by an integer base while it divides and then into primes, all
        into primes, or into given radices, lowest digit first. None does not quantize. "auto"
        splits powers of 3 into nines and the rest, all other numbers like 2.
    network : str or Network, default="cpd"
        Tensor network of the weights: a canonical polyadic decomposition "cpd", a tensor
        "train" or "ring", or another of `qtkm.networks.REGISTRY`.
    rank : int, "auto" or another value the network accepts, default="auto"
        Rank R of the network. With main effects and a "cpd", "auto" searches for it on held-out
        rows, starting at 0, and up to 60,000 rows also tries the full-rank model, see Notes.
        Otherwise it grows with the numbers of rows and outputs, or is that of the `init` cores.
    alpha : float or "auto", default="auto"
        Penalty on the squared norm of the weights, relative to the mean loss (of scaled targets).
        "auto" is chosen together with the rank if that is searched for; otherwise it decreases
        with the number of rows.
    penalty : {"ridge", "matern", "rbf"}, Penalty, or a sequence of these, default="matern"
        Penalty that `alpha` multiplies: the squared norm of the weights as in [1]_, or a prior
        under which rough functions cost more than smooth ones; a sequence has one per column.
        Length scales and shares that are "auto" are learned along with the cores.
        ``penalty="ridge"`` with all other defaults is the model of the paper: it switches off
        main effects, scaling and the margin of predictions.
    main_effects : "auto" or bool, default="auto"
        Add an intercept, and a slope and a smooth function of each column, so that the network
        only models interactions. With `rank=0` the model is a generalized additive model.
    loss : {"squared", "huber", "quantile", "poisson", "gamma", "tweedie"} or Loss, \
            default="squared"
        Loss of a row: "huber" for outliers in y, "quantile" for the median or another level,
        such as ``Quantile(0.9)``; "poisson" for counts, "gamma" for positive amounts and
        "tweedie" for amounts that may be zero, all three with predictions exp(Re f) > 0.
    residual : {"complex", "real"}, default="complex"
        Squared loss of the complex response, |f - y|², as in [1]_, or of its real part.
    solver : str or Solver, default="als"
        Alternating least squares "als", or another of `qtkm.solvers.REGISTRY`.
    max_iter : int, default=200
        Maximum number of epochs. An epoch updates every core once.
    tol : float or "auto", default="auto"
        Stop when an epoch lowers the objective by no more than this fraction; 0 never stops.
    init : {"smooth", "random"} or list of cores, default="smooth"
        Start near a constant function, from Gaussian cores with columns of norm 1 as in [1]_, or
        from given cores in the layout of `cores_`.
    max_bins : int, "auto" or None, default="auto"
        For the fit, numeric columns with more distinct values than this are rounded to this many
        equally spaced ones. "auto" uses at least 1024, and enough that no basis function changes
        by more than 1 %; None keeps all values, which takes more time and memory.
    categorical_features : sequence of bool, int or str, "from_dtype" or None, default=None
        Categorical columns: a mask, indices, names, or "from_dtype" for the columns of a frame
        with dtype category, Categorical, Enum or text (not object). Missing values are a
        category of their own. Unseen categories contribute the mean over the training rows.
    cyclic : dict or None, default=None
        Periods of periodic columns, by name or index: ``{"hour": 24}``, or "day", "week" or
        "year" for times, as in ``{"departure": "week"}``. Times count from 1970 (UTC), so weeks
        begin on a Thursday. `period`, `bounds` and `scaling` do not apply to these columns.
    bounds : (low, high), a sequence of such pairs or None, default=None
        Range of all columns, or of each, that is mapped to the box [0, 1]. None uses the minimum
        and maximum of the training rows.
    scaling : {"range", "rank", "half", "auto"}, default="auto"
        How values are mapped to the box: by the range, by the share of training rows below them,
        or by the mean of the two, which suits columns with long tails. "auto" is "half", or
        "range" with ``penalty="ridge"``.
    prediction_margin : float, None or "auto", default="auto"
        Predictions stay within the range of the training targets, extended by this fraction of it
        on either side; None sets no bounds. "auto" is 0.1, or None with ``penalty="ridge"``.
    extrapolation : {"clip", "continue", "error"}, default="clip"
        Treatment of values outside the range, also in training rows: clip them to the nearest
        end, evaluate the basis outside the box, or raise a ValueError. A default fit clips only
        beyond a tenth of the range, so slopes continue up to there.
    normalize_y : bool, default=True
        Scale each output of y to mean 0 and variance 1 for the fit; by median and median deviation
        for "huber" and "quantile", to mean 1 for losses with a logarithmic link. `alpha`, `init`
        and `cores_` refer to the scaled targets.
    early_stopping : "auto" or bool, default="auto"
        Hold out some training rows (some of each class), stop when the score on them has not
        improved for ten epochs, and keep the best cores. "auto" does so above 10,000 rows.
    validation_fraction : float, default=0.1
        Fraction of rows to hold out for early stopping.
    posterior : "auto" or bool, default="auto"
        Whether to compute the posterior of the weights, which standard deviations and intervals
        need: "auto" from at most 6,000 rows, True from all rows. Only for the squared loss, and
        networks "cpd", "train" and "ring".
    warm_start : bool, default=False
        Whether another `fit` continues from `cores_`. It keeps the ranges and categories of the
        columns, the scale of y or the classes, and the values of "auto" parameters.  After a search
        that ended with a full-rank model, or with more terms than `rank`, it starts over.
    dtype : {"float64", "float32"}, default="float64"
        Precision of the passes over the rows; sums and linear systems always use float64.
    random_state : int, RandomState or None, default=None
        Seed for the initialization and for the choice of held-out rows.
    n_jobs : int or None, default=None
        Number of threads, as in joblib, except that None means all cores. Results do not
        depend on it. Use 1 inside a parallel search.
    engine : {"threads", "dask"} or Engine, default="threads"
        Where sums over the rows are computed: on threads of this process, or on the workers of the
        current Dask client, except for up to 100,000 rows. Results do not depend on the number of
        workers.
    verbose : int, default=0
        1 shows a progress bar.
    callbacks : callable, sequence of callables or None, default=None
        Called with a `qtkm.solvers.Progress` after every column's update and every epoch; if one
        returns True, the fit stops after the epoch.
    checkpoint : path-like or None, default=None
        Folder for checkpoints: every trial of a search, and cores, history and the solver's state
        after every epoch. A fit that finds its own (of the same rows and parameters; `max_iter`,
        `tol`, `n_jobs`, `verbose` and `callbacks` may differ) resumes from it, bit for bit as
        without the interruption. `random_state` should be an integer.
    checkpoint_seconds : float, default=0
        Minimum time between checkpoints; the last epoch always has one.
    memory_limit : int, str or None, default=None
        Memory for the fit besides the given data, in bytes or as a string such as "1GB"; None is
        half of the free memory. Rows that do not fit are kept on disk; if the limit is too small,
        a MemoryError reports the smallest that works.

    Attributes
    ----------
    cores_ : list
        A list of cores for each column, lowest digit first. A core of a "cpd" has shape (Q, R),
        that of a categorical column (n_categories, R). With several outputs, a core of shape
        (n_outputs, R) follows; with main effects, the last entry is their list: one core of shape
        (n_functions, n_outputs) per column, and the intercepts. Complex if any basis is.
    n_iter_ : int
        Number of epochs.
    history_ : dict of lists
        ``objective_updates``, the objective after every core update (after every column if the
        loss is not the squared one); ``objective``, and ``seconds`` since the start, after every
        epoch; ``validation_score`` after every epoch with early stopping, R² on the validation
        rows (minus their mean loss for classes and other losses than the squared one); and the
        solver's own records. After a search also ``path``: one dict per trial with rank, alpha,
        held-out error and seconds, the last one with the share of the full-rank model, if chosen.
    status_ : {"converged", "stopped early", "max_iter", "interrupted", "failed"}
        Why the fit ended.
    message_ : str
        The reason in a sentence, with what to try.
    n_parameters_ : int
        Number P of weights in all cores, as in [1]_: a complex number counts once.
    n_real_parameters_ : int
        Number of real degrees of freedom: a complex number counts twice.
    vc_bound_ : float
        Upper bound 2·P·log₂(12·number of cores) on the VC dimension, as in [1]_; the theorem
        is for real networks.
    alpha_ : float
        Penalty used.
    penalties_ : list of Penalty or None
        Penalty of each column with its learned parameters; None for the plain norm.
    rank_ : int, or another value the network accepts
        Rank used. After a search on few rows, the number of terms of the networks of all folds
        and of the full-rank model together.
    network_ : Network
        Network used, with all its parameters.
    loss_ : Loss
        Loss used, with all its parameters.
    columns_ : list of dict
        One dict per column with ``name``; ``basis``, the feature map with all its parameters;
        ``bounds`` (None for categories); ``categories`` (None for numbers; an entry None stands
        for missing values); ``n_grid``, the number of distinct or binned values; ``binned``;
        ``bin_error``, the largest change of a basis function by binning; ``gaps``, whether values
        were missing; ``holds``: "numbers", "times" or "time spans"; ``cycle``, the period of a
        cyclic column or None.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : array of shape (n_features_in_,)
        Names of the columns; only if X is a frame whose column names are all strings.

    Notes
    -----
    The fit minimizes the mean loss of the rows, weighted by ω, plus a penalty,

        (1/Σω) Σ_n ω_n·|f(x_n) - y_n|² + alpha·‖w‖²,

        f(x) = Σ_r Π_d c_d(x_d) Π_k Σ_q s_dk(x_d)_q W_dk[q, r],

    where s_dk is the factor of digit k of column d and c_d a phase of the Fourier basis: the
    features of a column are the Kronecker product of its factors [1]_.  Each core update
    is an exact minimum, so the objective never rises; the problem is not convex, so different
    values of `random_state` give different models.  A prediction is Re f.

    With default parameters, a fit begins with a search on held-out rows: main effects, networks
    of growing rank, and the full-rank model, whose weights are a CPD with one term per row,
    solved exactly under the learned prior (a Gaussian process).  Held-out rows decide how the two
    are mixed.

    Rows with zero weight are ignored.  Up to 100,000 rows, duplicates are merged, so
    `sample_weight=2` and a repeated row give bit-identical results.

    Ctrl-C during `fit` keeps the best cores so far, with a ConvergenceWarning; `warm_start=True`
    continues from there.  They are also kept if the objective becomes infinite.

    References
    ----------
    .. [1] F. Wesel, K. Batselier, "Quantized Fourier and Polynomial Features for more
       Expressive Tensor Network Models", AISTATS 2024.

    Examples
    --------
    >>> import numpy as np
    >>> from qtkm import Fourier, QTKMRegressor
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 3))
    >>> y = np.sin(6 * X[:, 0]) * X[:, 1] + X[:, 2] ** 2
    >>> model = QTKMRegressor(random_state=0).fit(X, y)
    >>> model.score(X, y) > 0.99
    True

    The model of the paper, with a given rank:

    >>> model = QTKMRegressor(penalty="ridge", rank=4, random_state=0).fit(X, y)
    >>> [core.shape for core in model.cores_[0]]
    [(2, 4), (2, 4), (2, 4), (2, 4), (2, 4)]
    """

    def __init__(
        self,
        basis="fourier",
        *,
        n_basis="auto",
        period="auto",
        quantization="auto",
        network="cpd",
        rank="auto",
        alpha="auto",
        penalty="matern",
        main_effects="auto",
        loss="squared",
        residual="complex",
        solver="als",
        max_iter=200,
        tol="auto",
        init="smooth",
        max_bins="auto",
        categorical_features=None,
        cyclic=None,
        bounds=None,
        scaling="auto",
        prediction_margin="auto",
        extrapolation="clip",
        normalize_y=True,
        early_stopping="auto",
        validation_fraction=0.1,
        posterior="auto",
        warm_start=False,
        dtype="float64",
        random_state=None,
        n_jobs=None,
        engine="threads",
        verbose=0,
        callbacks=None,
        checkpoint=None,
        checkpoint_seconds=0.0,
        memory_limit=None,
    ):
        keep_parameters(self, locals())

    @ended_by_interrupts()
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> "QTKMRegressor":
        """Fit to data.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
            Or a Dask array or frame, like y, sample_weight and offset, with the same partitions:
            the fit then runs on the current Dask client, and the rows stay on its workers.
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array of shape (n_rows,), optional
            Rows with zero weight are ignored.
        offset : array of shape (n_rows,), optional
            Known part of the response, added to it. With a logarithmic link, the logarithm of the
            exposure (time, area, number of people); predictions without an offset are then rates
            per unit of exposure.

        Returns
        -------
        self
        """
        self._fit(X, y, sample_weight, offset)
        return self

    _check_target = check_target

    def _target_reader(
        self, names: list[str], offset: str | None = None, is_vector: bool = True, kind: Any = None
    ) -> NumberTarget:
        return NumberTarget(names, offset, parts.make_regression_loss(self), is_vector)

    def predict(
        self, X: Any, offset: Any = None, *, return_std: bool = False, return_cov: bool = False
    ) -> Any:
        """Predict Re f(x), or exp(Re f(x)) for losses with a logarithmic link.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
            For a Dask collection, the predictions are a lazy Dask collection as well.
        offset : array of shape (n_rows,), optional
            Added to the response, as in `fit`.
        return_std : bool
            Also return the standard deviation of new observations, including noise.
        return_cov : bool
            Also return the covariance of new observations; for few rows.

        Returns
        -------
        prediction : array of shape (n_rows,) or (n_rows, n_outputs)
        std : array of the same shape
            Only with `return_std`.
        cov : array of shape (n_rows, n_rows) or (n_rows, n_rows, n_outputs)
            Only with `return_cov`.
        """
        if return_std and return_cov:
            raise ValueError("return_std and return_cov cannot both be True.")
        if self._is_lazy(X, offset):
            if return_cov:
                raise ValueError("return_cov is not available for Dask collections; compute X.")
            width = None if self._y_ndim == 1 else self._reading.n_outputs
            lazy = predict_lazily(self, "predict", X, np.float64, width, offset)
            if not return_std:
                return lazy
            self._known_uncertainty()  # says why there is none, now rather than when computed
            return lazy, predict_lazily(self, "_std", X, np.float64, width)
        response = self._predict(X)
        if offset is not None:
            response = self.loss_.add_offset(response, check_offset(offset, len(response)))
        prediction = self._as_y(response)
        if return_std:
            return prediction, self._std(X)
        if return_cov:
            directions = self._directions(X)
            cov = np.einsum("iok,jok->ijo", directions, directions)
            cov[range(len(cov)), range(len(cov))] += self._noise() ** 2
            return prediction, cov[:, :, 0] if self._y_ndim == 1 else cov
        return prediction

    def _predict(self, X: Any) -> NDArray:
        """Return predictions (n, n_outputs), kept within the margin."""
        response = self._responses(X)
        margin = defaults.prediction_margin(self)
        if margin is not None:
            response = np.clip(response, *self._reading.bounds(margin))
        return response

    def _as_y(self, values: NDArray) -> NDArray:
        """Return values (n, n_outputs) in the shape of y."""
        return values[:, 0] if self._y_ndim == 1 else values

    def _deviations(self, X: Any) -> NDArray:
        """Return the standard deviations (n, n_outputs) of new observations."""
        known = self._known_uncertainty()
        return np.sqrt(self._variances(X) + known.noise) * self._unit

    def _std(self, X: Any) -> NDArray:
        return self._as_y(self._deviations(X))

    def predict_interval(self, X: Any, coverage: float = 0.9, method: str = "auto") -> NDArray:
        """Predict intervals that contain new observations with a given probability.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        coverage : float
            Probability, between 0 and 1.
        method : {"auto", "posterior", "conformal"}
            "posterior": quantiles of the predictive distribution. "conformal": the number of
            standard deviations that covers this share of the held-out rows, which assumes no
            distribution; available after a search for rank or alpha, or with early stopping.
            "auto" is "conformal" if enough rows were held out.

        Returns
        -------
        array of shape (n_rows, 2) or (n_rows, n_outputs, 2)
            Lower and upper ends.

        See Also
        --------
        predict : Returns standard deviations with ``return_std=True``.
        """
        widths = half_widths(self._known_uncertainty(), coverage, method)
        if self._is_lazy(X):
            if self._y_ndim > 1:
                raise ValueError("Intervals of Dask collections need a single output; compute X.")
            given = {"coverage": coverage, "method": method}
            return predict_lazily(self, "predict_interval", X, np.float64, 2, **given)
        center, half = self._predict(X), widths * self._deviations(X)
        return np.stack([self._as_y(center - half), self._as_y(center + half)], axis=-1)

    def sample_y(self, X: Any, n_samples: int = 1, random_state: Any = 0) -> NDArray:
        """Draw joint samples of new observations, including noise.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        n_samples : int
        random_state : int, RandomState or None

        Returns
        -------
        array of shape (n_rows, n_samples) or (n_rows, n_outputs, n_samples)
        """
        return self._as_y(samples(self, self._predict(X), X, n_samples, random_state))

    @property
    def noise_(self) -> Any:
        """Standard deviation of y around the true response."""
        if not self._has_posterior:
            raise AttributeError("Without a posterior, noise_ is undefined.")
        noise = self._noise()
        return float(noise[0]) if self._y_ndim == 1 else noise

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the relative reduction of the loss of the best constant prediction, at most 1.

        Parameters
        ----------
        X : array or frame of shape (n_rows, n_columns)
        y : array of shape (n_rows,) or (n_rows, n_outputs)
        sample_weight : array of shape (n_rows,), optional
        offset : array of shape (n_rows,), optional
            Added to the response, as in `fit`, and to the best constant.

        Returns
        -------
        float
            R² for the squared loss, D² for others: of the deviance for Poisson, gamma and
            Tweedie, of the pinball loss for quantiles, of absolute errors for Huber. Averaged
            over outputs.
        """
        check_is_fitted(self)
        if offset is None and type(self.loss_).score is Loss.score:
            return super().score(X, y, sample_weight)
        target, weight = check_target(self, y), None
        if sample_weight is not None:
            weight = check_weight(sample_weight, len(target))
        prediction, unit = self._responses(X), self._reading.scale.scale
        refuse_unequal(len(prediction), len(target))
        target = target.reshape(len(target), -1)
        if offset is not None:
            known = check_offset(offset, len(target))
            target, weight = self.loss_.take_offset(target, weight, known)
        pairs = zip((target / unit).T, (prediction / unit).T, strict=True)
        return float(np.mean([self.loss_.score(*pair, weight) for pair in pairs]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
