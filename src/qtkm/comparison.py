"""Comparison of the library's defaults with common models, on the same folds of a table."""

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.gaussian_process import GaussianProcessClassifier, GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.impute import SimpleImputer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import SVC

from .escaping import visible
from .estimators import QTKMClassifier, QTKMRegressor
from .estimators.values import read_numbers
from .inspection.plotting import FIRST, SECOND, Display, written
from .inspection.results import Finding

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Comparison", "ComparisonDisplay", "compare"]

#: most training rows for kernel methods, and for Gaussian processes
MOST_KERNEL, MOST_PROCESS = 4000, 1500
#: up to this many rows there are five folds, beyond three
FEW_ROWS = 5000


@dataclass(repr=False)
class Comparison(Finding):
    """Scores of several models on the same folds.

    Attributes
    ----------
    names : list of str
        Names of the models, qtkm first.
    scores : (n_models, n_folds) array
        R² or accuracy on each test fold; NaN where a model failed.
    seconds : (n_models, n_folds) array
        Time of each fit and its predictions.
    score_name : str
    n_rows, n_used : int
        Number of rows of the table, and of the sample that was used.
    notes : list of str
        Models that were skipped or failed, and why.
    """

    names: list[str]
    scores: NDArray[np.float64]
    seconds: NDArray[np.float64]
    score_name: str
    n_rows: int
    n_used: int
    notes: list[str]

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean score of each model."""
        return self.scores.mean(axis=1)

    @property
    def margin(self) -> NDArray[np.float64]:
        """Half width of the 95 % interval of each mean, by Student's distribution over folds."""
        n = self.scores.shape[1]
        return student.ppf(0.975, n - 1) * self.scores.std(axis=1, ddof=1) / np.sqrt(n)

    def _table(self) -> dict[str, Any]:
        order = np.argsort(-np.nan_to_num(self.mean, nan=-np.inf), kind="stable")
        columns = {self.score_name: self.mean, "margin": self.margin,
                   "seconds": self.seconds.mean(axis=1)}  # fmt: skip
        columns = {name: column[order] for name, column in columns.items()}
        return {"model": [self.names[i] for i in order], **columns}

    def __repr__(self) -> str:
        folds = f"{self.scores.shape[1]} folds of {self.n_used:,} rows"
        return "\n".join([super().__repr__(), folds, *map(visible, self.notes)])

    def plot(self, ax: "Axes | None" = None) -> "ComparisonDisplay":
        """Draw scores with their intervals against seconds."""
        return ComparisonDisplay(self).plot(ax)


class ComparisonDisplay(Display):
    """Scores of models, with their intervals, against seconds."""

    def __init__(self, comparison: Comparison):
        self.comparison = comparison

    def _draw(self, ax: "Axes") -> None:
        found = self.comparison
        seconds = found.seconds.mean(axis=1)
        for place, i in enumerate(np.argsort(seconds, kind="stable")):
            x, y, colour = seconds[i], found.mean[i], SECOND if i == 0 else FIRST
            ax.errorbar(x, y, found.margin[i], fmt="o", color=colour, capsize=3)
            # alternately above and below, so that names of neighbours fit
            ax.annotate(written(found.names[i]), (x, y), (6, -13 if place % 2 else 6),
                        textcoords="offset points", color=colour)  # fmt: skip
        ax.set_xscale("log")
        ax.margins(x=0.25, y=0.15)
        title = f"{found.score_name} over {found.scores.shape[1]} folds, with 95 % intervals"
        ax.set(title=title, xlabel="seconds for a fit and its predictions", ylabel=found.score_name)


def compare(
    X: Any, y: Any, *, task: str = "auto", categorical_features: Any = None,
    models: Mapping[str, Any] | None = None, cv: int | None = None, max_rows: int = 8000,
    random_state: int = 0, progress: Callable[[str], None] | None = None,
) -> Comparison:  # fmt: skip
    """Compare the defaults with ridge, boosting and, on few rows, kernel methods.

    Parameters
    ----------
    X : array or frame of shape (n_rows, n_columns)
    y : array of shape (n_rows,)
    task : {"auto", "regression", "classification"}
        "auto" treats text and booleans as classes, and numbers as regression targets.
    categorical_features : sequence of str or int, optional
        Categorical columns; by default all text columns.
    models : dict of estimators, optional
        More models to compare with, by name.
    cv : int, optional
        Number of folds; by default five, or three beyond 5,000 rows.
    max_rows : int, default=8000
        Maximum number of rows; larger tables are sampled.
    random_state : int, default=0
    progress : callable, optional
        Called with the name of each model before its fits.

    Returns
    -------
    Comparison

    Notes
    -----
    Intervals are Student's over the folds.  They are somewhat too short, because folds share
    training rows.

    Examples
    --------
    >>> import numpy as np, qtkm
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(60, 2))
    >>> found = qtkm.compare(X, np.sin(6 * X[:, 0]) * X[:, 1], cv=2)
    >>> found.names[0], found.scores.shape[1]
    ('qtkm', 2)
    """
    import pandas

    frame = pandas.DataFrame(X.to_pandas() if hasattr(X, "to_pandas") else X).rename(columns=str)
    target, n_rows = np.asarray(y), len(frame)
    is_class = task == "classification" or (task == "auto" and target.dtype.kind in "OUSb")
    rng = np.random.default_rng(random_state)
    kept = np.sort(rng.choice(n_rows, min(n_rows, max_rows), replace=False))
    frame, target = frame.iloc[kept].reset_index(drop=True), target[kept]
    text = _split(frame, categorical_features)
    folds = cv or (5 if len(frame) <= FEW_ROWS else 3)
    splitter = (StratifiedKFold if is_class else KFold)(folds, shuffle=True,
                                                        random_state=random_state)  # fmt: skip
    parts = list(splitter.split(frame, target))
    chosen, notes = _models(frame, text, len(parts[0][0]), is_class, random_state)
    chosen |= dict(models or {})
    scores, seconds = np.full((2, len(chosen), folds), np.nan)
    for i, (name, model) in enumerate(chosen.items()):
        if progress is not None:
            progress(name)
        scoring = "accuracy" if is_class else "r2"
        try:
            with warnings.catch_warnings():  # searches warn at the ends of their grids
                warnings.simplefilter("ignore")
                found = cross_validate(model, frame, target, cv=parts, scoring=scoring,
                                       error_score="raise")  # fmt: skip
            scores[i], seconds[i] = found["test_score"], found["fit_time"] + found["score_time"]
        except Exception as error:  # of any model, without losing the others
            notes.append(f"{name} failed: {' '.join(str(error).split())[:120]}")
    name = "accuracy" if is_class else "R²"
    return Comparison(list(chosen), scores, seconds, name, n_rows, len(frame), notes)


def _split(frame: Any, given: Any) -> list[str]:
    """Return the names of categorical columns, and convert all others, also times, to numbers."""
    names = list(frame)
    text = [names[c] if isinstance(c, int | np.integer) else c
            for c in (() if given is None else given)]  # fmt: skip
    for name in names:
        if given is None and frame[name].dtype == "category":
            text.append(name)
        elif name not in text:
            try:
                frame[name] = read_numbers(frame[name], f"column {name!r}")[0]
            except (TypeError, ValueError):
                if given is not None:
                    raise
                text.append(name)
    return text


def _models(
    frame: Any, text: list[str], n_train: int, is_class: bool, seed: int
) -> tuple[dict[str, Any], list[str]]:
    """Return models by name, qtkm first, and notes on those that are skipped."""
    numbers = [name for name in frame if name not in text]
    # scaled numbers and indicators of categories
    scale = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    one_hot = OneHotEncoder(handle_unknown="infrequent_if_exist", max_categories=50,
                            sparse_output=False)  # fmt: skip
    wide = make_column_transformer((scale, numbers), (one_hot, text))
    # categories as ordered numbers, as trees take them
    ordered = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan,
                             encoded_missing_value=np.nan)  # fmt: skip
    narrow = make_column_transformer(("passthrough", numbers), (ordered, text))
    folds = KFold(3, shuffle=True, random_state=seed)  # tables are often sorted
    own: Any
    if is_class:
        own, boosting = QTKMClassifier, HistGradientBoostingClassifier
        grid: dict[str, Any] = {"C": [0.01, 0.1, 1.0, 10.0]}
        linear = GridSearchCV(LogisticRegression(max_iter=300), grid, cv=3)
        grid = {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.01, 0.1]}
        kernel = GridSearchCV(SVC(), grid, cv=folds)
        process = GaussianProcessClassifier(RBF(3.0), random_state=seed)
    else:
        own, boosting = QTKMRegressor, HistGradientBoostingRegressor
        linear = RidgeCV(np.logspace(-4, 4, 17))
        grid = {"alpha": [1e-3, 1e-2, 1e-1, 1.0], "gamma": [0.01, 0.03, 0.1, 0.3]}
        search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=folds)
        kernel = TransformedTargetRegressor(search, transformer=StandardScaler())
        noisy = 1.0 * Matern(3.0, nu=1.5) + WhiteKernel(0.1)
        process = GaussianProcessRegressor(noisy, normalize_y=True, random_state=seed)
    models = {"qtkm": own(categorical_features=text or None, random_state=seed)}
    notes = []
    for name, columns, estimator, most in (
        ("logistic regression" if is_class else "ridge", wide, linear, n_train),
        ("boosting", narrow, boosting(random_state=seed), n_train),
        ("support vectors" if is_class else "kernel ridge", wide, kernel, MOST_KERNEL),
        ("Gaussian process", wide, process, MOST_PROCESS),
    ):
        if n_train <= most:
            models[name] = make_pipeline(columns, estimator)
        else:
            notes.append(f"{name} skipped: more than {most:,} training rows")
    return models, notes
